"""The file of a lazy image, and what is made of it."""

from __future__ import annotations

import enum
import io
import os
import weakref
import zlib
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from .._core import codecs
from .._core.processor_time import Spent
from .._loader.counts import here
from . import chain as chains
from .open_file import OpenFile

if TYPE_CHECKING:
    from PIL import Image, ImageFile

MAX_FILE_BYTES = 1 << 30  # larger files are left to Pillow
ANY_PIXELS = 1 << 30  # Pillow has looked at the header
_ORDERS = {"13": 0, "12.2": 1, "horizontal": 2}  # resample.h's GF_ORDER_...
_MOST_KEPT = 64 << 20  # bytes of pictures that are kept whole, in this process

# What Pillow's images of files have beside the methods of their classes.
_OF_FILES = """app applist bits custom_mimetype default_image huffman_ac huffman_dc icclist is_animated layer
    layers n_frames quantization"""
OF_FILES = frozenset(_OF_FILES.split())
# And what they have for a decoder; code asks whether it is there.
OF_OPEN_FILES: dict[str, Any] = {"tile": [], "decoderconfig": (), "decodermaxblock": 65536}


def pass_order() -> int:
    """In which order this Pillow resizes, as the core's number."""
    return _ORDERS[codecs.pass_order()]


_kept: deque[tuple[weakref.ref[Source], int]] = deque()  # the oldest first


class OpenCounts:
    """What became of the pictures that this process opened.

    Attributes:
        native: chains that the core made, or makes a tensor of.
        pillow: pictures that are Pillow's own, and lazy ones that it decoded, because the core does not or
            because they are damaged.
        again: how many of the next pictures are expected to be used more than once.
        kept: bytes of pictures that are kept whole, also of those that are gone since.
    """

    def __init__(self) -> None:
        self.native = self.pillow = self.again = self.kept = 0

    def left_to_pillow(self, image: Image.Image) -> None:
        """Counts a picture of Pillow's own."""
        self.pillow += 1
        here().fallback(f"{image.format}, mode {image.mode}: Pillow decodes it", "picture")


counts = OpenCounts()


class SourceState(enum.Enum):
    """What became of a file's picture."""

    UNUSED = "nothing was made of it"
    NATIVE = "the core has decoded it"
    PILLOW = "Pillow has decoded it"
    FAILED = "nobody can decode it"


class Unread:
    """A header that Pillow has not read: what of its image is known, by the same names.

    Attributes:
        kind: Pillow's class for it.
        head: that.
        colours: of its palette: a colour after the other.
    """

    __slots__ = ("colours", "filename", "head", "kind", "mode", "size")
    _exif = None  # Pillow would not look into it yet

    def __init__(
        self,
        kind: type[ImageFile.ImageFile],
        filename: Any,
        size: tuple[int, int],
        mode: str,
        head: bytes,
        colours: bytes = b"",
    ) -> None:
        self.kind, self.filename, self.size, self.mode = kind, filename, size, mode
        self.head, self.colours = head, colours

    @property
    def format(self) -> str | None:
        """Pillow's name."""
        return self.kind.format

    @property
    def format_description(self) -> str | None:
        """What Pillow says that it is."""
        return self.kind.format_description

    @property
    def scan(self) -> int:
        """Where the first scan's bits of a JPEG begin; 0 of other files."""
        return len(self.head) if self.format == "JPEG" else 0

    def may_have_exif(self) -> bool:
        """Whether there may be something for Pillow's `getexif`."""
        if self.format != "JPEG":  # it may stand behind the pixels
            return True
        return b"Exif\0\0" in self.head or b"http://ns.adobe.com/xap/" in self.head

    def info(self) -> dict[Any, Any]:
        """What Pillow finds in it."""
        return self.kind(io.BytesIO(self.head), self.filename).info


