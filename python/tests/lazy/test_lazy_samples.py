"""Samples that are made with their batch, beside those that torchvision makes at once."""

from __future__ import annotations

import copy
import gc
import io
import pickle
import random
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset, default_collate
from torch.utils.dlpack import from_dlpack
from torchvision import transforms as T
from torchvision.transforms import functional as F
from torchvision.transforms import v2

import fresh
import gofast
from forked import answer_of_child
from gofast._core import codecs, engine
from gofast._core.processor_time import Spent
from gofast._images import lazy_program
from gofast._images.held_pictures import Held
from gofast._images.lazy_samples import LazySample
from gofast._images.sure_steps import never_fail
from gofast._lazy import source
from in_threads import in_threads
from same import difference

pytestmark = [
    pytest.mark.usefixtures("samples_wait"),
    pytest.mark.filterwarnings("ignore:To copy construct"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested"),
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable"),
]

N = 24  # baseline pictures; those behind them are progressive, and made at once
TRAIN = T.Compose(
    [T.RandomResizedCrop(20), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5] * 3, [0.2] * 3)]
)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder, random_ = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for i in range(N + 2):
        pixels = random_.integers(0, 256, (90 + i, 120, 3), np.uint8)
        Image.fromarray(pixels).save(folder / f"{i:02}.jpg", quality=70, progressive=i >= N)
    return sorted(folder.iterdir())


def opened(path: Path, ours: bool = True) -> Any:
    return (gofast.open if ours else Image.open)(path).convert("RGB")


def sample(path: Path, seed: int = 0, transform: Any = TRAIN) -> LazySample:
    gofast.open(path)  # Compose looks from now on
    torch.manual_seed(seed)
    made = transform(opened(path))
    assert type(made) is LazySample, "it was made at once"
    return made


def expected(path: Path, seed: int = 0, transform: Any = TRAIN) -> torch.Tensor:
    torch.manual_seed(seed)
    made: torch.Tensor = transform(opened(path, ours=False))
    return made


def in_place(x: Any) -> Any:
    x[0] = 1
    x.mul_(2)
    return x


def with_out(x: Any) -> Any:
    out = torch.empty_like(x)
    torch.add(x, 1, out=out)
    return out


def saved(x: Any) -> Any:
    file = io.BytesIO()
    torch.save({"x": x}, file)
    file.seek(0)
    return torch.load(file)["x"]


def test_what_is_alive_at_the_end_says_nothing(files: list[Path]) -> None:
    """As a list of a script's, which Python takes apart last."""
    code = f"import sys, torch, gofast; sys.kept = [gofast.open({str(files[0])!r}) for _ in range(3)]"
    assert fresh.run(["-c", code], check=True).stderr == ""


