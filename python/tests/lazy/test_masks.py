"""Pictures with a palette and grey ones, as masks are: what is recorded of them is what Pillow makes."""

from __future__ import annotations

import io
import random
import struct
import warnings
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageFilter, ImageOps, ImagePalette, PngImagePlugin
from torchvision import transforms as T
from torchvision.transforms import InterpolationMode
from torchvision.transforms import functional as F

import gofast
from gofast._lazy import functions, open_lazy, source
from gofast._lazy.lazy_image import LazyImage
from gofast._lazy.palette_image import LazyPaletteImage
from picture_files import broken
from same import difference

KINDS = [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (3, 1), (3, 2), (3, 4), (3, 8), (2, 8), (4, 8), (6, 8)]
_ADAM = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def _chunk(name: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))


def png(seed: int, colour: int, depth: int, more: bytes = b"") -> bytes:
    """A random file: any rows with a filter's number before them are some picture."""
    rng = random.Random(seed)
    width, height, interlaced = rng.randrange(1, 40), rng.randrange(1, 30), rng.random() < 0.3
    bits = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour] * depth
    rows = b""
    for x, y, step_x, step_y in _ADAM if interlaced else ((0, 0, 1, 1),):
        across, down = -(-(width - x) // step_x), -(-(height - y) // step_y)
        if across > 0 and down > 0:
            bytes_ = (across * bits + 7) // 8
            rows += b"".join(bytes([rng.randrange(5)]) + rng.randbytes(bytes_) for _ in range(down))
    made = b"\x89PNG\r\n\x1a\n"
    made += _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced))
    if rng.random() < 0.3:
        made += _chunk(b"pHYs", struct.pack(">IIB", 3000, 3000, 1)) + _chunk(b"tEXt", b"Software\0ours")
    if colour == 3:  # also one that is shorter than the numbers
        made += _chunk(b"PLTE", rng.randbytes(3 * rng.choice([1, 1 << depth, rng.randrange(1, 257)])))
    made += more
    data = zlib.compress(rows)
    cut = rng.randrange(len(data)) if rng.random() < 0.3 else 0
    made += _chunk(b"IDAT", data[:cut]) * (cut > 0) + _chunk(b"IDAT", data[cut:])
    return made + _chunk(b"IEND", b"")


def _crop(image: Any, rng: random.Random) -> Any:
    x, y = rng.randrange(image.width), rng.randrange(image.height)
    over = rng.choice([0, 0, 3])
    return image.crop((x - over, y, rng.randint(x + 1, image.width), rng.randint(y + 1, image.height + over)))


def _sized(image: Any, rng: random.Random) -> Any:
    size, how = (rng.randrange(1, 50), rng.randrange(1, 50)), rng.choice([None, 0, 0, 0, 2, 3])
    box = (0.5, 0, image.width, image.height) if rng.random() < 0.2 else None
    return image.resize(size, how, box, rng.choice([None, None, 2.0]))


def _repainted(image: Any, rng: random.Random) -> Any:
    image.putpalette(rng.choice([[1, 2, 3] * 9, rng.randbytes(768), image.getpalette() or [0, 0, 0]]))
    return image


def _palette_written(image: Any, rng: random.Random) -> Any:
    if image.palette is not None:
        image.palette.palette = rng.randbytes(rng.choice([768, 96]))
        image.palette.dirty = 1
    return image


def _asked(image: Any, rng: random.Random) -> Any:
    image.palette  # noqa: B018
    return image


STEPS: list[Callable[[Any, random.Random], Any]] = [
    _crop,
    _sized,
    _sized,
    lambda image, rng: image.transpose(rng.randrange(7)),
    lambda image, rng: image.copy(),
    lambda image, rng: F.hflip(image),
    lambda image, rng: F.resize(
        image, rng.randrange(1, 40), InterpolationMode.NEAREST, max_size=None, antialias=True
    ),
    lambda image, rng: F.pad(image, [0, 1, rng.randrange(5), 2], fill=rng.choice([0, 255, 7])),
    lambda image, rng: F.crop(image, rng.randrange(3), rng.randrange(3), 5, 6),
    lambda image, rng: ImageOps.expand(image, (1, 2, 0, 3), rng.choice([0, 200, "red", (1, 2, 3)])),
    lambda image, rng: image.convert(rng.choice(["RGB", "L", "P", None, "1", "RGBA"])),
    lambda image, rng: image.rotate(rng.choice([0, 90, 180, 33]), fillcolor=rng.choice([0, 3])),
    lambda image, rng: ImageOps.exif_transpose(image),
    lambda image, rng: image.point(lambda value: 255 - value),
    lambda image, rng: image.filter(ImageFilter.SMOOTH),
    lambda image, rng: (image.paste(1, (0, 0, 1, 1)), image)[1],
    _repainted,
    _palette_written,
    _asked,
]


