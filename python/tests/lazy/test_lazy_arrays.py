"""Image.fromarray under gofast.install: pictures of arrays, which a Compose makes in one call."""

from __future__ import annotations

import copy
import io
import pickle
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw, ImageFilter
from torch.utils.data import DataLoader as TorchDataLoader
from torch.utils.data import Dataset
from torchvision import transforms as v1
from torchvision.transforms import functional, v2

import fresh
import gofast
from gofast._core import reason
from gofast._images import compose_calls
from gofast._lazy import array_images, open_lazy
from gofast._lazy.array_images import LazyArrayImage
from picture_chains import chain as torchvisions_chain
from picture_chains import moves_tensors
from same import difference
from test_lazy import chain
from test_lazy_composes import SEEN, Blur, called, program

OWN = Image.fromarray
TENSOR = v1.Compose(
    [v1.RandomCrop(32, padding=4), v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize([0.5], [0.2])]
)


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(array_images, "_sites", {})
    monkeypatch.setattr(array_images, "_MOST_MISSES", 1 << 30)
    with gofast.install():
        yield
    assert Image.fromarray is OWN


def values(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8)


def layouts(array: Any) -> list[Any]:
    """The same values, some other way in memory."""
    height, width, _ = array.shape
    wide = np.zeros((2 * height, width + 3, 5), np.uint8)
    wide[::2, 1:-2, 1:4] = array
    fixed = array.copy()
    fixed.flags.writeable = False
    return [
        array,
        np.asfortranarray(array),
        wide[::2, 1:-2, 1:4],
        array[::-1, ::-1].copy()[::-1, ::-1],
        array[..., ::-1].copy()[..., ::-1],
        array.transpose(2, 0, 1).copy().transpose(1, 2, 0),
        fixed,
    ]


def outcome(call: Any, image: Any, seed: int) -> list[Any]:
    """What a call gives, what own classes see meanwhile, and the generators behind it."""
    return [called(call, image, seed), *SEEN, torch.get_rng_state(), random.getstate()]


def same_calls(array: Any, call: Any, seed: int) -> None:
    """By a lazy image, and by Pillow's."""
    lazy, plain = (outcome(call, make(array), seed) for make in (Image.fromarray, OWN))
    if isinstance(lazy[0], Image.Image):  # a recorded one
        lazy[0], plain[0] = ((im.mode, im.size, im.info, im.tobytes()) for im in (lazy[0], plain[0]))
    strides = not isinstance(call, torch.nn.Module | v1.Compose) or not moves_tensors(call)
    assert difference(lazy, plain, strides) == "", (seed, array.shape, call)


@pytest.mark.daily(20)
@pytest.mark.parametrize("seed", range(60))
def test_programs(seed: int) -> None:
    """A Compose with own classes in it, one of torchvision's alone, and Pillow's own calls."""
    r = random.Random(seed)
    size = r.choice([(32, 32), (1, 1), (224, 180), (r.randint(1, 90), r.randint(1, 90))])
    array = r.choice(layouts(values(*size, 3, seed=seed)))
    for call in (
        program(r.choice((v1, v2)), seed),
        torchvisions_chain(r),
        lambda image: chain(image, random.Random(seed)),
    ):
        for turn in range(2):
            same_calls(array, call, seed + turn)


def test_a_compose_is_one_call_and_else_pillow_is_asked() -> None:
    array, native = values(32, 32, 3), compose_calls.counts["native"]
    image = Image.fromarray(array)
    assert type(image) is LazyArrayImage and image.__class__ is Image.Image
    TENSOR(image)
    assert compose_calls.counts["native"] == native + 1 and image.untouched() is not None
    assert type(image.crop((1, 1, 9, 9))) is Image.Image and image.untouched() is None
    TENSOR(image)
    assert compose_calls.counts["native"] == native + 1
    assert type(Image.fromarray(array, "RGB")) in (LazyArrayImage, Image.Image)  # Pillow 11.3 warns
    assert "_" not in Image.fromarray(array).info and Image.fromarray(array).readonly == OWN(array).readonly


