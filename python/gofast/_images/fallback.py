"""Samples that the core could not make: Pillow's turn, and then the user's policy."""

from __future__ import annotations

import ctypes
import random
import struct
import zlib
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from .. import errors
from .._core import generators
from .._core.faults import Code
from .._loader import counts
from .._loader.transfer_format import TransferFormat
from . import bad_image, pillow
from .bad_samples import excusable, stand_ins
from .core_pictures import CorePictures
from .picture_draws import draw_one
from .picture_files import PictureFiles
from .protocols import HasPictures

if TYPE_CHECKING:
    from PIL import Image


# A picture of unknown size: any crop can be drawn in it, and nothing will be made of it. image.h's
# GF_ANY_SIDE.
ANY_SIDE = 1 << 14


class Fault(NamedTuple):
    """What the core said of one sample.

    Attributes:
        code: its kind.
        offset: in the file, or -1.
        text: the decoder's words.
    """

    code: int
    offset: int
    text: str


class SamplePlace:
    """Where a sample of a batch belongs, and what it is made with.

    Attributes:
        record: address of what was drawn for it.
        address: of its memory.
        bytes: of that memory.
        is_read: its picture was read, which comes before its draws in torchvision.
    """

    __slots__ = ("address", "bytes", "core", "dataset", "is_read", "record")

    def __init__(
        self,
        dataset: HasPictures,
        core: CorePictures,
        record: int,
        address: int,
        row_bytes: int,
    ) -> None:
        self.dataset, self.core, self.record = dataset, core, record
        self.address, self.bytes, self.is_read = address, row_bytes, False

    def make(self, image: Image.Image, record: int | None = None) -> None:
        """Makes the sample of a picture: by the native steps, or by the transforms themselves where those
        cannot and nothing was drawn."""
        try:
            pillow.make_sample(self.core, image, self.record if record is None else record, self.address)
        except errors.UnsupportedError as refused:
            self.make_by_transforms(image, refused)

    def make_by_transforms(self, image: Image.Image, refused: errors.UnsupportedError) -> None:
        """Makes the sample by the transforms themselves; raises why the core does not, where they cannot."""
        shape, plan = self.core.shape, self.core.plan
        if self.core.record_words or shape is None or not plan.native_part:
            raise refused
        made: Any = image
        for transform in plan.native_part:
            made = transform(made)
        if not isinstance(made, torch.Tensor) or list(made.shape) != list(shape):
            raise refused
        made = made.to(getattr(torch, plan.dtype))
        last = torch.channels_last if self.core.channels_last else torch.contiguous_format
        ordered = made[None].contiguous(memory_format=last)
        ctypes.memmove(self.address, ordered.data_ptr(), self.bytes)

    def make_another(self, image: Image.Image, sample: int, attempt: int) -> None:
        """Makes it of a picture for which nothing was drawn.

        What was drawn for sample holds where sizes do not matter. Else it is drawn again, without torch's
        generator: a function of what was drawn, the sample and the attempt.
        """
        words = self.core.record_words
        if not words or not self.core.plan.needs_size:
            self.make(image)
            return
        drawn = ctypes.string_at(self.record, 4 * words)
        seed = zlib.crc32(drawn + struct.pack("<qq", sample, attempt))
        state = torch.Generator().manual_seed(seed).get_state()
        twister = random.Random(seed).getstate() if self.core.plan.draws_python else None
        python = None if twister is None else generators.PythonWords(twister)
        record = draw_one(self.core, image.size, state.data_ptr(), python)
        self.make(image, record.buffer_info()[0])

    def make_of_no_file(self, image: Image.Image, sample: int, attempt: int) -> None:
        """The same of a picture that comes from no file: the info of sample's does not go with it."""
        self.make_another(image, sample, attempt)
        if self.core.shape is None:
            pillow.MadePicture.from_address(self.address).info |= pillow.LOST


class StoredPlace(SamplePlace):
    """The place of a sample in a batch of the wire's.

    Some samples can only be made finished, and get memory of their own: those whose draws differ from the
    record by which the device erases, and those that the steps do not make.

    Args:
        raw: makes stored samples.
        slot: address of the stored sample.
    """

    __slots__ = ("_is_stored", "_raw", "_slot", "_whole")

    def __init__(
        self,
        dataset: HasPictures,
        core: CorePictures,
        record: int,
        wire: TransferFormat,
        raw: CorePictures,
        slot: int,
    ) -> None:
        whole = torch.empty(wire.shape, dtype=getattr(torch, wire.made), device="cpu")
        super().__init__(dataset, core, record, whole.data_ptr(), whole.nbytes)
        self._whole, self._raw, self._slot, self._is_stored = whole, raw, slot, False

    @property
    def finished(self) -> torch.Tensor | None:
        """The sample, where it does not lie in the batch."""
        return None if self._is_stored else self._whole

    def make(self, image: Image.Image, record: int | None = None) -> None:
        """Makes the stored sample, or where that cannot be, the finished one."""
        if record is None:
            try:
                pillow.make_sample(self._raw, image, self.record, self._slot)
                self._is_stored = True
                return
            except errors.UnsupportedError:
                pass  # the transforms themselves may do it
        super().make(image, record)