LOOKS: dict[str, Callable[[Any], Any]] = {
    "add": lambda x: x + 1,
    "radd": lambda x: 2 - x,
    "index": lambda x: x[1, 3:5],
    "item": lambda x: x[0, 0, 0].item(),
    "tolist": lambda x: x.tolist(),
    "iterate": lambda x: [*x][1],
    "unpack": lambda x: (lambda a, b, c: a + b + c)(*x),
    "numpy": lambda x: x.numpy().copy(),
    "asarray": lambda x: np.asarray(x).copy(),
    "np.stack": lambda x: np.stack([x, x]),
    "clone": lambda x: x.clone(),
    "detach": lambda x: x.detach(),
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
    "pickle": lambda x: pickle.loads(pickle.dumps(x)),
    "save": saved,
    "repr": repr,
    "format": lambda x: f"{x}",
    "bool": lambda x: bool((x > 0).any()),
    "view": lambda x: x.view(-1),
    "reshape": lambda x: x.reshape(3, -1),
    "permute": lambda x: x.permute(1, 2, 0),
    "unsqueeze": lambda x: x.unsqueeze(0),
    "data": lambda x: x.data,
    "T": lambda x: x.mT,
    "double": lambda x: x.double(),
    "to": lambda x: x.to(torch.float16),
    "cpu": lambda x: x.cpu(),
    "contiguous": lambda x: x.contiguous(),
    "in place": in_place,
    "out": with_out,
    "as out": lambda x: torch.ones(3, 20, 20, out=x),
    "requires_grad": lambda x: (x.requires_grad_() * 2).sum().backward() or x.grad,
    "cat": lambda x: torch.cat([x, x]),
    "cat in a tuple": lambda x: torch.cat((x, torch.ones_like(x))),
    "stack with others": lambda x: torch.stack([x, torch.ones(3, 20, 20)]),
    "stack along 1": lambda x: torch.stack([x, x], 1),
    "stack alone": lambda x: torch.stack([x]),
    "stack twice": lambda x: torch.stack([x, x]),
    "stack of doubles": lambda x: torch.stack([x.double(), x.double()]),
    "vstack": lambda x: torch.vstack([x, x]),
    "pad_sequence": lambda x: pad_sequence([x, x[:2]]),
    "collate": lambda x: default_collate([(x, 1), (x, 2)]),
    "tensor": lambda x: torch.tensor(x),
    "as_tensor": lambda x: torch.as_tensor(x) + 0,
    "new_tensor": lambda x: x.new_tensor(x),
    "nested": lambda x: torch.nested.nested_tensor([x, x]).to_padded_tensor(0),
    "dlpack": lambda x: from_dlpack(x),
    "numpy's dlpack": lambda x: np.from_dlpack(x).copy(),
    "storage": lambda x: x.untyped_storage().tolist(),
    "data_ptr": lambda x: x.data_ptr() % 4,
    "module": lambda x: torch.nn.Conv2d(3, 1, 3).requires_grad_(False)(x) * 0 + 1,
    "einsum": lambda x: torch.einsum("chw,chw->c", x, x),
    "where": lambda x: torch.where(x > 0, x, 0.0),
    "max": lambda x: x.max(0),
    "normalize": lambda x: F.normalize(x, [0.1] * 3, [0.3] * 3),
    "crop": lambda x: F.crop(x, 2, 3, 5, 6),
    "erase": lambda x: F.erase(x, 1, 1, 3, 3, torch.zeros(3, 1, 1)),
    "to_pil": lambda x: np.asarray(F.to_pil_image(x.clamp(0, 1))),
    "equal": lambda x: torch.equal(x, x),
    "allclose": lambda x: torch.allclose(x, x + 1),
    "share": lambda x: x.share_memory_(),
    "data set": lambda x: setattr(x, "data", torch.arange(4.0)) or x,
    "pin": lambda x: x.is_pinned(),
    "hash": lambda x: hash(x) == id(x),
    "vmap": lambda x: torch.vmap(lambda row: row.sum())(x),
    "shape": lambda x: (x.shape, x.size(), x.size(1), x.dim(), x.ndim, len(x), x.numel(), x.nbytes),
    "kind": lambda x: (x.dtype, x.device, x.layout, x.is_floating_point(), x.stride(), x.is_contiguous()),
    "flags": lambda x: (
        x.requires_grad,
        x.is_leaf,
        x.grad,
        x.grad_fn,
        x.is_neg(),
        x.is_conj(),
        x.storage_offset(),
    ),
    "isinstance": lambda x: (isinstance(x, torch.Tensor), torch.is_tensor(x)),
    "type": lambda x: (x + 0, type(x), x.type())[1:],
}


@pytest.mark.parametrize("look", LOOKS)
def test_whoever_looks_sees_what_torchvision_makes(look: str, files: list[Path]) -> None:
    """And finds the same tensor behind the look."""
    do = LOOKS[look]
    mine, theirs = sample(files[0]), expected(files[0])
    assert difference(do(mine), do(theirs)) == ""
    assert difference(mine + 0, theirs + 0) == ""
    assert type(mine) is torch.Tensor or look in ("tensor", "nested")


def test_a_look_from_within_torch_is_kept(files: list[Path]) -> None:
    """What reaches a sample past Python cannot swap it; the next look from Python does."""
    mine = sample(files[0])
    first = torch.tensor(mine)
    assert mine.shape == (3, 20, 20) and torch.equal(mine, first)
    assert type(mine) is torch.Tensor


