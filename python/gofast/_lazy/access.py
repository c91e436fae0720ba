"""What `load` of a lazy image returns: Pillow's access to single pixels, made when one is touched."""

from __future__ import annotations

from typing import Any

from PIL import Image


class LazyAccess:
    """Pillow's PixelAccess of a lazy image. Most code that calls `load` does nothing with it."""

    __slots__ = ("__weakref__", "_image", "_pixels")

    def __init__(self, image: Image.Image) -> None:
        self._image = image
        self._pixels: Any = None

    def settle(self) -> Any:
        """Pillow's own, of the pixels that the image has now, and from now on of these."""
        if self._pixels is None:
            self._image.im  # noqa: B018
            self._pixels = Image.Image.load(self._image)
        return self._pixels

    def __getitem__(self, place: Any) -> Any:
        return self.settle()[place]

    def __setitem__(self, place: Any, value: Any) -> None:
        self.settle()[place] = value

    def __delitem__(self, place: Any) -> None:
        del self.settle()[place]

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.settle())
