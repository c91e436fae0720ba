"""How a batch of a view comes to a device: what crosses the bus, and what is made of it there.

Finished samples are copied. Where a view has a wire form, stored bytes cross, and a kernel makes the numbers;
without a compiler for kernels, torch's operations do, by the same tables of results.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
import torch

from .._core.memory import address_of
from .making import ERASINGS, Making, job

MOST_TABLES = 16  # of 256 results: a mean for each of 150,528 values would make 154 MB of them
_INTEGERS = ("uint8", "int16", "int32", "int64")

if TYPE_CHECKING:
    from .._loader.core_dataset import CoreDataset
    from .._loader.view import View
    from .._loader.wire import Wire
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


class Finish(Protocol):
    """The interface.

    Attributes:
        bytes: of the memory on the device that a sample takes on its way.
        wired: stored bytes cross.
        what: that, for `explain`.
    """

    bytes: int
    wired: bool
    what: str

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


_Wanted: TypeAlias = tuple[Sequence[int], torch.dtype]  # a tensor's shape and type


def _with_labels(
    device: Device, labels: torch.Tensor | None, *wanted: _Wanted
) -> tuple[list[torch.Tensor], torch.Tensor | None, tuple[int, ...]]:
    """Tensors on the device, one for labels, and the piece of a job that brings them."""
    if labels is None:
        return device.side.empty(*wanted), None, ()
    *made, there = device.side.empty(*wanted, (labels.shape, labels.dtype))
    size = labels.nbytes
    return made, there, (labels.data_ptr(), there.data_ptr(), size, 0) if size else ()


class Copied:
    """Finished samples are copied."""

    wired = False
    what = "finished samples are copied"

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
        (images,), there, more = _with_labels(self._device, labels, ((rows, *self._shape), self._dtype))
        return Arriving(images, there, job((0, images.data_ptr(), images.nbytes, 0, *more)))

    def images(self, arriving: Arriving) -> torch.Tensor:
        return arriving.images


class _Wired:
    """Stored bytes cross."""

    wired = True
    by: str

    def __init__(self, device: Device, view: View, wire: Wire) -> None:
        self._device, self._wire = device, wire
        self._made: torch.dtype = getattr(torch, wire.made)
        self._raw_bytes = wire.row_bytes
        self.what = f"{wire.stored} is copied, and becomes {wire.made} there by {self.by}"
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

    by = "a kernel"

    def __init__(self, device: Device, view: View, wire: Wire, function: int) -> None:
        super().__init__(device, view, wire)
        self._function = function
        self._shape = wire.shape
        self._making, self._uploads = making_of(device, wire)

    def room(self, rows: int, labels: torch.Tensor | None, records: np.ndarray[Any, Any] | None) -> Arriving:
        size, boxes = rows * self._raw_bytes, self._boxes(records)
        start = (size + 15) // 16 * 16
        (raw, images), there, more = _with_labels(
            self._device,
            labels,
            ((size if boxes is None else start + boxes.nbytes,), torch.uint8),
            ((rows, *self._shape), self._made),
        )
        making = Making.from_buffer_copy(self._making)
        making.stored = stored = raw.data_ptr()
        making.made, making.count = images.data_ptr(), rows
        if boxes is not None:
            making.boxes = stored + start
            more += (address_of(boxes), stored + start, boxes.nbytes, 0)
        whole = job((0, stored, size, 0, *more), self._function, ctypes.addressof(making))
        # The raw bytes go back to gofast's stream with this object, and only that stream uses them.
        return Arriving(images, there, whole, (making, raw, boxes))

    def images(self, arriving: Arriving) -> torch.Tensor:
        return arriving.images


class ByTorch(_Wired):
    """torch looks results up, on the stream that receives the batch."""

    by = "torch's operations: no kernel can be compiled"

    def __init__(self, device: Device, view: View, wire: Wire) -> None:
        super().__init__(device, view, wire)
        self._shape = wire.shape
        self._uploaded = device.upload(wire.results())
        self._results = self._uploaded.memory.view(self._made).view(wire.channels, 256)

    def room(self, rows: int, labels: torch.Tensor | None, records: np.ndarray[Any, Any] | None) -> Arriving:
        (raw,), there, more = _with_labels(self._device, labels, ((rows, *self._shape), torch.uint8))
        return Arriving(raw, there, job((0, raw.data_ptr(), raw.nbytes, 0, *more)), self._boxes(records))

    def images(self, arriving: Arriving) -> torch.Tensor:
        side = self._device.side
        stream = side.current()
        self._uploaded.use_on(stream, side.handle(stream))
        raw, wire = arriving.images, self._wire
        made = side.empty_here(raw.shape, self._made)
        looked_up(raw, self._results, wire, made)
        boxes = arriving.kept
        if boxes is not None:
            pixels = made if wire.last else made.permute(0, 2, 3, 1)
            for n, i in zip(*np.nonzero(boxes[:, :, 2] * boxes[:, :, 3]), strict=True):
                top, left, height, width = boxes[n, i].tolist()
                values = torch.tensor(
                    wire.erasures[i][1][: pixels.shape[3]], dtype=torch.float32, device="cpu"
                )
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


def _computes(wire: Wire) -> bool:
    """Whether a kernel computes numbers of bytes. `device.Of` in Go decides alike."""
    if wire.made in ("float64", *_INTEGERS):
        return True
    return wire.channels > MOST_TABLES and wire.scale != "multiply"


def making_of(device: Device, wire: Wire, by_kernel: bool = True) -> tuple[Making, list[Upload]]:
    """The parameters of a wire's kernel, without addresses of samples, and the memory that they name.

    Args:
        by_kernel: a kernel computes by itself what tables of results are not worth while for.
    """
    making, width = Making(), int(np.prod(wire.shape, dtype=np.int64))
    making.width, making.channels, making.last = width, wire.channels, wire.last
    making.plane = wire.channels if wire.last else max(width // wire.channels, 1)
    uploads: list[Upload] = []
    if wire.stored == "uint8" and not (by_kernel and _computes(wire)):
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


def _erase(making: Making, wire: Wire) -> None:
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