def test_it_is_a_copy() -> None:
    for array in layouts(values(16, 20, 3))[:-1]:
        before, image = array.copy(), Image.fromarray(array)
        array[:] = 7
        assert np.array_equal(np.asarray(image), before)
        assert torch.equal(TENSOR.transforms[2](image), functional.to_tensor(OWN(before)))
        image = Image.fromarray(array)
        image.paste((1, 2, 3), (0, 0, 4, 4))
        image.putpixel((9, 9), (4, 5, 6))
        assert (array == 7).all() and image.getpixel((9, 9)) == (4, 5, 6)
    grey = values(8, 9)
    shared, theirs = Image.fromarray(grey), OWN(grey)
    grey[:] = 200
    assert shared.tobytes() == theirs.tobytes() and shared.tobytes()[:1] == b"\xc8"
    grey[:] = 3  # it was made by now
    assert shared.getpixel((2, 2)) == theirs.getpixel((2, 2)) == 3
    for image in (shared, theirs):
        image.putpixel((2, 2), 9)
    grey[:] = 4
    assert shared.tobytes() == theirs.tobytes() and grey[2, 2] == 4
    unseen, small = (
        Image.fromarray(grey),
        v1.Compose([v1.CenterCrop(4), v1.ToTensor()]),
    )
    first = small(unseen)
    grey[:] = 5
    assert type(unseen) is LazyArrayImage and (first * 255 == 4).all() and (small(unseen) * 255 == 5).all()


class Own(np.ndarray):  # type: ignore[type-arg]
    """Has something to say when it is copied."""

    def tobytes(self, *args: Any) -> bytes:
        return bytes(self.nbytes)


class Interface:
    def __init__(self, array: Any) -> None:
        self.__array_interface__ = array.__array_interface__
        self.tobytes = array.tobytes


@pytest.mark.parametrize(
    "given",
    [
        values(5, 6),
        values(5),
        values(2, 5, 6, 3),
        *(values(5, 6, channels) for channels in (1, 2, 4, 5)),
        *(values(5, 6, 3).astype(kind) for kind in (bool, np.int8, np.uint16, np.float32, np.int64)),
        *(values(*shape) for shape in ((0, 6, 3), (5, 0, 3), (5, 6, 0), (0, 0))),
        values(5, 6, 3).view(Own)[:, ::-1],
        Interface(values(5, 6, 3)),
        torch.zeros(5, 6, 3, dtype=torch.uint8),
        [[[1, 2, 3]]],
        b"abc",
        None,
    ],
    ids=lambda given: f"{type(given).__name__} {getattr(given, 'dtype', '')} {getattr(given, 'shape', '')}",
)
@pytest.mark.parametrize(
    "mode", [None, "RGB", "L", "P", "HSV", "RGBA", "none", "", 3, b"RGB", ["RGB"]], ids=repr
)
def test_all_else_is_pillows(given: Any, mode: Any) -> None:
    def made(function: Any) -> Any:
        try:
            image = function(given) if mode is None else function(given, mode)
            return image.mode, image.size, image.tobytes(), image.readonly
        except Exception as error:
            return type(error), str(error)

    assert made(Image.fromarray) == made(OWN)
    if mode not in (None, "RGB"):
        coloured = values(5, 6, 3)
        given = coloured
        assert made(Image.fromarray) == made(OWN)


def test_signature() -> None:
    with pytest.raises(TypeError, match=r"^fromarray\(\) missing 1 required positional argument: 'obj'$"):
        Image.fromarray()  # type: ignore[call-arg]
    assert Image.fromarray(obj=values(3, 4, 3), mode=None).size == (4, 3)


OTHERS = """
import PIL.Image
own, seen = PIL.Image.fromarray, []
PIL.Image.fromarray = lambda obj, mode=None: seen.append(1) or own(obj, mode)
import gofast, numpy
with gofast.install():
    image = PIL.Image.fromarray(numpy.zeros((3, 4, 3), numpy.uint8))
assert seen == [1] and type(image) is PIL.Image.Image
"""


def test_somebody_elses_function_is_called() -> None:
    fresh.run(["-c", OTHERS], check=True)


def test_lives() -> None:
    array = values(9, 7, 3)
    theirs = OWN(array)
    image = Image.fromarray(array)
    for made in (image, copy.copy(image), copy.deepcopy(image), pickle.loads(pickle.dumps(image))):
        assert made == theirs and made.info == theirs.info
    assert type(pickle.loads(pickle.dumps(Image.fromarray(array)))) is Image.Image
    with Image.fromarray(array) as opened:
        assert opened.getbbox() == theirs.getbbox()
    closed = Image.fromarray(array)
    closed.close()
    with pytest.raises(ValueError, match="closed"):
        closed.load()
    with pytest.raises(AttributeError):
        Image.fromarray(array).filename  # type: ignore[attr-defined]  # noqa: B018


