"""Lazy images for transforms in Python: what anybody's code cuts and resizes first is done natively."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from .._core import generators
from . import pillow
from .picture_files import PictureFiles


def lazy_picture(source: str | io.BytesIO) -> Any | None:
    """A file's picture as torchvision's loader gives it, lazy; None where it cannot be, or cannot be read."""
    if not pillow.available():
        return None
    from .._lazy.lazy_image import LazyImage
    from .._lazy.open_lazy import by_pillow, of_pillows, of_read, of_unread
    from .compose_calls import follow

    follow()
    try:
        image = of_read(source, pillow._descriptor) if isinstance(source, str) else None
        if image is not None:
            made: Any = image.convert("RGB")
        else:
            with pillow._open(source) as file:
                # Who opens it instead counts it.
                image = of_unread(file) or of_pillows(by_pillow(file))
                made = image and image.convert("RGB")
        return made if isinstance(made, LazyImage) else None  # Pillow's of one with bytes behind its end
    except Exception:  # reading it at once says what is wrong
        return None


def going_on(place: int, path: str | io.BytesIO | None) -> Any:
    """As `pillow.take_picture`, of mode RGB, lazy: what Python's transforms cut of it is recorded again."""
    from PIL import Image

    from .._lazy.lazy_image import LazyImage
    from .._lazy.opened_image import LazyFactory
    from .._lazy.source import PixelSource
    from .compose_calls import follow

    follow()
    rows, size, lost = pillow.take_rows(place)
    blank = LazyImage.__new__(LazyImage)
    Image.Image.__init__(blank)
    image = blank._then(LazyFactory(PixelSource(rows, size), b"", "RGB", size), b"", size, "RGB")
    image.info = pillow.info_left(lost, "RGB", path)
    return image


def at_once(made: Any) -> Any:
    """What a transform made; a lazy image, or several crops, as ordinary ones, which leave a dataset."""
    from .._lazy.lazy_image import LazyImage

    if type(made) is tuple:
        return tuple(map(at_once, made))
    return made.at_once() if type(made) is LazyImage else made


def transformed(
    files: PictureFiles,
    sample: int,
    transform: Callable[[Any], Any],
    otherwise: Callable[[], tuple[Any, int]],
) -> tuple[Any, int]:
    """What a transform makes of a sample's picture, and the sample that it is of.

    Args:
        otherwise: makes the picture at once, or raises, or takes another sample's. It is also called when the
            picture turns out to be damaged in the middle of the transform: draws then start again.
    """
    from .._lazy.source import SourceState

    image = lazy_picture(files.source(sample))
    if image is None:
        picture, used = otherwise()
        return transform(picture), used
    source = image._making.source
    before = None if source.is_certain() else generators.Generators.now()
    try:
        made = transform(image)
        if source.state is SourceState.UNUSED:
            image.im  # noqa: B018 - the transform has not looked: whether the file is whole must be known now
        made = at_once(made)
    except Exception:
        if before is None or source.state is not SourceState.FAILED:
            raise
        before.put()
        picture, used = otherwise()
        return transform(picture), used
    if source.state is SourceState.PILLOW:
        files.count_fallback()
        pillow.opened += 1
    return made, sample
