"""Opens pictures lazy: only the header is read, of a plain JPEG by the core, else by Pillow itself."""

from __future__ import annotations

import errno
import io
import os
import stat
import struct
import sys
from collections.abc import Callable
from pathlib import PurePath
from typing import IO, Any

from PIL import Image, ImageFile, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

from .._core import codecs
from .._core.processor_time import Spent
from .._core.stamp import Stamp
from .lazy_image import LazyImage
from .open_file import OpenFile, all_of, make_room
from .other_modes import OTHERS, LazyOtherMode
from .palette_image import LazyPaletteImage, colours_of, has_usual_length
from .source import MAX_FILE_BYTES, Source, Unread, counts

_HEAD_BYTES = 16 << 10  # headers are longer where they have a small picture, or a profile
_MOST_PNG = 256 << 10  # of which all is looked through
_MODES = {1: "L", 3: "RGB"}  # of a JPEG, by the components
# Of a PNG, by its colour type: what Pillow makes of that, but for grey of 1 and 16 bits.
_MODES_OF_PNG = {0: "L", 2: "RGB", 3: "P", 4: "LA", 6: "RGBA"}
_KINDS = {"RGB": LazyImage, "L": LazyImage, "P": LazyPaletteImage, **dict.fromkeys(OTHERS, LazyOtherMode)}
# Pillow's formats that refuse each other's files.
_REFUSE = frozenset(["BMP", "DIB", "GIF", "JPEG", "PPM", "PNG", "WEBP"])
# Those that read the file first, and refuse it all the same. Not PCD and Spider: one is known by bytes in the
# middle, the other by numbers that a JPEG may have too.
_READERS = {name: f"PIL.{name.title()}ImagePlugin" for name in ("IM", "IMT", "IPTC", "TGA")}
_as_given: list[bool] = []  # what the first path has shown

_PNG = b"\x89PNG\r\n\x1a\n"
_OURS: dict[str, Any] = {
    "JPEG": (JpegImagePlugin.jpeg_factory, JpegImagePlugin._accept),
    "PNG": (PngImagePlugin.PngImageFile, PngImagePlugin._accept),
}

by_pillow = Image.open  # as it was before anybody put something in its place


@Spent.picture
def open_lazy(fp: Any, mode: Any = "r", formats: Any = None) -> Image.Image:
    """What Pillow's open does, lazily where the core can make the pixels; else Pillow's own image."""
    try:
        return _opened(fp, mode, formats)
    except OSError as error:
        if error.errno not in (errno.EMFILE, errno.ENFILE) or not make_room():
            raise
    return _opened(fp, mode, formats)


def _opened(fp: Any, mode: Any, formats: Any) -> Image.Image:
    if mode == "r" and formats is None:
        unread = of_unread(fp)
        if unread is not None:
            return unread
    image = by_pillow(fp, mode, formats)
    lazy = of_pillows(image)
    if lazy is None:
        counts.left_to_pillow(image)
        return image
    return lazy


def of_unread(fp: Any) -> LazyImage | None:
    """A lazy image of a JPEG or PNG whose header the core reads; None for Pillow's open, which takes longer.

    Args:
        fp: a path, or a file object, which then stands where Pillow leaves it.
    """
    try:
        if type(fp) is str or isinstance(fp, PurePath):
            return _of_path(os.fspath(fp))
        return _of_file(fp) if type(fp) in (io.BufferedReader, io.BytesIO) else None
    except (OSError, ValueError, Warning):  # Pillow says what is wrong
        return None