class Arrays(Dataset[Any]):
    """What everybody writes."""

    def __init__(self, transform: Any) -> None:
        self.data, self.targets, self.transform = values(45, 32, 32, 3), list(range(45)), transform

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        image = Image.fromarray(self.data[index])
        return self.transform(image), self.targets[index]


class Views:
    """Two of each, as SimCLR has them."""

    def __init__(self, transform: Any) -> None:
        self.transform = transform

    def __call__(self, image: Any) -> list[Any]:
        return [self.transform(image) for _ in range(2)]


VIEWS = Views(v1.Compose([v1.RandomResizedCrop(32), v1.RandomGrayscale(0.2), Blur(), v1.ToTensor()]))


CROPPED = [v1.RandomResizedCrop(24), v1.RandomHorizontalFlip(), v1.ColorJitter(0.4, 0.4, 0.4, 0.1)]
SIZELESS = [v1.RandomHorizontalFlip(), v1.ToTensor(), v1.Normalize([0.5], [0.5])]


def natively(call: Any) -> int:
    """How many pictures a call makes without torchvision's code for the first steps."""
    native = compose_calls.counts["native"]
    call()
    return compose_calls.counts["native"] - native


def test_steps_before_ones_own_class_are_one_call() -> None:
    given = list[Any]()

    def own(image: Any) -> Any:
        given.append(type(image) is LazyArrayImage and image.untouched() is not None)
        return image.filter(ImageFilter.SMOOTH)

    for end in ([v1.ToTensor()], []):
        compose = v1.Compose([*CROPPED, own, *end])
        for seed in range(4):
            same_calls(values(32, 30, 3, seed=seed), compose, seed)
            assert given[-2:] == [True, False]


def test_a_compose_of_pil_images_gives_another_picture() -> None:
    flip, crop = (
        v1.Compose([v1.RandomHorizontalFlip(0.0)]),
        v1.Compose([v1.RandomCrop(32, 4, padding_mode="reflect")]),
    )
    image = Image.fromarray(values(32, 32, 3))
    image.info["name"] = 3
    assert flip(image) is image  # as torchvision's
    torch.manual_seed(0)
    made = crop(image)
    assert type(made) is LazyArrayImage and made.untouched() is not None and image.untouched() is not None
    plain = OWN(values(32, 32, 3))
    plain.info["name"] = 3
    torch.manual_seed(0)
    theirs = crop(plain)
    assert torch.equal(functional.to_tensor(made), functional.to_tensor(theirs)) and made.info == theirs.info
    for each in (made, theirs):
        ImageDraw.Draw(each).rectangle((1, 2, 9, 9), (1, 2, 3))
    assert made.tobytes() == theirs.tobytes() and image.tobytes() == plain.tobytes()


@pytest.mark.parametrize("shape", [(28, 28), (28, 28, 3), (65, 3, 3)])
def test_a_compose_that_gives_no_size(shape: tuple[int, ...]) -> None:
    compose = v1.Compose(SIZELESS)
    for seed in range(4):
        same_calls(values(*shape, seed=seed), compose, seed)
    assert natively(lambda: compose(Image.fromarray(values(*shape)))) == 1
    for side in range(20, 40):  # for so many sizes no programs are made
        same_calls(values(side, *shape[1:], seed=side), compose, side)
    assert natively(lambda: compose(Image.fromarray(values(39, *shape[1:])))) == 0


def test_a_copy_in_colours_is_made_natively() -> None:
    compose, image = v1.Compose(SIZELESS), Image.fromarray(values(28, 28, 3))
    copied = image.convert("RGB")
    image.paste((1, 2, 3), (0, 0, 9, 9))
    torch.manual_seed(1)
    assert natively(lambda: compose(copied)) == 1
    assert np.array_equal(np.asarray(copied), values(28, 28, 3))
    assert (
        Image.fromarray(values(28, 28)).convert("RGB").tobytes()
        == OWN(values(28, 28)).convert("RGB").tobytes()
    )


def test_large_ones_wait_for_their_batch() -> None:
    """Their array may change meanwhile."""
    compose, made = v1.Compose([*CROPPED, v1.ToTensor()]), dict[Any, Any]()
    for make in (Image.fromarray, OWN):
        torch.manual_seed(2)
        rows = list[Any]()
        for seed in range(6):
            array = values(150, 140, 3, seed=seed)
            rows.append(compose(make(array)))
            array[:] = 0
        made[make] = torch.stack(rows), torch.get_rng_state()
    assert difference(made[Image.fromarray], made[OWN]) == ""


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("transform", [TENSOR, VIEWS], ids=["compose", "views"])
def test_a_dataset_of_ones_own(transform: Any, workers: int) -> None:
    def batches() -> list[Any]:
        torch.manual_seed(3)
        random.seed(3)
        dataset, seen = Arrays(transform), []
        for batch in TorchDataLoader(dataset, batch_size=8, shuffle=True, num_workers=workers):
            seen.append(copy.deepcopy(batch))
            dataset.data[:] = dataset.data // 2 + 3  # the user may write to it
        return [*seen, torch.get_rng_state(), random.getstate()]

    gofast.uninstall()
    theirs = batches()
    gofast.install()
    native = compose_calls.counts["native"]
    assert difference(batches(), theirs) == ""
    assert workers or transform is VIEWS or compose_calls.counts["native"] == native + 45


