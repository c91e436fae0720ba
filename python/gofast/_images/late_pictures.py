"""Late pictures for transforms in Python: what anybody's code cuts and resizes first is done natively."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

from .._core import generators
from . import pillow
from .picture_files import PictureFiles


def late_picture(source: str | io.BytesIO) -> Any | None:
    """A file's picture as torchvision's loader gives it, late; None where it cannot be late or be read."""
    if not pillow.available():
        return None
    from .._late.opening import by_pillow, of_pillows, of_unread
    from .._late.picture import LateImage
    from .composes import follow

    follow()
    try:
        with pillow._open(source) as file:
            # Who opens it instead counts it.
            image = of_unread(file) or of_pillows(by_pillow(file), None, file)
        return image.convert("RGB") if isinstance(image, LateImage) else None
    except Exception:  # reading it at once says what is wrong
        return None


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
    from .._late.picture import LateImage
    from .._late.source import SourceState

    image = late_picture(files.source(sample))
    if image is None:
        picture, used = otherwise()
        return transform(picture), used
    source, before = image._making.source, generators.Generators.now()
    try:
        made = transform(image)
        if source.state is SourceState.UNUSED:
            image.load()  # the transform has not looked: whether the file is whole must be known now
        if isinstance(made, LateImage):
            made = made.at_once()
    except Exception:
        if source.state is not SourceState.FAILED:
            raise
        before.put()
        picture, used = otherwise()
        return transform(picture), used
    if source.state is SourceState.PILLOW:
        files.count_fallback()
        pillow.opened += 1
    return made, sample
