"""How a batch of a view comes to a device: what crosses the bus, and what is made of it there.

Finished samples are copied. Where a view has a wire form, stored bytes cross, and a kernel makes the numbers,
if there is a compiler for it.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch

from .._core.memory import address_of
from .kernel_parameters import ERASINGS, KernelParameters, job

MOST_TABLES = 16  # of 256 results: a mean for each of 150,528 values would make 154 MB of them
_INTEGERS = ("uint8", "int16", "int32", "int64")

if TYPE_CHECKING:
    from .._loader.batch_source import BatchSource
    from .._loader.core_dataset import CoreDataset
    from .._loader.transfer_format import TransferFormat
    from .device import Device, Upload


class Arriving:
    """A batch on its way.

    Attributes:
        images, labels: where it arrives.
        job: for `Device.send`, until it is sent.
        number: of its move.
        replaced: the samples that stand in for bad ones, by position.
        apart: finished samples on the CPU, by position, which could not be had as stored bytes.
        kept: what must not go before the move is received.
    """

    __slots__ = ("apart", "images", "job", "kept", "labels", "number", "replaced")

    def __init__(
        self, images: torch.Tensor, labels: torch.Tensor | None, job: array[int], kept: Any = None
    ) -> None:
        self.images, self.labels, self.job, self.kept = images, labels, job, kept
        self.number = 0
        self.replaced: Mapping[int, int] | None = None
        self.apart: Mapping[int, torch.Tensor] | None = None


_Wanted: TypeAlias = tuple[Sequence[int], torch.dtype]  # a tensor's shape and type


def _with_labels(
    device: Device, labels: torch.Tensor | None, *wanted: _Wanted
) -> tuple[list[torch.Tensor], torch.Tensor | None, tuple[int, ...]]:
    """Tensors on the device, one for labels, and the piece of a job that brings them."""
    with device.allocating():
        if labels is None:
            return device.side.empty(*wanted), None, ()
        *made, there = device.side.empty(*wanted, (labels.shape, labels.dtype))
    size = labels.nbytes
    return made, there, (labels.data_ptr(), there.data_ptr(), size, 0) if size else ()


class Finish:
    """Finished samples are copied.

    Attributes:
        core: what slots are filled from.
        row_bytes: of a sample in a slot.
        bytes: of the memory on the device that a sample takes on its way.
        wired: stored bytes cross.
        what: that, for `explain`.
    """

    wired = False
    what = "finished samples are copied"

    def __init__(self, device: Device, view: BatchSource) -> None:
        self._device, self._view = device, view
        self.row_bytes = self.bytes = view.row_bytes
        self._shape, self._dtype = view.core.sample_shape, getattr(torch, view.core.sample_type)

    @property
    def core(self) -> CoreDataset:
        """Asked each time: an array's memory may move."""
        return self._view.core

    def room(self, rows: int, labels: torch.Tensor | None, records: np.ndarray[Any, Any] | None) -> Arriving:
        """Memory on the device for a batch, and its job.

        Args:
            labels: the batch's, on the CPU.
            records: what was drawn for it, int32 [rows, words].
        """
        (images,), there, more = _with_labels(self._device, labels, ((rows, *self._shape), self._dtype))
        return Arriving(images, there, job((0, images.data_ptr(), images.nbytes, 0, *more)))


