"""Pillow's part: the pictures that the core leaves to it, and the pictures that Python goes on with."""

from __future__ import annotations

import ctypes
import io
import os
import stat
import sys
from typing import TYPE_CHECKING, Any, BinaryIO

from .. import errors
from .._core import engine
from .._core.codecs import SLACK
from .._core.faults import Code

if TYPE_CHECKING:
    from PIL import Image

    from .core_pictures import CorePictures

# Pillow's Image.MAX_IMAGE_PIXELS as it comes.
_MAX_IMAGE_PIXELS = (1 << 30) // 4 // 3
_NO_LIMIT = 1 << 30
# What a picture which Pillow decoded may meet.
_KINDS: dict[int, type[Exception]] = {
    Code.MEMORY: MemoryError,
    Code.CHANGED: errors.ChangedError,
    Code.CROP: ValueError,
}

opened = 0  # pictures that this process has left to Pillow, for engine_stats


def _descriptor(path: str, flags: int) -> int:
    fd = os.open(path, flags | os.O_NONBLOCK)  # who opens a FIFO would wait for a writer
    mode = os.fstat(fd).st_mode
    if stat.S_ISFIFO(mode) or stat.S_ISCHR(mode):
        os.close(fd)
        raise OSError(f"{path}: not a regular file")
    return fd


def _open(path: str | io.BytesIO) -> BinaryIO:
    """A file, opened as torchvision's default loader does it, except that one without an end is refused."""
    if isinstance(path, io.BytesIO):
        return path
    return open(path, "rb", opener=_descriptor)


def open_rgb(path: str | io.BytesIO) -> Image.Image:
    """The picture as torchvision's default loader gives it.

    Raises:
        Whatever Pillow raises: OSError for most broken files.
    """
    from PIL import Image

    with _open(path) as file:
        image: Image.Image = Image.open(file).convert("RGB")
        return image


def size_of(path: str | io.BytesIO) -> tuple[int, int]:
    """Width and height, as far as Pillow can tell from the header."""
    from PIL import Image

    with _open(path) as file, Image.open(file) as image:
        width, height = image.size
        return width, height


def available() -> bool:
    """Whether Pillow is there."""
    try:
        import PIL.Image
    except ImportError:
        return False
    return PIL.Image is not None


def max_pixels() -> int:
    """The most pixels that Pillow reads without a word, as the user may have set it: beyond, it shall speak.

    Who has not imported Pillow cannot have changed it.
    """
    image = sys.modules.get("PIL.Image")
    limit = _MAX_IMAGE_PIXELS if image is None else image.MAX_IMAGE_PIXELS
    return _NO_LIMIT if limit is None else min(int(limit), _NO_LIMIT)


def make_sample(core: CorePictures, image: Image.Image, record: int, place: int) -> None:
    """Runs the native steps on a picture of Pillow's.

    Args:
        image: mode RGB.
        record: address of what was drawn for it, or 0.
        place: address of the sample's memory.

    Raises:
        ChangedError: the record was drawn for a picture of another size.
        ValueError: the picture is too small for a step, in the words of torchvision or Pillow.
        UnsupportedError: what the steps make of it is too large for the core.
    """
    if 0 in image.size:
        raise errors.UnsupportedError("an empty picture")
    pixels = image.tobytes("raw", "RGBX") + SLACK
    code, text = engine.capsule().make_sample((pixels, *image.size, b""), core.address, record, place)
    if code:
        raise _KINDS.get(code, errors.UnsupportedError)(text)


def drawn_for(record: int, words: int) -> tuple[int, int]:
    """The size of the picture that a record of so many words was drawn for; zeros: of any (steps/draw.h)."""
    width, height = (ctypes.c_int32 * 2).from_address(record + 4 * (words - 2))
    return width, height


class MadePicture(ctypes.Structure):
    """A gf_made_picture of gofast/image/image.h: RGBX pixels in memory of their own."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("width", ctypes.c_int32),
        ("height", ctypes.c_int32),
        ("info", ctypes.c_int32),
    ]


_PADDED, _GREYED, LOST = 1, 2, 4  # canvas.h's GF_INFO_...
PICTURE_BYTES = ctypes.sizeof(MadePicture)

# As ctypes.string_at, whose size is a C int: a picture may have 2 GiB.
_copied = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.c_ssize_t)(
    ("PyBytes_FromStringAndSize", ctypes.pythonapi)
)


def take_picture(place: int, mode: str, path: str | io.BytesIO | None) -> Image.Image:
    """A PIL image of the finished picture at that address, whose memory is freed.

    Args:
        mode: "RGB", or "L" where the three channels are equal.
        path: of the file, whose info goes with the image; None: it is not looked at.
    """
    from PIL import Image

    rows, size, steps = take_rows(place)
    image: Image.Image = Image.frombytes("RGB", size, rows, "raw", "RGBX")
    if mode == "L":
        image = image.getchannel(0)
    image.info = info_left(steps, mode, path)
    return image


def take_rows(place: int) -> tuple[bytes, tuple[int, int], int]:
    """RGBX pixels and the size of the finished picture at that address, whose memory is freed; and what its
    steps are to its info."""
    made = MadePicture.from_address(place)
    try:
        rows = _copied(made.data, 4 * made.width * made.height)
        return rows, (made.width, made.height), made.info
    finally:
        engine.capsule().free_picture(place)


def info_left(steps: int, mode: str, path: str | io.BytesIO | None) -> dict[Any, Any]:
    """What the steps left of the info of a file's picture; none of it where no file is given."""
    return {} if path is None or steps & LOST else info_after(steps, mode, _info_of(path))


def info_after(steps: int, mode: str, info: dict[Any, Any]) -> dict[Any, Any]:
    """What the steps left of a picture's info, as Pillow itself makes it."""
    from PIL import Image, ImageOps

    image: Image.Image = Image.new("RGB", (1, 1))
    image.info = info
    if steps & _PADDED:
        image = ImageOps.expand(image)
    if mode == "L" or steps & _GREYED:
        image = image.convert("L").convert(mode)
    left: dict[Any, Any] = image.info
    return left


def _info_of(path: str | io.BytesIO) -> dict[Any, Any]:
    """What `open_rgb`'s image has beside pixels, such as EXIF data; nothing where Pillow cannot open it.

    Somebody's own code may look at it: `ImageOps.exif_transpose` turns a picture by it. Pillow reads the
    file once more for that: 60 us for a JPEG's header, a whole decode for other formats.
    """
    from PIL import Image

    try:
        with _open(path) as file, Image.open(file) as image:
            # All of a JPEG's stands before the pixels, and no conversion changes it.
            info: dict[Any, Any] = (image if image.format == "JPEG" else image.convert("RGB")).info
            return info
    except Exception:  # the file has changed since it was decoded
        return {}


def free_pictures(first: int, count: int) -> None:
    """Frees those of count pictures, from that address on, that were not taken."""
    for i in range(count):
        engine.capsule().free_picture(first + i * PICTURE_BYTES)