def _palette(image: Any) -> Any:
    palette = image.palette
    if palette is None:
        return None
    return palette.mode, palette.rawmode, bool(palette.dirty), bytes(palette.palette)


ENDS: list[Callable[[Any], Any]] = [
    lambda image: np.array(image),
    lambda image: np.asarray(image).tolist(),
    lambda image: torch.as_tensor(np.array(image), dtype=torch.int64),
    lambda image: torch.from_numpy(np.array(image)).long(),
    lambda image: T.PILToTensor()(image),
    lambda image: F.to_tensor(image),
    lambda image: image.tobytes(),
    lambda image: image.histogram(),
    lambda image: image.getcolors(1 << 20),
    lambda image: (np.array(image), np.array(image.convert("RGB"))),
    lambda image: (image.crop((0, 0, 2, 2)).tobytes(), image.crop((1, 1, 2, 3)).tobytes(), np.array(image)),
]


def told(opened: Callable[[Any], Any], data: bytes, seed: int) -> list[Any]:
    """What a random program makes of a file, and where it raises."""
    rng, seen = random.Random(seed), list[Any]()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            image = opened(io.BytesIO(data))
            seen += [image.mode, image.size, image.format, isinstance(image, PngImagePlugin.PngImageFile)]
            for _ in range(rng.randrange(5)):
                image = rng.choice(STEPS)(image, rng)
                seen += [image.mode, image.size]
                seen += rng.choice([[], [image.getpalette()], [_palette(image)], [image.info]])
            seen += [rng.choice(ENDS)(image), image.info, image.getpalette(), _palette(image)]
        except Exception as error:
            seen += [type(error), str(error).split(" at 0x")[0]]
    return seen


@pytest.fixture(autouse=True)
def _as_installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    functions.follow()
    yield
    functions.leave()


