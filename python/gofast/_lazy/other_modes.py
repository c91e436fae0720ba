"""Lazy images of other modes than RGB and L: of these only the conversion to RGB is recorded."""

from __future__ import annotations

from typing import Any

from PIL import Image, ImageFile

from .lazy_image import LazyImage
from .opened_image import LazyFactory
from .source import Source

# Those whose conversion the core's decoders do to the bit, whichever Pillow it is.
OTHERS = frozenset(["1", "P", "LA", "RGBA", "CMYK"])


class LazyOtherMode(LazyImage):
    """A palette, alpha or CMYK picture. Anything but RGB of it has Pillow's own pixels."""

    def __init__(self, source: Source, header: ImageFile.ImageFile, lazy_info: dict[Any, Any] | None) -> None:
        super().__init__(source, header, lazy_info)
        self.palette = header.palette
        self._files_palette = self._palette_now()

    def _palette_now(self) -> tuple[Any, ...]:
        """What tells that a palette was put in or written to."""
        own = self.palette
        return (own,) if own is None else (own, own.mode, own.rawmode, own.dirty, bytes(own.palette))

    def _has_files_palette(self) -> bool:
        now = self._palette_now()
        return now[0] is self._files_palette[0] and now[1:] == self._files_palette[1:]

    @property
    def _lazy(self) -> LazyFactory | None:
        return None

    def _make(self, making: LazyFactory) -> None:
        made = making.source.by_pillow(b"", making.mode, making.draft)
        self._looked_at = True
        self._settle()
        own = self._has_files_palette()
        self.im = made.im
        if own:
            self.palette = made.palette

    def convert(
        self,
        mode: str | None = None,
        matrix: Any = None,
        dither: Any = None,
        palette: Any = Image.Palette.WEB,
        colors: int = 256,
    ) -> Image.Image:
        """The conversion to RGB is recorded."""
        usual = mode == "RGB" and not matrix and "transparency" not in self.info and self._has_files_palette()
        lazy = super()._lazy if usual else None
        if lazy is not None and not self._looked_at:
            lazy = self._first_look(lazy)
        if lazy is None:
            return super().convert(mode, matrix, dither, palette, colors)
        return self._then(lazy, b"", self.size, "RGB")