class Source:
    """A file, of which only the header was read. Many pictures may be made of it.

    Args:
        scan: where the first scan of a JPEG begins; 0: nobody knows.

    Attributes:
        kind: Pillow's class for it.
        name: its path, or "".
        opened: the file.
        size, mode: of the picture.
        state: what became of it so far.
        begun: the picture, if it is decoded since somebody looked at it first (Held); else None.
    """

    ahead: ClassVar[Callable[[Source], Any] | None] = None  # what begins that: Held.ahead

    __slots__ = (
        "__weakref__", "_certain", "_damaged", "_ends", "_scan", "_used", "_whole",
        "begun", "kind", "mode", "name", "opened", "size", "state",
    )  # fmt: skip

    def __init__(self, image: ImageFile.ImageFile | Unread, opened: OpenFile, scan: int) -> None:
        self.kind: type[ImageFile.ImageFile] = image.kind if isinstance(image, Unread) else type(image)
        self.name, self.size, self.mode = image.filename, image.size, image.mode
        self.opened: OpenFile | None = opened
        self._used, self.state = False, SourceState.UNUSED
        self._whole: bytes | None = None
        self._ends: bool | None = None
        self._scan = scan
        self._certain: bool | None = None
        self._damaged: ImageFile.ImageFile | None = None
        self.begun: Any = None

    def looked_at(self) -> None:
        """Somebody looks at its picture first. What is made of it will be known later."""
        if Source.ahead is not None and self._scan and self.mode == "RGB" and self.may_be_kept():
            self.begun = Source.ahead(self)

    def may_be_kept(self) -> bool:
        """Whether its pixels are few enough, and not numbers of colours."""
        return self.mode != "P" and 4 * self.size[0] * self.size[1] <= _MOST_KEPT

    def data(self) -> bytes | None:
        """The file's bytes, as Pillow reads them when it decodes.

        Returns:
            Those. None where only Pillow can tell what is made of them: it has closed the file, or another
            picture's was written into it.
        """
        assert self.opened is not None
        data = self.opened.take()
        return data if self.opened.is_alike() else None

    def is_whole(self) -> bool:
        """Whether the file has its end, as far as its structure tells. It is read, and kept from now on."""
        if self._ends is None:
            data = self.data()
            self._ends = data is not None and _ENDS[str(self.kind.format)](data)
        return self._ends

    def is_certain(self) -> bool:
        """Whether Pillow certainly decodes the file, however damaged: 9 us tell that, of 1 ms to decode it.

        That is a JPEG of one scan. Its headers are right if the decoder begins. All that stands before the
        marker of its end is bits and restarts, and these make no decoder fail.
        """
        if self._certain is None:
            self._certain = self._scan > 0 and self.is_whole() and self._starts()
        return self._certain

    def _starts(self) -> bool:
        data = self.data()
        return data is not None and codecs.capsule().jpeg_is_certain(data, self._scan, ANY_PIXELS)

    def header(self) -> ImageFile.ImageFile:
        """Pillow's own image, which can tell what its header says."""
        assert self.opened is not None
        image: ImageFile.ImageFile = self.kind(io.BytesIO(self.opened.head), self.name)
        return image

    def unloaded(self) -> ImageFile.ImageFile:
        """The same of a picture that was not decoded; where Pillow failed, the image that Pillow left."""
        return self.header() if self._damaged is None else self._damaged

    def reopen(self) -> ImageFile.ImageFile:
        """Pillow's own image, as if Pillow had opened the file: the header of then, the rest as it is now."""
        assert self.opened is not None
        if self._damaged is not None:
            return self._damaged
        data = self.opened.contents()
        if data is not None and data.startswith(self.opened.head):
            image: ImageFile.ImageFile = self.kind(io.BytesIO(data), self.name)
            return image
        image = self.header()
        image.fp = None if data is None else io.BytesIO(data)
        return image

    def is_same(self) -> bool:
        """Whether the file that its path names is the one that was opened."""
        return self.opened is not None and self.opened.is_same()

    def stream(self) -> Any:
        """What Pillow's ``fp`` is now."""
        assert self.opened is not None
        return self.opened.stream if self._damaged is None else self._damaged.fp

    def close(self) -> None:
        """Closes the file, as Pillow does."""
        assert self.opened is not None
        self.opened.close()
        if self._damaged is not None:
            self._damaged.fp = None

    @Spent.picture
    def pixels(self, chain: bytes, size: tuple[int, int], channels: int) -> bytes | None:
        """What a chain makes of it: bytes of RGBX, RGB or L, natively; None where Pillow must do it."""
        width, height = size
        if width * height > chains.MOST_PIXELS:
            return None
        held, data = self.held()
        if held is None:
            return None
        make = codecs.capsule().make_pixels
        made = make((data, *held, chain), width, height, channels, pass_order(), ANY_PIXELS)
        if isinstance(made, tuple):
            return None
        counts.native += 1
        self.state = SourceState.NATIVE
        return made

    def made(self, chain: bytes, size: tuple[int, int]) -> PixelSource | None:
        """What a chain makes of it in mode RGB, to be kept; None where Pillow must do it, or it is large."""
        rows = self.pixels(chain, size, 4) if 4 * size[0] * size[1] <= _MOST_KEPT else None
        return None if rows is None else PixelSource(rows, size)

    def held(self) -> tuple[tuple[int, int] | None, bytes]:
        """What the core makes pictures of: all pixels as RGBX, and their size; or the file, and zeros.

        A picture that is used again is decoded whole, and kept while it is among the latest: so is at once
        every picture as long as the last ones were used again. Not one with a palette.
        """
        begun, self.begun = self.begun, None
        if begun is not None:
            begun.end()  # it is kept then
        held, data, again = self.waiting()
        if again is None:
            return held, data
        made = codecs.capsule().make_pixels((data, 0, 0, b""), *self.size, 4, pass_order(), ANY_PIXELS)
        if isinstance(made, tuple):
            return None, data
        self.keep(made)
        return self.size, made

    def waiting(self) -> tuple[tuple[int, int] | None, bytes, Source | None]:
        """As `held`, for whoever makes pictures later, and this if decoding it whole is worth while."""
        if (whole := self._whole) is not None:
            return self.size, whole, None
        data = self.data()
        if data is None:
            return None, b"", None
        if self.mode == "P":  # made of its numbers, or of its colours
            return (0, 0), data, None
        again, self._used = self._used, True
        if again:
            counts.again = min(counts.again + 2, 8)
        elif counts.again:
            counts.again -= 1
            again = True
        return (0, 0), data, self if again and self.may_be_kept() else None

    def keep(self, whole: bytes) -> None:
        """Keeps all pixels, as RGBX, while this is among the latest."""
        self._whole = whole
        _kept.append((weakref.ref(self), len(whole)))
        counts.kept += len(whole)
        while counts.kept > _MOST_KEPT and len(_kept) > 1:
            try:
                reference, size = _kept.popleft()
            except IndexError:  # another thread was faster
                return
            counts.kept -= size
            old = reference()
            if old is not None and old is not self:
                old._whole = None

    def by_pillow(self, chain: bytes, mode: str, draft: tuple[Any, Any] | None) -> Image.Image:
        """What a chain makes of it, by Pillow: which decodes what the core does not, or raises.

        Pillow keeps what it has decoded of a damaged file, and gives it when it is asked again.
        """
        image = None
        try:
            self.data()
            image = self.reopen()
            if draft is not None:
                image.draft(*draft)
            image.load()
        except Exception as error:
            self._damaged = image
            if self.name and hasattr(error, "add_note"):  # Python 3.11
                error.add_note(f"the picture is {os.fsdecode(self.name)}")
            self.state = SourceState.FAILED
            raise
        counts.left_to_pillow(image)
        self.state = SourceState.PILLOW
        return chains.replay(image, chain, mode)


