"""How a batch of a view comes to a device: what crosses the bus, and what is made of it there.

Finished samples are copied. Where a view has a wire form, stored bytes cross, and a kernel makes the numbers;
without a compiler for kernels, torch's operations do, by the same tables of results.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import torch

from .._core.memory import address_of
from .making import ERASINGS, Making

_INTEGERS = ("uint8", "int16", "int32", "int64")

if TYPE_CHECKING:
    from .._batches.core_dataset import CoreDataset
    from .._batches.view import View
    from .._batches.wire import Wire
    from .device import Device


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


class Finish(Protocol):
    """The interface.

    Attributes:
        bytes: of the memory on the device that a sample takes on its way.
        wired: stored bytes cross.
    """

    bytes: int
    wired: bool

    def core(self) -> CoreDataset:
        """What slots are filled from."""

    def row_bytes(self) -> int:
        """Bytes of a sample in a slot."""

    def room(self, rows: int, labels: torch.Tensor | None, records: np.ndarray[Any, Any] | None) -> Arriving:
        """Memory on the device for a batch, and its job.

        Args:
            labels: the batch's, on the CPU.
            records: what was drawn for it, int32 [rows, words].
        """

    def images(self, arriving: Arriving) -> torch.Tensor:
        """The batch's samples, once its stream waits for the move."""


def finish_of(device: Device, view: View) -> Finish:
    """The quickest way for a view."""
    wire = view.wire()
    if wire is None or len(wire.erasures) > ERASINGS:
        return Copied(device, view)
    function = device.kernel(wire.stored, wire.made)
    if function is not None:
        return ByKernel(device, view, wire, function)
    if wire.stored == "uint8":
        return ByTorch(device, view, wire)
    return Copied(device, view)


def _with_labels(device: Device, labels: torch.Tensor | None, job: array[int]) -> torch.Tensor | None:
    """Where labels arrive, and their piece of a job."""
    if labels is None:
        return None
    there = device.side.empty(labels.shape, labels.dtype)
    if size := labels.nbytes:
        job.extend((labels.data_ptr(), there.data_ptr(), size, 0))
        job[2] += 1
    return there


class Copied:
    """Finished samples are copied."""

    wired = False

    def __init__(self, device: Device, view: View) -> None:
        self._device, self._view = device, view
        core = view.core
        self._shape, self._dtype = core.sample_shape, getattr(torch, core.sample_type)
        self.bytes = view.row_bytes

    def core(self) -> CoreDataset:
        return self._view.core

    def row_bytes(self) -> int:
        return self._view.row_bytes

    def room(self, rows: int, labels: torch.Tensor | None, records: np.ndarray[Any, Any] | None) -> Arriving:
        images = self._device.side.empty((rows, *self._shape), self._dtype)
        job = array("q", (0, 0, 1, 0, images.data_ptr(), images.nbytes, 0))
        return Arriving(images, _with_labels(self._device, labels, job), job)

    def images(self, arriving: Arriving) -> torch.Tensor:
        return arriving.images


class _Wired:
    """Stored bytes cross."""

    wired = True

    def __init__(self, device: Device, view: View, wire: Wire) -> None:
        self._device, self._wire = device, wire
        self._words = view.record_words
        self._made: torch.dtype = getattr(torch, wire.made)
        self._raw_bytes = wire.row_bytes
        self.bytes = wire.row_bytes + view.row_bytes

    def core(self) -> CoreDataset:
        return self._wire.core

    def row_bytes(self) -> int:
        return self._raw_bytes

    def _boxes(self, records: np.ndarray[Any, Any] | None) -> np.ndarray[Any, Any] | None:
        """Where RandomErasing put its boxes, int32 [rows, erasures, 4]: top, left, height, width."""
        erasures = self._wire.erasures
        if not erasures or records is None:
            return None
        boxes = np.empty((len(records), len(erasures), 4), np.int32)
        for i, (word, _) in enumerate(erasures):
            np.multiply(records[:, word + 1 : word + 5], records[:, word : word + 1], out=boxes[:, i])
        return boxes


class ByKernel(_Wired):
    """A kernel makes the numbers."""

    def __init__(self, device: Device, view: View, wire: Wire, function: int) -> None:
        super().__init__(device, view, wire)
        self._function = function
        self._shape = wire.shape
        self._making, self._kept, _ = making_of(device, wire)

    def room(self, rows: int, labels: torch.Tensor | None, records: np.ndarray[Any, Any] | None) -> Arriving:
        side, size = self._device.side, rows * self._raw_bytes
        boxes = self._boxes(records)
        start = (size + 15) // 16 * 16
        raw = side.empty((size if boxes is None else start + boxes.nbytes,), torch.uint8)
        images = side.empty((rows, *self._shape), self._made)
        making = Making.from_buffer_copy(self._making)
        making.stored = stored = raw.data_ptr()
        making.made, making.count = images.data_ptr(), rows
        job = array("q", (self._function, ctypes.addressof(making), 1, 0, stored, size, 0))
        if boxes is not None:
            making.boxes = stored + start
            job.extend((address_of(boxes), stored + start, boxes.nbytes, 0))
            job[2] += 1
        # The raw bytes go back to gofast's stream with this object, and only that stream uses them.
        return Arriving(images, _with_labels(self._device, labels, job), job, (making, raw, boxes))

    def images(self, arriving: Arriving) -> torch.Tensor:
        return arriving.images


