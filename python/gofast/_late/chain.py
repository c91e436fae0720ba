"""What was recorded of a late picture: operations, each five int32 of bytes.

Some need more numbers, which lie in operations of their own behind them. gofast/image/steps/recorded.h has
the same numbers. The core does a whole chain at once; Pillow does it one after the other.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image

_CROP, _RESIZE, _TURN, _GREY, _WARP, _MORE = range(6)
_OPERATION = struct.Struct("=5i")
_NUMBERS = struct.Struct("=" + "i2d" * 4)  # four times _MORE
_BOX = struct.Struct("=i4f")

MOST_SIDE = 1 << 15  # step.h's GF_MOST_SIDE
MOST_PIXELS = 1 << 28  # canvas.h's GF_CANVAS_MOST_PIXELS
FILTERS = range(6)  # Image.Resampling, as far as the core has them
TURNS = range(7)  # Image.Transpose
WARPS = {0: 6, 2: 8}  # Image.Transform's AFFINE and PERSPECTIVE: how many numbers
WARP_FILTERS = (0, 2, 3)  # of Image.Resampling

GREY = _OPERATION.pack(_GREY, 0, 0, 0, 0)


def crop(x: int, y: int, width: int, height: int) -> bytes:
    """A box is cut out."""
    return _OPERATION.pack(_CROP, x, y, width, height)


def resize(width: int, height: int, resample: int) -> bytes:
    """All of it gets another size, by a filter of Pillow's."""
    return _OPERATION.pack(_RESIZE, width, height, resample, 0)


def resize_part(width: int, height: int, resample: int, box: Sequence[float]) -> bytes:
    """A box of it does; taps reach beyond the box. Pillow too hands four floats over.

    Raises:
        struct.error, OverflowError: there are not four, or one is none.
    """
    return _OPERATION.pack(_RESIZE, width, height, resample, 1) + _BOX.pack(_MORE, *box)


def turn(method: int) -> bytes:
    """It is flipped or turned, by a method of Pillow's."""
    return _OPERATION.pack(_TURN, method, 0, 0, 0)


def warp(
    size: tuple[int, int], method: int, numbers: Sequence[float], resample: int, fill: tuple[int, int, int]
) -> bytes:
    """Image.transform, by six or eight numbers.

    Raises:
        struct.error: one is no number.
    """
    a = (*numbers, 0.0, 0.0)
    colour = fill[0] | fill[1] << 8 | fill[2] << 16
    return _OPERATION.pack(_WARP, *size, method * 16 + resample, colour) + _NUMBERS.pack(
        _MORE, a[0], a[1], _MORE, a[2], a[3], _MORE, a[4], a[5], _MORE, a[6], a[7]
    )


def _warped(image: Image.Image, words: Sequence[int], numbers: tuple[float, ...]) -> Image.Image:
    width, height, how, colour = words
    fill: Any = (colour & 255, colour >> 8 & 255, colour >> 16)
    if image.mode == "L" and len(set(fill)) > 1:
        image = image.convert("RGB")  # as it was when that was recorded
    method, resample = divmod(how, 16)
    fill = fill[0] if image.mode == "L" else fill
    return image.transform((width, height), method, numbers[: WARPS[method]], resample, fillcolor=fill)  # type: ignore[arg-type]


def replay(image: Image.Image, chain: bytes, mode: str) -> Image.Image:
    """The same by Pillow, to a picture of this mode. One of another mode than RGB and L becomes RGB first."""
    if image.mode not in ("RGB", "L", mode):
        image = image.convert("RGB")
    for i, (kind, *words) in enumerate(_OPERATION.iter_unpack(chain), 1):
        if kind == _CROP:
            x, y, width, height = words
            image = image.crop((x, y, x + width, y + height))
        elif kind == _RESIZE:
            box = _BOX.unpack_from(chain, i * _OPERATION.size)[1:] if words[3] else None
            image = image.resize((words[0], words[1]), words[2], box)
        elif kind == _TURN:
            image = image.transpose(words[0])
        elif kind == _GREY:
            image = image.convert("L")
        elif kind == _WARP:
            numbers = _NUMBERS.unpack_from(chain, i * _OPERATION.size)
            image = _warped(image, words, tuple(v for k in (1, 4, 7, 10) for v in numbers[k : k + 2]))
    return image.convert(mode)
