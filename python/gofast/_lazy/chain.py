"""What was recorded of a lazy image: operations, each five int32 of bytes.

Some need more bytes, which lie in operations of their own behind them. gofast/image/steps/recorded.h has the
same numbers. The core does a whole chain at once; Pillow does it one after the other.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PIL import Image

(
    _CROP,
    _RESIZE,
    _RESIZE_PART,
    _TURN,
    _GREY,
    _WARP,
    _TABLE,
    _BLUR,
    _ENHANCE,
    _LEVELS,
    _PAD,
    _FILL,
    _INDICES,
    _MORE,
) = range(14)
# Classes of ImageEnhance, and torchvision's adjust_hue.
BRIGHTNESS, CONTRAST, COLOR, SHARPNESS, HUE = range(5)
EQUALIZE, AUTOCONTRAST = range(2)

_OPERATION = struct.Struct("=5i")
_KIND = struct.Struct("=i")
_NUMBERS = struct.Struct("=8d")
_BOX = struct.Struct("=4f")
_BLURRED = struct.Struct("=i2f2i")
_ENHANCED = struct.Struct("=3id")
_COLOUR = struct.Struct("=4B12x")

MOST_SIDE = 1 << 15  # step.h's GF_MOST_SIDE
MOST_PIXELS = 1 << 28  # canvas.h's GF_CANVAS_MOST_PIXELS
MOST_FACTOR = 1e6  # step.h's GF_MOST_FACTOR
FILTERS = range(6)  # Image.Resampling, as far as the core has them
TURNS = range(7)  # Image.Transpose
WARPS = {0: 6, 2: 8}  # Image.Transform's AFFINE and PERSPECTIVE: how many numbers
WARP_FILTERS = (0, 2, 3)  # of Image.Resampling

GREY = _OPERATION.pack(_GREY, 0, 0, 0, 0)
INDICES = _OPERATION.pack(
    _INDICES, 0, 0, 0, 0
)  # the first: of a picture with a palette, its numbers are the pixels


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
    return _OPERATION.pack(_RESIZE_PART, width, height, resample, 0) + _more(_BOX.pack(*box))


def turn(method: int) -> bytes:
    """It is flipped or turned, by a method of Pillow's."""
    return _OPERATION.pack(_TURN, method, 0, 0, 0)


def warp(
    size: tuple[int, int], method: int, numbers: Sequence[float], resample: int, fill: tuple[int, int, int]
) -> bytes:
    """Image.transform, by six or eight numbers.

    Raises:
        struct.error, TypeError: one is no number.
        ValueError: one is not finite.
    """
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"a transform by {numbers}")
    colour = fill[0] | fill[1] << 8 | fill[2] << 16
    operation = _OPERATION.pack(_WARP, *size, method * 16 + resample, colour)
    return operation + _more(_NUMBERS.pack(*numbers, *[0.0] * (8 - len(numbers))))


