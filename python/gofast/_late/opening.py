"""Opens pictures late: only the header is read, of a plain JPEG by the core, else by Pillow itself."""

from __future__ import annotations

import io
import os
import stat
import struct
from typing import IO, Any

from PIL import Image, ImageFile, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

from .._core import codecs
from .._core.in_python import Spent
from .._core.stamp import Stamp
from .other_modes import OTHERS, LateOther
from .picture import LateImage
from .source import MAX_FILE_BYTES, Source, Unread, counts

_HEAD_BYTES = 16 << 10  # headers are longer where they have a small picture, or a profile
_MODES = {1: "L", 3: "RGB"}  # by the components
_NO_JPEGS = frozenset(["BMP", "DIB", "GIF", "PPM", "PNG", "WEBP"])  # Pillow's formats that refuse a JPEG
_as_given: list[bool] = []  # what the first path has shown

by_pillow = Image.open  # as it was before anybody put something in its place


@Spent.picture
def open_late(fp: Any, mode: Any = "r", formats: Any = None) -> Image.Image:
    """What Pillow's open does, late where the core can make the pixels; else Pillow's own image."""
    if mode == "r" and formats is None:
        unread = of_unread(fp)
        if unread is not None:
            return unread
    image = by_pillow(fp, mode, formats)
    late = of_pillows(image, None if hasattr(fp, "read") else fp, fp)
    if late is None:
        counts.left_to_pillow(image)
        return image
    return late


def of_unread(fp: Any) -> LateImage | None:
    """A late picture of a JPEG whose header the core reads, a fifth of Pillow's time; None for Pillow's open.

    Args:
        fp: a path, or a file object, which then stands where Pillow leaves it.
    """
    try:
        if type(fp) is str:
            return _of_path(fp) if _names_as_given(fp) else None
        return _of_file(fp) if type(fp) in (io.BufferedReader, io.BytesIO) else None
    except (OSError, ValueError, Warning):  # Pillow says what is wrong
        return None


def _of_path(path: str) -> LateImage | None:
    if not stat.S_ISREG(os.stat(path).st_mode):
        return None
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        stamp = Stamp.of(os.fstat(fd))
        head = os.read(fd, _HEAD_BYTES)
    finally:
        os.close(fd)
    if not len(head) <= stamp.size <= MAX_FILE_BYTES:
        return None
    found = _header(path, head, stamp.size)
    return None if found is None else LateImage(Source(found[0], None, stamp), found[0], None)


def _of_file(file: io.BufferedReader | io.BytesIO) -> LateImage | None:
    if not file.seekable() or file.seek(0, os.SEEK_END) > MAX_FILE_BYTES:
        return None
    size = file.tell()
    file.seek(0)
    if file.read(3) != b"\xff\xd8\xff":
        return None
    file.seek(0)
    data = file.read()
    found = _header("", data, size) if len(data) == size else None
    if found is None:
        return None
    file.seek(found[1])
    return LateImage(Source(found[0], data, *_named(file)), found[0], None)


def _named(file: Any) -> tuple[Stamp, str] | tuple[None, None]:
    """What an open file is, and its path; Nones of what is no file with a name."""
    try:
        if type(file) is io.BufferedReader and type(file.name) is str:
            return Stamp.of(os.fstat(file.fileno())), os.path.abspath(file.name)
    except (AttributeError, OSError, ValueError):
        pass
    return None, None


def _header(name: str, data: bytes, size: int) -> tuple[Unread, int] | None:
    """What the core reads, and where it ends."""
    made = codecs.capsule().jpeg_header(data, size) if _is_pillows_turn() else None
    if made is None or made[2] not in _MODES:
        return None
    width, height, components, end = made
    if Image.MAX_IMAGE_PIXELS is not None and width * height > Image.MAX_IMAGE_PIXELS:
        return None
    return Unread(name, (width, height), _MODES[components], data[:end]), end


