"""A Compose with somebody's own classes amid torchvision's, called with a lazy image."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image, ImageEnhance, ImageFilter, ImageOps
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2

import gofast
import same
from gofast._images import compose_calls, conversions, lazy_samples, recorded_parts
from gofast._images.lazy_program import LazyProgram
from gofast._images.normalizing import Normalizing
from gofast._lazy import source
from gofast._lazy.lazy_image import LazyImage
from image_data import photograph
from same import difference
from test_lazy import pillows

SEEN: list[Any] = []  # what somebody's own classes were given


class Blur:
    """As of DINO and MoCo."""

    def __call__(self, image: Image.Image) -> Image.Image:
        SEEN.append((image.mode, image.size, dict(image.info)))
        if random.random() < 0.3:
            return image
        return image.filter(ImageFilter.GaussianBlur(random.uniform(0.1, 2)))


class Torchs:
    """Draws from torch's generator, and writes into the info."""

    def __call__(self, image: Image.Image) -> Image.Image:
        factor = torch.empty(1).uniform_(0.2, 1.8).item()
        image = ImageEnhance.Contrast(image).enhance(factor)
        image.info["own"] = factor
        return ImageOps.solarize(image) if factor > 1 else image


class Looks:
    """At the pixels, and gives its picture back."""

    def __call__(self, image: Image.Image) -> Image.Image:
        SEEN.append((image.getextrema(), image.info))
        return image


class Converts:
    """As lightly's ToTensor."""

    def __call__(self, image: Image.Image) -> Any:
        return v2.Compose([v2.ToImage(), v2.ToDtype(torch.float32, scale=True)])(image)


def to_tensor(v: Any) -> list[Any]:
    return [v1.ToTensor()] if v is v1 else [v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]


def natives(v: Any, r: random.Random) -> Any:
    flipped = r.choice([v.RandomHorizontalFlip(), v.RandomVerticalFlip(0.3)])
    return r.choice(
        [
            v.RandomResizedCrop(r.choice([40, (33, 50)])),
            v.Resize(r.choice([30, (40, 50)])),
            v.CenterCrop(r.choice([24, (30, 90)])),
            v.RandomCrop(24, padding=r.choice([None, 3])),
            v.Pad(2, fill=r.choice([0, 9])),
            v.ColorJitter(0.4, 0.4, 0.2, 0.1),
            v.RandomApply([v.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.6),
            v.RandomGrayscale(0.4),
            v.Grayscale(3),
            flipped,
            v.Compose([flipped, v.RandomGrayscale(0.2)]),
            v.RandomEqualize(),
            v.RandomAutocontrast(),
            v.RandomAdjustSharpness(1.7),
            v.RandomRotation(20),
            v.RandomApply([Blur()], p=0.5),
        ]
    )


def program(v: Any, seed: int) -> Any:
    r = random.Random(seed)
    members: list[Any] = [natives(v, r) for _ in range(r.randrange(4))]
    if seed % 3 == 0:  # these are recorded at once
        filter = r.choice([*v1.InterpolationMode])
        members = [
            v.RandomResizedCrop(
                r.choice([1, 40, (33, 50)]), (r.choice([1e-4, 0.08, 1]), 1), interpolation=filter
            ),
            *r.sample(
                [
                    v.ColorJitter(0.4, 0.4, (2, 3), 0.5),
                    v.RandomApply([v.ColorJitter(hue=0.1), v.RandomApply([v.RandomVerticalFlip()])], p=0.6),
                    v.RandomGrayscale(0.4),
                    v.Compose([v.RandomHorizontalFlip(), v.ColorJitter(saturation=0.3)]),
                ],
                r.randrange(4),
            ),
        ]
    for _ in range(r.randint(1, 2)):
        members += [r.choice([Blur, Torchs, Looks])(), *(natives(v, r) for _ in range(r.randrange(3)))]
    if r.random() < 0.8:
        convert = [Converts()] if r.random() < 0.3 else to_tensor(v)
        members += [*convert, v.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4], r.random() < 0.1)][
            : r.randint(1, 3)
        ]
    return v.Compose(members)