def rescue(place: SamplePlace, sample: int, fault: Fault) -> int:
    """Makes a sample in another way.

    Returns:
        The sample whose label goes with it: itself, unless another one stands in.

    Raises:
        BadImageError: Pillow cannot read the file either, and the policy is to raise. It is also an error of
            the class that Pillow or Python raised. What is no OSError comes as it is, with a note.
        ChangedError: the picture is not of the size for which was drawn.
    """
    dataset, files = place.dataset, place.core.files
    if files.are_pixels:
        _make_of_pixels(place, sample, fault)
        return sample
    try:
        image = _open_sample(files, sample, fault)
        _check_size(place, sample, image.size)
        place.is_read = True
        _make(place, image, sample)
        return sample
    except Exception as error:
        if not excusable(error):
            raise
        dataset._bad.note(files, sample, error)
        if dataset._bad.on_error == "raise":
            raise
        if dataset._bad.on_error != "zero":
            return _replace(place, sample, error)
    if place.core.shape is not None and not place.core.plan.rest:
        ctypes.memset(place.address, 0, place.bytes)
    else:
        from PIL import Image

        place.make_of_no_file(Image.new("RGB", _size_to_be(files, sample)), sample, 0)
    return sample


def _make_of_pixels(place: SamplePlace, sample: int, fault: Fault) -> None:
    """Makes a sample of pixels in memory by the transforms themselves, where nothing was drawn."""
    place.is_read = True
    if fault.code == Code.CROP:
        raise ValueError(fault.text)
    if fault.code == Code.MEMORY:
        raise MemoryError(fault.text)
    dataset: Any = place.dataset
    place.make_by_transforms(
        dataset._image(sample), errors.UnsupportedError(f"sample {sample}: {fault.text}")
    )


def _replace(place: SamplePlace, sample: int, error: Exception) -> int:
    files = place.core.files

    def make(choice: Any, attempt: int) -> None:
        if isinstance(choice, int):
            place.make_another(open_picture(files, choice), sample, attempt)
        else:
            place.make_of_no_file(_converted(choice), sample, attempt)

    return place.dataset._bad.settle(files, sample, error, make)


def _converted(choice: Any) -> Image.Image:
    from PIL import Image

    if not isinstance(choice, Image.Image):
        raise errors.OptionError(
            f"on_error returned {type(choice).__name__}: give an index or a PIL image, or raise"
        )
    return choice.convert("RGB")


def _open_sample(files: PictureFiles, sample: int, fault: Fault) -> Image.Image:
    """The picture as Pillow reads it, after the core has given it up."""
    path = files.path(sample)
    if fault.code == Code.CHANGED:
        raise _changed(sample, path, fault.text, files.contents is not None)
    if not pillow.available():
        if fault.code in (Code.READ, Code.FORMAT):
            raise _unreadable(sample, path, OSError(fault.text), fault)
        raise errors.UnsupportedError(
            f"sample {sample}: {path}: {fault.text}; install Pillow for what gofast does not decode"
        )
    image = open_picture(files, sample, fault)
    files.count_fallback()
    pillow.opened += 1
    counts.here().fallback(fault.text, "picture")
    return image


def open_picture(files: PictureFiles, sample: int, fault: Fault | None = None) -> Image.Image:
    """The picture as Pillow reads it.

    Raises:
        BadImageError: Pillow cannot. Where that is no OSError it comes as it is.
    """
    path = files.path(sample)
    try:
        return pillow.open_rgb(files.source(sample))
    except errors.GofastError:
        raise  # of a file of many pictures
    except OSError as error:
        raise _unreadable(sample, path, error, fault) from error
    except Exception as error:
        if hasattr(error, "add_note"):  # Python 3.11
            error.add_note(f"sample {sample}: {path}")
        raise


