"""What was recorded of a late picture: operations, each five int32 of bytes.

Some need more bytes, which lie in operations of their own behind them. gofast/image/steps/recorded.h has the
same numbers. The core does a whole chain at once; Pillow does it one after the other.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image

_CROP, _RESIZE, _TURN, _GREY, _WARP, _TABLE, _MORE = range(7)
_OPERATION = struct.Struct("=5i")
_KIND = struct.Struct("=i")
_NUMBERS = struct.Struct("=8d")
_BOX = struct.Struct("=4f")

MOST_SIDE = 1 << 15  # step.h's GF_MOST_SIDE
MOST_PIXELS = 1 << 28  # canvas.h's GF_CANVAS_MOST_PIXELS
FILTERS = range(6)  # Image.Resampling, as far as the core has them
TURNS = range(7)  # Image.Transpose
WARPS = {0: 6, 2: 8}  # Image.Transform's AFFINE and PERSPECTIVE: how many numbers
WARP_FILTERS = (0, 2, 3)  # of Image.Resampling

GREY = _OPERATION.pack(_GREY, 0, 0, 0, 0)


def _more(data: bytes) -> bytes:
    """Bytes behind an operation, 16 at a time."""
    kind = _KIND.pack(_MORE)
    return b"".join([kind + data[i : i + 16] for i in range(0, len(data), 16)])


def _behind(chain: bytes, i: int, size: int) -> bytes:
    """Those of the operation before number i."""
    step, start = _OPERATION.size, _KIND.size
    return b"".join(
        [chain[at + start : at + step] for at in range(i * step, i * step + size // 16 * step, step)]
    )


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
    return _OPERATION.pack(_RESIZE, width, height, resample, 1) + _more(_BOX.pack(*box))


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
    colour = fill[0] | fill[1] << 8 | fill[2] << 16
    operation = _OPERATION.pack(_WARP, *size, method * 16 + resample, colour)
    return operation + _more(_NUMBERS.pack(*numbers, *[0.0] * (8 - len(numbers))))


def table(values: bytes) -> bytes:
    """Bytes become others: 256 for all channels, or for each of three."""
    return _OPERATION.pack(_TABLE, 0, 0, 0, 0) + _more(values * (768 // len(values)))


def _warped(image: Image.Image, words: Sequence[int], numbers: tuple[float, ...]) -> Image.Image:
    width, height, how, colour = words
    fill: Any = (colour & 255, colour >> 8 & 255, colour >> 16)
    if image.mode == "L" and len(set(fill)) > 1:
        image = image.convert("RGB")  # as it was when that was recorded
    method, resample = divmod(how, 16)
    fill = fill[0] if image.mode == "L" else fill
    return image.transform((width, height), method, numbers[: WARPS[method]], resample, fillcolor=fill)  # type: ignore[arg-type]


def _looked_up(image: Image.Image, values: bytes) -> Image.Image:
    if image.mode == "L" and values[:512] != values[256:]:
        image = image.convert("RGB")
    return image.point(list(values if image.mode == "RGB" else values[:256]))


def replay(image: Image.Image, chain: bytes, mode: str) -> Image.Image:
    """The same by Pillow, to a picture of this mode. One of another mode than RGB and L becomes RGB first."""
    if image.mode not in ("RGB", "L", mode):
        image = image.convert("RGB")
    for i, (kind, *words) in enumerate(_OPERATION.iter_unpack(chain), 1):
        if kind == _CROP:
            x, y, width, height = words
            image = image.crop((x, y, x + width, y + height))
        elif kind == _RESIZE:
            box = _BOX.unpack(_behind(chain, i, _BOX.size)) if words[3] else None
            image = image.resize((words[0], words[1]), words[2], box)
        elif kind == _TURN:
            image = image.transpose(words[0])
        elif kind == _GREY:
            image = image.convert("L")
        elif kind == _WARP:
            image = _warped(image, words, _NUMBERS.unpack(_behind(chain, i, _NUMBERS.size)))
        elif kind == _TABLE:
            image = _looked_up(image, _behind(chain, i, 768))
    return image.convert(mode)
