"""What was recorded of a late picture: operations, each five int32 of bytes.

gofast/image/steps/recorded.h has the same numbers. The core does a whole chain at once; Pillow does it one
after the other.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

_CROP, _RESIZE, _TURN, _GREY = range(4)
_OPERATION = struct.Struct("=5i")

MOST_SIDE = 1 << 15  # step.h's GF_MOST_SIDE
MOST_PIXELS = 1 << 28  # canvas.h's GF_CANVAS_MOST_PIXELS
FILTERS = range(6)  # Image.Resampling, as far as the core has them
TURNS = range(7)  # Image.Transpose

GREY = _OPERATION.pack(_GREY, 0, 0, 0, 0)


def crop(x: int, y: int, width: int, height: int) -> bytes:
    """A box is cut out."""
    return _OPERATION.pack(_CROP, x, y, width, height)


def resize(width: int, height: int, resample: int) -> bytes:
    """All of it gets another size, by a filter of Pillow's."""
    return _OPERATION.pack(_RESIZE, width, height, resample, 0)


def turn(method: int) -> bytes:
    """It is flipped or turned, by a method of Pillow's."""
    return _OPERATION.pack(_TURN, method, 0, 0, 0)


def replay(image: Image.Image, chain: bytes, mode: str) -> Image.Image:
    """The same by Pillow, to a picture of this mode."""
    for kind, *words in _OPERATION.iter_unpack(chain):
        if kind == _CROP:
            x, y, width, height = words
            image = image.crop((x, y, x + width, y + height))
        elif kind == _RESIZE:
            image = image.resize((words[0], words[1]), words[2])
        elif kind == _TURN:
            image = image.transpose(words[0])
        else:
            image = image.convert("L")
    return image.convert(mode)
