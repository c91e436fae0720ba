"""Lazy images of other modes than RGB, L and P: of these only the conversion to RGB is recorded."""

from __future__ import annotations

from typing import Any

from PIL import Image

from .lazy_image import LazyImage
from .opened_image import LazyFactory

# Those whose conversion the core's decoders do to the bit, whichever Pillow it is.
OTHERS = frozenset(["1", "LA", "RGBA", "CMYK"])


class LazyOtherMode(LazyImage):
    """A black and white, alpha or CMYK picture. Anything but RGB of it has Pillow's own pixels."""

    @property
    def _lazy(self) -> LazyFactory | None:
        return None

    def _make(self, making: LazyFactory) -> None:
        made = making.source.by_pillow(b"", making.mode, making.draft)
        self._looked_at = True
        self._settle()
        self.im = made.im

    def convert(
        self,
        mode: str | None = None,
        matrix: Any = None,
        dither: Any = None,
        palette: Any = Image.Palette.WEB,
        colors: int = 256,
    ) -> Image.Image:
        """The conversion to RGB is recorded."""
        usual = mode == "RGB" and not matrix and not self._is_transparent()
        lazy = super()._lazy if usual else None
        if lazy is not None and not self._looked_at:
            lazy = self._first_look(lazy)
        if lazy is None:
            return super().convert(mode, matrix, dither, palette, colors)
        return self._then(lazy, b"", self.size, "RGB")