def of_read(path: str, descriptor: Callable[[str, int], int]) -> LazyImage | None:
    """As `of_unread` of a path's file object, of which the loader reads all at once: a third of the time.

    Args:
        descriptor: opens it.
    """
    fd = descriptor(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        info = os.fstat(fd)
        if not (0 < info.st_size <= MAX_FILE_BYTES and _is_ours(os.pread(fd, len(_PNG), 0), info.st_size)):
            return None
        data = all_of(fd, info.st_size)
    finally:
        os.close(fd)
    unread = _header("", data, len(data))
    if unread is None:
        return None
    at = os.path.abspath(path)
    return _lazy(unread, OpenFile(unread.head, 0, data, path=at, stamp=Stamp.of(info)))


def _of_path(path: str) -> LazyImage | None:
    info = os.stat(path)
    if not (stat.S_ISREG(info.st_mode) and 0 < info.st_size <= MAX_FILE_BYTES and _names_as_given(path)):
        return None
    buffer = _buffer_bytes(info)
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        head = os.read(fd, min(max(_HEAD_BYTES, buffer), info.st_size))
        if head.startswith(_PNG) and len(head) < info.st_size <= _MOST_PNG:
            head += os.read(fd, info.st_size)
        unread = _header(path, head, info.st_size)
        if unread is not None:
            end, at = len(unread.head), os.path.abspath(path)
            start = 0 if unread.scan else end  # Pillow goes back to the begin of a JPEG
            if end > buffer and start:
                return None  # who knows what Python's buffer has
            buffered = head[start:buffer] if end <= buffer else b""
            opened = OpenFile(unread.head, start, fd, buffered, path=at, stamp=Stamp.of(info))
            fd = -1
    finally:
        if fd >= 0:
            os.close(fd)
    return None if unread is None else _lazy(unread, opened)


def _lazy(unread: Unread, opened: OpenFile) -> LazyImage:
    return _KINDS[unread.mode](Source(unread, opened, unread.scan), unread, None)


def _buffer_bytes(info: os.stat_result) -> int:
    """How much Python reads of a file at first: it is in memory when Pillow goes back to the begin."""
    block = info.st_blksize if info.st_blksize > 1 else io.DEFAULT_BUFFER_SIZE
    return block if sys.version_info < (3, 14) else max(min(block, 8 << 20), io.DEFAULT_BUFFER_SIZE)


def _of_file(file: io.BufferedReader | io.BytesIO) -> LazyImage | None:
    if not file.seekable() or not 0 < (size := file.seek(0, os.SEEK_END)) <= MAX_FILE_BYTES:
        return None
    file.seek(0)
    head = file.peek() if isinstance(file, io.BufferedReader) else file.read(_HEAD_BYTES)
    if not _is_ours(head, size):
        return None
    is_png = head.startswith(_PNG)
    if is_png and isinstance(file, io.BytesIO):
        head = file.getvalue()
    unread = _header("", head, size)
    if unread is None and not is_png and len(head) < min(_HEAD_BYTES, size):
        unread = _header("", file.read(_HEAD_BYTES), size)
    if unread is None:
        return None
    file.seek(len(unread.head))
    path, stamp = _named(file)
    start = 0 if unread.scan else len(unread.head)
    return _lazy(unread, OpenFile(unread.head, start, file, own=False, path=path, stamp=stamp))


def _is_ours(head: bytes, size: int) -> bool:
    """Whether a file of that size, which begins so, is one whose header the core may read."""
    return head.startswith(b"\xff\xd8\xff") or (head.startswith(_PNG) and size <= _MOST_PNG)


def _named(file: Any) -> tuple[str, Stamp] | tuple[None, None]:
    """The whole path of an open file, and what it is; Nones of what is no file with a name."""
    try:
        if type(file) is io.BufferedReader and type(file.name) in (str, bytes):
            return os.path.abspath(os.fsdecode(file.name)), Stamp.of(os.fstat(file.fileno()))
    except (AttributeError, OSError, ValueError):
        pass
    return None, None


def _header(name: str, data: bytes, size: int) -> Unread | None:
    """What the core reads of a file of that size, which begins with that data."""
    unread = _header_of_png(name, data, size) if data.startswith(_PNG) else _header_of_jpeg(name, data, size)
    most = Image.MAX_IMAGE_PIXELS
    return None if unread is None or (most and unread.size[0] * unread.size[1] > most) else unread


def _header_of_jpeg(name: str, data: bytes, size: int) -> Unread | None:
    made = codecs.capsule().jpeg_header(data, size) if _is_pillows_turn("JPEG", data) else None
    if made is None or made[2] not in _MODES or made[4]:
        return None
    width, height, components, end, _ = made
    return Unread(JpegImagePlugin.JpegImageFile, name, (width, height), _MODES[components], data[:end])


def _header_of_png(name: str, data: bytes, size: int) -> Unread | None:
    made = None
    if len(data) == size and _is_pillows_turn("PNG", data):
        made = codecs.capsule().png_header(data)
    if made is None:
        return None
    width, height, depth, colour, at, bytes_of_palette, end = made
    mode, colours = _MODES_OF_PNG[colour], b""
    if mode == "L" and depth == 16:
        return None
    if mode == "L" and depth == 1:
        mode = "1"
    if mode == "P":
        if not has_usual_length(bytes_of_palette):
            return None
        colours = data[at : at + bytes_of_palette]
    return Unread(PngImagePlugin.PngImageFile, name, (width, height), mode, data[:end], colours)


def _is_pillows_turn(kind: str, data: bytes) -> bool:
    """Whether Pillow would give this file to its own class: others register formats too.

    It asks each format, in the order in which they were imported: TIFF's first where a script imports that.
    """
    if kind not in Image.ID:
        Image.preinit()
    if kind not in Image.ID or Image.OPEN.get(kind) != _OURS[kind]:
        return False
    before = Image.ID[: Image.ID.index(kind)]
    return not any(name not in _REFUSE and _may_take(name, data[:16]) for name in before)


def _may_take(name: str, prefix: bytes) -> bool:
    """Whether a format takes a file that begins so, or would have to read more of it to know."""
    factory, accept = Image.OPEN[name]
    if accept is None:
        return getattr(factory, "__module__", "") != _READERS.get(name)
    try:
        taken = accept(prefix)
    except Exception:  # Pillow knows what to make of it
        return True
    return bool(taken) and not isinstance(taken, str)  # a text says why not


def _names_as_given(path: str) -> bool:
    """Whether this Pillow's images have the path that `open` was given: some versions resolve it."""
    if not _as_given:
        folder, name = os.path.split(path)
        other = os.path.join(folder or ".", ".", name)
        with by_pillow(other) as image:
            _as_given.append(image.filename == other)
    return _as_given[0]


def of_pillows(image: Image.Image) -> LazyImage | None:
    """A lazy image for one that Pillow has just opened, or None. It has its file then."""
    kind = _KINDS.get(image.mode)
    if type(image) not in _FORMATS or kind is None or "transparency" in image.info:
        return None
    assert isinstance(image, ImageFile.ImageFile)
    if image.mode == "P" and not colours_of(image):
        return None
    stream = image.fp
    if stream is None:
        return None
    try:
        at = stream.tell()
        try:
            added = _FORMATS[type(image)](image, stream)
            stream.seek(0, os.SEEK_END)
            size = stream.tell()
            stream.seek(0)
            head = stream.read(at)
        finally:
            stream.seek(at)
    except (AttributeError, OSError, ValueError):
        return None
    if added is None or not len(head) == at <= size <= MAX_FILE_BYTES:
        return None
    opened = _file_of(image, stream, head)
    image.fp = None
    return kind(Source(image, opened, _scan(head, size)), image, added)


def _scan(head: bytes, size: int) -> int:
    """Where the first scan of a JPEG begins, if Pillow and the core are of one mind there; else 0."""
    found = codecs.capsule().jpeg_header(head, size)
    return len(head) if found is not None and found[3] == len(head) else 0


def _file_of(image: ImageFile.ImageFile, stream: Any, head: bytes) -> OpenFile:
    """What Pillow would read: a path's file by a descriptor, a file object of the user's, or bytes."""
    own = bool(getattr(image, "_exclusive_fp", False))
    path, stamp = _named(stream)
    if type(image) is WebPImagePlugin.WebPImageFile:  # Pillow has read all of it
        if own:
            stream.close()
        return OpenFile(head, 0, io.BytesIO(head), path=path, stamp=stamp)
    start = 0 if type(image) is JpegImagePlugin.JpegImageFile else len(head)
    if not own or type(stream) is not io.BufferedReader:
        return OpenFile(head, start, stream, own=own, path=path, stamp=stamp)
    fd = os.dup(stream.fileno())
    stream.seek(start)
    buffered = stream.peek()
    stream.close()
    return OpenFile(
        head, start, fd, buffered if len(head) <= start + len(buffered) else b"", path=path, stamp=stamp
    )


# -- formats: what Pillow adds to the info when it decodes, or None where only it can tell


def _jpeg(image: ImageFile.ImageFile, stream: IO[bytes]) -> dict[Any, Any] | None:
    return {} if len(image.tile) == 1 and not image.decoderconfig else None


def _png(image: ImageFile.ImageFile, stream: IO[bytes]) -> dict[Any, Any] | None:
    """Chunks may stand behind the pixels, which Pillow reads when it has decoded those.

    A file without its last chunk is Pillow's.
    """
    if getattr(image, "is_animated", False):
        return None
    stream.seek(8)
    data_seen = False
    while len(head := stream.read(8)) == 8:
        length, name = struct.unpack(">I4s", head)
        if name == b"IEND":
            return {} if data_seen else None
        if data_seen and name != b"IDAT":
            return None
        data_seen = data_seen or name == b"IDAT"
        stream.seek(length + 4, os.SEEK_CUR)
    return None  # it has no end


def _webp(image: ImageFile.ImageFile, stream: IO[bytes]) -> dict[Any, Any] | None:
    stream.seek(0)
    head = stream.read(21)
    animated = head[12:16] == b"VP8X" and len(head) == 21 and head[20] & 2
    return None if animated or getattr(image, "is_animated", True) else {"timestamp": 0, "duration": 0}


_FORMATS = {
    JpegImagePlugin.JpegImageFile: _jpeg,
    PngImagePlugin.PngImageFile: _png,
    WebPImagePlugin.WebPImageFile: _webp,
}
