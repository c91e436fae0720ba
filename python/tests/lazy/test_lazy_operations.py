"""Image.rotate, transform and point of a lazy image: recorded, and equal to Pillow's."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageEnhance, ImageOps

import gofast
from gofast._lazy import source
from gofast._lazy.lazy_image import LazyImage
from image_data import photograph
from same import outcome
from test_lazy import chain, pillows

AFFINE, PERSPECTIVE = Image.Transform.AFFINE, Image.Transform.PERSPECTIVE
SHEAR = (1, 0.3, -2.5, 0.1, 0.9, 4)
PHOTOGRAPHS = os.environ.get("GOFAST_TEST_DATA", "")
CURVE = [min(255, i * i // 200) for i in range(256)]


@pytest.fixture(scope="module", params=["jpg", "webp", "png"])
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("warps") / f"a.{request.param}"
    photograph(5, 90, 61).save(path)
    return path


def state(made: Image.Image) -> tuple[Any, ...]:
    return made.mode, made.size, made.info, made.readonly, made.format, made.getpalette(), made.tobytes()


# What is recorded: both ways to write it, and all that Pillow makes of a colour.
RECORDED: dict[str, Callable[[Image.Image], Image.Image]] = {
    "rotate": lambda image: image.rotate(17),
    "bilinear": lambda image: image.rotate(17.5, Image.Resampling.BILINEAR),
    "bicubic": lambda image: image.rotate(-17.5, Image.Resampling.BICUBIC, fillcolor=(1, 2, 3)),
    "expand": lambda image: image.rotate(30, 2, expand=True, fillcolor="#123456"),
    "center": lambda image: image.rotate(30, center=(10, 3.5)),
    "center and translate": lambda image: image.rotate(180, translate=(4, 7), center=(0, 0)),
    "quarters": lambda image: image.rotate(90, expand=True),
    "quarter of a picture that is not square": lambda image: image.rotate(90),
    "half": lambda image: image.rotate(180),
    "whole": lambda image: image.rotate(720),
    "affine": lambda image: image.transform((50, 40), AFFINE, SHEAR),
    "list": lambda image: image.transform([50, 40], AFFINE, list(SHEAR), 2, 0, 70000),
    "numpy's numbers": lambda image: image.transform((50, 40), AFFINE, tuple(map(np.float32, SHEAR))),
    "more numbers": lambda image: image.transform((50, 40), AFFINE, (*SHEAR, 7)),
    "perspective": lambda image: image.transform((70, 70), PERSPECTIVE, (*SHEAR, 0.001, 0.01), 3),
    "horizon": lambda image: image.transform((70, 70), PERSPECTIVE, (*SHEAR, -0.02, 0), 2, fillcolor=9),
    "point": lambda image: image.transform((70, 70), PERSPECTIVE, (0,) * 6 + (-2, 0), fillcolor=9),
    "far": lambda image: image.transform((9, 9), AFFINE, (1e9, 1, 2, 3, 1e300, 5), fillcolor=(9, 9, 9)),
    "grey": lambda image: image.convert("L").transform((50, 40), AFFINE, SHEAR, 2, fillcolor=77),
    "grey and back": lambda image: (
        image.convert("L").rotate(9, fillcolor=3).convert("RGB").rotate(9, fillcolor=(250, 0, 9)).convert("L")
    ),
    "table": lambda image: image.point(CURVE * 3),
    "three tables": lambda image: image.point(tuple(CURVE + CURVE[::-1] + [9] * 256)),
    "table of grey": lambda image: image.convert("L").point(CURVE),
    "tables of grey and back": lambda image: (
        image.convert("L").point(CURVE).convert("RGB").point(CURVE[::-1] * 2 + CURVE).convert("L")
    ),
    "function": lambda image: image.point(lambda i: 255 - i),
    "function of floats": lambda image: image.convert("L").point(lambda i: i * 0.7 + 2.5),
    "solarize": lambda image: ImageOps.solarize(image, 99).rotate(10),
    "posterize": lambda image: ImageOps.posterize(image, 3),
    "invert": lambda image: ImageOps.invert(image.convert("L")),
}

PILLOWS: dict[str, Callable[[Image.Image], Image.Image]] = {
    "extent": lambda image: image.transform((50, 40), Image.Transform.EXTENT, (1, 1, 30, 40)),
    "quad": lambda image: image.transform((50, 40), Image.Transform.QUAD, (0, 0, 0, 50, 40, 50, 30, 1), 2),
    "mesh": lambda image: image.transform(
        (9, 9), Image.Transform.MESH, [((0, 0, 9, 9), (0, 0, 0, 50, 40, 50, 30, 1))]
    ),
    "object": lambda image: image.transform((5, 6), Transform()),
    "array": lambda image: image.transform((5, 6), AFFINE, np.array(SHEAR)),  # type: ignore[arg-type]
    "infinite": lambda image: image.transform((5, 6), AFFINE, (math.inf, *SHEAR[1:])),
    "no number": lambda image: image.transform((5, 6), AFFINE, (math.nan, *SHEAR[1:]), 2),
    "text": lambda image: image.transform((5, 6), AFFINE, ("1", *SHEAR[1:])),  # type: ignore[arg-type]
    "too few": lambda image: image.transform((5, 6), AFFINE, SHEAR[:5]),
    "none": lambda image: image.transform((5, 6), AFFINE),
    "no method": lambda image: image.transform((5, 6), 17, SHEAR),  # type: ignore[arg-type]
    "lanczos": lambda image: image.transform((5, 6), AFFINE, SHEAR, Image.Resampling.LANCZOS),
    "no filter": lambda image: image.rotate(9, 77),  # type: ignore[arg-type]
    "no size": lambda image: image.transform((0, 6), AFFINE, SHEAR),
    "negative": lambda image: image.transform((-1, 6), AFFINE, SHEAR),
    "three sides": lambda image: image.transform((5, 6, 7), AFFINE, SHEAR),  # type: ignore[arg-type]
    "parts": lambda image: image.transform((5.5, 6), AFFINE, SHEAR),  # type: ignore[arg-type]
    "no colour": lambda image: image.rotate(9, fillcolor="nothing"),
    "half a colour": lambda image: image.rotate(9, fillcolor=(1, 2)),
    "short table": lambda image: image.point(CURVE[1:]),
    "table of floats": lambda image: image.point([v + 0.4 for v in CURVE] * len(image.getbands())),
    "table of booleans": lambda image: image.point([v > 3 for v in CURVE] * len(image.getbands())),
    "table of large numbers": lambda image: image.point([v * 7 - 99 for v in CURVE] * len(image.getbands())),
    "table of huge numbers": lambda image: image.point([v << 70 for v in CURVE] * len(image.getbands())),
    "array as a table": lambda image: image.point(np.array(CURVE * len(image.getbands()))),
    "large function": lambda image: image.point(lambda i: i * 3),
    "function of texts": lambda image: image.point(str),  # type: ignore[arg-type]
    "two colours": lambda image: image.point([i > 99 and 255 for i in range(256)], "1"),
    "handler": lambda image: image.point(Handler()),
    "no angle": lambda image: image.rotate("9"),  # type: ignore[arg-type]
}


class Handler(Image.ImagePointHandler):
    def point(self, im: Image.Image) -> Image.Image:
        return im.point(CURVE * len(im.getbands()))


class Transform:
    def getdata(self) -> tuple[Image.Transform, tuple[float, ...]]:
        return AFFINE, SHEAR


def behind_a_resize(image: Image.Image) -> Image.Image:
    return image.convert("RGB").crop((3, 5, 71, 60)).resize((64, 64))


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_ones_equal_pillows(path: Path, name: str) -> None:
    for before in (lambda image: image, behind_a_resize):
        lazy, plain = (RECORDED[name](before(opened(path))) for opened in (gofast.open, pillows))
        native = source.counts.native
        assert isinstance(lazy, LazyImage) and lazy._im is None
        assert state(lazy) == state(plain)
        assert source.counts.native == native + 1


@pytest.mark.parametrize("name", PILLOWS)
def test_others_are_pillows(path: Path, name: str) -> None:
    for mode in ("RGB", "L"):
        lazy, plain = (
            outcome(lambda image: state(PILLOWS[name](image)), opened(path).convert(mode))
            for opened in (gofast.open, pillows)
        )
        assert lazy == plain


def test_info_is_copied_before_pillow_decodes(path: Path) -> None:
    """Decoding adds to that of a WebP file."""
    lazy, plain = gofast.open(path), pillows(path)
    made, want = lazy.transform((9, 9), AFFINE, SHEAR), plain.transform((9, 9), AFFINE, SHEAR)
    assert made.info == want.info and lazy.info == plain.info
    made.info["mine"] = 1
    assert lazy.info == plain.info
    assert lazy.rotate(5).info == plain.rotate(5).info


def test_what_is_written_into_one_is_seen_in_no_other(path: Path) -> None:
    lazy, plain = gofast.open(path), pillows(path)
    first, second = lazy.rotate(10), lazy.rotate(10).copy()
    first.putpixel((40, 30), (1, 2, 3))
    first.paste((9, 8, 7), (0, 0, 5, 5))
    assert second.tobytes() == lazy.rotate(10).tobytes() == plain.rotate(10).tobytes()
    again = first.rotate(20)
    want = plain.rotate(10)
    want.putpixel((40, 30), (1, 2, 3))
    want.paste((9, 8, 7), (0, 0, 5, 5))
    assert again.tobytes() == want.rotate(20).tobytes()


def enhanced(kind: Callable[[Any], Any]) -> Callable[[Image.Image], Image.Image]:
    return lambda image: kind(image).enhance(1.4)  # type: ignore[no-any-return]


@pytest.mark.parametrize("kind", [ImageEnhance.Color, ImageEnhance.Contrast])
def test_grey_and_colour_come_of_one_decoding(path: Path, kind: Any) -> None:
    lazy, plain = (
        opened(path).convert("RGB").resize((40, 30)).rotate(9) for opened in (gofast.open, pillows)
    )
    native = source.counts.native
    assert enhanced(kind)(lazy).tobytes() == enhanced(kind)(plain).tobytes()
    assert source.counts.native == native + 1
    assert lazy.tobytes() == plain.tobytes()


def test_grey_of_a_picture_that_is_written_into(path: Path) -> None:
    """It stays what it was, in whichever order pixels are made."""
    for order in range(4):
        lazy, plain = (opened(path).convert("RGB").resize((40, 30)) for opened in (gofast.open, pillows))
        grey, want = lazy.convert("L"), plain.convert("L")
        if order == 1:
            grey.load()
        lazy.putpixel((3, 4), (250, 0, 9))
        if order == 2:
            lazy = lazy.copy()
        wide = grey.convert("RGB")
        if order == 3:
            wide.load()
        assert (grey.tobytes(), np.asarray(grey).tolist()) == (want.tobytes(), np.asarray(want).tolist())
        grey.load()
        assert grey.tobytes() == want.tobytes() and wide.tobytes() == want.convert("RGB").tobytes()
        assert lazy.getpixel((3, 4)) == (250, 0, 9)


def test_a_damaged_file_raises_where_pillow_decodes(tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    photograph(5, 90, 61).save(path)
    path.write_bytes(path.read_bytes()[:-600])
    for opened in (pillows, gofast.open):
        image = opened(path)
        with pytest.raises(ValueError, match="colo"):
            image.rotate(9, fillcolor="nothing")  # before anything is decoded
        with pytest.raises(OSError, match="truncated"):
            image.rotate(9)
    whole = tmp_path / "b.jpg"
    photograph(5, 90, 61).save(whole)
    lazy, plain = gofast.open(whole), pillows(whole)
    lazy.rotate(3), plain.rotate(3)
    lazy.draft("L", (20, 20)), plain.draft("L", (20, 20))  # it comes too late
    whole.unlink()
    assert lazy.size == plain.size and lazy.tobytes() == plain.tobytes()


def timms(r: random.Random) -> Callable[[Image.Image], Image.Image]:
    """One of the operations of timm's RandAugment, with its arguments."""
    kwargs: Any = {"fillcolor": (124, 116, 104), "resample": r.choice([2, 3])}
    level, sign = r.uniform(0, 1), r.choice([-1, 1])
    table = [min(255, i + 60) if i < 128 else i for i in range(256)]
    return r.choice(
        [
            lambda image: image.rotate(30 * level * sign, **kwargs),
            lambda image: image.transform(image.size, AFFINE, (1, 0.3 * level * sign, 0, 0, 1, 0), **kwargs),
            lambda image: image.transform(image.size, AFFINE, (1, 0, 0, 0.3 * level * sign, 1, 0), **kwargs),
            lambda image: image.transform(
                image.size, AFFINE, (1, 0, 0.45 * level * sign * image.size[0], 0, 1, 0), **kwargs
            ),
            lambda image: ImageOps.posterize(image, 4),
            lambda image: ImageOps.solarize(image, int(256 * level)),
            lambda image: image.point(table * 3),
            ImageOps.invert,
            ImageOps.equalize,
            ImageOps.autocontrast,
            *map(enhanced, (ImageEnhance.Color, ImageEnhance.Contrast, ImageEnhance.Sharpness)),
        ]
    )