def test_pictures_that_pillow_makes_are_its_own_for_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_images, "_MOST_MISSES", 3)
    monkeypatch.setattr(reason, "process", reason.Reasons())  # other tests' are too many to tell apart
    array = values(33, 40, 3)

    def lazy(call: Any) -> bool:
        image = Image.fromarray(array)
        call(image)
        return type(image) is LazyArrayImage

    assert [lazy(np.asarray) for _ in range(5)] == [True, True, True, False, False]
    (site,) = array_images._sites.values()
    site.pause = 0
    assert [lazy(np.asarray) for _ in range(2)] == [True, False]
    assert type(Image.fromarray(array)) is LazyArrayImage  # another place
    assert any(site._named in why for why in reason.process.numbers("fallback"))
    site.pause = 0
    assert all(lazy(TENSOR) for _ in range(5))
    assert [lazy(np.asarray) for _ in range(4)] == [True, True, True, False]


GREY: list[Any] = [
    lambda: v1.RandomCrop(24, padding=4),
    lambda: v1.RandomHorizontalFlip(),
    lambda: v1.RandomResizedCrop(20),
    lambda: v1.Resize((30, 700)),
    lambda: v1.ColorJitter(0.4, 0.4, 0.4, 0.2),
    lambda: v1.RandomRotation(20),
    lambda: v1.GaussianBlur(3),
    lambda: v1.RandomAutocontrast(),
    lambda: v1.RandomEqualize(),
    lambda: v1.RandomSolarize(100),
    lambda: v1.Grayscale(3),
    lambda: v1.Grayscale(1),
    lambda: v1.RandomGrayscale(),
    lambda: v1.RandAugment(),
    lambda: v1.Pad(2, 7),
    lambda: v1.RandomPerspective(),
]
GREY_ENDS: list[Any] = [
    lambda: [v1.CenterCrop(18), v1.ToTensor()],
    lambda: [v1.Resize((21, 1100)), v1.ToTensor(), v1.Normalize([0.5], [0.5])],
    lambda: [v1.CenterCrop((1, 3)), v1.PILToTensor()],
    lambda: [v1.Resize((4, 5)), v1.ToTensor(), v1.RandomErasing()],
    lambda: [v1.CenterCrop(19), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)],
    lambda: [v1.ToTensor()],
    lambda: [lambda image: (image.mode, image.tobytes(), image.readonly)],
]


@pytest.mark.daily(30)
@pytest.mark.parametrize("seed", range(200))
def test_grey_pictures_in_a_compose(seed: int) -> None:
    rng = random.Random(seed)
    steps = [rng.choice(GREY)() for _ in range(rng.randrange(4))]
    transform = v1.Compose([*steps, *rng.choice(GREY_ENDS)()])
    array, file = values(rng.choice([28, 40]), rng.choice([28, 600])), io.BytesIO()
    OWN(array).save(file, "PNG")

    def made(array_image: Any, opened: Any) -> Any:
        outcomes: list[Any] = []
        for how in (array_image, opened) * 2:
            torch.manual_seed(seed)
            random.seed(seed)
            try:
                outcomes.append(transform(how()))
            except Exception as error:
                outcomes.append((type(error), str(error)))
            outcomes.append(torch.get_rng_state())
        return outcomes

    theirs = made(lambda: OWN(array), lambda: open_lazy.by_pillow(file))
    assert difference(made(lambda: Image.fromarray(array), lambda: Image.open(file)), theirs) == ""


def test_grey_pictures_are_made_natively() -> None:
    native = compose_calls.counts["native"]
    for size in (1, 3, 28, 700, 1200):
        transform = v1.Compose([v1.Resize((size, size)), v1.ToTensor()])
        grey = values(9, 17)
        assert torch.equal(transform(Image.fromarray(grey)), transform(OWN(grey)))
    assert compose_calls.counts["native"] == native + 5
