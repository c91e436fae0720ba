"""Lazy images of arrays: what `Image.fromarray` makes of one that is [height, width, 3] of uint8.

Pillow copies such an array at once, and so is done here. One of [height, width] shares its memory with the
picture, which shows later writes: that stays Pillow's.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image

from .lazy_image import LazyImage
from .opened_image import LazyFactory, shape
from .pillow_arguments import too_large
from .source import Source, SourceState

by_pillow = Image.fromarray  # as it was before anybody put something in its place


def _lazy_modes() -> tuple[str | None, ...]:
    """Modes that may be given: none where the function is somebody else's; Pillow 11.3 warns of any."""
    if getattr(by_pillow, "__globals__", None) is not vars(Image):
        return ()
    return (None,) if "deprecate" in by_pillow.__code__.co_names else (None, "RGB")


_MODES = _lazy_modes()
_MOST_MISSES = 8  # pictures in a row that Pillow had to make; so many of the next are its own at once:
_PAUSE = 256


class _Gains:
    """Whether the last pictures were made natively: one that Pillow makes costs twice what its own does."""

    def __init__(self) -> None:
        self.misses = self.pause = 0

    def missed(self) -> None:
        """Pillow made one."""
        self.misses += 1
        if self.misses == _MOST_MISSES:
            self.misses, self.pause = _MOST_MISSES - 1, _PAUSE


gains = _Gains()


class _Copy(Source):
    """Not a file but a copy of an array, as a PPM file has it: the core reads what is left of a picture."""

    __slots__ = ("_data", "_start")

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        height, width, _ = array.shape
        self.name, self.size, self.mode, self.state = "", (width, height), "RGB", SourceState.NATIVE
        self.opened = None
        head = b"P6 %d %d 255\n" % (width, height)
        self._start = len(head)
        self._data = head + (array.data if array.flags.c_contiguous else array.tobytes())

    def is_whole(self) -> bool:
        """It is."""
        return True

    def is_certain(self) -> bool:
        """It is no file."""
        return False

    def held(self) -> tuple[tuple[int, int] | None, bytes]:
        """See the base class. Nothing is decoded that would be worth keeping."""
        gains.misses = 0
        return (0, 0), self._data

    def rows(self) -> memoryview:
        """The pixels."""
        return memoryview(self._data)[self._start :]


class LazyArrayImage(LazyImage):
    """A picture of an array, which only a Compose makes natively, in one call.

    All else that is asked of it is Pillow's: a crop or a flip of pixels that are there costs less than a
    recorded one.
    """

    @property
    def _lazy(self) -> LazyFactory | None:
        return None

    def untouched(self) -> LazyFactory | None:
        """How its pixels will be made, as long as nobody has asked for them."""
        return super()._lazy

    def _make(self, making: LazyFactory) -> None:
        source = making.source
        assert isinstance(source, _Copy)
        gains.missed()
        self.im = Image.frombytes("RGB", source.size, source.rows()).im


def of_array(array: Any, mode: Any) -> LazyArrayImage | None:
    """A lazy image; None for Pillow's `fromarray`, which makes one, or raises."""
    if type(array) is not np.ndarray or array.dtype != np.uint8 or array.ndim != 3:
        return None
    height, width, channels = array.shape
    if gains.pause:
        gains.pause -= 1
        return None
    given = (mode is None or type(mode) is str) and mode in _MODES
    if not given or channels != 3 or too_large(width, height):
        return None
    new = LazyArrayImage.__new__(LazyArrayImage)
    Image.Image.__init__(new)
    new._making, new._looked_at = LazyFactory(_Copy(array), b"", "RGB", (width, height)), True
    shape(new, "RGB", (width, height))
    return new


def untouched(image: Any) -> LazyFactory | None:
    """How the pixels of a lazy image will be made, for who does all of its steps at once."""
    if type(image) is LazyArrayImage:
        return image.untouched()
    return image._lazy if type(image) is LazyImage else None
