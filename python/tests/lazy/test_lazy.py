"""gofast.open: pictures that are made late equal those that Pillow makes at once."""

from __future__ import annotations

import copy
import functools
import gc
import io
import multiprocessing
import os
import pickle
import random
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFile, ImageFilter, ImageOps, IptcImagePlugin, JpegImagePlugin, PngImagePlugin

import gofast
from gofast._lazy import source
from gofast._lazy.lazy_image import LazyImage
from image_data import photograph
from in_threads import in_threads
from picture_files import MODES, noise, saved


def same(lazy: Image.Image, plain: Image.Image) -> None:
    assert (lazy.size, lazy.mode, lazy.info) == (plain.size, plain.mode, plain.info)
    assert type(lazy) is type(plain) or isinstance(lazy, LazyImage)
    made, want = np.asarray(lazy), np.asarray(plain)
    assert (made.dtype, made.shape, made.strides, made.flags.writeable) == (
        (want.dtype, want.shape, want.strides, want.flags.writeable)
    )
    assert np.array_equal(made, want)
    assert lazy.tobytes() == plain.tobytes()
    assert lazy.getpalette() == plain.getpalette()


def lazy_of(path: Path) -> Image.Image:
    """A lazy image; of a PNG's bytes: one without its end is Pillow's own, whose file would stay open."""
    return gofast.open(io.BytesIO(path.read_bytes()) if path.suffix == ".png" else path)


def pillows(path: Path) -> Image.Image:
    return Image.open(io.BytesIO(path.read_bytes()))  # not the path: what is never decoded stays open


def chain(image: Image.Image, r: random.Random) -> Image.Image:
    """Up to six random operations."""
    for _ in range(r.randrange(7)):
        width, height = image.size
        kind = r.randrange(15)
        x, y = r.randrange(width), r.randrange(height)
        box = (x, y, r.randint(x + 1, width), r.randint(y + 1, height))
        size = (r.randint(1, 90), r.randint(1, 90))
        if kind < 2:
            image = image.crop(box)
        elif kind == 2:
            image = image.crop((x - 3.4, y - 2, x + 7.5, y + 9))
        elif kind < 5:
            image = image.resize(size, r.randrange(6), reducing_gap=r.choice([None, None, 1.0, 2.5]))
        elif kind == 5:
            image = image.resize(size, r.randrange(6), part(box, image.size, r), r.choice([None, None, 1.5]))
        elif kind == 6:
            image = image.transpose(r.randrange(7))  # type: ignore[arg-type]
        elif kind == 7:
            image = image.convert(r.choice(["RGB", "L", "RGBA", None]))
            image = image.convert("RGB") if image.mode == "RGBA" else image
        elif kind == 8:
            image = ImageOps.exif_transpose(image)
        elif kind == 9:
            image = r.choice([image.copy(), image.crop(), image.rotate(180), copy.copy(image)])
        elif kind == 10:
            image.thumbnail(size, r.randrange(1, 6))  # type: ignore[arg-type]
        elif kind == 11:
            image = rotated(image, r)
        elif kind == 12:
            image = transformed(image, size, r)
        elif kind == 13:
            tables = [r.randrange(256) for _ in range(256 * len(image.getbands()))]
            image = r.choice([image.point(tables), ImageOps.solarize(image, 77), ImageOps.invert(image)])
        else:
            image = image.filter(ImageFilter.BLUR) if min(image.size) > 4 else image
    return image


def part(box: tuple[int, ...], size: tuple[int, int], r: random.Random) -> Any:
    """A box, or one with ends between pixels, or all."""
    x, y, right, lower = box
    moved = (x + 0.3 * r.random(), y + 0.25, right - 0.3 * r.random(), lower - 0.5 * r.random())
    return r.choice([box, list(box), moved, moved, (0, 0, *size), [0.0, 0.0, *size]])


