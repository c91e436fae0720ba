"""open: PIL images whose pixels are made when somebody needs them, by one native call."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["open"]


def open(
    picture: str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes],
    mode: str = "r",
    formats: Sequence[str] | None = None,
) -> Image.Image:
    """Opens a picture like ``PIL.Image.open``, and decodes no more of it than is needed.

    The result is a ``PIL.Image.Image``. Crops, resizes, flips, rotations, affine and perspective transforms,
    conversions to RGB or L, Pillow's GaussianBlur and BoxBlur, ``ImageEnhance``, most of ``ImageOps`` and
    torchvision's functions of colour are only recorded. When somebody asks for pixels, one native call
    decodes what is left of the picture and does them, to the same pixels. Works with torchvision's
    transforms, timm's, and any code that takes a PIL image.

    Args:
        picture: a path, a file object, or the bytes of a file (where Pillow takes a path of bytes). Only the
            header is read. The file is read by the first operation, and stays open until then, as Pillow's
            does: its path may go, or be another file's, meanwhile. At most a fourth of the process's
            descriptors are held so; beyond that, the oldest files are read into memory.
        mode: "r".
        formats: names of the formats to try, as for Pillow.

    Returns:
        A :class:`gofast.typing.LazyImage` for JPEG, PNG and WebP files of one frame, without a transparent
        colour; Pillow's own image for all others. A lazy image of another mode than RGB and L ("P", "RGBA",
        "CMYK", ...) records ``convert("RGB")`` alone.

    Raises:
        FileNotFoundError, PIL.UnidentifiedImageError and others: what ``PIL.Image.open`` raises. A damaged
            picture raises what Pillow raises when its pixels are asked for, with a note that names the file.

    Example:
        >>> image = gofast.open("cat.jpg").convert("RGB")  # nothing was decoded
        >>> small = image.crop((80, 60, 304, 284)).resize((96, 96))
        >>> np.asarray(small).shape  # now it is made, from 224 rows of the file
        (96, 96, 3)
    """
    from ._images.compose_calls import follow
    from ._lazy.open_lazy import open_lazy

    follow()
    if isinstance(picture, (bytes, bytearray, memoryview)):
        picture = io.BytesIO(picture)
    return open_lazy(picture, mode, formats)