def test_a_weak_reference_holds(files: list[Path]) -> None:
    """A tensor that something refers to weakly cannot be swapped. It has one value all the same."""
    import weakref

    mine = sample(files[0])
    reference = weakref.ref(mine)
    mine.zero_()
    assert float(mine.sum()) == 0 and reference() is mine
    assert float((mine + 1).sum()) == 1200


def test_attributes_stay(files: list[Path]) -> None:
    mine = sample(files[0])
    mine.path = "a.jpg"  # type: ignore[attr-defined]
    mine += 1
    assert mine.path == "a.jpg" and type(mine) is torch.Tensor  # type: ignore[attr-defined]


class Own(Dataset[Any]):
    def __init__(self, files: list[Path], ours: bool, transform: Any = TRAIN, look: Any = None) -> None:
        self.files, self.ours, self.transform, self.look = files, ours, transform, look

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        made = self.transform(opened(self.files[index], self.ours))
        if self.look is not None and index % 3 == 0:
            made = self.look(made)
        return {"image": made, "views": [made, index], "noise": torch.rand(2)}


@pytest.mark.parametrize("kind", [DataLoader, gofast.DataLoader])
@pytest.mark.parametrize("look", [None, "add", "in place", "numpy"])
@pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
def test_epochs_are_torchs(kind: Any, look: str | None, files: list[Path]) -> None:
    """Values, and what everybody draws in between; also where some samples of a batch were looked at."""
    do = None if look is None else lambda x: (LOOKS[look](x), x)[1]
    epochs = list[Any]()
    for ours, loader_of in ((False, DataLoader), (True, kind)):
        torch.manual_seed(3)
        loader = loader_of(Own(files, ours, look=do), 5, shuffle=True)
        epochs.append([[*loader] for _ in range(2)])
    assert difference(epochs[1], epochs[0]) == ""


