"""JPEG headers that Pillow does not read at once: what is opened looks like Pillow's, whatever they say."""

from __future__ import annotations

import importlib
import io
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, JpegImagePlugin

import gofast
from gofast._lazy import open_lazy
from image_data import photograph
from same import difference

NAMES = ("app", "applist", "quantization", "layer", "layers", "bits", "icclist", "filename", "format")
NAMES += ("format_description", "mode", "size", "info", "palette")


def headers() -> list[bytes]:
    """Files with all that Pillow writes, small ones."""
    turned, unusual = Image.Exif(), Image.Exif()
    turned[0x0112], turned[0x010E] = 6, "a picture"
    unusual[0x011A], unusual[0x0128] = 72.5, 3
    options: list[dict[str, Any]] = [
        {},
        {"progressive": True},
        {"dpi": (72, 90)},
        {"comment": b"said" * 9},
        {"exif": turned},
        {"exif": turned, "dpi": (300, 300)},
        {"exif": unusual},
        {"icc_profile": bytes(range(200)) * 400},
        {"xmp": b"<x/>"},
        {"restart_marker_rows": 1, "optimize": True},
        {"subsampling": 0, "quality": 100},
    ]
    files = []
    for mode in ("RGB", "L", "CMYK"):
        for option in options:
            file = io.BytesIO()
            photograph(1, 24, 20).convert(mode).save(file, "JPEG", **option)
            files.append(file.getvalue())
    more = b"\xff\xed\x00\x1aPhotoshop 3.0\x008BIM\x03\xed\x00\x00\x00\x00"
    adobe = b"\xff\xee\x00\x0eAdobe\x00d\x00\x00\x00\x00\x01"
    return [
        *files,
        *(files[0][:2] + segment + files[0][2:] for segment in (more, adobe, b"\xff\xff\xff", b"junk")),
    ]


def exif(image: Image.Image) -> Any:
    try:
        return dict(image.getexif())
    except Exception as error:
        return type(error)


def outcome(open: Callable[[Any], Any], source: Any) -> Any:
    """All that can be asked of what is opened, and where the file stands; or the error."""
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            image = open(source)
        except Exception as error:
            return type(error), [str(w.message) for w in warned]
        seen = [str(w.message) for w in warned]  # Pillow says more where it is asked for more
        told: list[Any] = [getattr(image, name) for name in NAMES] + [exif(image)]
        told += [isinstance(image, JpegImagePlugin.JpegImageFile), seen]
        told.append(source.tell() if hasattr(source, "tell") else None)
        try:
            small = image.convert("RGB").resize((7, 5))
            told += [small.info, small.tobytes()]
            small.info["new"] = image.info["mine"] = 1
            told += [sorted(map(str, image.info)), sorted(map(str, small.copy().info))]
        except Exception as error:
            told.append(type(error))
        image.close()
    return told


@pytest.mark.daily(12)
@pytest.mark.parametrize("seed", range(60))
def test_opened_is_what_pillow_opens(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    for number, data in enumerate(headers()):
        damaged = bytearray(data)
        for _ in range(rng.choice([0, 1, 1, 2, 5]) if seed else 0):
            damaged[rng.randrange(min(len(data), 700))] = rng.choice(
                [0, 0xFF, 0xD8, 0xE1, rng.randrange(256)]
            )
        if seed % 5 == 4:
            del damaged[rng.randrange(len(data)) :]
        path = tmp_path / f"{number}.jpg"
        path.write_bytes(damaged)
        for source in (str, Path, lambda path: io.BytesIO(path.read_bytes()), lambda path: path.open("rb")):
            told = []
            for open in (gofast.open, Image.open):
                given = source(path)
                told.append(outcome(open, given))
                if not isinstance(given, (str, Path)):
                    given.close()
            assert difference(*told) == "", (number, source)


def test_pillow_is_asked_for_no_plain_header(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.jpg"
    path.write_bytes(headers()[0])
    gofast.open(str(path))  # shows once how Pillow names files
    monkeypatch.setattr(open_lazy, "by_pillow", None)
    monkeypatch.setattr(JpegImagePlugin.JpegImageFile, "_open", None)
    with path.open("rb") as file:
        for source in (str(path), io.BytesIO(headers()[0]), file):
            image = gofast.open(source).convert("RGB").crop((0, 0, 9, 9))
            assert image.size == (9, 9) and len(image.tobytes()) == 243


def test_another_plugin_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    class Theirs(JpegImagePlugin.JpegImageFile):
        pass

    monkeypatch.setitem(Image.OPEN, "JPEG", (Theirs, lambda prefix: True))
    assert type(gofast.open(io.BytesIO(headers()[0]))) is Theirs
    monkeypatch.undo()
    monkeypatch.setitem(Image.OPEN, "THEIRS", (Theirs, lambda prefix: True))
    monkeypatch.setattr(Image, "ID", ["THEIRS", *Image.ID])
    assert type(gofast.open(io.BytesIO(headers()[0]))) is Theirs


PLUGINS = ("Tiff", "Tga", "Im", "Imt", "Iptc", "Ico", "Spider", "Pcd")


@pytest.mark.parametrize("plugin", PLUGINS)
def test_formats_that_a_script_imports_first_take_no_jpeg(
    plugin: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Image.init()  # else what others import now would be forgotten with what this test sets
    module = importlib.import_module(f"PIL.{plugin}ImagePlugin")
    name = next(one for one in Image.ID if Image.OPEN[one][0].__module__ == module.__name__)
    monkeypatch.setattr(Image, "ID", [name, *(one for one in Image.ID if one != name)])
    for number, data in enumerate(headers()):
        path = tmp_path / f"{number}.jpg"
        path.write_bytes(data)
        assert difference(*(outcome(open, str(path)) for open in (gofast.open, Image.open))) == "", number
    asked = list[Any]()
    monkeypatch.setattr(open_lazy, "by_pillow", lambda *given: asked.append(given) or Image.open(*given))
    gofast.open(io.BytesIO(headers()[0]))
    assert bool(asked) == (plugin in ("Spider", "Pcd"))  # which a JPEG may look like


def test_another_formats_plugin_is_asked_whether_it_takes_a_jpeg(monkeypatch: pytest.MonkeyPatch) -> None:
    class Theirs(JpegImagePlugin.JpegImageFile):
        pass

    def accept(prefix: bytes) -> Any:
        assert prefix == headers()[0][:16]
        if answers[0] is IndexError:
            raise IndexError
        return answers[0]

    monkeypatch.setattr(Image, "ID", ["THEIRS", *Image.ID])
    monkeypatch.setitem(Image.OPEN, "THEIRS", (Theirs, accept))
    for answer, theirs in (True, True), (False, False), ("no", False), (None, False), (IndexError, False):
        answers = [answer]
        assert (type(gofast.open(io.BytesIO(headers()[0]))) is Theirs) == theirs
    monkeypatch.setitem(Image.OPEN, "TGA", (Theirs, None))  # which is not Pillow's
    monkeypatch.setattr(Image, "ID", ["TGA", *Image.ID[1:]])
    assert type(gofast.open(io.BytesIO(headers()[0]))) is Theirs


def test_a_bomb_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 300)
    with pytest.warns(Image.DecompressionBombWarning):
        gofast.open(io.BytesIO(headers()[0]))
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 30)
    with pytest.raises(Image.DecompressionBombError):
        gofast.open(io.BytesIO(headers()[0]))