def test_timms_chains_equal_pillows(path: Path) -> None:
    for seed in range(60):
        made = []
        for opened in (gofast.open, pillows):
            r = random.Random(seed)
            image = opened(path).convert("RGB")
            x, y = r.randrange(40), r.randrange(30)
            image = image.crop((x, y, x + 40, y + 30)).resize((48, 48), r.choice([2, 3]))
            if r.random() < 0.5:
                image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
            for _ in range(2):
                image = timms(r)(image)
            made.append(np.asarray(image))
        assert np.array_equal(*made), seed


@pytest.mark.skipif(
    not PHOTOGRAPHS, reason="no photographs: set GOFAST_TEST_DATA to a folder that has imagenet-500"
)
def test_chains_over_photographs_equal_pillows() -> None:
    paths = sorted(path for path in Path(PHOTOGRAPHS, "imagenet-500").rglob("*") if path.is_file())
    for seed, path in enumerate(paths[:: len(paths) // 60]):
        made: list[Any] = []
        for opened in (gofast.open, pillows):
            r = random.Random(seed)
            image = opened(path).convert("RGB").resize((130, 110), r.choice([2, 3]), (3.5, 7, 90, 99.25))
            try:
                made.append(state(chain(timms(r)(image), r)))
            except ValueError as error:
                made.append(str(error))
        assert made[0] == made[1], path


MOVES: tuple[tuple[float, ...], ...] = (
    (1, 0, 2.7, 0, 1, 0),
    (1, 0, 0, 0, 1, -1.3),
    (1, 0.27, 0, 0, 1, 0),
    (1, 0, 0, 0.27, 1, -0.6),
    (1, 0, 0, 0, 1, 0),
    (1, 0, -0.5, 0, 1, 0.49999999999999994),
    (0.02, 0, 0.3, 0, 0.6, -3),
    (0.9, 0.1, 3, -0.1, 1.1, 2, 0.0003, -0.002),
    (1, 0, 900, 0, 1, 0),
)


@pytest.mark.parametrize("resample", [Image.Resampling.BILINEAR, Image.Resampling.BICUBIC])
def test_neighbours_at_the_edges(tmp_path: Path, resample: Image.Resampling) -> None:
    """Pictures narrower than a pixel's neighbours, rows that are seen as they lie, and long runs."""
    for side, size in enumerate([(1, 1), (2, 5), (3, 3), (5, 2), (4, 9), (300, 17)]):
        path = tmp_path / f"{side}.png"
        photograph(side, *size).save(path)
        for numbers in MOVES:
            method = AFFINE if len(numbers) == 6 else PERSPECTIVE
            for to in ((7, 4), (531, 6)):
                made, plain = (
                    opened(path).convert("RGB").transform(to, method, numbers, resample, fillcolor=(1, 2, 3))
                    for opened in (gofast.open, pillows)
                )
                assert type(made) is LazyImage
                assert made.tobytes() == plain.tobytes(), (size, numbers, to)


def test_cuts_of_flipped_pixels_are_read_where_they_lie(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own, made = source.Source.made, list[bytes]()

    def looked_at(self: source.Source, chain: bytes, size: tuple[int, int]) -> Any:
        made.append(chain)
        return own(self, chain, size)

    def cuts(image: Image.Image) -> list[bytes]:
        image = image.convert("RGB").resize((60, 50))
        boxes = [(0, 0, 40, 40), (20, 0, 60, 40), (9, 10, 49, 50)]
        found = [image.crop(box) for box in boxes]
        for method in (Image.Transpose.FLIP_LEFT_RIGHT, Image.Transpose.FLIP_TOP_BOTTOM):
            image = image.transpose(method)
            found += [image.crop(box) for box in boxes]
        found += [image.resize((20, 20)) for _ in range(2)]  # the second one makes it flipped
        return [one.tobytes() for one in found]

    monkeypatch.setattr(source.Source, "made", looked_at)
    ours = cuts(gofast.open(path))
    assert len(made) == 2
    assert ours == cuts(pillows(path))
