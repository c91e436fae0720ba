"""Tensors of lazy images outside a Compose, and torch's arithmetic with them, beside torchvision's."""

from __future__ import annotations

import io
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T
from torchvision.transforms import functional as F
from torchvision.transforms import v2

import gofast
from gofast._images import compose_calls, conversions, lazy_program, pending_samples
from gofast._images.held_pictures import Held
from gofast._images.lazy_samples import LazySample
from gofast._lazy import source
from same import difference, outcome

pytestmark = pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
MEANS, STDS = (torch.tensor(numbers).view(3, 1, 1) for numbers in (MEAN, STD))
G = v2.functional


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Baseline and progressive JPEGs, PNGs, and grey ones."""
    folder, numbers = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for i in range(16):
        picture = Image.fromarray(numbers.integers(0, 256, (50 + i, 61, 3), np.uint8))
        picture = picture.convert("L") if i % 4 == 3 else picture
        path = folder / f"{i:02}.{'png' if i % 4 == 2 else 'jpg'}"
        picture.save(path, **({} if path.suffix == ".png" else {"progressive": i % 4 == 1}))
    return sorted(folder.iterdir())


@pytest.fixture(autouse=True)
def conversions_wait(samples_wait: None) -> None:
    compose_calls.follow()


def opened(path: Path, ours: bool = True) -> Any:
    return (gofast.open if ours else Image.open)(path).convert("RGB").resize((40, 30))


def then(*steps: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def call(image: Any) -> Any:
        for step in steps:
            image = step(image)
        return image

    return call


def cloned(x: Any) -> Any:
    y = x.clone()
    y.sub_(0.5)
    return x, y


# Where they stand when they are called.
def to_tensor(image: Any) -> torch.Tensor:
    return F.to_tensor(image)


def to_bytes(image: Any) -> torch.Tensor:
    return F.pil_to_tensor(image)


# What waits, to the end of it.
WAIT: dict[str, Callable[[Any], Any]] = {
    "float": to_tensor,
    "bytes": to_bytes,
    "classes": then(T.ToTensor(), T.Normalize(MEAN, STD)),
    "in place": then(T.ToTensor(), T.Normalize(MEAN, STD, inplace=True)),
    "functions": lambda image: F.normalize(F.to_tensor(image), MEAN, STD),
    "of v2": then(v2.PILToTensor(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)),
    "v2's functions": lambda image: G.normalize(G.to_dtype(G.pil_to_tensor(image), scale=True), MEAN, STD),
    "a type's own": then(v2.PILToTensor(), v2.ToDtype({torch.Tensor: torch.float32, "others": None}, True)),
    "convert_image_dtype": then(to_bytes, F.convert_image_dtype),
    "unscaled": then(to_bytes, lambda x: x.float()),
    "to": then(to_bytes, lambda x: x.to(torch.float32).div_(255)),
    "of bytes": then(to_bytes, lambda x: x / 255),
    "operators": then(to_tensor, lambda x: (x - 0.5) / 0.25),
    "own in place": then(to_tensor, lambda x: x.sub_(0.5).div_(0.3)),
    "augmented": then(to_tensor, lambda x: x.__isub__(0.1).__itruediv__(0.7)),
    "tensors": then(to_tensor, lambda x: (x - MEANS) / STDS),
    "one number": then(to_tensor, lambda x: (x - torch.tensor(0.3)) / torch.tensor([0.7])),
    "only divided": then(to_tensor, lambda x: x / STDS),
    "negative": then(to_tensor, lambda x: x.sub(0).div(-0.5)),
    "functions of torch": then(to_tensor, lambda x: torch.div(torch.sub(x, 0.2), 3)),
    "the same": then(to_tensor, lambda x: x.to(torch.float32).float()),
    "clones": then(to_tensor, cloned, lambda both: both[1]),
    "a clone's original": then(to_tensor, cloned, lambda both: both[0]),
    "normalize, of a Compose": then(T.Compose([T.Resize((20, 24)), T.ToTensor()]), T.Normalize(MEAN, STD)),
    "erased": then(to_tensor, T.Normalize(MEAN, STD), T.RandomErasing(1.0)),
    "flipped": then(to_tensor, T.Normalize(MEAN, STD), lambda x: F.vflip(F.hflip(x))),
    "flipped bytes": then(to_bytes, lambda x: torch.flip(x, [2]).flip((-2,)).flip(1)),
    "v2's flips": then(v2.PILToTensor(), v2.RandomHorizontalFlip(1.0), v2.RandomVerticalFlip(1.0)),
    "a flip's original": then(to_bytes, lambda x: (x, x.flip(-1).float()), lambda both: both[0]),
    "no gradient": then(to_tensor, lambda x: x.requires_grad_(False)),
    "pure": then(
        v2.ToImage(), v2.RandomHorizontalFlip(1.0), v2.ToDtype(torch.float32, True), v2.ToPureTensor()
    ),
}
# What torch does at once, or refuses.
LOOK: dict[str, Callable[[Any], Any]] = {
    "doubled": then(to_tensor, lambda x: x * 2 - 1),
    "twice": then(to_tensor, T.Normalize(MEAN, STD), T.Normalize(MEAN, STD)),
    "other order": then(to_tensor, lambda x: x / 0.5 - 1),
    "alpha": then(to_tensor, lambda x: x.sub(0.5, alpha=2)),
    "floored": then(to_tensor, lambda x: x.div(0.3, rounding_mode="floor")),
    "zero": then(to_tensor, lambda x: (x - 0.5) / 0),
    "std of zero": then(to_tensor, T.Normalize(MEAN, [0.2, 0.0, 0.2])),
    "infinite": then(to_tensor, lambda x: x - float("inf")),
    "huge": then(to_tensor, lambda x: x - 10**400),
    "large": then(to_tensor, lambda x: x - 2**64),
    "by a mask": then(to_bytes, lambda x: x.float() * (x > 3)),
    "by itself": then(to_bytes, lambda x: x.float() * x.float()),
    "by a double": then(to_bytes, lambda x: x.float() * torch.tensor([1 / 255], dtype=torch.float64)),
    "by a complex number": then(to_bytes, lambda x: x.float() * complex(1 / 255)),
    "by four dimensions": then(to_bytes, lambda x: x.float() * torch.full((1, 1, 1, 1), 1 / 255)),
    "true": then(to_tensor, lambda x: x - True),
    "of doubles": then(to_tensor, lambda x: x - MEANS.double()),
    "a row": then(to_tensor, lambda x: x - torch.arange(40.0)),
    "four dimensions": then(to_tensor, lambda x: x - MEANS.view(1, 3, 1, 1)),
    "too many": then(to_tensor, lambda x: x - torch.ones(4, 1, 1)),
    "with a gradient": then(
        to_tensor, lambda x: (x - MEANS.clone().requires_grad_()).sum().backward() or x + 0
    ),
    "another": then(to_tensor, lambda x: x - x.clone()),
    "bytes less": then(to_bytes, lambda x: x - 3),
    "bytes in place": then(to_bytes, lambda x: x.div_(255)),
    "bytes less in place": then(to_bytes, lambda x: x.sub_(0.5)),
    "normalized bytes": then(to_bytes, T.Normalize(MEAN, STD)),
    "halves": then(to_bytes, lambda x: x.to(torch.float16) / 255),
    "doubles": then(to_bytes, lambda x: x.to(torch.float64).div(255)),
    "moved": then(to_tensor, lambda x: x.to("cpu") + 0),
    "moved to a type": then(to_bytes, lambda x: x.to("cpu", torch.float32)),
    "in a format": then(to_tensor, lambda x: x.clone(memory_format=torch.contiguous_format)),
    "filled by type": then(v2.PILToTensor(), v2.Pad(2, fill={torch.Tensor: 7, "others": 0})),
    "v2's image": then(v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)),
    "type": then(to_tensor, lambda x: ({torch.Tensor: 1}.get(type(x)), x + 0)),
    "flipped by two": then(to_tensor, lambda x: x.flip((1, 2))),
    "flipped, of a Compose": then(T.Compose([T.Resize((20, 24)), T.ToTensor()]), F.hflip),
    "flipped channels": then(to_bytes, lambda x: x.flip(0)),
    "flipped far": then(to_bytes, lambda x: x.flip(3)),
    "flipped by nothing": then(to_bytes, lambda x: x.flip(())),
    "flipped by true": then(to_bytes, lambda x: x.flip(True)),
    "flipped erased": then(to_tensor, T.RandomErasing(1.0), lambda x: x.flip(-1)),
    "a gradient": then(to_tensor, lambda x: x.requires_grad_()),
}


@pytest.mark.parametrize("name", [*WAIT, *LOOK])
def test_as_torchvision(name: str, files: list[Path]) -> None:
    call = {**WAIT, **LOOK}[name]
    results = list[Any]()
    for ours in (True, False):
        torch.manual_seed(0)
        results.append([outcome(call, opened(path, ours)) for path in files])
    lazily = sum(type(made) is LazySample for made in results[0])
    certain = len(files) // 4 if name.endswith("Compose") else len(files)
    assert lazily >= certain if name in WAIT else lazily == 0
    assert difference(*results) == ""
    if name in WAIT:
        batches = list[Any]()
        for ours in (True, False):
            torch.manual_seed(1)
            batches.append(torch.stack([call(opened(path, ours)) for path in files]))
        assert difference(*batches) == ""


@pytest.mark.parametrize("name", WAIT)
def test_grey_files(name: str, files: list[Path]) -> None:
    """Of one channel, as they are, in the middle of other memory."""
    grey = [path.read_bytes() for path in files[3::4]]
    assert Image.open(io.BytesIO(grey[0])).mode == "L"
    for convert in (
        lambda image: image,
        lambda image: image.convert("L"),
        lambda image: image.resize((9, 8)),
    ):
        results = list[Any]()
        for opener in (gofast.open, Image.open):
            made = [outcome(WAIT[name], convert(opener(io.BytesIO(data)))) for data in (*grey, *grey)]
            if all(isinstance(one, torch.Tensor) and one.shape == made[0].shape for one in made):
                around = torch.full((3 * len(made), *made[0].shape), 7, dtype=made[0].dtype)
                torch.stack(made, out=around[len(made) : 2 * len(made)])
                made.append(around)
            results.append(made)
        assert difference(*results) == ""


def test_inference_mode(files: list[Path]) -> None:
    """A look within it leaves samples that were made outside what they are, and all others too."""
    rows = [F.to_tensor(opened(path)) for path in files[:4]]
    with torch.inference_mode():
        rows[0].mean()
        inside = F.to_tensor(opened(files[0]))
        assert inside.is_inference() and torch.stack([rows[1], rows[2]]).is_inference()
    for row in rows:
        assert not row.is_inference()
        (row.clone().requires_grad_() * 2).sum().backward()
    with pytest.raises(RuntimeError, match=r"[Ii]nference"):
        inside.sub_(0.5)


def test_a_version_is_counted(files: list[Path]) -> None:
    out = torch.zeros(2, 3, 30, 40)
    before = out._version
    torch.stack([F.to_tensor(opened(path)) for path in files[:2]], out=out)
    assert out._version > before


def test_a_sample_that_is_referred_to_weakly(files: list[Path]) -> None:
    """Numbers change as in any tensor; another shape has nowhere to be."""
    import weakref

    x, theirs = F.to_tensor(opened(files[0])), F.to_tensor(opened(files[0], False))
    reference = weakref.ref(x)
    x[0] = 3
    theirs[0] = 3
    assert torch.equal(x + 0, theirs) and reference() is x
    changes: list[Callable[[Any], Any]] = [
        lambda x: x.unsqueeze_(0),
        lambda x: x.transpose_(0, 1),
        lambda x: x.requires_grad_(),
    ]
    for change in changes:
        x = F.to_tensor(opened(files[0]))
        reference = weakref.ref(x)
        with pytest.raises(RuntimeError, match="weak reference"):
            change(x)


def test_one_look_makes_all_that_wait(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a collate function that pads pictures of several sizes. Those that went are not made."""
    monkeypatch.setattr(pending_samples, "_BEGUN", 1 << 30)
    rows = [F.to_tensor(gofast.open(path).convert("RGB")) for path in files]
    gone = [F.to_tensor(opened(path)) for path in files]
    del gone
    program = rows[0]._pending.program
    padded = torch.zeros(len(rows), 3, 70, 70)
    for row, place in zip(rows, padded, strict=True):
        place[:, : row.shape[1], : row.shape[2]].copy_(row)
    assert (program.together, program.alone) == (len(files), 0)
    for path, place in zip(files, padded, strict=True):
        theirs = F.to_tensor(Image.open(path).convert("RGB"))
        assert torch.equal(place[:, : theirs.shape[1], : theirs.shape[2]], theirs)