def colour(image: Image.Image, r: random.Random) -> Any:
    """None, one of a picture's mode, or one that Pillow makes something of."""
    colours: list[Any] = [None, None, r.randrange(256), r.randrange(-300, 1 << 24), "teal"]
    return r.choice([*colours, (124, 116, 104) if image.mode == "RGB" else (77,)])


def rotated(image: Image.Image, r: random.Random) -> Image.Image:
    angle = r.choice([0, 90, 180, 270, -450, 360.0, r.uniform(-400, 400), r.uniform(-20, 20)])
    center = r.choice([None, None, (r.uniform(-5, 60), r.randrange(60))])
    move = r.choice([None, None, (0, 0), (r.randrange(-9, 20), 3)])
    expand, filter = r.choice([False, False, True, 1]), r.choice([0, 0, 2, 2, 3])
    return image.rotate(angle, filter, expand, center, move, colour(image, r))  # type: ignore[arg-type]


def transformed(image: Image.Image, size: tuple[int, int], r: random.Random) -> Image.Image:
    size = r.choice([size, image.size])
    shear, move = r.uniform(-1, 1), r.randrange(-30, 60)
    affine = r.choice([(1, shear, 0, 0, 1, 0), (1, 0, move, 0, 1, 0), (1, 0, 0.0, 0.0, 1, move / 3)])
    affine = r.choice([affine, [r.uniform(-2, 2) for _ in range(6)], (*affine, 9)])
    perspective = (1, shear / 3, 0, shear / 9, 1, 0, shear / 90, r.uniform(-0.02, 0.02))
    method, data = r.choice(
        [(0, affine), (Image.Transform.AFFINE, affine), (Image.Transform.PERSPECTIVE, perspective)]
    )
    filter = r.choice([Image.Resampling.NEAREST, 2, 3])
    return image.transform(size, method, data, filter, fillcolor=colour(image, r))  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("late")
    exif = Image.Exif()
    exif[274] = 6
    text = PngImagePlugin.PngInfo()
    text.add_text("before", "the pixels")
    for i, (size, mode) in enumerate(
        [((90, 60), "RGB"), ((61, 83), "L"), ((130, 31), "RGB"), ((9, 200), "RGB")]
    ):
        picture = photograph(i, *size).convert(mode)
        picture.save(folder / f"{i}.jpg", quality=85, subsampling=i % 3, exif=exif if i % 2 == 0 else b"")
        picture.save(folder / f"{i}.png", pnginfo=text, exif=exif if i == 2 else b"")
        picture.save(folder / f"{i}.webp", quality=80, lossless=i == 2, exif=exif if i == 2 else b"")
    return sorted(folder.iterdir())


