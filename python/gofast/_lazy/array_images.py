"""Lazy images of arrays: what `Image.fromarray` makes of one of uint8, [height, width, 3] or [height, width].

Pillow copies the first at once, and so is done here. The second shares its memory with the picture, which
shows later writes: it is read where something is made of it, and Pillow's own picture shares it then.
"""

from __future__ import annotations

import os
from types import CodeType, FrameType
from typing import Any

import numpy as np
from PIL import Image

from .._core import reason
from .._core.reason import Reason
from .lazy_image import LazyImage
from .opened_image import LazyFactory, shape
from .pillow_arguments import too_large
from .source import Source, SourceState

by_pillow = Image.fromarray  # as it was before anybody put something in its place


def _lazy_modes() -> tuple[str | None, ...]:
    """Modes that may be given: none where the function is somebody else's; Pillow 11.3 warns of any."""
    if getattr(by_pillow, "__globals__", None) is not vars(Image):
        return ()
    return (None,) if "deprecate" in by_pillow.__code__.co_names else (None, "RGB", "L")


_MODES = _lazy_modes()
_HEADS = {"RGB": b"P6 %d %d 255\n", "L": b"P5 %d %d 255\n"}
_MOST_MISSES = 8  # pictures in a row that Pillow had to make; so many of the next are its own at once:
_PAUSE = 256
_MOST_SITES = 1_000
SMALL = 1 << 14  # pixels, of which to wait costs as much as to be made


class _Site:
    """Where a script makes pictures of arrays, and whether the last ones were made natively.

    One that Pillow makes costs twice what its own does.
    """

    def __init__(self, caller: FrameType) -> None:
        file = os.path.basename(caller.f_code.co_filename)
        self._named = f"Image.fromarray in line {caller.f_lineno} of {file}"
        self.misses = self.pause = 0

    def missed(self) -> None:
        """Pillow made one."""
        self.misses += 1
        if self.misses == _MOST_MISSES:
            self.misses, self.pause = _MOST_MISSES - 1, _PAUSE
            text = f"{self._named}: other code than a Compose takes the pixels, so nothing is recorded there"
            reason.process.note(Reason(text, "picture", "fallback"))


_sites: dict[tuple[CodeType, int], _Site] = {}


def _site(caller: FrameType) -> _Site:
    place = caller.f_code, caller.f_lasti
    site = _sites.get(place)
    if site is None:
        if len(_sites) == _MOST_SITES:
            _sites.clear()
        site = _sites[place] = _Site(caller)
    return site


class ArraySource(Source):
    """Not a file but an array, or its copy, as a PPM file: the core reads what is left of a picture."""

    __slots__ = ("_array", "_head", "site")

    def __init__(self, array: np.ndarray[Any, Any], mode: str, site: _Site) -> None:
        self.site = site
        height, width = array.shape[:2]
        self.name, self.size, self.mode, self.state = "", (width, height), mode, SourceState.NATIVE
        self.opened = None
        self._head = _HEADS[mode] % (width, height)
        self._array: Any = array if mode == "L" else array.tobytes()

    def is_whole(self) -> bool:
        """It is."""
        return True

    def is_certain(self) -> bool:
        """It is no file."""
        return False

    def held(self) -> tuple[tuple[int, int] | None, bytes]:
        """See the base class. Nothing is decoded that would be worth keeping."""
        self.site.misses = 0
        return (0, 0), self._head + (self._array.data if self.mode == "L" else self._array)

    def waiting(self) -> tuple[tuple[int, int] | None, bytes, Source | None]:
        """See the base class."""
        return *self.held(), None

    def made_by_pillow(self) -> Image.Image:
        """Pillow's own."""
        if self.mode == "L":
            image: Image.Image = by_pillow(self._array)
            return image
        return Image.frombytes("RGB", self.size, self._array)


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

    def convert(self, mode: str | None = None, *args: Any, **named: Any) -> Image.Image:
        """A copy in colours stays what it is; Pillow converts to other modes."""
        making = self.untouched()
        if making is None or (mode, self.mode) != ("RGB", "RGB") or args or named:
            return super().convert(mode, *args, **named)
        return self.then(making.source)

    def then(self, source: Source) -> LazyArrayImage:
        """Another picture, of what steps have made of this one's pixels."""
        new = of_source(source)
        new.info = self.info.copy()
        return new

    def _make(self, making: LazyFactory) -> None:
        source = making.source
        if isinstance(source, ArraySource):
            source.site.missed()
            self.im = source.made_by_pillow().im
        else:
            self.im = source.by_pillow(b"", self.mode, None).im


def of_source(source: Source) -> LazyArrayImage:
    """A picture of an array, or of pixels that steps have made of one: its info is empty."""
    new = LazyArrayImage.__new__(LazyArrayImage)
    Image.Image.__init__(new)
    new._making, new._looked_at = LazyFactory(source, b"", source.mode, source.size), True
    shape(new, source.mode, source.size)
    return new


def of_array(array: Any, mode: Any, caller: FrameType) -> LazyArrayImage | None:
    """A lazy image; None for Pillow's `fromarray`, which makes one, or raises."""
    site = _site(caller)
    if site.pause:
        site.pause -= 1
        return None
    if type(array) is not np.ndarray or array.dtype != np.uint8 or array.ndim not in (2, 3):
        return None
    own = "RGB" if array.ndim == 3 else "L"
    height, width = array.shape[:2]
    if not ((mode is None or type(mode) is str) and mode in _MODES and mode in (None, own)):
        return None
    if array.shape[2:] not in ((), (3,)) or too_large(width, height):
        return None
    if own == "L" and not array.flags.c_contiguous:  # of which Pillow makes a copy
        return None
    new = of_source(ArraySource(array, own, site))
    if own == "L":
        new.readonly = 1
    return new


def untouched(image: Any) -> LazyFactory | None:
    """How the pixels of a lazy image will be made, for who does all of its steps at once."""
    if type(image) is LazyArrayImage:
        return image.untouched()
    return image._lazy if type(image) is LazyImage else None