class PixelSource(Source):
    """Not a file but RGBX pixels, of a picture that the core has made already."""

    __slots__ = ()

    def __init__(self, rows: bytes, size: tuple[int, int]) -> None:
        self.name, self.size, self.mode, self.state = "", size, "RGB", SourceState.NATIVE
        self.opened = self.begun = None
        self._whole = rows + codecs.SLACK

    def is_far_larger(self, width: int, height: int) -> bool:
        """Whether a crop of that size is worth pixels of its own, which do not keep all of these."""
        return 4 * width * height < self.size[0] * self.size[1]

    def is_whole(self) -> bool:
        """It is."""
        return True

    def is_certain(self) -> bool:
        """They are no file."""
        return False

    def by_pillow(self, chain: bytes, mode: str, draft: Any) -> Image.Image:
        """What a chain makes of it, by Pillow."""
        from PIL import Image

        assert self._whole is not None
        width, height = self.size
        rows = memoryview(self._whole)[: 4 * width * height]
        return chains.replay(Image.frombytes("RGB", self.size, bytes(rows), "raw", "RGBX"), chain, mode)


def _jpeg_ends(data: bytes) -> bool:
    """Whether the last bytes are the marker of the end; some writers fill up with zeros."""
    return data[-4096:].rstrip(b"\0").endswith(b"\xff\xd9")


def _png_ends(data: bytes) -> bool:
    """Whether the last chunk is there, and those of pixels have their checksums: any other data may be no
    stream of zlib's, which Pillow says when it decodes."""
    chunks, at = memoryview(data), 8
    while at + 12 <= len(data):
        end = at + 8 + int.from_bytes(chunks[at : at + 4], "big")
        kind = data[at + 4 : at + 8]
        if kind == b"IEND":
            return True
        checksum = int.from_bytes(chunks[end : end + 4], "big")
        if kind == b"IDAT" and zlib.crc32(chunks[at + 4 : end]) != checksum:
            return False
        at = end + 4
    return False


def _webp_ends(data: bytes) -> bool:
    return int.from_bytes(data[4:8], "little") + 8 <= len(data)


_ENDS = {"JPEG": _jpeg_ends, "PNG": _png_ends, "WEBP": _webp_ends}
