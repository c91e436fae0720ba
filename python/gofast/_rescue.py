"""Samples that the core could not make: Pillow's turn, and then the user's policy."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from . import _pillow, errors

if TYPE_CHECKING:
    from PIL import Image

    from ._image_rows import ImageDataset
    from ._image_view import ImageProgram

# What a core's fault is about; the numbers are those of gofast/internal/kernel/fault/fault.h.
CHANGED = 7


class Fault:
    """What the core said of one sample.

    Attributes:
        code: its kind.
        offset: in the file, or -1.
        text: the decoder's words.
    """

    __slots__ = ("code", "offset", "text")

    def __init__(self, code: int, offset: int, text: str) -> None:
        self.code, self.offset, self.text = code, offset, text


def open_sample(dataset: ImageDataset, sample: int, fault: Fault) -> Image.Image:
    """The picture as Pillow reads it.

    Raises:
        ChangedError: the file is not the one whose size was read before.
        BadImageError: Pillow cannot read it either. Other exceptions of Pillow's come with a note.
    """
    path = dataset._files.path(sample)
    if fault.code == CHANGED:
        changed = errors.ChangedError(f"sample {sample}: {path}: {fault.text}")
        changed.path, changed.index = path, sample
        raise changed
    if not _pillow.available():
        raise errors.UnsupportedError(
            f"sample {sample}: {path}: {fault.text}; install Pillow for what gofast does not decode"
        )
    try:
        image = _pillow.open_rgb(path)
    except Exception as error:
        raise bad_image(sample, path, fault, error) from error
    dataset._fallbacks += 1
    return image


def bad_image(sample: int, path: str, fault: Fault, error: Exception) -> Exception:
    """The error of a file that Pillow refuses, with what the core found."""
    where = f" at byte {fault.offset}" if fault.offset >= 0 else ""
    if not isinstance(error, OSError):
        error.add_note(f"sample {sample}: {path}") if hasattr(error, "add_note") else None
        return error
    said = str(error) if path in str(error) else f"{path}: {error}"
    bad = errors.BadImageError(f"sample {sample}: {said} ({fault.text}{where})")
    bad.path, bad.index = path, sample
    bad.offset = fault.offset if fault.offset >= 0 else None
    return bad


def rescue(
    dataset: ImageDataset,
    program: ImageProgram,
    sample: int,
    fault: Fault,
    record: int,
    place: int,
    row_bytes: int,
) -> int:
    """Makes a sample at place in another way.

    Args:
        record: address of what was drawn for it.
        place: where it belongs, row_bytes long.

    Returns:
        The sample whose label goes with it: itself, unless another one stands in.
    """
    try:
        _pillow.make_sample(program, open_sample(dataset, sample, fault), record, place)
        return sample
    except (OSError, SyntaxError, ValueError) as error:
        if isinstance(error, errors.ChangedError) or dataset._bad.on_error == "raise":
            raise
        return dataset._stand_in(program, sample, error, place, row_bytes)


def size_of(dataset: ImageDataset, sample: int, fault: Fault) -> tuple[int, int]:
    """Width and height of a picture whose header the core does not know."""
    path = dataset._files.path(sample)
    try:
        return _pillow.size_of(path)
    except Exception as error:
        if dataset._bad.on_error == "raise":
            raise bad_image(sample, path, fault, error) from error
        return 1, 1  # nothing will be made of it


def zero(place: int, row_bytes: int) -> None:
    """Clears a sample."""
    ctypes.memset(place, 0, row_bytes)