def called(call: Any, image: Any, seed: int) -> Any:
    """What a call gives, or raises, with generators of a seed; own classes note what they see meanwhile."""
    torch.manual_seed(seed)
    random.seed(seed)
    SEEN.clear()
    return same.outcome(call, image)


def outcome(compose: Any, image: Image.Image, seed: int) -> tuple[Any, ...]:
    made = called(compose, image, seed)
    if isinstance(made, Image.Image):
        made = made.mode, made.size, made.info, made.tobytes()
    elif isinstance(made, torch.Tensor):
        values = made.numpy().tobytes()  # first: one that waits for its batch is an ordinary tensor then
        # Sides of one pixel may have any stride.
        strides = [s for s, n in zip(made.stride(), made.shape, strict=True) if n > 1]
        made = type(made), made.dtype, made.shape, strides, values
    return made, list(SEEN), torch.get_rng_state().numpy().tobytes(), random.getstate()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("composes")
    for i, name in enumerate(["a.jpg", "b.png", "c.jpg", "d.jpg"]):
        picture = photograph(i, 90 - 31 * (i == 2), 61)
        (picture.convert("L") if i == 3 else picture).save(root / name, dpi=(72, 72))
    return sorted(root.iterdir())


def search(files: list[Path], seeds: range) -> None:
    for seed in seeds:
        path, v = files[seed % len(files)], (v1, v2)[seed // 4 % 2]
        compose = program(v, seed)
        for turn in range(2):
            lazy, plain = (
                outcome(compose, opened(path).convert("RGB"), seed + turn)
                for opened in (gofast.open, pillows)
            )
            assert lazy == plain, (seed, path, compose)


def test_programs_equal_torchvisions(files: list[Path]) -> None:
    search(files, range(200))


@pytest.mark.soak
def test_many_programs_equal_torchvisions(files: list[Path]) -> None:
    search(files, range(200, 20_000))


@pytest.mark.parametrize("v", [v1, v2])
def test_few_calls_make_a_sample(files: list[Path], v: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """All of it is recorded. Before v2's ToImage, what stands before one's own class is made first."""
    calls: list[str] = []

    def counted(kind: Any, name: str) -> None:
        own: Callable[..., Any] = kind._make
        monkeypatch.setattr(kind, "_make", lambda self, *args: calls.append(name) or own(self, *args))

    compose = v.Compose(
        [
            v.RandomResizedCrop(40),
            v.RandomApply([v.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
            Blur(),
            v.RandomHorizontalFlip(),
            v.RandomRotation(20),
            *to_tensor(v),
            v.Normalize([0.5], [0.5]),
        ]
    )
    conversions._conversions.clear()  # others may have looked at a few samples at a time
    counted(compose_calls.PictureProgram, "picture")
    counted(compose_calls.LazyProgram, "tensor")
    counted(compose_calls.RecordingProgram, "recorded")
    native = source.counts.native
    for seed in range(8):  # the blur is drawn
        calls.clear()
        torch.manual_seed(seed)
        random.seed(seed)
        image = gofast.open(files[0]).convert("RGB")
        assert isinstance(image, LazyImage)
        made = compose(image)
        assert made.shape == (3, 40, 40) and made.isfinite().all()
        assert calls == ["recorded" if v is v1 else "picture", "tensor"]
        assert source.counts.native == native + (v is v1) * (
            seed + 1
        )  # tensors: no picture was made on the way


@pytest.mark.parametrize("v", [v1, v2])
def test_neighbours_behind_ones_own_class_draw_at_once(
    files: list[Path], v: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As lightly has them. What one's own class changes of them counts."""
    jitter = v.ColorJitter(0.4, 0.4, 0.2, 0.1)

    class Changes:
        def __call__(self, image: Image.Image) -> Image.Image:
            jitter.brightness = (0.1, 0.1 + random.random())
            return image.convert("L") if random.random() < 0.2 else image

    own, recorded = recorded_parts.RecordingProgram.picture, list[Any]()
    monkeypatch.setattr(
        recorded_parts.RecordingProgram,
        "picture",
        lambda self, *args: recorded.append(own(self, *args)) or recorded[-1],
    )
    for first, alone in ((Blur(), True), (Changes(), False)):
        compose = v.Compose([first, v.RandomApply([jitter], p=0.7), v.RandomGrayscale(0.3), Looks()])
        for seed in range(12):
            recorded.clear()
            lazy, plain = (
                outcome(compose, opened(files[0]).convert("RGB"), seed) for opened in (gofast.open, pillows)
            )
            assert lazy == plain
            assert len(recorded) == alone and None not in recorded

    whole = v.Compose([Looks(), v.RandomApply([jitter], p=0.0), v.RandomHorizontalFlip(0.0)])
    image = gofast.open(files[0]).convert("RGB")
    whole.transforms[0] = Blur()
    random.seed(0)
    monkeypatch.setattr(random, "random", lambda: 0.0)
    assert whole(image) is image


@pytest.mark.usefixtures("samples_wait")
def test_pictures_that_somebody_cuts_to_one_size_have_one_program(files: list[Path]) -> None:
    """It makes each in one go. Those of files, and of several sizes, wait for each other."""
    compose = v1.Compose([v1.RandomHorizontalFlip(), *to_tensor(v1), v1.Normalize([0.5] * 3, [0.25] * 3)])
    cut, other = v1.TenCrop(32), v1.CenterCrop(30)

    def crops(opened: Callable[..., Any]) -> list[Any]:
        torch.manual_seed(3)
        image = opened(files[0]).convert("RGB")
        made = [compose(image), *map(compose, cut(image))]
        waiting = [lazy_samples._waiting(one) for one in made[1:]]
        return [{type(one.program) for one in waiting if one is not None}, torch.stack(made[1:]), made]

    for only in ({LazyProgram}, {conversions.TensorConversion}):
        (programs, *ours), (_, *theirs) = crops(gofast.open), crops(pillows)
        assert programs == only and not difference(ours, theirs)
        for opened in (gofast.open, pillows):
            torch.manual_seed(3)
            compose(other(opened(files[0]).convert("RGB")))


def test_normalize_behind_ones_own_conversion(files: list[Path]) -> None:
    for v, kind in ((v2, tv_tensors.Image), (v2, torch.Tensor), (v1, torch.Tensor)):
        normalize = v.Normalize([0.5, 0.4, 0.3], [0.2, 0.3, 0.4])
        ours = Normalizing(normalize)
        for size in ((1, 1), (40, 1), (1, 33), (3, 2), (61, 90)):
            x = Converts()(pillows(files[0]).convert("RGB").resize(size)).as_subclass(kind)
            by_rows, made, theirs = ours._by_rows(x), ours(x), normalize(x)
            assert (by_rows is None) is (1 in size)
            assert not difference(made, theirs) and (made._base is None) is (theirs._base is None)
            for other in (x.contiguous(), x.double(), x[:, 1:], x.clone().requires_grad_()):
                assert torch.equal(ours(other), normalize(other))
        normalize.mean[0] = 0.7
        assert torch.equal(ours(x), normalize(x))


def test_where_sizes_differ_it_is_recorded(files: list[Path]) -> None:
    """A flip of all of a picture is not made before somebody's own crop of it."""
    made: list[Any] = []

    class Crop:
        def __call__(self, image: Image.Image) -> Image.Image:
            made.append(image._im)
            return image.crop((1, 2, 30, 40))

    compose = v1.Compose([v1.RandomHorizontalFlip(1.0), Crop(), v1.ToTensor()])
    native = source.counts.native
    lazy, plain = (compose(opened(files[0]).convert("RGB")) for opened in (gofast.open, pillows))
    assert made[0] is None and torch.equal(lazy, plain) and source.counts.native == native + 1  # the tensor


@pytest.mark.parametrize("v", [v1, v2])
def test_a_compose_that_equals_others_is_torchvisions(files: list[Path], v: Any) -> None:
    class Equal(v.Compose):  # type: ignore[misc]
        def __eq__(self, other: object) -> bool:
            return True

    class Hashed(Equal):
        def __hash__(self) -> int:
            return 1

    for kind in (Equal, Hashed):
        for size in (9, 12):
            compose = kind([v.CenterCrop(size), *to_tensor(v)])
            ours, theirs = (compose(open(files[0]).convert("RGB")) for open in (gofast.open, pillows))
            assert not difference(ours, theirs)
