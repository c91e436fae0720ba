"""What Pillow's methods are given, as operations of a chain: empty where Pillow's own must run."""

from __future__ import annotations

import operator
import struct
from typing import Any

from PIL import Image

from .._core import codecs
from . import chain as chains


def unusual(width: int, height: int) -> bool:
    """Whether Pillow would refuse that size, warn of it, or the core leave it to Pillow."""
    most = Image.MAX_IMAGE_PIXELS
    return width < 1 or height < 1 or width * height > min(chains.MOST_PIXELS, most or chains.MOST_PIXELS)


def too_large(width: int, height: int) -> bool:
    """Whether that is no size for a step of the core, or an unusual one."""
    return unusual(width, height) or max(width, height) > chains.MOST_SIDE


def _has(size: tuple[int, int], box: tuple[float, ...]) -> bool:
    """Whether a box lies in a picture, and the core resizes boxes in this Pillow's order."""
    x, y, right, lower = box
    inside = 0 <= x < right <= size[0] and 0 <= y < lower <= size[1]
    return inside and max(size) <= chains.MOST_SIDE and codecs.pass_order() != "12.2"


def _reduces_nothing(width: int, height: int, gap: float, box: tuple[float, ...]) -> bool:
    """Whether a resize of that box has no first step."""
    return int((box[2] - box[0]) / width / gap) < 2 and int((box[3] - box[1]) / height / gap) < 2


def _colour(mode: str, colour: Any) -> Any:
    """What Pillow itself makes of one.

    Raises:
        TypeError, ValueError, OverflowError: nothing.
    """
    return Image.new(mode, (1, 1), colour).convert("RGB").getpixel((0, 0))


def resized(size: tuple[int, int], to: Any, resample: Any, box: Any, reducing_gap: Any) -> bytes:
    """Of Image.resize."""
    if type(to) not in (tuple, list) or not (box is None or type(box) in (tuple, list)):
        return b""
    whole = (0, 0, *size)
    try:
        width, height = map(operator.index, to)
        method = operator.index(Image.Resampling.BICUBIC if resample is None else resample)
        gap = None if reducing_gap is None else float(reducing_gap)
        part = whole if box is None else tuple(box)
        if too_large(width, height) or method not in chains.FILTERS:
            return b""
        if gap is not None and not (gap >= 1.0 and _reduces_nothing(width, height, gap, part)):
            return b""
        if part != whole:
            return chains.resize_part(width, height, method, part) if _has(size, part) else b""
    except (TypeError, ValueError, IndexError, OverflowError, struct.error):
        return b""
    # The same size is a copy.
    return b"" if (width, height) == size else chains.resize(width, height, method)


def warp(mode: str, size: Any, method: Any, data: Any, resample: Any, fillcolor: Any) -> bytes:
    """Of Image.transform."""
    if not {type(size), type(data)} <= {tuple, list} or type(method) not in (int, Image.Transform):
        return b""
    count = chains.WARPS.get(method, len(data) + 1)
    if len(data) < count:
        return b""
    try:
        width, height = map(operator.index, size)
        filter = operator.index(resample)
        if too_large(width, height) or filter not in chains.WARP_FILTERS:
            return b""
        colour = (0, 0, 0) if fillcolor is None else _colour(mode, fillcolor)
        return chains.warp((width, height), method, data[:count], filter, colour)
    except (TypeError, ValueError, OverflowError, struct.error):
        return b""


def table(mode: str, lut: Any) -> bytes:
    """Of Image.point, with a table of bytes."""
    if type(lut) not in (list, tuple) or len(lut) != (256 if mode == "L" else 768):
        return b""
    if set(map(type, lut)) != {int} or min(lut) < 0 or max(lut) > 255:
        return b""
    return chains.table(bytes(lut))


def pad(image: Image.Image, border: Any, colour: Any) -> tuple[bytes, tuple[int, int]]:
    """Of ImageOps.expand, and the size that it makes."""
    size = image.size
    sides = border if type(border) is tuple else (border,) * 4
    sides = sides * 2 if len(sides) == 2 else sides
    if len(sides) != 4 or set(map(type, sides)) != {int} or min(sides) < 0:
        return b"", size
    left, top, right, bottom = sides
    size = size[0] + left + right, size[1] + top + bottom
    if unusual(*size):
        return b"", size
    try:
        if image.mode != "P":  # of such a picture it is a number, three times
            colour = _colour(image.mode, colour)
        return chains.pad((left, top, right, bottom), colour), size
    except (TypeError, ValueError, OverflowError):
        return b"", size


def fill(mode: str, size: tuple[int, int], colour: Any, box: Any) -> bytes:
    """Of Image.paste of a colour."""
    # None is black to Image.new, and no colour to paste.
    if colour is None or type(box) is not tuple or len(box) != 4 or set(map(type, box)) != {int}:
        return b""
    x, y, right, lower = box
    if not (0 <= x < right <= size[0] and 0 <= y < lower <= size[1]):
        return b""
    try:
        return chains.fill(x, y, right - x, lower - y, _colour(mode, colour))
    except (TypeError, ValueError, OverflowError):
        return b""