def test_what_is_looked_at_at_once_is_made_alone(files: list[Path]) -> None:
    sums = [F.to_tensor(opened(path)).sum() for path in files]
    assert difference(sums, [F.to_tensor(opened(path, False)).sum() for path in files]) == ""
    program = conversions._conversion("divide", 3)
    assert (program.together, program.alone) == (0, len(files))


def test_small_pictures_that_are_looked_at_at_once_wait_no_more(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_program, "_PATIENCE", 4)
    for path in files:
        assert difference(F.to_tensor(opened(path)) * 2, F.to_tensor(opened(path, False)) * 2) == ""
    assert type(F.to_tensor(opened(files[0]))) is torch.Tensor
    assert type(F.to_tensor(opened(files[0]).resize((200, 200)))) is LazySample


def test_pictures_that_become_tensors_are_counted_once(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source.counts, "native", 0)
    made = [F.to_tensor(opened(path).resize((200, 200))) for path in files]
    torch.stack(made)
    assert source.counts.native == len(files)


def test_an_original_is_not_made_for_its_clone(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pending_samples, "_BEGUN", 1 << 30)
    rows = [F.to_tensor(opened(path)) for path in files]
    clones = [row.clone() for row in rows]
    assert clones[0].sum() == F.to_tensor(opened(files[0], False)).sum()
    assert rows[0]._pending.program.together == len(files)
    for row, path in zip(rows, files, strict=True):
        assert difference(row, F.to_tensor(opened(path, False))) == ""


