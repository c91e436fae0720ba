"""What a lazy image has of its file, as Pillow's own image of one has it: its state, its class, its end."""

from __future__ import annotations

import copyreg
from types import MethodType
from typing import Any, NamedTuple

from PIL import Image

from .source import OF_FILES, OF_OPEN_FILES, Source

# Pillow keeps the mode in `_mode` since 10.1.
_MODE = "_mode" if isinstance(getattr(Image.Image, "mode", None), property) else "mode"


class LazyFactory(NamedTuple):
    """How the pixels will be made.

    Attributes:
        source: of the file.
        chain: what is done to its picture.
        mode, size: what that comes to.
        draft: what Pillow's decoder was told instead; the chain is empty then.
    """

    source: Source
    chain: bytes
    mode: str
    size: tuple[int, int]
    draft: tuple[Any, Any] | None = None


class OpenedImage(Image.Image):
    """A picture that is made of a file, and perhaps is the one that was opened."""

    _making: LazyFactory | None = None
    _file: Source | None = None  # of an opened picture, not of what is made of one
    _looked_at = False  # Pillow would have decoded it by now
    _drafted = False

    def _first_look(self, lazy: LazyFactory) -> LazyFactory | None:
        raise NotImplementedError

    def _settle_access(self) -> None:
        raise NotImplementedError

    def draft(self, mode: Any, size: Any) -> Any:
        """Tells the decoder of a JPEG to make less of it."""
        making = self._making
        if self.format != "JPEG" or making is None or self._looked_at or self._drafted:
            return None
        header = making.source.unloaded()
        result = header.draft(mode, size)
        self._drafted = result is not None
        if (header.mode, header.size) != (self.mode, self.size):
            self._making = making._replace(draft=(mode, size), mode=header.mode, size=header.size)
            shape(self, header.mode, header.size)
        return result

    def verify(self) -> None:
        """By Pillow, of the file, which it closes."""
        if self._file is not None:
            image = self._file.reopen()
            image.fp = None if self._looked_at else image.fp
            image.verify()
            self._file.close()

    def getexif(self) -> Image.Exif:
        """What the file says; of a PNG it may stand behind the pixels."""
        making = None if self._looked_at or self._file is None else self._making
        if making is not None and self.format == "PNG" and "exif" not in self.info:
            self._first_look(making)
        return super().getexif()

    def seek(self, frame: int) -> None:
        """There is one frame: Pillow's class for the file says so."""
        if self._file is None or frame == 0:
            super().seek(frame)
        else:
            self._file.header().seek(frame)

    @property
    def fp(self) -> Any:
        """The open file of a picture that was not read yet."""
        if self._file is None:
            raise AttributeError
        return self._file.stream()

    @fp.setter
    def fp(self, fp: Any) -> None:
        if self._file is not None and fp is None:
            self._file.close()

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()

    def close(self) -> None:
        """The pixels go, and the file, as Pillow's do."""
        self._settle_access()
        super().close()
        self._making = None
        if self._file is not None:
            self._file.close()

    def __getattr__(self, name: str) -> Any:
        file = self._file
        if file is not None and name in OF_OPEN_FILES:
            return OF_OPEN_FILES[name] if self._looked_at else getattr(file.unloaded(), name)
        if (
            file is not None
            and not name.startswith("__")
            and (name in OF_FILES or (hasattr(file.kind, name) and not hasattr(Image.Image, name)))
        ):
            if name == "text":  # of a PNG: Pillow decodes it first
                self.load()
                return getattr(file.reopen(), name)
            if name in ("_getexif", "get_child_images"):  # of a PNG, they decode it, too
                return MethodType(getattr(file.kind, name), self)
            header = file.header()
            if name not in OF_FILES:
                header.fp = file.stream()
            return getattr(header, name)
        raise AttributeError(f"{self.__class__.__name__!r} object has no attribute {name!r}")

    # -- what becomes of it elsewhere ------------------------------------------------

    @property  # type: ignore[override]
    def __class__(self) -> type[Image.Image]:
        """The class that Pillow's own image would have: isinstance and Pillow's == ask for it."""
        return Image.Image if self._file is None else self._file.kind

    @__class__.setter
    def __class__(self, kind: type) -> None:
        """As fastai casts a picture: it is an ordinary one from now on, of that class."""
        self.im  # noqa: B018
        object.__setattr__(self, "_file", None)
        info = self.info
        vars(object)["__class__"].__set__(self, kind)
        self.info = info  # of other classes an attribute

    def __reduce_ex__(self, protocol: Any) -> Any:
        data = self.tobytes()
        if self._file is None:
            state = [self.info, self.mode, self.size, self.getpalette(), data]
        else:  # with what Pillow's class for the format adds to that
            header = self._file.header()
            shape(header, self.mode, self.size)
            header.info, palette = self.info, self.getpalette()
            header.tobytes, header.getpalette = lambda: data, lambda: palette  # type: ignore[method-assign, assignment, misc]
            state = header.__getstate__()
        return copyreg._reconstructor, (self.__class__, object, None), state  # type: ignore[attr-defined]


def shape(image: Image.Image, mode: str, size: tuple[int, int]) -> None:
    """Says what an image is, as Pillow's own methods do."""
    setattr(image, _MODE, mode)
    image._size = size