class ByKernel(Finish):
    """Stored bytes cross, and a kernel makes the numbers."""

    wired = True

    def __init__(self, device: Device, view: BatchSource, wire: TransferFormat, function: int) -> None:
        super().__init__(device, view)
        self._wire, self._function = wire, function
        self._shape, self._dtype = wire.shape, getattr(torch, wire.made)
        self.what = f"{wire.stored} is copied, and becomes {wire.made} there by a kernel"
        self.row_bytes, self.bytes = wire.row_bytes, wire.row_bytes + view.row_bytes
        self._making, self._uploads = making_of(device, wire)

    @property
    def core(self) -> CoreDataset:
        """See Finish."""
        return self._wire.core

    def room(self, rows: int, labels: torch.Tensor | None, records: np.ndarray[Any, Any] | None) -> Arriving:
        """See Finish."""
        size, boxes = rows * self.row_bytes, self._boxes(records)
        start = (size + 15) // 16 * 16
        (raw, images), there, more = _with_labels(
            self._device,
            labels,
            ((size if boxes is None else start + boxes.nbytes,), torch.uint8),
            ((rows, *self._shape), self._dtype),
        )
        making = KernelParameters.from_buffer_copy(self._making)
        making.stored = stored = raw.data_ptr()
        making.made, making.count = images.data_ptr(), rows
        if boxes is not None:
            making.boxes = stored + start
            more += (address_of(boxes), stored + start, boxes.nbytes, 0)
        whole = job((0, stored, size, 0, *more), self._function, ctypes.addressof(making))
        # The raw bytes go back to gofast's stream with this object, and only that stream uses them.
        return Arriving(images, there, whole, (making, raw, boxes))

    def _boxes(self, records: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any] | None:
        """Where RandomErasing put its boxes, int32 [rows, erasures, 4]: top, left, height, width."""
        erasures = self._wire.erasures
        if not erasures or records is None:
            return None
        boxes = np.empty((len(records), len(erasures), 4), np.int32)
        for i, (word, _) in enumerate(erasures):
            np.multiply(records[:, word + 1 : word + 5], records[:, word : word + 1], out=boxes[:, i])
        return boxes


def finish_of(device: Device, view: BatchSource) -> Finish:
    """The quickest way for a view."""
    wire = view.wire()
    if wire is not None and len(wire.erasures) <= ERASINGS:
        function = device.kernel(wire.stored, wire.made)
        if function is not None:
            return ByKernel(device, view, wire, function)
    return Finish(device, view)


def _computes(wire: TransferFormat) -> bool:
    """Whether a kernel computes numbers of bytes. `device.Of` in Go decides alike."""
    if wire.made in ("float64", *_INTEGERS):
        return True
    return wire.channels > MOST_TABLES and wire.scale != "multiply"


def making_of(device: Device, wire: TransferFormat) -> tuple[KernelParameters, list[Upload]]:
    """The parameters of a wire's kernel, without addresses of samples, and the memory that they name."""
    making, width = KernelParameters(), int(np.prod(wire.shape, dtype=np.int64))
    making.width, making.channels, making.last = width, wire.channels, wire.last
    making.plane = wire.channels if wire.last else max(width // wire.channels, 1)
    uploads: list[Upload] = []
    if wire.stored == "uint8" and not _computes(wire):
        uploads = [device.upload(wire.results())]
        making.results = uploads[0].memory.data_ptr()
    elif wire.mean is not None and wire.std is not None:
        each = [np.repeat(values, width // len(values)) for values in (wire.mean, wire.std)]
        uploads = [device.upload(values) for values in each]
        making.mean, making.std = (uploaded.memory.data_ptr() for uploaded in uploads)
    making.divide = wire.scale == "divide"
    if wire.erasures:
        _erase(making, wire)
    return making, uploads


def _erase(making: KernelParameters, wire: TransferFormat) -> None:
    """Says what RandomErasing's boxes are filled with, and how the pixels of a sample lie."""
    _, width, channels = wire.shape if wire.last else (*wire.shape[1:], wire.shape[0])
    # Also where all channels are treated alike: a box is of pixels, in every channel.
    making.plane = channels if wire.last else making.width // channels
    making.picture_width, making.n_erasings = width, len(wire.erasures)
    for i, (_, values) in enumerate(wire.erasures):
        bits = torch.tensor(values, device="cpu").to(getattr(torch, wire.made)).view(torch.uint8).numpy()
        size = bits.nbytes // len(values)
        for c in range(channels):
            making.values[i][c] = int.from_bytes(bits[c * size : (c + 1) * size].tobytes(), "little")