@pytest.mark.parametrize("by", ["the core", "Pillow"])
def test_random_chains_equal_pillows(files: list[Path], by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "Pillow":
        monkeypatch.setattr(source.Source, "pixels", lambda *_: None)
    native = source.counts.native
    for seed in range(420):
        path = files[seed % len(files)]
        plain, lazy = pillows(path), gofast.open(path)
        assert isinstance(lazy, LazyImage), path
        assert lazy.format == plain.format
        want = made = None
        try:
            want = chain(plain, random.Random(seed))
        except ValueError as error:
            want = error
        try:
            made = chain(lazy, random.Random(seed))
        except ValueError as error:
            made = error
        if isinstance(want, ValueError):
            assert str(made) == str(want)
        else:
            same(made, want)
    assert source.counts.native > native + 200 or by == "Pillow"


@pytest.mark.filterwarnings("ignore")
def test_every_kind_of_file_equals_pillows() -> None:
    """Also those that Pillow itself must decode: then it is Pillow's image."""
    kinds = ("JPEG", "PNG", "WEBP", "MPO", "GIF", "TIFF", "BMP", "PPM", "TGA")
    files = {f"{kind} {mode}": saved(noise(mode, (17, 13)), kind) for kind in kinds for mode in MODES}
    frames = {"save_all": True, "append_images": [noise("RGB", (33, 20))], "duration": 40}
    files |= {
        f"{kind} frames": saved(noise("RGB", (33, 20)), kind, **frames) for kind in ("PNG", "WEBP", "MPO")
    }
    files["PNG transparency"] = saved(noise("RGB", (33, 20)), "PNG", transparency=(1, 2, 3))
    for name, data in files.items():
        if data is None:
            continue
        outcome = []
        for opener in (Image.open, gofast.open):
            try:
                image = opener(io.BytesIO(data))
                width, height = image.size
                made = image.resize((12, 9)).transpose(Image.Transpose.TRANSVERSE)
                whole = image.convert("RGB").crop((0, 0, (width + 1) // 2, height))
                outcome.append((image.format, image.size, image.mode, made, whole, image))
            except Exception as error:
                outcome.append((type(error), str(error).split(" at 0x")[0].split("BytesIO")[0]))
        want, got = outcome
        assert got[:3] == want[:3], name
        if len(want) > 2:
            for a, b in zip(got[3:], want[3:], strict=True):
                assert (a.info, a.tobytes(), a.mode) == (b.info, b.tobytes(), b.mode), name


def test_png_with_text_behind_its_pixels_is_left_to_pillow() -> None:
    out = io.BytesIO()
    photograph(1, 20, 20).save(out, "PNG")
    whole, chunk = out.getvalue(), io.BytesIO()
    PngImagePlugin.putchunk(chunk, b"tEXt", b"late\0text")
    data = whole[:-12] + chunk.getvalue() + whole[-12:]
    assert not isinstance(gofast.open(data), LazyImage)
    assert gofast.open(data).convert("RGB").info == Image.open(io.BytesIO(data)).convert("RGB").info


# Boxes of a picture of 90 x 60, and whether the core resizes them.
BOXES: dict[Any, bool] = {
    (10, 20, 70, 60): True,
    (0.5, 0, 89.7, 60): True,
    (0.1, 0.1, 0.2, 0.2): True,
    (3, 4, 35, 24): True,  # Pillow cuts it out
    (0, 0, 45.0, 60): True,
    (1, 2, 1, 9): False,
    (5, 2, 1, 9): False,
    (-0.1, 0, 5, 5): False,
    (0, 0, 90.1, 5): False,
    (float("nan"), 0, 9, 9): False,
    (0, 0, 1e60, 9): False,
    (1, 2, 3): False,
    (1, 2, 3, "4"): False,
}


@pytest.mark.parametrize("box", BOXES)
@pytest.mark.parametrize("filter", [0, 1, 3])
def test_a_box_is_resized(files: list[Path], box: Any, filter: int) -> None:
    made: list[Any] = []
    native = source.counts.native
    for opened in (gofast.open, pillows):
        try:
            made.append(opened(files[0]).resize((32, 20), filter, box).tobytes())
        except (TypeError, ValueError, OverflowError) as error:
            made.append((type(error), str(error)))
    assert made[0] == made[1]
    assert source.counts.native == native + 1 or not BOXES[box]


def test_what_is_not_recorded_sees_an_ordinary_image(files: list[Path]) -> None:
    lazy, plain = gofast.open(files[0]), pillows(files[0])
    crop = lazy.crop((3, 3, 40, 40))
    lazy.putpixel((5, 5), (1, 2, 3))
    plain.load()
    kept = plain.crop((3, 3, 40, 40))
    plain.putpixel((5, 5), (1, 2, 3))
    same(crop, kept)  # recorded before the pixel was changed
    same(lazy.crop((2, 2, 9, 9)), plain.crop((2, 2, 9, 9)))
    assert lazy.getpixel((5, 5)) == (1, 2, 3)
    assert lazy.histogram() == plain.histogram()
    assert np.array_equal(np.array(lazy, copy=True), np.array(plain, copy=True))
    out, want = io.BytesIO(), io.BytesIO()
    gofast.open(files[0]).save(out, "PNG")
    pillows(files[0]).save(want, "PNG")
    assert out.getvalue() == want.getvalue()


def test_attributes_of_the_formats_class(files: list[Path]) -> None:
    lazy, plain = gofast.open(files[0]), pillows(files[0])
    assert isinstance(lazy, Image.Image)
    assert lazy.quantization == plain.quantization  # type: ignore[attr-defined]
    assert lazy.filename == str(files[0])
    assert lazy.get_format_mimetype() == "image/jpeg"  # type: ignore[attr-defined]
    assert dict(lazy.getexif()) == dict(plain.getexif())
    assert not hasattr(lazy, "n_frames") and not hasattr(lazy.copy(), "quantization")
    lazy.verify()
    assert (lazy.tell(), lazy.format_description) == (0, plain.format_description)
    with pytest.raises(EOFError):
        lazy.seek(1)
    assert "mode=RGB size=90x60" in repr(lazy)
    lazy, plain = gofast.open(files[0]), pillows(files[0])  # nothing was made of them
    assert lazy.draft("L", (20, 20)) == plain.draft("L", (20, 20))
    assert lazy.size == plain.size != (90, 60)
    same(lazy, plain)


def test_equality_and_pickles(files: list[Path]) -> None:
    for path in files:
        lazy, plain = gofast.open(path), pillows(path)
        assert lazy == plain and plain == lazy
        assert lazy.copy() == plain.copy() and plain.copy() == lazy.copy()
        assert lazy != plain.copy() and plain.copy() != lazy and lazy != 3
        for made in (pickle.loads(pickle.dumps(gofast.open(path))), copy.deepcopy(gofast.open(path))):
            assert type(made) is type(plain) and made == plain
        crop = pickle.loads(pickle.dumps(gofast.open(path).crop((1, 1, 8, 20))))
        assert type(crop) is Image.Image and crop == plain.crop((1, 1, 8, 20))


def test_with_and_close(files: list[Path]) -> None:
    with gofast.open(files[0]) as lazy:
        crop = lazy.crop((0, 0, 10, 10))
    lazy.close()
    assert crop.tobytes() == pillows(files[0]).crop((0, 0, 10, 10)).tobytes()
    with pytest.raises(ValueError, match="Operation on closed image"):
        lazy.load()
    with pytest.raises(ValueError, match="Operation on closed image"):
        lazy.crop((0, 0, 10, 10))
    with open(files[0], "rb") as file:  # as torchvision's loader does it
        image = gofast.open(file).convert("RGB")
    same(image, pillows(files[0]).convert("RGB"))


def test_header_errors_are_pillows(
    tmp_path: Path, files: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(FileNotFoundError):
        gofast.open(tmp_path / "none.jpg")
    with pytest.raises(Image.UnidentifiedImageError):
        gofast.open(b"nothing")
    with pytest.raises(TypeError):
        gofast.open(files[0], formats="JPEG")  # type: ignore[arg-type]
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 90 * 60 // 2 - 1)
    with pytest.raises(Image.DecompressionBombError):
        gofast.open(files[0])


def test_damaged_files_raise_what_pillow_raises(files: list[Path], tmp_path: Path) -> None:
    for path in files:
        whole = path.read_bytes()
        for part in (0.5, 0.8, 0.97):
            cut = tmp_path / path.name
            cut.write_bytes(whole[: int(len(whole) * part)])
            try:
                want: Any = pillows(cut).convert("RGB").crop((2, 2, 9, 9)).tobytes()
            except Exception as error:
                want = error
            try:
                lazy = lazy_of(cut).convert("RGB").crop((2, 2, 9, 9))
                made: Any = lazy.tobytes()
            except Exception as error:
                made = error
                if sys.version_info >= (3, 11) and path.suffix != ".png" and hasattr(error, "__notes__"):
                    assert any(str(cut) in note for note in error.__notes__)
            if isinstance(want, Exception):
                assert (type(made), str(made)) == (type(want), str(want)), path
            else:
                assert made == want, path


def test_unused_ones_hold_little_memory(files: list[Path]) -> None:
    """Beside a descriptor as much as Python's own file object: what it would have read of the file."""
    path = str(files[0])
    gofast.open(path)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        held = [gofast.open(path) for _ in range(500)]
        each = (tracemalloc.get_traced_memory()[0] - before) / len(held)
    finally:
        tracemalloc.stop()
    info = held[0].info
    read = min(os.stat(path).st_blksize, os.stat(path).st_size)
    exif = 1700  # what Pillow has read of it at the opening
    assert each - sys.getsizeof(info) - sum(map(sys.getsizeof, info.values())) < 2000 + read + exif


def test_several_of_one_file_are_decoded_once(files: list[Path], monkeypatch: pytest.MonkeyPatch) -> None:
    read = []
    data = source.Source.data
    monkeypatch.setattr(source.Source, "data", lambda self: read.append(self) or data(self))
    monkeypatch.setattr(source.counts, "again", 0)
    for count in (2, 1):  # the first picture tells what is to be expected of the next
        read.clear()
        lazy, plain = gofast.open(files[0]), pillows(files[0])
        for i in range(10):
            same(
                lazy.crop((i, i, i + 30, i + 20)).resize((16, 16)),
                plain.crop((i, i, i + 30, i + 20)).resize((16, 16)),
            )
        assert len(read) <= count + 1  # and a look at its end
    monkeypatch.setattr(source, "_MOST_KEPT", 1000)
    same(lazy.crop((0, 0, 9, 9)), plain.crop((0, 0, 9, 9)))


def _sum(path: Path, out: Any) -> None:
    out.put(int(np.asarray(gofast.open(path).crop((1, 1, 8, 20)), np.int64).sum()))


def test_threads_and_forks(files: list[Path]) -> None:
    lazy, plain = gofast.open(files[0]), pillows(files[0]).convert("RGB")
    want, wrong = plain.tobytes(), []

    def work(seed: int) -> None:
        r = random.Random(seed)
        for _ in range(30):
            x = r.randrange(60)
            crop = lazy.crop((x, 0, x + 20, 20))
            wrong.extend([x] * (crop.tobytes() != plain.crop((x, 0, x + 20, 20)).tobytes()))
        wrong.extend([-1] * (lazy.convert("RGB").tobytes() != want))

    in_threads(*(functools.partial(work, i) for i in range(4)))
    assert not wrong
    context = multiprocessing.get_context("fork")
    for path in files[:2]:
        out = context.Queue()
        child = context.Process(target=_sum, args=(path, out))
        child.start()
        assert out.get(timeout=60) == int(np.asarray(pillows(path).crop((1, 1, 8, 20)), np.int64).sum())
        child.join()


def _thumbnail_after_exif(image: Any) -> Any:
    ImageOps.exif_transpose(image, in_place=True)
    image.thumbnail((20, 20))
    return image


def _thumbnail_after(look: Callable[[Any], object]) -> Callable[[Any], Any]:
    def operation(image: Any) -> Any:
        look(image)
        image.thumbnail((20, 20))
        return image

    return operation


def _draft_after_bytes(image: Any) -> Any:
    image.tobytes()
    image.draft("L", (20, 20))
    return image


def _palette(image: Any) -> Any:
    image.putpalette([i % 256 for i in range(768)])
    return image


# Pillow decodes at the first operation: what comes after it can tell a decoder nothing, and changes a mode or
# a size that is not the one to be made.
MOMENTS: dict[str, Callable[[Any], Any]] = {
    "exif": _thumbnail_after_exif,
    "copy": _thumbnail_after(lambda image: image.copy()),
    "resize": _thumbnail_after(lambda image: image.resize((9, 9))),
    "array": _thumbnail_after(np.asarray),
    "draft": _draft_after_bytes,
    "remap": lambda image: image.convert("L").remap_palette(list(range(256))),
    "palette": lambda image: _palette(image.convert("L")),
    "wrong argument": lambda image: image.convert("L", foo=6),
}


@pytest.mark.parametrize("name", MOMENTS)
def test_the_moment_at_which_pillow_decodes(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    photograph(3, 160, 120).save(path)
    made: list[tuple[Any, ...]] = []
    for opened in (pillows, gofast.open):
        try:
            image = MOMENTS[name](opened(path))
            made.append((image.mode, image.size, image.tobytes()))
        except TypeError:
            made.append((TypeError,))
    assert made[0] == made[1]


def test_a_cut_file_raises_where_pillow_decodes(tmp_path: Path) -> None:
    for kind, options in (("jpeg", {}), ("png", {}), ("webp", {"lossless": True})):
        path = tmp_path / f"cut.{kind}"
        photograph(3, 160, 120).save(path, **options)
        path.write_bytes(path.read_bytes()[:-2000])
        for opened in (pillows, lazy_of):
            with pytest.raises(OSError):
                image = opened(path)  # a WebP raises here
                with pytest.raises(OSError):
                    image.convert("RGB")
                image.convert("RGB")  # the second time too


def test_a_class_is_assigned(files: list[Path]) -> None:
    """fastai casts pictures so."""

    class Own(Image.Image):
        pass

    for image in (gofast.open(files[0]), gofast.open(files[0]).crop((1, 1, 9, 9)), pillows(files[0])):
        want = image.copy().tobytes()
        image.load()
        image.__class__ = Own
        assert type(image) is Own and isinstance(image, Own) and image.tobytes() == want
        assert type(pickle.loads(pickle.dumps(image.resize((3, 3))))) is Image.Image


@pytest.mark.parametrize("sampling", [0, 1, 2])
def test_what_pillow_asks_of_a_files_class(sampling: int, tmp_path: Path) -> None:
    path = tmp_path / "a.jpg"
    photograph(3, 61, 43).save(path, subsampling=sampling, quality=80)
    lazy, plain = gofast.open(path), pillows(path)
    assert isinstance(lazy, JpegImagePlugin.JpegImageFile) and lazy.__class__ is type(plain)
    assert JpegImagePlugin.get_sampling(lazy) == JpegImagePlugin.get_sampling(plain) == sampling
    assert IptcImagePlugin.getiptcinfo(lazy) is None
    written = []
    for image in (lazy, plain):
        to = io.BytesIO()
        image.save(to, "JPEG", quality="keep")
        written.append(to.getvalue())
    assert written[0] == written[1]
    assert not isinstance(lazy.copy(), ImageFile.ImageFile)


@pytest.mark.filterwarnings("ignore")
def test_damaged_exif_is_what_pillow_kept_of_it(files: list[Path], tmp_path: Path) -> None:
    """Pillow reads it at the opening, for the resolution, and forgives there what it would raise later."""
    exif = Image.Exif()
    exif.update({0x0112: 6, 0x010E: "a description", 0x011A: 72.0})
    whole = exif.tobytes()
    path = tmp_path / "a.jpg"
    for cut in [*range(6, len(whole)), *(-i for i in range(1, 40))]:
        damaged = bytearray(whole[:cut] if cut > 0 else whole)
        if cut < 0:
            damaged[6 - cut] ^= 0xFF
        photograph(3, 20, 10).save(path, exif=bytes(damaged))
        made = []
        for opened in (pillows, gofast.open):
            image = opened(path)
            image.info.clear()
            try:
                turned = ImageOps.exif_transpose(opened(path))
                made.append((dict(image.getexif()), turned.size, turned.tobytes(), turned.info))
            except Exception as error:
                made.append((dict(image.getexif()), type(error), str(error), None))
        assert made[0] == made[1], cut
