"""Opens pictures late: the header is read, by Pillow itself."""

from __future__ import annotations

import io
import os
import struct
from typing import IO, Any

from PIL import Image, ImageFile, JpegImagePlugin, PngImagePlugin, WebPImagePlugin

from .._core.stamp import Stamp
from .other_modes import OTHERS, LateOther
from .picture import LateImage
from .source import MAX_FILE_BYTES, Source, counts

by_pillow = Image.open  # as it was before anybody put something in its place


def open_late(fp: Any, mode: Any = "r", formats: Any = None) -> Image.Image:
    """What Pillow's open does, late where the core can make the pixels; else Pillow's own image."""
    image = by_pillow(fp, mode, formats)
    late = of_pillows(image, None if hasattr(fp, "read") else fp, fp)
    if late is None:
        counts.left_to_pillow(image)
        return image
    return late


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
        return None if data is None else kind(Source(image, data, None), image, added)
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
