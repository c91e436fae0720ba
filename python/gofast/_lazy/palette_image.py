"""Lazy images with a palette, as masks have: their pixels are numbers, and the core makes what is recorded.

What concerns the palette alone is Pillow's, done to a small picture that has each number once.
"""

from __future__ import annotations

import functools
from typing import Any

from PIL import Image, ImageFile, ImagePalette

from . import chain as chains
from . import pillow_arguments
from .lazy_image import LazyImage
from .opened_image import LazyFactory
from .source import Source, Unread

_MOST_COLOURS = 256


def colours_of(image: ImageFile.ImageFile) -> bytes:
    """The palette that an opened file has: a colour after the other; empty where it is no usual one."""
    palette = image.palette
    if palette is None or palette.mode != "RGB" or palette.rawmode not in ("RGB", None):
        return b""
    if not has_usual_length(len(palette.palette)):
        return b""
    return bytes(palette.palette)


def has_usual_length(size: int) -> bool:
    """Whether so many bytes are a palette."""
    return 0 < size <= 3 * _MOST_COLOURS and size % 3 == 0


def _numbers(colours: bytes) -> Image.Image:
    """A picture that has each number once, with a palette as Pillow's opened file has it."""
    numbers = Image.frombytes("P", (_MOST_COLOURS, 1), bytes(range(_MOST_COLOURS)))
    numbers.palette = ImagePalette.raw("RGB", colours)
    return numbers


@functools.lru_cache(32)
def _loaded(colours: bytes) -> Image.Image:
    """The same, for who only reads it."""
    numbers = _numbers(colours)
    numbers.load()
    return numbers


@functools.lru_cache(32)
def _table(colours: bytes, mode: str) -> bytes:
    return _table_of(_loaded(colours), mode)


def _table_of(numbers: Image.Image, mode: str) -> bytes:
    """What Pillow makes of each number, a channel after the other."""
    return b"".join([band.tobytes() for band in numbers.convert(mode).split()])


class LazyPaletteImage(LazyImage):
    """A picture of mode P. Recorded is what leaves its numbers as they are, a border, and RGB and L of it."""

    _colours = b""  # of the palette, as long as nobody has asked for that
    _own: Image.Image | None = None  # then: each number once, with that palette
    _used = False

    def __init__(
        self, source: Source, header: ImageFile.ImageFile | Unread, lazy_info: dict[Any, Any] | None
    ) -> None:
        super().__init__(source, header, lazy_info)
        self._making = LazyFactory(source, chains.INDICES, header.mode, header.size)
        self._colours = header.colours if isinstance(header, Unread) else colours_of(header)

    # -- the palette -----------------------------------------------------------------

    @property
    def palette(self) -> Any:
        """Pillow's own."""
        return self._numbers().palette

    @palette.setter
    def palette(self, palette: Any) -> None:
        if palette is not None or self._own is not None:  # Pillow's __init__ sets none
            self._numbers().palette = palette

    def _numbers(self) -> Image.Image:
        """Each number once, with this picture's palette."""
        if self._own is None:
            self._own = _numbers(self._colours)
            if self._looked_at:
                self._own.load()
        return self._own

    def _numbers_read(self) -> Image.Image:
        """The same, of which nothing is changed, of a picture that Pillow would have decoded by now."""
        if self._own is None:
            return _loaded(self._colours)
        self._own.load()
        return self._own

    def getpalette(self, rawmode: str | None = "RGB") -> list[int] | None:
        """The palette as a list."""
        lazy = self._look()
        return super().getpalette(rawmode) if lazy is None else self._numbers_read().getpalette(rawmode)

    def putpalette(self, data: Any, rawmode: str = "RGB") -> None:
        """Another palette: the numbers stay."""
        if self._looked_at and self._lazy is not None:
            self._numbers().putpalette(data, rawmode)
        else:
            super().putpalette(data, rawmode)

    # -- the numbers -----------------------------------------------------------------

    def _look(self) -> LazyFactory | None:
        lazy = super()._look()
        if lazy is None:
            return None
        if self._own is not None:
            self._own.load()  # as Pillow does at this place
        if self._used:  # of a picture that is used again, the numbers are kept
            self._make(lazy)
            return None
        return lazy

    def _make(self, making: LazyFactory) -> None:
        data = making.source.pixels(making.chain, making.size, 1)
        if data is None:
            data = making.source.by_pillow(making.chain, making.mode, None).tobytes()
        self._looked_through()
        numbers = self._numbers_read()
        made = numbers._new(numbers.im.crop((0, 0, *making.size)))
        made.frombytes(data)
        self._im, self._making = made.im, None

    def _blank(self, mode: str) -> LazyImage:
        self._used = True
        if mode != "P":
            return super()._blank(mode)
        new = LazyPaletteImage.__new__(LazyPaletteImage)
        Image.Image.__init__(new)
        new._colours, new._own = self._colours, None if self._own is None else self._own.copy()
        return new

    def resize(
        self, size: Any, resample: Any = None, box: Any = None, reducing_gap: float | None = None
    ) -> Image.Image:
        """Numbers are not mixed, whatever the filter."""
        usual = resample is None or (isinstance(resample, int) and resample in chains.FILTERS)
        if usual and (reducing_gap is None or (type(reducing_gap) is float and reducing_gap >= 1.0)):
            return super().resize(size, Image.Resampling.NEAREST, box)
        return Image.Image.resize(self, size, resample, box, reducing_gap)

    def convert(
        self,
        mode: str | None = None,
        matrix: Any = None,
        dither: Any = None,
        palette: Any = Image.Palette.WEB,
        colors: int = 256,
    ) -> Image.Image:
        """A conversion to RGB or L is recorded: what Pillow makes of each number."""
        lazy = self._look() if mode in ("RGB", "L") and not matrix and not self._is_transparent() else None
        if lazy is None or mode is None:
            return Image.Image.convert(self, mode, matrix, dither, palette, colors)
        if self._own is not None:
            operation = chains.table(_table_of(self._own, mode))
        elif mode == "RGB" and lazy.chain == chains.INDICES:
            lazy, operation = lazy._replace(chain=b""), b""  # the decoder gives colours at once
        else:
            operation = chains.table(_table(self._colours, mode))
        return self._then(lazy, operation, self.size, mode)

    def expanded(self, border: Any, fill: int, own: Any) -> LazyPaletteImage | None:
        """What ImageOps.expand, which is given, makes of it; None where it must run itself."""
        lazy = None if self._lazy is None or self._is_transparent() else self._look()
        if lazy is None:
            return None
        operation, size = pillow_arguments.pad(self, border, (fill,) * 3)
        if not operation:
            return None
        new = self._then(lazy, operation, size, "P")
        assert isinstance(new, LazyPaletteImage)
        new.info, new._own = {}, own(self._numbers_read(), 0, fill)
        return new

    filter, paste = Image.Image.filter, Image.Image.paste
    point, transform = Image.Image.point, Image.Image.transform