def _is_pillows_turn() -> bool:
    """Whether Pillow would give a JPEG to its own class: others register formats too."""
    if "JPEG" not in Image.ID:
        Image.preinit()
    if Image.OPEN.get("JPEG") != (JpegImagePlugin.jpeg_factory, JpegImagePlugin._accept):
        return False
    before = Image.ID[: Image.ID.index("JPEG")] if "JPEG" in Image.ID else [""]
    return all(name in _NO_JPEGS for name in before)


def _names_as_given(path: str) -> bool:
    """Whether this Pillow's images have the path that `open` was given: some versions resolve it."""
    if not _as_given:
        folder, name = os.path.split(path)
        other = os.path.join(folder or ".", ".", name)
        with by_pillow(other) as image:
            _as_given.append(image.filename == other)
    return _as_given[0]


def of_pillows(image: Image.Image, path: Any, file: Any) -> LateImage | None:
    """A late picture for one that Pillow has just opened, or None. Its file is closed then.

    Args:
        path: of the file, or None: then all of `file` is read.
    """
    kind = LateImage if image.mode in ("RGB", "L") else LateOther if image.mode in OTHERS else None
    if type(image) not in _FORMATS or kind is None or "transparency" in image.info:
        return None
    assert isinstance(image, ImageFile.ImageFile)
    stream = image.fp
    if stream is None:
        return None
    added = _FORMATS[type(image)](image, stream)
    if added is None:
        return None
    if path is None:
        data = _all_of(file)
        return None if data is None else kind(Source(image, data, *_named(file)), image, added)
    try:
        stamp = Stamp.of(os.fstat(stream.fileno()))
    except (AttributeError, OSError):
        return None
    if not 0 < stamp.size <= MAX_FILE_BYTES:
        return None  # a pipe, or the like
    image.fp = None  # what follows closes it for good: a late picture holds no descriptor
    stream.close()
    return kind(Source(image, None, stamp), image, added)


def _all_of(file: Any) -> bytes | None:
    """The bytes of a file object, which stands where it stood afterwards; None where there are too many."""
    if type(file) is io.BytesIO:
        return file.getvalue()
    try:
        at = file.tell()
        if file.seek(0, os.SEEK_END) > MAX_FILE_BYTES:
            file.seek(at)
            return None
        size = file.tell()
        file.seek(0)
        data = file.read()
        file.seek(at)
    except (AttributeError, OSError, ValueError):
        return None
    return data if isinstance(data, bytes) and len(data) == size else None  # a raw stream may give less


# -- formats: what Pillow adds to the info when it decodes, or None where only it can tell


def _jpeg(image: ImageFile.ImageFile, stream: IO[bytes]) -> dict[Any, Any] | None:
    return {} if len(image.tile) == 1 and not image.decoderconfig else None


def _png(image: ImageFile.ImageFile, stream: IO[bytes]) -> dict[Any, Any] | None:
    """Chunks may stand behind the pixels, which Pillow reads when it has decoded those.

    A file without its last chunk is Pillow's.
    """
    if getattr(image, "is_animated", False):
        return None
    at = stream.tell()
    try:
        stream.seek(8)
        data_seen = False
        while len(head := stream.read(8)) == 8:
            length, name = struct.unpack(">I4s", head)
            if name == b"IEND":
                break
            if data_seen and name != b"IDAT":
                return None
            data_seen = data_seen or name == b"IDAT"
            stream.seek(length + 4, os.SEEK_CUR)
        else:
            return None  # it has no end
        return {} if data_seen else None
    finally:
        stream.seek(at)


def _webp(image: ImageFile.ImageFile, stream: IO[bytes]) -> dict[Any, Any] | None:
    at = stream.tell()
    stream.seek(0)
    head = stream.read(21)
    stream.seek(at)
    animated = head[12:16] == b"VP8X" and len(head) == 21 and head[20] & 2
    return None if animated or getattr(image, "is_animated", True) else {"timestamp": 0, "duration": 0}


_FORMATS = {
    JpegImagePlugin.JpegImageFile: _jpeg,
    PngImagePlugin.PngImageFile: _png,
    WebPImagePlugin.WebPImageFile: _webp,
}