def test_threads_look_and_calculate(files: list[Path]) -> None:
    """In-place arithmetic happens once, whoever is faster."""
    for turn in range(30):
        x = F.to_tensor(opened(files[turn % 2]))
        start, seen = threading.Barrier(2), list[float]()

        def look(x: Any = x, start: Any = start, seen: Any = seen) -> None:
            start.wait()
            seen.append(x.sum().item())

        thread = threading.Thread(target=look)
        thread.start()
        start.wait()
        x.sub_(0.5)
        thread.join()
        want = F.to_tensor(opened(files[turn % 2], False))
        assert difference(x, want - 0.5) == ""
        # The sum may be taken while 0.5 is being subtracted, as of any tensor.
        assert (want - 0.5).sum().item() - 1 < seen[0] < want.sum().item() + 1


def test_unusual_surroundings_are_torchvisions(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    torch.set_default_dtype(torch.float64)
    try:
        made = F.to_tensor(opened(files[0]))
        assert type(made) is torch.Tensor and made.dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    with torch.device("meta"):
        assert type(F.to_tensor(opened(files[0]))) is torch.Tensor
    x = F.pil_to_tensor(opened(files[0]))
    torch.set_default_dtype(torch.float64)
    try:
        assert (x / 255).dtype is torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    monkeypatch.setattr(conversions, "MOST_BYTES", 0)
    assert type(F.to_tensor(opened(files[0]))) is torch.Tensor


@pytest.mark.parametrize("kind", ["jpg", "png"])
def test_errors_come_where_torchvisions_come(kind: str, files: list[Path]) -> None:
    """Of cut and changed files: where Pillow decodes them, or at the conversion at the latest."""
    whole = next(path for path in files if path.suffix[1:] == kind).read_bytes()
    numbers = random.Random(1)
    for _ in range(150):
        data = bytearray(whole)
        if numbers.random() < 0.3:
            del data[numbers.randrange(len(data)) :]
        for _ in range(numbers.randrange(3)):
            if data:
                data[numbers.randrange(len(data))] = numbers.randrange(256)
        results = list[Any]()
        for ours in (True, False):
            opener = gofast.open if ours else Image.open
            places = [opener, lambda image: image.convert("RGB"), to_tensor, T.Normalize(MEAN, STD)]
            made, at = outcome(places[0], io.BytesIO(data)), 0
            while not isinstance(made, tuple) and at < 3:
                at += 1
                made = outcome(places[at], made)
            results.append((made if isinstance(made, torch.Tensor) else made[0], at))
        (ours_made, ours_at), (theirs_made, theirs_at) = results
        assert difference(ours_made, theirs_made) == ""
        assert ours_at == theirs_at or theirs_at < ours_at == 2


def test_pillows_own_images_while_installed(files: list[Path]) -> None:
    def made(of: Any) -> Any:
        image = of.open(files[0]).convert("RGB").filter(ImageFilter.MedianFilter(3))
        x = F.normalize(F.to_tensor(image), MEAN, STD)
        image.putpixel((3, 3), (1, 2, 3))
        return x, F.to_tensor(image), F.to_tensor(image.convert("L")), F.to_tensor(image.convert("1"))

    want = made(Image)
    assert type(want[0]) is torch.Tensor, "without install, Pillow's images are torchvision's"
    with gofast.install():
        got = made(Image)
        assert [type(x) is LazySample for x in got] == [True, True, False, False]
    assert difference(got, want) == ""


def test_an_image_of_many_pictures_is_made_once(files: list[Path]) -> None:
    def pyramid(image: Any) -> list[Any]:
        made = []
        for side in (48, 24, 12):
            image = image.resize((side, side), Image.Resampling.LANCZOS)
            made += [F.to_tensor(image), F.to_tensor(ImageEnhance.Color(image).enhance(1.3))]
        return made

    for path in files:
        lazy, theirs = (pyramid(open_(path).convert("RGB")) for open_ in (gofast.open, Image.open))
        assert difference(lazy, theirs) == ""


class Own(Dataset[Any]):
    """Somebody's dataset, which composes anew for every picture."""

    def __init__(self, files: list[Path], ours: bool) -> None:
        self.files, self.open = files, gofast.open if ours else Image.open

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, i: int) -> Any:
        image = self.open(self.files[i]).convert("RGB")
        at, flip = random.randint(0, 9), random.random() > 0.5
        whole = T.Compose([T.Resize((24, 20)), T.ToTensor(), T.Normalize(MEAN, STD)])
        steps = [T.Resize(30), T.Lambda(lambda x: x.crop((at, 0, at + 20, 20)))]
        turned = T.Compose(
            [*steps, lambda x: ImageOps.mirror(x) if flip else x, T.ToTensor(), T.Normalize(MEAN, STD)]
        )
        x = F.pil_to_tensor(image.resize((16, 16))).float()
        return {"A": whole(image), "B": turned(image), "x": x.div_(255), "rows": [F.to_tensor(image).mean()]}


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader])
def test_a_dataset_of_ones_own(loader: Any, workers: int, files: list[Path]) -> None:
    batches = list[Any]()
    for ours in (True, False):
        random.seed(5)
        made = (loader if ours else DataLoader)(
            Own(files, ours), batch_size=5, shuffle=True, num_workers=workers,
            generator=torch.Generator().manual_seed(1),
        )  # fmt: skip
        batches.append([*made])
    assert difference(*batches) == ""