def table(values: bytes) -> bytes:
    """Bytes become others: 256 for all channels, or for each of three."""
    return _OPERATION.pack(_TABLE, 0, 0, 0, 0) + _more(values * (768 // len(values)))


def blur(x: float, y: float, gaussian: bool) -> bytes:
    """ImageFilter's GaussianBlur or BoxBlur, by a radius either way."""
    return _BLURRED.pack(_BLUR, x, y, gaussian, 0)


def enhance(what: int, factor: float) -> bytes:
    """A class of ImageEnhance, by a factor."""
    return _ENHANCED.pack(_ENHANCE, what, 0, factor)


def levels(what: int) -> bytes:
    """ImageOps.equalize, or autocontrast."""
    return _OPERATION.pack(_LEVELS, what, 0, 0, 0)


def pad(sides: tuple[int, int, int, int], colour: Sequence[int]) -> bytes:
    """A border of a colour: left, top, right, bottom."""
    return _OPERATION.pack(_PAD, *sides) + _more(_COLOUR.pack(*colour, 0))


def fill(x: int, y: int, width: int, height: int, colour: Sequence[int]) -> bytes:
    """A box becomes one colour."""
    return _OPERATION.pack(_FILL, x, y, width, height) + _more(_COLOUR.pack(*colour, 0))


def only_moves(chain: bytes) -> bool:
    """Whether it is crops and flips alone. The core reads pixels at other places then: they cost nothing."""
    return all(
        kind == _CROP or (kind == _TURN and method < 2) for kind, method, *_ in _OPERATION.iter_unpack(chain)
    )


# What the core does to every picture. It refuses a blur by a radius out of its range.
_CERTAIN = bytes(
    [_CROP, _RESIZE, _RESIZE_PART, _TURN, _GREY, _WARP, _TABLE, _ENHANCE, _LEVELS, _PAD, _FILL, _MORE]
)
_MOST_CERTAIN = 1 << 14  # a side
_MOST_BLURRED = 1 << 12  # a radius; box_blur.c takes four times that


def is_certain(chain: bytes, size: tuple[int, int]) -> bool:
    """Whether the core certainly does it to a picture of that size."""
    if max(size) > _MOST_CERTAIN:
        return False
    kinds = chain[:: _OPERATION.size]  # their first bytes: the numbers are small, processors little-endian
    if not (others := kinds.translate(None, _CERTAIN)):
        return True
    if others.strip(bytes([_BLUR])):
        return False
    for i, kind in enumerate(kinds):
        if kind == _BLUR:
            _, x, y, *_ = _BLURRED.unpack_from(chain, i * _OPERATION.size)
            if not (0 <= x <= _MOST_BLURRED and 0 <= y <= _MOST_BLURRED):
                return False
    return True


# -- the same by Pillow: of a picture, the words of an operation, and what more it has


def _cropped(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    x, y, width, height = words
    return image.crop((x, y, x + width, y + height))


def _resized(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    return image.resize((words[0], words[1]), words[2], _BOX.unpack(more) if more else None)


def _turned(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    return image.transpose(words[0])  # type: ignore[arg-type]


def _greyed(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    return image.convert("L")


def _indices(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    from PIL import Image

    return Image.frombytes("L", image.size, image.tobytes())


def _of_mode(image: Image.Image, colour: tuple[int, ...]) -> tuple[Image.Image, Any]:
    """The picture, and a colour of its mode. It was RGB when a colour was recorded that is not grey."""
    if image.mode == "L" and len(set(colour)) > 1:
        image = image.convert("RGB")
    return image, colour[0] if image.mode == "L" else colour


def _warped(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    width, height, how, packed = words
    image, fill = _of_mode(image, (packed & 255, packed >> 8 & 255, packed >> 16))
    method, resample = divmod(how, 16)
    numbers = _NUMBERS.unpack(more)[: WARPS[method]]
    return image.transform((width, height), method, numbers, resample, fillcolor=fill)  # type: ignore[arg-type]


def _looked_up(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    if image.mode == "L" and more[:512] != more[256:]:
        image = image.convert("RGB")
    return image.point(list(more if image.mode == "RGB" else more[:256]))


def _blurred(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    from PIL import ImageFilter

    _, x, y, gaussian, _ = _BLURRED.unpack(_OPERATION.pack(_BLUR, *words))
    return image.filter(ImageFilter.GaussianBlur((x, y)) if gaussian else ImageFilter.BoxBlur((x, y)))


def _enhanced(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    from PIL import ImageEnhance

    _, what, _, factor = _ENHANCED.unpack(_OPERATION.pack(_ENHANCE, *words))
    if what == HUE:
        from torchvision.transforms import functional

        hued: Image.Image = functional.adjust_hue(image, factor)
        return hued
    kinds = (ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color, ImageEnhance.Sharpness)
    return kinds[what](image).enhance(factor)


def _levelled(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    from PIL import ImageOps

    return (ImageOps.equalize, ImageOps.autocontrast)[words[0]](image)


def _padded(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    from PIL import ImageOps

    image, colour = _of_mode(image, _COLOUR.unpack(more)[:3])
    return ImageOps.expand(image, tuple(words), colour)


def _filled(image: Image.Image, words: Sequence[int], more: bytes) -> Image.Image:
    image, colour = _of_mode(image, _COLOUR.unpack(more)[:3])
    image = image.copy()
    x, y, width, height = words
    image.paste(colour, (x, y, x + width, y + height))
    return image


# By kind: that function, and how many bytes more it is given.
_REPLAYED: dict[int, tuple[Callable[[Image.Image, Sequence[int], bytes], Image.Image], int]] = {
    _CROP: (_cropped, 0),
    _RESIZE: (_resized, 0),
    _RESIZE_PART: (_resized, _BOX.size),
    _TURN: (_turned, 0),
    _GREY: (_greyed, 0),
    _WARP: (_warped, _NUMBERS.size),
    _TABLE: (_looked_up, 768),
    _BLUR: (_blurred, 0),
    _ENHANCE: (_enhanced, 0),
    _LEVELS: (_levelled, 0),
    _PAD: (_padded, _COLOUR.size),
    _FILL: (_filled, _COLOUR.size),
    _INDICES: (_indices, 0),
}


def replay(image: Image.Image, chain: bytes, mode: str) -> Image.Image:
    """The same by Pillow, to a picture of this mode. One of another mode than RGB and L becomes RGB first."""
    if image.mode not in ("RGB", "L", mode) and not chain.startswith(INDICES):
        image = image.convert("RGB")
    for i, (kind, *words) in enumerate(_OPERATION.iter_unpack(chain), 1):
        if kind != _MORE:
            do, size = _REPLAYED[kind]
            image = do(image, words, _behind(chain, i, size))
    return image.convert(mode)