@pytest.mark.daily(20)
@pytest.mark.parametrize("seed", range(120))
@pytest.mark.parametrize("by", ["the core", "Pillow"])
def test_any_program_makes_what_pillow_makes(seed: int, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "Pillow":
        monkeypatch.setattr(source.Source, "pixels", lambda *_: None)
    for number, (colour, depth) in enumerate(KINDS):
        transparent = _chunk(b"tRNS", b"\xff\x00" * {0: 1, 2: 3}.get(colour, 1))
        more = transparent if seed % 7 == 6 and colour in (0, 2, 3) else b""
        data = png(seed * 100 + number, colour, depth, more)
        for program in range(3):
            key = seed * 1000 + number * 10 + program
            functions.leave()
            want = told(Image.open, data, key)
            functions.follow()
            assert difference(told(gofast.open, data, key), want) == "", (colour, depth, key)


@pytest.mark.daily(10)
@pytest.mark.parametrize("seed", range(40))
def test_damaged_files_raise_what_pillow_raises(seed: int) -> None:
    for number, (colour, depth) in enumerate(KINDS):
        data = png(seed * 100 + number, colour, depth)
        for name, damaged in broken(data, seed, 10):
            made, want = (told(opened, damaged, seed) for opened in (gofast.open, Image.open))
            if isinstance(want[-2], type):  # perhaps where its pixels are asked for, which may be later
                made, want = made[-2:], want[-2:]
            assert difference(made, want) == "", (colour, depth, name)


def test_masks_are_native(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source.counts, "native", 0)
    monkeypatch.setattr(source.counts, "pillow", 0)
    path, files = tmp_path / "a.png", 0
    for seed in range(20):
        for colour, depth in [(0, 2), (0, 4), (0, 8), (3, 1), (3, 2), (3, 4), (3, 8)]:
            path.write_bytes(png(seed, colour, depth))
            gofast.open(str(path))  # shows once how Pillow names files
            with monkeypatch.context() as without:
                without.setattr(open_lazy, "by_pillow", None)
                without.setattr(PngImagePlugin.PngImageFile, "_open", None)
                mask = gofast.open(path)
                made = F.crop(
                    F.pad(F.hflip(F.resize(mask, 9, InterpolationMode.NEAREST)), [0, 0, 9, 9]), 0, 0, 9, 9
                )
                assert type(made) is (LazyPaletteImage if colour == 3 else LazyImage)
                assert torch.as_tensor(np.array(made), dtype=torch.int64).shape == (9, 9)
            files += 1
    assert (source.counts.native, source.counts.pillow) == (files, 0)


def test_what_is_used_again_is_decoded_twice_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    data, made = png(3, 3, 8), list[Any]()
    own = source.Source.pixels
    monkeypatch.setattr(source.Source, "pixels", lambda *given: (made.append(given), own(*given))[1])
    mask, plain = gofast.open(io.BytesIO(data)), Image.open(io.BytesIO(data))
    for x in range(5):
        box = (x, 0, x + 2, 2)
        assert np.array_equal(np.array(mask.crop(box)), np.array(plain.crop(box)))
    assert len(made) == 2


def test_a_palette_of_one_is_not_that_of_another() -> None:
    data = png(5, 3, 8)
    outcomes = []
    for opened in (gofast.open, Image.open):
        image = opened(io.BytesIO(data))
        small = image.resize((9, 9), 0)
        image.palette.palette, image.palette.dirty = bytes(768), 1
        again = small.copy()
        small.putpalette([9, 8, 7] * 256)
        same = again.convert("RGB").tobytes() == small.convert("RGB").tobytes()
        outcomes.append([same, *(one.convert("RGB").tobytes() for one in (image, small, again))])
    assert outcomes[0] == outcomes[1] and not outcomes[0][0]


NAMES = ("filename", "format", "format_description", "mode", "size", "info", "n_frames", "is_animated")
NAMES += ("default_image", "custom_mimetype", "tile")


@pytest.mark.daily(10)
@pytest.mark.parametrize("seed", range(40))
def test_opened_is_what_pillow_opens(seed: int, tmp_path: Path) -> None:
    rng, path = random.Random(seed), tmp_path / "a.png"
    for number, (colour, depth) in enumerate(KINDS):
        data = bytearray(png(seed * 100 + number, colour, depth))
        for _ in range(rng.choice([0, 1, 2]) if seed else 0):
            data[rng.randrange(min(len(data), 120))] = rng.choice([0, 255, 8, rng.randrange(256)])
        path.write_bytes(data)
        for given in (str, Path, lambda path: io.BytesIO(path.read_bytes()), lambda path: path.open("rb")):
            outcomes = []
            for opened in (gofast.open, Image.open):
                file = given(path)
                outcomes.append(_opened(opened, file))
                if hasattr(file, "close"):
                    file.close()
            assert difference(*outcomes) == "", (colour, depth, number)


def _opened(opened: Callable[[Any], Any], file: Any) -> list[Any]:
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            image = opened(file)
        except Exception as error:
            return [type(error), [str(w.message) for w in warned]]
        seen: list[Any] = [getattr(image, name, None) for name in NAMES]
        seen += [_palette(image), [str(w.message) for w in warned]]
        seen += [file.tell() if hasattr(file, "tell") else None]
        try:
            seen += [image.tobytes(), image.info, _palette(image), dict(image.getexif()), image.text]
        except Exception as error:
            seen.append(type(error))
        image.close()
    return seen


def test_another_plugin_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Theirs(PngImagePlugin.PngImageFile):
        pass

    data = png(1, 3, 8)
    monkeypatch.setitem(Image.OPEN, "PNG", (Theirs, lambda prefix: True))
    assert type(gofast.open(io.BytesIO(data))) is Theirs
    monkeypatch.undo()
    monkeypatch.setitem(Image.OPEN, "THEIRS", (Theirs, lambda prefix: True))
    monkeypatch.setattr(Image, "ID", ["THEIRS", *Image.ID])
    assert type(gofast.open(io.BytesIO(data))) is Theirs


def test_a_bomb_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    data = io.BytesIO()
    Image.new("P", (20, 20)).save(data, "PNG")
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 300)
    with pytest.warns(Image.DecompressionBombWarning):
        gofast.open(data)


def test_a_palette_that_is_none_is_pillows() -> None:
    data = io.BytesIO()
    Image.new("P", (4, 4)).save(data, "PNG")
    made = gofast.open(data)
    made.palette = ImagePalette.ImagePalette("RGB", [1, 2, 3])
    plain = Image.open(data)
    plain.palette = ImagePalette.ImagePalette("RGB", [1, 2, 3])
    assert made.getpalette() == plain.getpalette()
    assert made.convert("RGB").tobytes() == plain.convert("RGB").tobytes()
