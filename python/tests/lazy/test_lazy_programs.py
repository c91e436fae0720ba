"""Random programs of what augmentation libraries call, on lazy images and on Pillow's: the same bits."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageChops, ImageDraw, ImageEnhance, ImageFilter, ImageOps
from torchvision.transforms import functional as F
from torchvision.transforms import v2

import gofast
from gofast._lazy import filters, functions, source
from gofast._lazy.lazy_image import LazyImage
from image_data import photograph
from test_lazy import pillows

SIZES = [(1, 1), (1, 40), (40, 1), (2, 2), (3, 3), (5, 2), (17, 31), (64, 64), (90, 61)]
ENHANCERS = [ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color, ImageEnhance.Sharpness]
FACTORS: list[Any] = [
    0,
    1,
    0.0,
    1.0,
    -1.3,
    2,
    1e-9,
    1e6,
    1e7,
    -1e7,
    math.inf,
    math.nan,
    True,
    np.float64(0.3),
    "1",
]
RADII: list[Any] = [
    0,
    0.0,
    1,
    2,
    0.1,
    40,
    300,
    1e-30,
    1e30,
    -2,
    math.nan,
    math.inf,
    True,
    np.float64(1.2),
    "2",
]
PAIRS: list[Any] = [(0, 0), (0, 2), (1.5, 0), (0.3, 7), [1, 2], (1,), (1, 2, 3), (-1, 2), (1, "2"), (0, 1e-9)]
COLOURS: list[Any] = [0, 255, 70000, (1, 2, 3), (9,), "red", "nothing", None, 3.7, (1, 2), [4, 5, 6], -1]

Program = Callable[[Image.Image, random.Random], Any]


def factor(r: random.Random) -> Any:
    return r.uniform(-1, 3) if r.random() < 0.7 else r.choice(FACTORS)


def radius(r: random.Random) -> Any:
    if r.random() < 0.6:
        return r.choice([r.uniform(0.1, 2), r.uniform(0.1, 2), r.uniform(0, 60), r.randrange(8)])
    return r.choice([*RADII, *PAIRS, (r.uniform(0, 9), r.uniform(0, 9))])


def box(image: Image.Image, r: random.Random) -> tuple[int, int, int, int]:
    x, y = r.randrange(image.width), r.randrange(image.height)
    return x, y, r.randint(x + 1, image.width), r.randint(y + 1, image.height)


def enhanced(image: Image.Image, r: random.Random) -> Any:
    enhancer = r.choice(ENHANCERS)(image)
    if r.random() < 0.1:
        return enhancer.degenerate
    made = enhancer.enhance(factor(r))
    return enhancer.enhance(factor(r)) if r.random() < 0.1 else made


def blended(image: Image.Image, r: random.Random) -> Any:
    other = r.choice(
        [
            lambda: image.filter(ImageFilter.SMOOTH),
            lambda: image.convert("L").convert(image.mode),
            lambda: image.convert("L"),
            lambda: image.copy(),
            lambda: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
            lambda: image.filter(ImageFilter.GaussianBlur(1)),
            lambda: Image.new(image.mode, image.size, 77),
            lambda: image.convert("L").convert(image.mode).filter(ImageFilter.SMOOTH),
        ]
    )()
    pair = [other, image]
    if r.random() < 0.3:
        pair.reverse()
    return Image.blend(pair[0], pair[1], factor(r))


def pasted(image: Image.Image, r: random.Random) -> Any:
    """In place, while another picture is made of it, or it of another."""
    before = r.choice([image, image.copy(), image.convert("L")])
    where: Any = r.choice(
        [box(image, r), box(image, r), (-2, -2, 3, 3), (0, 0), None, (0, 0, 99, 99), (1, 1, 1, 1)]
    )
    image.paste(r.choice([r.choice(COLOURS), (r.randrange(256), 0, 9), before]), where)
    return r.choice([image, before])


def looked_at(image: Image.Image, r: random.Random) -> Any:
    """And goes on."""
    r.choice(
        [
            image.histogram,
            image.getextrema,
            lambda: np.asarray(image).sum(),
            lambda: image.getpixel((0, 0)),
            image.tobytes,
            image.load,
            lambda: image.convert("L").histogram(),
            lambda: image.getcolors(9),
        ]
    )()
    return image


def drawn(image: Image.Image, r: random.Random) -> Any:
    image = r.choice([image, image.copy()])
    ImageDraw.Draw(image).rectangle(box(image, r), fill=(9 if image.mode == "L" else (1, 2, 250)))
    return image


PROGRAMS: list[Program] = [
    lambda image, r: image.filter(ImageFilter.GaussianBlur(radius(r))),
    lambda image, r: image.filter(ImageFilter.GaussianBlur(radius(r))),
    lambda image, r: image.filter(ImageFilter.BoxBlur(radius(r))),
    lambda image, r: image.filter(
        r.choice([ImageFilter.GaussianBlur, ImageFilter.SMOOTH, ImageFilter.SMOOTH(), ImageFilter.SHARPEN])
    ),
    lambda image, r: image.filter(
        r.choice([ImageFilter.UnsharpMask(), ImageFilter.MinFilter(3), ImageFilter.BLUR])
    ),
    enhanced,
    enhanced,
    enhanced,
    blended,
    pasted,
    looked_at,
    drawn,
    lambda image, r: ImageOps.solarize(image, r.choice([0, 128, 256, r.randrange(256), r.uniform(0, 256)])),
    lambda image, r: ImageOps.posterize(image, r.randrange(10)),
    lambda image, r: ImageOps.invert(image),
    lambda image, r: ImageOps.equalize(image),
    lambda image, r: ImageOps.autocontrast(image),
    lambda image, r: ImageOps.equalize(image, r.choice([None, Image.new("L", image.size, 1)])),
    lambda image, r: ImageOps.autocontrast(image, r.choice([0, 1, 30, (1, 2)]), r.choice([None, 7])),
    lambda image, r: ImageOps.autocontrast(image, preserve_tone=r.choice([True, False])),
    lambda image, r: ImageOps.grayscale(image),
    lambda image, r: r.choice([ImageOps.flip, ImageOps.mirror])(image),
    lambda image, r: ImageOps.expand(
        image, r.choice([0, 1, 4, (1, 2), (1, 2, 3, 0), (1,), -1, "1", 2.0, [1, 2]]), r.choice(COLOURS)
    ),
    lambda image, r: ImageOps.pad(image, (r.randint(1, 60), r.randint(1, 60)), color=r.choice(COLOURS)),
    lambda image, r: ImageOps.fit(image, (r.randint(1, 60), r.randint(1, 60)), bleed=r.choice([0.0, 0.1])),
    lambda image, r: ImageOps.crop(image, r.choice([0, 1, (1, 2)])),
    lambda image, r: image.crop(box(image, r)),
    lambda image, r: image.resize((r.randint(1, 70), r.randint(1, 70)), r.choice([0, 2, 3])),
    lambda image, r: image.transpose(r.randrange(7)),  # type: ignore[arg-type]
    lambda image, r: image.rotate(r.uniform(-99, 99), r.choice([0, 2, 3])),  # type: ignore[arg-type]
    lambda image, r: image.convert(r.choice(["L", "RGB", "RGB"])),
    lambda image, r: image.point([255 - i // 2 for i in range(256)] * len(image.getbands())),
    lambda image, r: image.copy(),
    lambda image, r: ImageChops.invert(image),
    lambda image, r: Image.merge(image.mode, image.split()[::-1]),
    lambda image, r: image.convert("HSV").convert("RGB"),
    lambda image, r: F.adjust_brightness(image, factor(r)),
    lambda image, r: F.adjust_contrast(image, factor(r)),
    lambda image, r: F.adjust_saturation(image, factor(r)),
    lambda image, r: F.adjust_sharpness(image, factor(r)),
    lambda image, r: F.adjust_hue(
        image, r.choice([r.uniform(-0.5, 0.5), 0, 0.5, -0.5, 0.6, True, np.float64(0.2)])
    ),
    lambda image, r: v2.functional.adjust_hue(image, r.choice([r.uniform(-0.5, 0.5), 0, 0.6])),
    lambda image, r: F.adjust_gamma(image, r.choice([0.5, 2, -1])),
    lambda image, r: F.rgb_to_grayscale(image, r.choice([1, 3, 3, 2])),
    lambda image, r: F.pad(image, r.choice([1, [2], [1, 2], (3, 0, 1, 2)]), r.choice([0, 9, (1, 2, 3)])),
    lambda image, r: F.pad(image, 2, padding_mode="reflect"),
    lambda image, r: F.autocontrast(F.equalize(image)),
    lambda image, r: F.affine(image, r.uniform(-9, 9), [1, 2], 1.1, [3.0, 4.0], fill=[5]),
]


def state(made: Any) -> Any:
    if not isinstance(made, Image.Image):
        return made
    made.load()
    return made.mode, made.size, made.info, made.readonly, made.format, made.getpalette(), made.tobytes()


def run(image: Image.Image, seed: int) -> list[Any]:
    """What a program comes to, and the pictures on the way, some of which are looked at early."""
    r = random.Random(seed)
    kept: list[Image.Image] = []
    seen: list[Any] = []
    for _ in range(r.randint(1, 6)):
        try:
            made = r.choice(PROGRAMS)(image, r)
        except Exception as error:
            seen.append((type(error), str(error)))
            continue
        if not isinstance(made, Image.Image) or made.mode not in ("RGB", "L"):
            seen.append(state(made))
            continue
        if r.random() < 0.2:
            kept.append(image)
        image = made
        if r.random() < 0.1:
            seen.append(state(image))
    return seen + list(map(state, [image, *kept]))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("programs")
    made = []
    for i, size in enumerate(SIZES):
        picture = photograph(i, *size)
        for name, one in (("a.jpg", picture), ("b.png", picture), ("c.jpg", picture.convert("L"))):
            made.append(root / f"{i}{name}")
            one.save(made[-1])
    return made


def search(files: list[Path], seeds: range) -> None:
    for seed in seeds:
        path = files[seed % len(files)]
        lazy, plain = (run(opened(path), seed) for opened in (gofast.open, pillows))
        assert repr(lazy) == repr(plain), (path, seed)  # a nan is not equal to itself


def test_programs_equal_pillows(files: list[Path]) -> None:
    search(files, range(1000))


@pytest.mark.soak
def test_many_programs_equal_pillows(files: list[Path]) -> None:
    search(files, range(1000, 60_000))


LAZY: dict[str, Callable[[Image.Image], Image.Image]] = {
    "gaussian blur": lambda image: image.filter(ImageFilter.GaussianBlur(1.3)),
    "gaussian blur as a class": lambda image: image.filter(ImageFilter.GaussianBlur),
    "no blur": lambda image: image.filter(ImageFilter.GaussianBlur(0)),
    "box blur": lambda image: image.filter(ImageFilter.BoxBlur((3, 0.5))),
    "smooth": lambda image: image.filter(ImageFilter.SMOOTH),
    "brightness": lambda image: ImageEnhance.Brightness(image).enhance(1.4),
    "contrast": lambda image: ImageEnhance.Contrast(image).enhance(-0.4),
    "color": lambda image: ImageEnhance.Color(image).enhance(0.4),
    "sharpness": lambda image: ImageEnhance.Sharpness(image).enhance(1.9),
    "degenerate": lambda image: ImageEnhance.Contrast(image).degenerate,
    "blend": lambda image: Image.blend(image.filter(ImageFilter.SMOOTH), image, 0.5),
    "equalize": ImageOps.equalize,
    "autocontrast": ImageOps.autocontrast,
    "expand": lambda image: ImageOps.expand(image, (1, 2), 9),
    "hue": lambda image: F.adjust_hue(image, 0.2),
    "hue of v2": lambda image: v2.functional.adjust_hue(image, 0.2),
    "grey": lambda image: F.rgb_to_grayscale(image, 3),
    "jitter": lambda image: F.adjust_saturation(F.adjust_contrast(F.adjust_brightness(image, 1.2), 0.9), 1.1),
    "padded": lambda image: F.pad(image, [4], 3),
}


def program_of(name: str) -> Callable[[Image.Image], Image.Image]:
    """ImageOps' functions as they are when they are called."""
    return getattr(ImageOps, name, None) or LAZY[name]


