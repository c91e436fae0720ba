"""LazyImage: a PIL image whose pixels are made when they are needed."""

from __future__ import annotations

import operator
import sys
import weakref
from types import FunctionType
from typing import Any

from PIL import Image, ImageFile, ImageOps
from PIL._util import DeferredError

from . import chain as chains
from . import filters, pillow_arguments
from .access import LazyAccess
from .opened_image import LazyFactory, OpenedImage, shape
from .source import PixelSource, Source, Unread

# It loads a picture before it asks for the orientation; what it does then is recorded.
_ONLY_TURNS = ImageOps.exif_transpose.__code__


class LazyImage(OpenedImage):
    """A PIL image whose pixels are made when they are needed: what `gofast.open` returns.

    It has all that ``PIL.Image.Image`` has. ``crop``, ``resize``, ``transpose``, ``rotate``, affine and
    perspective ``transform``, ``point`` with a table, ``convert`` to "RGB" or "L", ``copy``, ``filter`` by a
    GaussianBlur or BoxBlur, ``paste`` of a colour, ``ImageEnhance`` and most of ``ImageOps`` are only
    recorded, and give another LazyImage; then one native call decodes
    what survives, and does them. Whatever else is asked of it sees an ordinary image: the pixels are made
    then, and are those of Pillow to the last bit.

    Its ``__class__`` is Pillow's for the file's format, so ``isinstance(im, JpegImageFile)`` is true; only
    ``type(im)`` tells. A pickle of it holds the pixels, as Pillow's does, and becomes an ordinary image of
    Pillow's. After ``with`` it can still be used.

    Raises:
        OSError and others: where Pillow would decode a damaged picture, and what Pillow then raises.
        gofast.errors.ChangedError: the file was replaced, cut or removed before the first operation (an
            OSError).
    """

    _array_given = False
    _used = False  # it was cropped, resized, or made a tensor
    _lazy_info: dict[Any, Any] | None = None
    _info: dict[Any, Any] | None = None
    _access: weakref.ref[LazyAccess] | None = None  # what `load` has returned
    _unread: Unread | None = None  # where the info is, as long as nobody has asked for it

    def __init__(
        self, source: Source, header: ImageFile.ImageFile | Unread, lazy_info: dict[Any, Any] | None
    ) -> None:
        super().__init__()
        self._file, self._making = source, LazyFactory(source, b"", header.mode, header.size)
        shape(self, header.mode, header.size)
        if isinstance(header, Unread):
            self._unread, self._info = header, None
        else:
            self.info = header.info
        self.format, self.format_description = header.format, header.format_description
        self.filename = header.filename
        self._exif = header._exif  # what Pillow found in it for the resolution, also where it is damaged
        if lazy_info:
            self._lazy_info = lazy_info

    @property
    def info(self) -> dict[Any, Any]:
        """What the file says of the picture, and what Pillow adds when it decodes."""
        if self._info is None:
            self._info = {} if self._unread is None else self._unread.info()
        return self._info

    @info.setter
    def info(self, info: dict[Any, Any]) -> None:
        self._info = info

    def getexif(self) -> Image.Exif:
        """What the file says, without a look at all the rest that it says."""
        unread = self._unread if self._info is None else None
        if unread is not None and self._exif is None and not unread.may_have_exif():
            self._exif = Image.Image().getexif()
        return super().getexif()

    def _is_transparent(self) -> bool:
        """Whether a colour of it is transparent: where Pillow has not read the header, none is."""
        return self._info is not None and "transparency" in self._info

    @property
    def _channels(self) -> int:
        """How many bytes of a pixel numpy sees."""
        return 3 if self.mode == "RGB" else 1

    # -- the pixels --------------------------------------------------------------

    @property
    def im(self) -> Any:
        """Pillow's own pixels. They are made at the first access."""
        making = self._making
        if self._im is None and making is not None:
            self._make(making)
        if isinstance(self._im, DeferredError):
            raise self._im.ex
        return self._im

    @im.setter
    def im(self, im: Any) -> None:
        self._settle_access()
        self._im = im
        self._making = None

    def _settle_access(self) -> None:
        """What `load` has returned stays with the pixels that the picture had."""
        access = None if self._access is None else self._access()
        if access is not None:
            self._access = None
            access.settle()

    @property
    def _lazy(self) -> LazyFactory | None:
        """How the pixels will be made, if more can be recorded."""
        making = self._making
        if making is None or making.draft is not None:
            return None
        # Pillow changes mode or size of what it then asks the pixels of.
        return making if (making.mode, making.size) == (self.mode, self.size) else None

    def _look(self) -> LazyFactory | None:
        """How the pixels will be made, at a place where Pillow makes them; None where they are made now.

        The file is read here. One that lacks its end raises here what Pillow raises: code that
        skips bad files guards this very place.
        """
        lazy = self._lazy
        return lazy if lazy is None or self._looked_at else self._first_look(lazy)

    def _first_look(self, lazy: LazyFactory) -> LazyFactory | None:
        if not lazy.source.is_whole():
            self._make(lazy)
            return None
        self._looked_through()
        lazy.source.looked_at()
        return lazy

    def _looked_through(self) -> None:
        """Says that Pillow would have decoded it by now."""
        self._looked_at = True
        self._settle()

    def _make(self, making: LazyFactory) -> None:
        one, pixels = making.mode in ("L", "P"), None
        if making.draft is None:
            pixels = making.source.pixels(making.chain, making.size, 1 if one else 4)
        if pixels is None:
            made = making.source.by_pillow(making.chain, making.mode, making.draft)
        else:
            made = Image.frombytes(making.mode, making.size, pixels, "raw", making.mode if one else "RGBX")
        self._looked_at = True
        self._settle()
        self._im, self._making = made.im, None

    def at_once(self) -> Image.Image:
        """An ordinary image of Pillow's with these pixels and this info, which are now made."""
        new = Image.Image()
        new.im, new.palette = self.im, self.palette
        shape(new, self.mode, self.size)
        new.info = self.info
        return new

    def _settle(self) -> None:
        """Adds to the info what Pillow adds when it decodes."""
        lazy, self._lazy_info = self._lazy_info, None
        if lazy:
            self.info.update(lazy)

    def load(self) -> Any:
        """Makes the pixels, or gives a way to them if Pillow certainly decodes the file.

        `ImageOps.exif_transpose` needs no pixels for what it asks. Pillow's other functions do.
        """
        making = self._making
        if making is not None and self._im is None:
            caller = sys._getframe(1)
            if caller.f_code is _ONLY_TURNS and self._look() is not None:
                return None
            if not str(caller.f_globals.get("__name__")).startswith("PIL."):
                lazy = self._lazy
                if lazy is not None and lazy.source.is_certain() and self._look() is not None:
                    access = None if self._access is None else self._access()
                    if access is None:
                        access = LazyAccess(self)
                        self._access = weakref.ref(access)
                    return access
            if self._im is None:
                self._make(making)
        return super().load()

    def tobytes(self, encoder_name: str = "raw", *args: Any) -> bytes:
        """The pixels. numpy asks this too: the core makes the bytes, without a PIL image in between."""
        usual = encoder_name == "raw" and not args and not self._array_given
        lazy = self._look() if usual else None
        if lazy is None:
            self._make_as_it_shows(args)
            return super().tobytes(encoder_name, *args)
        self._array_given = True  # who asks again is given a PIL image: nothing is decoded a third time
        pixels = lazy.source.pixels(lazy.chain, self.size, self._channels)
        return super().tobytes() if pixels is None else pixels

    def _make_as_it_shows(self, args: tuple[Any, ...]) -> None:
        """By Pillow, where its raw modes show what its steps leave beside the three bytes of a pixel."""
        lazy = self._look() if args and self.mode == "RGB" and {*"XA"} & {*str(args[0])} else None
        if lazy is not None:
            self.im = lazy.source.by_pillow(lazy.chain, lazy.mode, None).im

    # -- what is recorded ----------------------------------------------------------

    def _then(self, lazy: LazyFactory, operation: bytes, size: tuple[int, int], mode: str) -> LazyImage:
        new = self._blank(mode)
        new._making, new._looked_at = LazyFactory(lazy.source, lazy.chain + operation, mode, size), True
        shape(new, mode, size)
        if self._info is None:
            new._unread, new._info = self._unread, None
            return new
        copied = getattr(self, "_copy_info", None)  # Pillow 12.1
        new.info = self.info.copy() if copied is None else copied()
        return new

    def _blank(self, mode: str) -> LazyImage:
        """Another picture, of that mode."""
        new = LazyImage.__new__(LazyImage)
        Image.Image.__init__(new)
        return new

    def copy(self) -> Image.Image:
        """The same, recorded so far."""
        lazy = self._look()
        return super().copy() if lazy is None else self._then(lazy, b"", self.size, self.mode)

    __copy__ = copy

    def crop(self, box: Any = None) -> Image.Image:
        """A box within the picture is recorded."""
        whole = (0, 0, *self.size)
        if type(box) not in (tuple, list) or tuple(box) == whole:
            return super().crop(box)
        try:
            x, y, right, lower = map(int, map(round, box))
        except (TypeError, ValueError, OverflowError):
            return super().crop(box)
        width, height = right - x, lower - y
        if x < 0 or y < 0 or right > whole[2] or lower > whole[3] or pillow_arguments.unusual(width, height):
            return super().crop(box)
        lazy = self._look()
        if lazy is None:
            return super().crop(box)
        lazy = self._again(lazy, cut=True)
        operation = chains.crop(x, y, width, height)
        if (
            type(lazy.source) is PixelSource
            and self.mode == "RGB"
            and lazy.source.is_far_larger(width, height)
        ):
            own = lazy.source.made(lazy.chain + operation, (width, height))  # else it would keep the whole
            if own is not None:
                lazy, operation = LazyFactory(own, b"", self.mode, own.size), b""
        return self._then(lazy, operation, (width, height), self.mode)

    def _again(self, lazy: LazyFactory, cut: bool = False) -> LazyFactory:
        """How its pixels are made where several pictures are made of it, as TenCrop does: once, and kept.

        What is cut out of pixels that are held, flipped or not, is read where it lies.
        """
        before, self._used = self._used, True
        if not (before and lazy.chain):
            return lazy
        if cut and type(lazy.source) is PixelSource and chains.only_moves(lazy.chain):
            return lazy
        made = lazy.source.made(lazy.chain, self.size) if self.mode == "RGB" else None
        if made is None:
            return lazy
        self._making = LazyFactory(made, b"", self.mode, self.size)
        return self._making

    def resize(
        self, size: Any, resample: Any = None, box: Any = None, reducing_gap: float | None = None
    ) -> Image.Image:
        """Another size is recorded."""
        operation = b""
        if self._lazy is not None:
            operation = pillow_arguments.resized(self.size, size, resample, box, reducing_gap)
        lazy = self._look() if operation else None
        if lazy is None:
            return super().resize(size, resample, box, reducing_gap)
        width, height = map(operator.index, size)
        return self._then(self._again(lazy), operation, (width, height), self.mode)

    def transpose(self, method: Any) -> Image.Image:
        """A turn is recorded."""
        lazy = self._look()
        if lazy is None or not isinstance(method, int) or method not in chains.TURNS:
            return super().transpose(method)
        turns = method in (2, 4, 5, 6)
        size = (self.size[1], self.size[0]) if turns else self.size
        return self._then(lazy, chains.turn(method), size, self.mode)

    def transform(
        self,
        size: Any,
        method: Any,
        data: Any = None,
        resample: int = Image.Resampling.NEAREST,
        fill: int = 1,
        fillcolor: Any = None,
    ) -> Image.Image:
        """An affine or perspective transform is recorded. Pillow's rotate computes numbers and calls this."""
        operation = b""
        if self._lazy is not None:
            operation = pillow_arguments.warp(self.mode, size, method, data, resample, fillcolor)
        # Pillow copies the info before it decodes, which adds to it.
        info = None if self._lazy_info is None else self.info.copy()
        lazy = self._look() if operation else None
        if lazy is None:
            return super().transform(size, method, data, resample, fill, fillcolor)
        width, height = map(operator.index, size)
        new = self._then(lazy, operation, (width, height), self.mode)
        if info is not None:
            new.info = info
        return new

    def point(self, lut: Any, mode: str | None = None) -> Image.Image:
        """A table of bytes is recorded. Most of ImageOps comes here, with a list."""
        lazy = self._look()
        if lazy is None or mode is not None or isinstance(lut, Image.ImagePointHandler):
            return super().point(lut, mode)
        if callable(lut):
            lut = [lut(i) for i in range(256)] * (1 if self.mode == "L" else 3)
            lut = [round(value) for value in lut]
        operation = pillow_arguments.table(self.mode, lut)
        return self._then(lazy, operation, self.size, self.mode) if operation else super().point(lut)

    def convert(
        self,
        mode: str | None = None,
        matrix: Any = None,
        dither: Any = None,
        palette: Any = Image.Palette.WEB,
        colors: int = 256,
    ) -> Image.Image:
        """A conversion to RGB or L is recorded."""
        lazy = self._look()
        if lazy is None or matrix or self._is_transparent():
            return super().convert(mode, matrix, dither, palette, colors)
        if not mode or mode == self.mode:
            return self.copy()
        if mode not in ("L", "RGB"):
            return super().convert(mode, matrix, dither, palette, colors)
        return self._then(lazy, chains.GREY if mode == "L" else b"", self.size, mode)

    def filter(self, filter: Any) -> Image.Image:
        """A GaussianBlur, a BoxBlur and SMOOTH are recorded."""
        lazy = self._look()
        operation = None if lazy is None else filters.operation(filter)
        if lazy is None or operation is None:
            return super().filter(filter)
        return self._then(lazy, operation, self.size, self.mode)

    def paste(self, im: Any, box: Any = None, mask: Any = None) -> None:
        """A colour in a box is recorded, of this picture itself."""
        operation = b""
        if self._lazy is not None and mask is None and not isinstance(im, Image.Image):
            operation = pillow_arguments.fill(self.mode, self.size, im, box)
        lazy = self._look() if operation and not self.readonly else None
        if lazy is None:
            super().paste(im, box, mask)
        else:
            self._making = lazy._replace(chain=lazy.chain + operation)


def _go_by_pillows_name(kind: type) -> None:
    """Messages of Python's and of other packages name a class, and its methods."""
    kind.__name__, kind.__qualname__, kind.__module__ = "Image", "Image", "PIL.Image"
    for name, method in vars(kind).items():
        if isinstance(method, FunctionType) and hasattr(Image.Image, name):
            method.__qualname__ = f"Image.{name}"


for _kind in (OpenedImage, LazyImage):
    _go_by_pillows_name(_kind)