# -- a Compose that is made anew for every picture


def test_equal_composes_have_one_plan(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    compiled, own = list[Any](), compose_calls.compile
    monkeypatch.setattr(compose_calls, "compile", lambda *a, **k: compiled.append(a) or own(*a, **k))
    monkeypatch.setattr(compose_calls, "_plans_of_copies", compose_calls._PlansOfCopies())

    def made(size: Any, mean: Any) -> Any:
        return T.Compose([T.Resize(size), T.ToTensor(), T.Normalize(mean, STD)])

    for turn in range(4):
        for size, mean in (((20, 24), MEAN), ((20, 24), [0.5] * 3), ((24, 20), MEAN), (20, MEAN)):
            image, theirs = opened(files[turn]), opened(files[turn], False)
            assert difference(made(size, mean)(image), made(size, mean)(theirs)) == ""
    assert len(compiled) == 2 * 4  # the first time for that object, the second time for all equal ones


def test_equal_composes_differ_by_what_changes_them(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compose_calls, "_plans_of_copies", compose_calls._PlansOfCopies())

    def both(change: Callable[[Any], Any] = lambda compose: None) -> list[torch.Tensor]:
        made = []
        for ours in (True, False):
            compose = T.Compose([T.Resize((20, 24)), T.ToTensor(), T.Normalize(MEAN, STD)])
            change(compose)
            made.append(compose(opened(files[0], ours)) + 0)
        assert difference(*made) == ""
        return made

    for _ in range(3):
        plain, _ = both()
    hooked = both(lambda c: c.transforms[2].register_forward_hook(lambda module, x, y: y + 1))[0]
    assert difference(hooked, plain + 1) == ""
    assert not torch.equal(both(lambda c: setattr(c.transforms[2], "mean", [0.0, 0.0, 0.0]))[0], plain)
    assert not torch.equal(both(lambda c: setattr(c.transforms[2], "mean", torch.zeros(3)))[0], plain)
    both(lambda c: c.transforms.append(lambda x: x * 2))
    for _ in range(3):
        both(lambda c: setattr(c, "lock", threading.Lock()))
        both(lambda c: c.transforms.insert(0, torch.nn.Sequential(T.Resize(9))))
    both(lambda c: setattr(c, "transforms", tuple(c.transforms)))
    own = T.Resize.forward
    monkeypatch.setattr(T.Resize, "forward", lambda self, image: own(self, ImageOps.invert(image)))
    assert not torch.equal(both()[0], plain)
    monkeypatch.setattr(T.Resize, "forward", own)
    assert torch.equal(both()[0], plain)


# -- a search


def chain(r: random.Random) -> Callable[[Any], Any]:
    """Steps of Pillow and torchvision, a conversion, arithmetic and looks, drawn at random."""
    w, h = r.randint(2, 70), r.randint(2, 70)
    pictures: list[Callable[[Any], Any]] = [
        lambda im: im.resize((w, h), r_filter),
        lambda im: F.resize(im, h),
        lambda im: im.crop((1, 1, max(im.size[0] // 2, 2), max(im.size[1] // 2, 2))),
        F.hflip,
        F.vflip,
        lambda im: im.rotate(angle),
        lambda im: F.adjust_brightness(im, 1.3),
        lambda im: F.adjust_saturation(im, 0.3),
        lambda im: ImageOps.equalize(im),
        lambda im: im.filter(ImageFilter.GaussianBlur(1.5)),
        lambda im: im.convert("L"),
        lambda im: im.convert("L").convert("RGB"),
        lambda im: ImageOps.expand(im, 3),
        lambda im: [F.to_tensor(im), im][1],
        lambda im: [np.asarray(im), im][1],
    ]
    r_filter, angle = r.choice([*Image.Resampling]), r.choice([0, 90, 33])
    tensors: list[Callable[[Any], Any]] = [
        lambda x: x.sub(0.5),
        lambda x: x / 0.3,
        lambda x: x.clone(),
        lambda x: x.float(),
        lambda x: x.div(255),
        lambda x: x.to(torch.float32).mul_(1 / 255),
        lambda x: x.float().sub_(0.25),
        lambda x: [x.sum(), x][1],
        lambda x: [x.clone().float().sub_(1), x][1],
        lambda x: F.normalize(x.float(), [0.5], [0.2]),
        lambda x: F.hflip(x),
        lambda x: x[:, 1:],
        lambda x: x.permute(1, 2, 0).permute(2, 0, 1),
        lambda x: F.convert_image_dtype(x, torch.float32),
    ]
    convert = r.choice([to_tensor, to_bytes, T.ToTensor(), T.PILToTensor()])
    return then(*r.choices(pictures, k=r.randint(0, 4)), convert, *r.choices(tensors, k=r.randint(0, 4)))


@pytest.mark.parametrize("block", range(3))
def test_chains_of_calls(block: int, files: list[Path]) -> None:
    waited = 0
    for seed in range(block * 150, block * 150 + 150):
        some = random.Random(seed).sample(files, 3)
        results = list[Any]()
        for opener in (gofast.open, Image.open):
            call = chain(random.Random(seed))
            made = [outcome(call, opener(path).convert("RGB")) for path in some]
            waited += sum(type(one) is LazySample for one in made)
            if seed % 3 == 0 and all(isinstance(one, torch.Tensor) for one in made):
                made = outcome(torch.stack, made)
            results.append(made)
        assert difference(*results) == "", seed
    assert waited > 100


def test_nothing_is_held_behind(files: list[Path]) -> None:
    import gc

    gc.collect()
    before = Held.waiting
    rows = [F.normalize(F.to_tensor(opened(path)), MEAN, STD) for path in files]
    assert Held.waiting > before
    rows[0].sum()
    torch.stack(rows)
    del rows
    assert Held.waiting <= before