@pytest.mark.parametrize("name", LAZY)
@pytest.mark.parametrize("mode", ["RGB", "L"])
def test_it_stays_lazy(files: list[Path], name: str, mode: str) -> None:
    lazy, plain = (opened(files[-3]).convert(mode).resize((33, 44)) for opened in (gofast.open, pillows))
    do = program_of(name)
    native = source.counts.native
    made = do(lazy)
    assert isinstance(made, LazyImage) and made._im is None
    assert source.counts.native == native
    assert state(made) == state(do(plain))
    assert source.counts.native == native + 1


def test_a_colour_is_pasted_lazy(files: list[Path]) -> None:
    lazy, plain = (opened(files[-3]).convert("RGB").resize((33, 44)) for opened in (gofast.open, pillows))
    before = lazy.copy()
    for image in (lazy, plain):
        image.paste((1, 2, 3), (4, 5, 20, 30))
    assert isinstance(lazy, LazyImage) and lazy._im is None
    assert before.tobytes() != lazy.tobytes() == plain.tobytes()
    for image in (before, plain):
        with pytest.raises(TypeError, match="color must be"):
            image.paste(None, (4, 5, 20, 30))  # type: ignore[arg-type]


def test_another_pillow_blurs_by_itself(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    """Where its bytes are others than the core's."""
    own = ImageFilter.GaussianBlur.filter
    filters.blurs_alike.cache_clear()
    with monkeypatch.context() as patch:
        patch.setattr(filters, "_TRIED", ((1.3, True),))
        patch.setattr(filters.chains, "replay", lambda image, chain, mode: image)
        made = gofast.open(files[-3]).filter(ImageFilter.GaussianBlur(1.3))
    filters.blurs_alike.cache_clear()
    assert not isinstance(made, LazyImage)
    assert ImageFilter.GaussianBlur.filter is own


def test_a_class_that_somebody_changed_is_pillows(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(ImageFilter.GaussianBlur):
        pass

    assert not isinstance(gofast.open(files[-3]).filter(Mine(1)), LazyImage)
    blur = ImageFilter.GaussianBlur(1)
    blur.name = "mine"
    assert not isinstance(gofast.open(files[-3]).filter(blur), LazyImage)
    monkeypatch.setattr(ImageFilter.GaussianBlur, "filter", lambda self, image: image)
    assert not isinstance(gofast.open(files[-3]).filter(ImageFilter.GaussianBlur(1)), LazyImage)


def test_no_colour_is_pasted(files: list[Path]) -> None:
    for opened in (pillows, gofast.open):
        with pytest.raises(TypeError):
            opened(files[-3]).paste(None, (0, 0, 2, 2))  # type: ignore[arg-type]


def test_what_is_wrapped_is_put_back() -> None:
    gofast.open  # noqa: B018
    functions.follow()
    assert hasattr(Image.blend, "__wrapped__") and hasattr(ImageEnhance.Contrast.__init__, "__wrapped__")
    kernels = functions._kernels_of_hue()
    assert LazyImage in kernels
    functions.leave()
    assert LazyImage not in kernels and Image.Image in kernels
    assert not hasattr(Image.blend, "__wrapped__") and not hasattr(ImageOps.expand, "__wrapped__")
    functions.follow()


def test_a_damaged_file_raises_where_pillow_decodes(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    photograph(5, 90, 61).save(path)
    path.write_bytes(path.read_bytes()[:-600])
    for opened in (pillows, gofast.open):
        bright = ImageEnhance.Brightness(opened(path))
        with pytest.raises(OSError, match="truncated"):
            bright.enhance(1.1)
        for raises in (
            lambda image: image.filter(ImageFilter.GaussianBlur(1)),
            lambda image: image.filter("no filter"),
            lambda image: image.paste(3, (0, 0, 4, 4)),
            ImageEnhance.Contrast,
            ImageEnhance.Sharpness,
            ImageOps.equalize,
            ImageOps.autocontrast,
            ImageOps.expand,
        ):
            with pytest.raises(OSError, match="truncated"):
                raises(opened(path))