def _check_size(place: SamplePlace, sample: int, size: tuple[int, int]) -> None:
    """Refuses a picture that is not of the size for which was drawn."""
    files, core = place.core.files, place.core
    if not core.record_words or 0 in size:
        return
    drawn = pillow.drawn_for(place.record, core.record_words)
    if drawn not in (size, (0, 0)):
        text = f"the picture is {size[0]}x{size[1]} and was {drawn[0]}x{drawn[1]} before"
        files.remember(sample, size)
        raise _changed(sample, files.path(sample), text)


def _make(place: SamplePlace, image: Image.Image, sample: int) -> None:
    path = place.core.files.path(sample)
    try:
        place.make(image)
    except errors.ChangedError as error:
        raise _changed(sample, path, str(error)) from None
    except errors.UnsupportedError as error:
        raise errors.UnsupportedError(f"sample {sample}: {path}: {error}") from None


def _changed(sample: int, path: str, text: str, for_good: bool = False) -> errors.ChangedError:
    then = "make the dataset again" if for_good else "asked for again, it is drawn for as it is now"
    said = f"sample {sample}: {path}: {text}; {then}"
    return errors.ChangedError(said).at(path=path, index=sample)


def _unreadable(sample: int, path: str, error: OSError, fault: Fault | None) -> errors.BadImageError:
    """The error of a file that Pillow refuses, with what the core found."""
    text = str(error) if path in str(error) else f"{path}: {error}"
    if fault is not None:
        found = [] if fault.text in text else [fault.text]
        found += [f"at byte {fault.offset}"] if fault.offset >= 0 else []
        text += f" ({' '.join(found)})" if found else ""
    offset = fault.offset if fault is not None and fault.offset >= 0 else None
    return bad_image.both(error, f"sample {sample}: {text}").at(path=path, index=sample, offset=offset)


def unreadable(dataset: HasPictures, sample: int) -> Exception | None:
    """The error of a picture that cannot be read."""
    try:
        open_picture(dataset._files, sample)
    except Exception as error:
        if excusable(error):
            dataset._bad.note(dataset._files, sample, error)
        return error
    return None


def size_of(files: PictureFiles, sample: int) -> tuple[int, int]:
    """Width and height of a picture whose header the core does not know, for the draws.

    One that Pillow cannot read either has some size: its error comes when it is its turn to be made.
    """
    try:
        size = pillow.open_rgb(files.source(sample)).size  # a header may say something else
    except Exception:
        return ANY_SIDE, ANY_SIDE
    if 0 in size:
        return ANY_SIDE, ANY_SIDE
    files.remember(sample, size)
    return size


def _size_to_be(files: PictureFiles, sample: int) -> tuple[int, int]:
    """The size of the black picture that stands for a bad sample: what its header says, or else another's."""
    for other in (sample, *stand_ins(sample, len(files))):
        try:
            return pillow.size_of(files.source(other))
        except Exception:
            continue
    raise errors.BadImageError("no picture of the dataset can be read")


def load_instead(dataset: HasPictures, sample: int, error: Exception) -> tuple[Any, int]:
    """What stands in for a sample that the user's own loader could not read, and whose label goes with it."""
    bad, loader = dataset._bad, dataset._reader
    assert loader is not None
    if not excusable(error):
        raise error
    bad.note(dataset._files, sample, error)
    if bad.on_error == "raise":
        raise error
    found: list[Any] = []

    def load(choice: Any, attempt: int) -> None:
        found.append(loader(dataset._listing.path(choice)) if isinstance(choice, int) else choice)

    if bad.on_error != "zero":
        used = bad.settle(dataset._files, sample, error, load)
        return found[-1], used
    for other in stand_ins(sample, len(dataset._files)):
        try:
            return _black(loader(dataset._listing.path(other))), sample
        except errors.OptionError:
            raise
        except Exception:
            continue
    raise error


def _black(picture: Any) -> Any:
    """A picture of the same kind and size, all zero."""
    if isinstance(picture, torch.Tensor):
        return torch.zeros_like(picture)
    if hasattr(picture, "mode") and hasattr(picture, "size"):
        from PIL import Image

        return Image.new(picture.mode, picture.size)
    if hasattr(picture, "__array_interface__"):
        return picture * 0
    raise errors.OptionError(f'on_error="zero": there is no black {type(picture).__name__} of your loader')


def reason(dataset: HasPictures, sample: int) -> str:
    """Why a sample cannot be read that a worker process met."""
    try:
        if dataset._reader is not None:
            dataset._reader(dataset._listing.path(sample))
        else:
            open_picture(dataset._files, sample)
    except Exception as error:
        return str(error)
    return "a worker process could not read it; it can be read now"
