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


def has(size: tuple[int, int], box: tuple[float, ...]) -> bool:
    """Whether a box lies in a picture, and the core resizes boxes in this Pillow's order."""
    x, y, right, lower = box
    inside = 0 <= x < right <= size[0] and 0 <= y < lower <= size[1]
    return inside and max(size) <= chains.MOST_SIDE and codecs.pass_order() != "12.2"


def reduces_nothing(width: int, height: int, gap: float, box: tuple[float, ...]) -> bool:
    """Whether a resize of that box has no first step."""
    return int((box[2] - box[0]) / width / gap) < 2 and int((box[3] - box[1]) / height / gap) < 2


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
        colour: Any = (0, 0, 0)
        if fillcolor is not None:  # Pillow itself says what it makes of one
            colour = Image.new(mode, (1, 1), fillcolor).convert("RGB").getpixel((0, 0))
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
