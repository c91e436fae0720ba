"""gofast.open of files of every mode: what is converted to RGB is made lazy, and all else is Pillow's."""

from __future__ import annotations

import copy
import io
import pickle
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageOps, ImagePalette, PngImagePlugin

import gofast
from gofast._lazy import source
from gofast._lazy.lazy_image import LazyImage
from image_data import photograph
from picture_files import MODES, noise, saved
from test_lazy import chain, same


def files() -> dict[str, bytes]:
    """A file of every mode that these formats have, and some in which Pillow sees transparency."""
    made: dict[str, bytes | None] = {}
    for kind in ("JPEG", "PNG", "WEBP"):
        for mode in MODES:
            made[f"{kind} {mode}"] = saved(noise(mode, (33, 20)), kind)
    exif = Image.Exif()
    exif[274] = 6
    photo = photograph(2, 61, 40)
    made["CMYK"] = saved(photo.convert("CMYK"), "JPEG", quality=90, exif=exif)
    made["palette"] = saved(photo.convert("P", palette=Image.Palette.ADAPTIVE, colors=200), "PNG", exif=exif)
    made["few colours"] = saved(photo.convert("P", palette=Image.Palette.ADAPTIVE, colors=5), "PNG")
    made["transparent palette"] = saved(photo.convert("P"), "PNG", transparency=3)
    made["transparent grey"] = saved(photo.convert("L"), "PNG", transparency=3)
    rgba = photo.convert("RGBA")
    rgba.putalpha(photo.convert("L"))
    text = PngImagePlugin.PngInfo()
    text.add_text("before", "the pixels")
    made["alpha"] = saved(rgba, "PNG", pnginfo=text)
    made["alpha of webp"] = saved(rgba, "WEBP", lossless=True, exact=True)
    return {name: data for name, data in made.items() if data is not None}


FILES = files()
LAZY = {"1", "P", "LA", "RGBA", "CMYK", "RGB", "L"}


def pillows(data: bytes) -> Image.Image:
    return Image.open(io.BytesIO(data))


