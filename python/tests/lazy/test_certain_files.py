"""A JPEG that certainly decodes, as a lazy image says, is one that Pillow decodes, whatever is in it."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import gofast
from gofast._core import codecs
from image_data import photograph


def is_certain(data: bytes) -> bool:
    """Of a picture that may wait; not of one that is Pillow's, or that it refuses to open."""
    try:
        image = gofast.open(io.BytesIO(data))
    except Exception:
        return False
    making = getattr(image, "_making", None)
    certain = making is not None and making.source.is_certain()
    if certain:
        assert making.source.pixels(b"", image.size, 4) is not None, "the core decodes it, too"
    return certain


def decodes(data: bytes) -> bool:
    try:
        Image.open(io.BytesIO(data)).load()
    except Exception:
        return False
    return True


@pytest.mark.parametrize(
    "options", [{}, {"subsampling": 2, "optimize": True}, {"progressive": True}], ids=str
)
@pytest.mark.filterwarnings("ignore")
def test_whatever_is_damaged(options: dict[str, int]) -> None:
    file = io.BytesIO()
    photograph(1, 90, 70).save(file, "JPEG", quality=70, **options)
    data, numbers, found = file.getvalue(), np.random.default_rng(3), Counter[tuple[bool, bool]]()
    scan = data.index(b"\xff\xda")
    for trial in range(1500):
        changed = bytearray(data)
        for _ in range(numbers.integers(1, 4)):
            most = scan + 14 if trial % 3 else len(data)
            changed[numbers.integers(2, most)] = numbers.integers(256)
        damaged = bytes(changed[: numbers.integers(scan, len(data))] if trial % 10 == 0 else changed)
        found[is_certain(damaged), decodes(damaged)] += 1
    assert not found[True, False]
    if options.get("progressive"):
        assert not found[True, True]  # of several scans
    else:
        assert found[True, True] > 200
    assert found[False, False] > 200


def test_what_stands_behind_the_scan() -> None:
    file = io.BytesIO()
    photograph(2, 60, 60).save(file, "JPEG")
    data = file.getvalue()
    for behind, certain in ((b"", True), (bytes(9), True), (b"\0\1", False), (data, False)):
        assert is_certain(data + behind) is certain, behind[:4]
    cut = len(data) - 40
    for within, certain in (
        (b"\xff\xd3", True),
        (b"\xff\0", True),
        (b"\xff\xd9", False),
        (b"\xff\xda", False),
    ):
        assert is_certain(data[:cut] + within + data[cut + 2 :]) is certain, within


def test_a_place_that_is_not_there() -> None:
    codecs.load()
    with pytest.raises(ValueError, match="no such place"):
        codecs.capsule().jpeg_is_certain(b"abc", 4, 1)


@pytest.mark.filterwarnings("ignore")
def test_a_damaged_png_raises_where_pillow_decodes_it(tmp_path: Path) -> None:
    """Its checksums tell, so that no code of the user's runs before that."""
    path, numbers, found = tmp_path / "a.png", np.random.default_rng(4), Counter[str]()
    photograph(1, 90, 70).save(path)
    data, lazy = path.read_bytes(), 0
    for _ in range(200):
        damaged = bytearray(data)
        damaged[numbers.integers(data.index(b"IDAT") + 4, len(data) - 16)] ^= 1 << int(numbers.integers(8))
        path.write_bytes(damaged)
        said = [raised(opened, path) for opened in (gofast.open, Image.open)]
        assert said[0] == said[1]
        found[said[0]] += 1
        lazy += type(gofast.open(path)) is not type(Image.open(path))
    assert found["broken data stream when reading image file"] > 50 and lazy == 200


def raised(opened: Callable[[Path], Image.Image], path: Path) -> str:
    """What is wrong with a file where it is converted."""
    try:
        opened(path).convert("RGB")
    except OSError as error:
        return str(error)
    return ""