class ByTorch(_Wired):
    """torch looks results up, on the stream that receives the batch."""

    def __init__(self, device: Device, view: View, wire: Wire) -> None:
        super().__init__(device, view, wire)
        self._shape = wire.shape
        results, self._number = device.upload(wire.results())
        self._results = results.view(self._made).view(wire.channels, 256)
        self._known: set[int] = set()

    def room(self, rows: int, labels: torch.Tensor | None, records: np.ndarray[Any, Any] | None) -> Arriving:
        raw = self._device.side.empty((rows, *self._shape), torch.uint8)
        job = array("q", (0, 0, 1, 0, raw.data_ptr(), raw.nbytes, 0))
        return Arriving(raw, _with_labels(self._device, labels, job), job, self._boxes(records))

    def images(self, arriving: Arriving) -> torch.Tensor:
        side = self._device.side
        stream = side.current()
        if (handle := side.handle(stream)) not in self._known:
            self._device.receive(self._number, handle)
            side.used(self._results, stream)
            self._known.add(handle)
        raw, wire = arriving.images, self._wire
        made = side.empty_here(raw.shape, self._made)
        looked_up(raw, self._results, wire, made)
        boxes = arriving.kept
        if boxes is not None:
            pixels = made if wire.last else made.permute(0, 2, 3, 1)
            for n, i in zip(*np.nonzero(boxes[:, :, 2] * boxes[:, :, 3]), strict=True):
                top, left, height, width = boxes[n, i].tolist()
                values = torch.tensor(wire.erasures[i][1][: pixels.shape[3]], dtype=torch.float32)
                pixels[n, top : top + height, left : left + width] = values.to(self._made).to(pixels.device)
        return made


def looked_up(raw: torch.Tensor, results: torch.Tensor, wire: Wire, made: torch.Tensor) -> None:
    """Makes numbers of bytes [n, *shape] by torch's operations.

    Args:
        results: [channels, 256].
    """
    if wire.channels == 1 or raw.dim() == 2:  # a row of a table: its channels lie one after the other
        raw, made = (t.view(len(t), wire.channels, -1) for t in (raw, made))
    at = raw.dim() - 1 if wire.last and wire.channels > 1 else 1
    for c in range(wire.channels):
        source, to = raw.select(at, c), made.select(at, c)
        to.copy_(results[c].index_select(0, source.reshape(-1).int()).view(source.shape))


def making_of(
    device: Device, wire: Wire, by_kernel: bool = True
) -> tuple[Making, tuple[torch.Tensor, ...], int]:
    """The parameters of a wire's kernel, without addresses of samples.

    Args:
        by_kernel: a kernel computes by itself what tables of results are not worth while for.

    Returns:
        They, the memory that they name, and the number of its move. gofast's stream needs not wait for it.
    """
    making, width = Making(), int(np.prod(wire.shape, dtype=np.int64))
    making.width, making.channels, making.last = width, wire.channels, wire.last
    making.plane = wire.channels if wire.last else max(width // wire.channels, 1)
    kept: tuple[torch.Tensor, ...] = ()
    number = 0
    if wire.stored == "uint8" and not (by_kernel and wire.made in ("float64", *_INTEGERS)):
        results, number = device.upload(wire.results())
        kept = (results,)
        making.results = results.data_ptr()
    elif wire.mean is not None and wire.std is not None:
        each = [np.repeat(values, width // len(values)) for values in (wire.mean, wire.std)]
        (mean, _), (std, number) = (device.upload(values) for values in each)
        kept = (mean, std)
        making.mean, making.std = mean.data_ptr(), std.data_ptr()
    making.divide = wire.scale == "divide"
    if wire.erasures:
        height_width = wire.shape[:2] if wire.last else wire.shape[1:]
        channels = wire.shape[2] if wire.last else wire.shape[0]
        making.picture_width, making.n_erasings = height_width[1], len(wire.erasures)
        # Boxes are of pixels, whose channels and planes must be known where all are treated alike too.
        making.plane = channels if wire.last else width // channels
        for i, (_, values) in enumerate(wire.erasures):
            bits = torch.tensor(values).to(getattr(torch, wire.made)).view(torch.uint8).numpy()
            size = bits.nbytes // len(values)
            for c in range(channels):
                making.values[i][c] = int.from_bytes(bits[c * size : (c + 1) * size].tobytes(), "little")
    return making, kept, number