def outcome(do: Callable[[Any], Any], image: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return state(do(image))
        except Exception as error:
            return type(error), str(error).split(" at 0x")[0]


def state(made: Any) -> Any:
    if not isinstance(made, Image.Image):
        return made
    colours = (
        made.getpalette(),
        None if made.palette is None else (made.palette.mode, bytes(made.palette.palette)),
    )
    return made.mode, made.size, made.info, colours, made.format, made.readonly, made.tobytes()


def _changed(image: Image.Image) -> Image.Image:
    image.paste(image.crop((0, 0, 9, 9)), (5, 5))
    return image


def _pair(image: Image.Image) -> Any:
    """What is made of one of two must not be seen in the other."""
    first, second = image.convert("RGB"), image.convert("RGB")
    first.putpixel((1, 1), (1, 2, 3))
    return first.tobytes(), second.tobytes(), image.tobytes()


def _thumbnail(image: Image.Image) -> Image.Image:
    image.thumbnail((12, 12))
    return image


def _colours_first(image: Image.Image) -> Any:
    palette = image.palette
    return None if palette is None else (palette.mode, palette.rawmode), image.getpalette()


USES: dict[str, Callable[[Image.Image], Any]] = {
    "RGB": lambda image: image.convert("RGB"),
    "RGB, small": lambda image: image.convert("RGB").crop((2, 3, 30, 19)).resize((16, 16), 2),
    "RGB, grey": lambda image: image.convert("RGB").convert("L").rotate(20, fillcolor=7),
    "RGB, grey, RGB": lambda image: (
        image.convert("RGB").convert("L").convert("RGB").rotate(9, 2, fillcolor="teal")
    ),
    "RGB twice": lambda image: image.convert("RGB").convert("RGB"),
    "L": lambda image: image.convert("L"),
    "RGBA": lambda image: image.convert("RGBA"),
    "P": lambda image: image.convert("P"),
    "none": lambda image: image.convert(),
    "its own": lambda image: image.convert(image.mode),
    "pixels": lambda image: image,
    "array": lambda image: np.asarray(image).tolist(),
    "copy": lambda image: image.copy().convert("RGB"),
    "deep": lambda image: copy.deepcopy(image),
    "pickle": lambda image: pickle.loads(pickle.dumps(image)).resize((9, 9)),
    "crop": lambda image: image.crop((3, 3, 20, 12)).convert("RGB"),
    "resize": lambda image: image.resize((20, 12)),
    "reduce": lambda image: image.reduce(2),
    "rotate": lambda image: image.rotate(20, fillcolor=3),
    "turn": lambda image: image.transpose(Image.Transpose.ROTATE_90),
    "exif": lambda image: ImageOps.exif_transpose(image).convert("RGB"),
    "thumbnail": _thumbnail,
    "changed": lambda image: _changed(image),
    "changed RGB": lambda image: _changed(image).convert("RGB"),
    "two": _pair,
    "palette": _colours_first,
    "transparent": lambda image: image.has_transparency_data,
    "histogram": lambda image: image.histogram(),
    "split": lambda image: [band.tobytes() for band in image.split()],
    "colour": lambda image: image.getpixel((3, 2)),
    "look, RGB": lambda image: (image.load(), image.convert("RGB"))[1],
    "RGB, look": lambda image: (image.convert("RGB"), image)[1],
    "draft": lambda image: (image.draft("RGB", (16, 16)), image)[1].convert("RGB"),  # type: ignore[attr-defined]
    "to save": lambda image: saved(image, "PNG"),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("by", ["the core", "Pillow"])
def test_every_mode_equals_pillows(use: str, by: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if by == "Pillow":
        monkeypatch.setattr(source.Source, "pixels", lambda *_: None)
    for name, data in FILES.items():
        lazy, plain = gofast.open(data), pillows(data)
        assert (lazy.mode, lazy.size, lazy.info) == (plain.mode, plain.size, plain.info)
        assert isinstance(lazy, LazyImage) == (plain.mode in LAZY and "transparency" not in plain.info), name
        assert outcome(USES[use], lazy) == outcome(USES[use], plain), name
        assert (lazy.mode, lazy.size, lazy.info) == (plain.mode, plain.size, plain.info), name


def test_conversions_are_native() -> None:
    for name in ("CMYK", "palette", "few colours", "alpha", "alpha of webp", "PNG 1", "PNG LA"):
        native = source.counts.native
        lazy = gofast.open(FILES[name])
        assert np.array_equal(
            np.asarray(lazy.convert("RGB").resize((9, 9))),
            np.asarray(pillows(FILES[name]).convert("RGB").resize((9, 9))),
        )
        assert source.counts.native == native + 1, name


@pytest.mark.filterwarnings("ignore")
def test_random_chains_behind_a_conversion() -> None:
    names = [name for name, data in FILES.items() if pillows(data).mode in LAZY]
    for seed in range(200):
        data = FILES[names[seed % len(names)]]
        made: list[Any] = []
        for opened in (gofast.open(data), pillows(data)):
            try:
                made.append(chain(opened.convert("RGB"), random.Random(seed)))
            except ValueError as error:
                made.append(str(error))
        if isinstance(made[1], str):
            assert made[0] == made[1]
        else:
            same(*made)


@pytest.mark.filterwarnings("ignore")
def test_own_transforms_of_files_see_pillows_pictures(tmp_path: Path) -> None:
    paths = []
    for name, data in FILES.items():
        paths.append(tmp_path / f"{len(paths)} {name}.{pillows(data).format.lower()}")  # type: ignore[union-attr]
        paths[-1].write_bytes(data)
    data = gofast.ImageFiles(paths, transform=lambda image: state(image.resize((16, 12), 2)))
    for i, path in enumerate(paths):
        assert data[i] == state(Image.open(path).convert("RGB").resize((16, 12), 2)), path


def test_equality() -> None:
    data = FILES["palette"]
    lazy, plain = gofast.open(data), pillows(data)
    assert lazy == plain and gofast.open(data) == lazy and lazy.copy() == plain.copy()
    other = pillows(data)
    other.putpalette(bytes(768))
    assert lazy != other


def test_cut_files_raise_where_pillow_decodes(tmp_path: Path) -> None:
    for name in ("CMYK", "palette", "alpha", "alpha of webp"):
        for keep in (0.5, 0.9):
            data = FILES[name][: int(len(FILES[name]) * keep)]
            for use in ("RGB", "pixels", "crop", "look, RGB"):
                made, want = (
                    outcome(lambda opened, use=use, data=data: USES[use](opened(data)), opened)
                    for opened in (gofast.open, pillows)
                )
                assert made == want, (name, use)
    path = tmp_path / "a.png"
    path.write_bytes(FILES["alpha"])
    lazy = gofast.open(path).convert("RGB")
    path.unlink()  # it was read where Pillow reads it
    assert lazy.tobytes() == pillows(FILES["alpha"]).convert("RGB").tobytes()


REPAINTED: dict[str, Callable[[Any], Any]] = {
    "put": lambda image: image.putpalette([1, 2, 3] * 256),
    "put alpha": lambda image: image.putpalette([1, 2, 3, 4] * 256, "RGBA"),
    "another": lambda image: setattr(image, "palette", ImagePalette.raw("RGB", bytes([1, 2, 3] * 256))),
    "written to": lambda image: (
        setattr(image.palette, "palette", bytes([9, 8, 7] * 256)),
        setattr(image.palette, "dirty", 1),
    ),
}


@pytest.mark.parametrize("name", REPAINTED)
@pytest.mark.parametrize("looked", [False, True])
def test_a_palette_of_the_users_counts(name: str, looked: bool) -> None:
    made = []
    for opened in (gofast.open, pillows):
        image = opened(FILES["palette"])
        if looked:
            image.convert("RGB")
        REPAINTED[name](image)
        converted = image.convert("RGB")
        made.append((state(converted), image.getpalette(), converted.crop((0, 0, 4, 4)).tobytes()))
    assert made[0] == made[1]