def test_a_batch_is_made_together(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [sample(path, i) for i, path in enumerate(files[:6])]
    program = rows[0]._pending.program
    begun = sum(one._pending.making is not None for one in rows)
    before = program.alone, program.together
    batch = torch.stack(rows)
    assert (program.alone, program.together) == (before[0], before[1] + 6 - begun)
    assert type(batch) is torch.Tensor and batch.is_contiguous()
    assert difference(batch, torch.stack([expected(path, i) for i, path in enumerate(files[:6])])) == ""
    assert difference(rows[2] + 0, batch[2] + 0) == "", "one that is kept is what it was"
    rows[3].zero_()
    assert float(batch[3].abs().sum()) > 0


def two_views(files: list[Path], ours: bool) -> list[list[Any]]:
    views: list[list[Any]] = [[], []]
    for i, path in enumerate(files):
        torch.manual_seed(i)
        image = opened(path, ours)
        for view in views:
            view.append(TRAIN(image))
    return views


def test_views_of_a_picture_wait_for_one_decoding(files: list[Path]) -> None:
    gofast.open(files[0])
    gc.collect()
    before, some = Held.waiting, files[:6]
    sizes = [opened(path, ours=False).size for path in some]
    views = two_views(some, ours=True)
    later = [row._pending for row in views[1]]
    assert Held.waiting - before == sum(4 * width * height for width, height in sizes), "counted once"
    assert {one.value for one in later} == {None}
    theirs = [torch.stack(view) for view in two_views(some, ours=False)]
    assert difference(torch.stack(views[0]), theirs[0]) == ""
    assert [one.picture[1:3] for one in later] == sizes
    assert difference(views[1][0] + 0, theirs[1][0] + 0) == ""
    assert difference(torch.stack(views[1]), theirs[1]) == ""
    del views, later
    gc.collect()
    assert Held.waiting == before


def test_rows_of_what_is_no_picture(files: list[Path]) -> None:
    codecs.load()
    data = files[0].read_bytes()

    def make(*given: Any) -> list[bytes] | int | None:
        work, rows = codecs.capsule().begin_rows(*given)
        return codecs.capsule().end_samples(work, 0) or rows

    width, height = opened(files[0], ours=False).size
    for size in ((0, 5), (1 << 15, 1 << 15), (-1, 5)):
        with pytest.raises(ValueError, match=r"size|picture"):
            make([(data, 0, 0, b"", *size)], 0, 1 << 30, 0, 0)
    with pytest.raises(TypeError):
        make([data], 0, 1 << 30, 0, 0)
    with pytest.raises(ValueError, match="order"):
        make([], 9, 1 << 30, 0, 0)
    good: Any = (data, 0, 0, b"", width, height)
    for bad in ((b"no picture", 0, 0, b"", 5, 5), (data, 0, 0, b"", width + 1, height)):
        for crew in ((0, 0), (engine.crew(), 2)):
            assert isinstance(make([good, bad, good], 0, 1 << 30, *crew), int)
    assert isinstance(make([good], 0, width * height - 1, 0, 0), int)
    whole = np.asarray(opened(files[0], ours=False))
    for crew in ((0, 0), (engine.crew(), 2)):
        for rows in make([good, good], 0, 1 << 30, *crew):  # type: ignore[union-attr]
            pixels = np.frombuffer(rows, np.uint8)[: 4 * width * height].reshape(height, width, 4)
            assert (pixels[..., :3] == whole).all()


def test_samples_that_a_dataset_keeps_are_made_twice_at_most(files: list[Path]) -> None:
    rows = [sample(path, i) for i, path in enumerate(files[:5])]
    program, waiting = rows[0]._pending.program, Held.waiting
    made, batches = [program.together], list[torch.Tensor]()
    for _ in range(4):
        batches.append(torch.stack(rows))
        made.append(program.together)
    first, second, *others = np.diff(made).tolist()  # some may have been begun before the first
    assert first <= 5 and second <= 5 and others == [0, 0] and Held.waiting < waiting
    assert all(torch.equal(batch, batches[0]) for batch in batches)
    assert difference(rows, [expected(path, i) for i, path in enumerate(files[:5])]) == ""
    assert torch.equal(torch.stack([rows[0], rows[0]])[1], batches[0][0])


def test_the_file_may_go(files: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(files[0].read_bytes())
    mine = sample(path)
    path.write_bytes(files[1].read_bytes())
    path.unlink()
    assert torch.equal(mine, expected(files[0]))


def test_an_error_comes_where_torchvision_raises_it(files: list[Path], tmp_path: Path) -> None:
    path = tmp_path / "cut.jpg"
    path.write_bytes(files[0].read_bytes()[:-200])
    gofast.open(files[0])
    torch.manual_seed(0)
    with pytest.raises(OSError, match="truncated"):
        TRAIN(gofast.open(path).convert("RGB"))


def test_what_waits_is_bounded(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    first = sample(files[0])
    monkeypatch.setattr(lazy_program, "MOST_BYTES", Held.waiting)
    torch.manual_seed(0)
    assert type(TRAIN(opened(files[0]))) is torch.Tensor
    assert first is not None


def test_nothing_waits_any_more(files: list[Path]) -> None:
    before = Held.waiting
    rows = [sample(path) for path in files[:N]]
    assert Held.waiting > before
    rows[0].sum()
    torch.stack(rows[:5])
    del rows
    assert Held.waiting == before


def test_samples_that_are_looked_at_alone_are_made_at_once(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lazy_program, "_PATIENCE", 4)
    transform = T.Compose([T.Resize((12, 12)), T.ToTensor()])
    kinds = []
    for _ in range(8):
        made = transform(opened(files[0]))
        kinds.append(type(made))
        made.sum()
    assert kinds == [LazySample] * 5 + [torch.Tensor] * 3


def test_threads_look_at_once(files: list[Path]) -> None:
    for seed in range(20):
        mine, seen = sample(files[seed], seed), list[torch.Tensor]()
        together = threading.Barrier(4)

        def look(row: int, mine: Any = mine, seen: Any = seen, together: Any = together) -> None:
            together.wait()
            mine[:, row].add_(1)  # its own: torch's threads lose numbers that others add to the same place
            seen.append(mine)

        in_threads(*[partial(look, row) for row in range(4)])
        assert all(one is mine for one in seen)
        theirs = expected(files[seed], seed)
        theirs[:, :4] += 1
        assert torch.equal(mine, theirs)


def test_a_forked_child_looks(files: list[Path]) -> None:
    rows = [sample(path, i) for i, path in enumerate(files[:4])]
    said = answer_of_child(lambda: [torch.stack(rows).sum().item(), rows[1].sum().item()])
    assert said == [torch.stack(rows).sum().item(), rows[1].sum().item()]


def programs(seed: int) -> Iterator[str]:
    """A few looks, one after another."""
    usable = [
        name for name in LOOKS if name not in ("requires_grad", "data set", "share", "data_ptr", "storage")
    ]
    yield from random.Random(seed).choices(usable, k=random.Random(seed).randint(1, 5))


@pytest.mark.daily(2)
@pytest.mark.parametrize("block", range(4))
@pytest.mark.usefixtures("begun_at_once")
def test_looks_in_any_order(block: int, files: list[Path]) -> None:
    for seed in range(block * 300, block * 300 + 300):
        path = files[seed % N]
        rows = [sample(path, seed), sample(files[0], seed + 1)]
        theirs = [expected(path, seed), expected(files[0], seed + 1)]
        for name in programs(seed):
            which, both = seed % 2, [LOOKS[name](one[seed % 2]) for one in (rows, theirs)]
            assert difference(*both) == "", (seed, name, which)
            if len(name) % 3 == 0:
                assert difference(torch.stack(rows), torch.stack(theirs)) == "", (seed, name)
        assert difference([one + 0 for one in rows], [one + 0 for one in theirs]) == ""


def sure(r: random.Random) -> T.Compose:
    """Steps whose samples wait, in any order."""
    side = r.randint(1, 90)
    sizes = [
        T.RandomResizedCrop(side),
        T.Resize((side, r.randint(1, 90)), r.choice([*T.InterpolationMode][:4])),
    ]
    crops = [*sizes, T.Compose([T.Resize(side, max_size=None), T.CenterCrop(r.randint(1, 120))])]
    jitter = T.ColorJitter(0.8, 0.8, 0.8, 0.4)
    steps = [
        T.RandomHorizontalFlip(),
        T.RandomVerticalFlip(),
        T.RandomGrayscale(),
        jitter,
        T.RandomSolarize(100),
    ]
    steps += [T.RandomApply([jitter, T.RandomHorizontalFlip()], 0.6)]
    way = r.choice([T.InterpolationMode.NEAREST, T.InterpolationMode.BILINEAR])
    steps += [
        T.RandomRotation(r.choice([10, 180, (90, 90)]), way),
        T.RandomAffine(90, (0.9, 0.9), (0.1, 4), (-89, 89, -89, 89), way),
        T.TrivialAugmentWide(interpolation=way),
        T.RandAugment(interpolation=way),
        T.AutoAugment(interpolation=way),
        T.AugMix(interpolation=way),
        T.RandomApply([T.RandomPosterize(2), T.RandomAutocontrast(), T.RandomEqualize()]),
        T.RandomAdjustSharpness(3),
        T.GaussianBlur(r.choice([3, 2 * side - 1, 2 * side + 1]), (0.01, 3)),
        T.RandomCrop(r.randint(1, 90), r.choice([None, 4, (0, 60)]), r.random() < 0.3),
        T.RandomPerspective(r.choice([0.1, 0.5]), 0.7, way),
        T.RandomChoice([T.RandomHorizontalFlip(1), T.RandomPerspective(), T.CenterCrop(side)]),
        T.RandomOrder([T.RandomHorizontalFlip(1), T.RandomRotation(20, way), jitter]),
        T.Pad(r.choice([1, (0, 70), (3, 1, 4, 1)]), 7, r.choice(["constant", "edge", "reflect"])),
    ]
    some = [r.choice(crops), *r.sample(steps, r.randint(0, 3))]
    r.shuffle(some)
    last = [T.Normalize([0.4] * 3, [0.3] * 3), T.RandomErasing(0.7)][: r.randint(0, 2)]
    return T.Compose([*some, T.ToTensor(), *last])


def sure_of_tensors(r: random.Random) -> Any:
    """The same where a tensor comes first: torch lays out some of its crops in another order."""
    way = r.choice([v2.InterpolationMode.NEAREST, v2.InterpolationMode.BILINEAR])
    steps = [
        v2.RandomHorizontalFlip(),
        v2.RandomVerticalFlip(),
        v2.ColorJitter(0.8, 0.8, 0.8, 0.4),
        v2.TrivialAugmentWide(interpolation=way),
        v2.RandAugment(interpolation=way),
        v2.AutoAugment(interpolation=way),
    ]
    side = r.randint(2, 300)
    crop = v2.RandomResizedCrop(side, (1e-3, 1), r.choice([(3 / 4, 4 / 3), (0.1, 10)]))
    last = [v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.4] * 3, [0.3] * 3), v2.RandomErasing(0.7)]
    return v2.Compose([v2.PILToTensor(), crop, *r.sample(steps, r.randint(0, 2)), *last[: r.randint(1, 3)]])


@pytest.mark.parametrize("block", range(2))
def test_what_waits_can_be_made(block: int, tmp_path: Path) -> None:
    """Pictures from 8 pixels on, thin ones, and bodies of noise and of one colour."""
    waited = 0
    for seed in range(block * 80, block * 80 + 80):
        r = random.Random(seed)
        small = r.choice([8, 9, 17, 40])
        size = r.choice(
            [(small, small), (small, small * r.randint(1, 16)), (small * r.randint(1, 20), small)]
        )
        colours = np.random.default_rng(seed).integers(0, 256, (*size, 3), np.uint8)
        path = tmp_path / f"{seed}.jpg"
        Image.fromarray(colours if seed % 3 else np.full_like(colours, seed % 256)).save(path)
        compose = (sure, sure_of_tensors)[seed % 4 == 0](r)
        results = list[Any]()
        for ours in (True, False):
            rows = list[Any]()
            for draw in range(4):
                torch.manual_seed(draw)
                random.seed(draw)
                try:
                    rows.append(compose(opened(path, ours)))
                except (ValueError, RuntimeError) as error:
                    rows.append((type(error), str(error)))
                rows.append(torch.rand(1))
            waited += sum(type(row) is LazySample for row in rows)
            tensors = [row for row in rows[::2] if isinstance(row, torch.Tensor)]
            alike = len(tensors) == 4 and len({row.shape for row in tensors}) == 1
            results.append((torch.stack(tensors) if alike else rows, rows[1::2]))
        assert difference(*results) == "", (seed, size, compose)
    assert waited > 150


def test_their_time_is_counted_once(files: list[Path]) -> None:
    """Each thread measures a batch from its begin to its end, and the samples are within."""
    sample(files[0]).sum()
    before = gofast.engine_stats()
    torch.stack([sample(path) for path in files[:N]])
    after = gofast.engine_stats()
    assert 0 < after["busy_seconds"] - before["busy_seconds"] < 60
    assert all(0 <= seconds < 60 for seconds in after["stages"].values()), after["stages"]


def test_the_processor_time_of_threads_is_the_samples(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    sample(files[0]).sum()
    monkeypatch.setattr(Spent, "wanted", True)
    for name in ("pictures", "samples", "pictures_of_samples"):
        monkeypatch.setattr(Spent, name, 0)
    began = time.thread_time_ns()
    with Spent.batch():
        torch.stack([sample(path) for path in files[:N]])
    here = time.thread_time_ns() - began
    assert Spent.samples > here, "theirs is not counted"
    assert Spent.pictures < Spent.pictures_of_samples < Spent.samples


def test_pictures_that_a_dataset_keeps_are_decoded_once(
    files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures, theirs = ([opened(path, ours) for path in files[:6]] for ours in (True, False))
    rows, begin = list[int](), codecs.capsule().begin_rows

    class Counted:
        def __getattr__(self, name: str) -> Any:
            return getattr(capsule, name)

        def begin_rows(self, each: list[Any], *more: Any) -> Any:
            rows.append(len(each))
            return begin(each, *more)

    capsule = codecs.capsule()
    monkeypatch.setattr(codecs, "capsule", Counted)
    monkeypatch.setattr(source.counts, "again", 0)
    for epoch in range(4):
        made = []
        for images in (pictures, theirs):
            torch.manual_seed(epoch)
            made.append(torch.stack([TRAIN(image) for image in images]))
        assert difference(*made) == ""
    assert sum(rows) == len(pictures), "as a whole, the second time"


@pytest.mark.parametrize(
    ("size", "transforms"),
    [
        ((8, 128), [T.Resize(1024), T.CenterCrop(8)]),
        ((8, 8), [T.Resize((100, 3000)), T.CenterCrop((10, 3000)), T.Resize(40), T.CenterCrop(8)]),
        ((8, 8), [T.RandomApply([T.Resize(1025)], p=1), T.CenterCrop(8)]),
        ((90, 80), [T.Resize(1024), T.RandomCrop(20, padding=2048)]),
        ((90, 80), [T.Resize(8), T.GaussianBlur(15, 0.5), T.Resize((8, 9))]),
    ],
    ids=str,
)
def test_what_waits_can_be_made_at_the_bounds(size: Any, transforms: list[Any], tmp_path: Path) -> None:
    Image.effect_mandelbrot(size, (-2, -1, 1, 1), 50).convert("RGB").save(tmp_path / "a.jpg")
    compose, made = T.Compose([*transforms, T.ToTensor()]), []
    for ours in (True, False):
        torch.manual_seed(0)
        try:
            made.append(torch.stack([compose(opened(tmp_path / "a.jpg", ours)) for _ in range(2)]))
        except Exception as error:
            made.append((type(error), str(error)))
    assert difference(*made) == ""


def test_which_steps_never_fail() -> None:
    resize = {"op": "resize", "max_size": None, "filter": "bilinear"}
    blur = {"op": "gaussian_blur", "kernel": [15, 15], "sigma": [0.1, 2.0]}
    fixed = {**resize, "size": [8, 9]}
    for steps, sure in [
        ([{**resize, "size": [1024]}], True),
        ([{**resize, "size": [1025]}], False),
        ([fixed, {**resize, "size": [1025]}], True),
        ([fixed, {**resize, "size": [8000]}], False),  # 9000 the other way
        ([fixed, {**resize, "size": [20], "max_size": 21}], False),
        ([{**resize, "size": [], "max_size": 9}], False),
        ([fixed, blur], True),
        ([{**resize, "size": [7, 9]}, blur], False),  # wider than the picture
        ([fixed, {**blur, "sigma": [0.001, 2.0]}], False),
        ([{"op": "random_crop", "size": [9, 9], "padding": [2048] * 4}], True),
        ([{"op": "random_crop", "size": [9, 9], "padding": [2049] * 4}], False),
        ([{"op": "random_apply", "steps": [fixed]}, blur], False),  # of one size or of another
        ([{"op": "random_perspective", "distortion": 0.5}], True),
        ([{"op": "random_perspective", "distortion": 0.6}], False),
        ([{"op": "random_choice", "members": [[fixed], [{"op": "hflip"}]]}], True),
        ([{"op": "random_choice", "members": [[fixed], []]}, blur], False),  # of one size or of another
        ([{"op": "random_choice", "members": [[fixed], [fixed]]}, {**blur, "kernel": [3, 3]}], True),
        ([{"op": "random_choice", "members": [[{"op": "random_jpeg"}], []]}], False),
        ([fixed, {"op": "random_order", "members": [[{"op": "vflip"}], [fixed]]}], True),
        ([{"op": "random_order", "members": [[{"op": "vflip"}], [fixed]]}], False),
        ([fixed, {"op": "pad", "padding": [9, 0, 2048, 3]}, blur], True),
        ([fixed, {"op": "pad", "padding": [9, 0, 2049, 3]}], False),
        ([{"op": "pad", "padding": [1, 1, 1, 1]}], False),  # perhaps of a narrow picture
        ([{**resize, "size": [8000, 9]}, {"op": "pad", "padding": [0, 200, 0, 0]}], False),
    ]:
        assert never_fail(steps, 3) is sure, steps
