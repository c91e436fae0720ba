"""Moves what any code has made to a device: tensors, wherever they lie in a batch.

Small tensors travel together, in one copy. A tensor that is pinned is copied as it lies, and is kept until
that is done, if nobody writes to it meanwhile; the others go through the core's pinned staging.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.utils.rnn import PackedSequence

from .kernel_parameters import job

if TYPE_CHECKING:
    from .device import Device

SMALL_BYTES = 64 << 10  # of a tensor that shares a copy with others: a copy takes about 3 us to start
_ALIGN = 256  # torch's own allocations lie so


class Moved:
    """A batch on its way.

    Attributes:
        sources: pinned tensors of the user's, which the device reads until the move is done.
        number: of the move; 0 if there is nothing to copy.

    Args:
        batch: tensors in any nesting of mappings, sequences and dataclasses. The rest stays as it is.
        reused: whoever made the batch may write to its memory, pinned or not, before the device has read it.
    """

    def __init__(self, device: Device, batch: Any, reused: bool = False) -> None:
        self._device, self._reused = device, reused
        self._tensors: list[torch.Tensor] = []  # those that gofast copies, by their number
        self._batch = _mapped(batch, (torch.Tensor, PackedSequence), self._noted)
        self._there: list[torch.Tensor] = []
        self.sources: list[torch.Tensor] = []
        self._memory: list[torch.Tensor] = []
        self.number = 0
        if self._tensors:
            with device.allocating():
                self._send()

    def _noted(self, tensor: Any) -> Any:
        if _is_plain(tensor):
            self._tensors.append(tensor)
            return _Place(len(self._tensors) - 1)
        return _Others(tensor)

    def _send(self) -> None:
        side = self._device.side
        pieces: list[int] = []
        offsets, packed = [-1] * len(self._tensors), 0
        dense = []  # is kept until it is sent
        for i, tensor in enumerate(self._tensors):
            if tensor.nbytes <= SMALL_BYTES and tensor.is_contiguous():
                offsets[i] = packed
                packed += (tensor.nbytes + _ALIGN - 1) // _ALIGN * _ALIGN
        if packed:
            together = torch.empty(packed, dtype=torch.uint8, device="cpu")
            (there,) = side.empty(((packed,), torch.uint8))
            pieces.extend((together.data_ptr(), there.data_ptr(), packed, 0))
            self._memory.append(there)
        for tensor, offset in zip(self._tensors, offsets, strict=True):
            if offset < 0:
                made = side.empty_as(tensor)
                if made.stride() != tensor.stride():  # of a tensor with gaps: those are not copied
                    tensor = torch.empty_like(tensor).copy_(tensor)
                    dense.append(tensor)
                pinned = not self._reused and tensor.is_pinned()
                pieces.extend((tensor.data_ptr(), made.data_ptr(), tensor.nbytes, pinned))
                self._memory.append(made)
                if pinned:
                    self.sources.append(tensor)
            else:
                made = _over(there, offset, tensor)
                _over(together, offset, tensor).copy_(tensor)
            self._there.append(made)
        self.number = self._device.send(job(tuple(pieces)))

    def received(self) -> Any:
        """The batch, for which torch's current stream waits from now on."""
        device, side = self._device, self._device.side
        stream = side.current()
        if self.number:
            device.receive(self.number, side.handle(stream))
            for memory in self._memory:
                side.used(memory, stream)
            device.behind.handed_out(stream, sum(memory.nbytes for memory in self._memory))

        def found(leaf: Any) -> Any:
            if isinstance(leaf, _Place):
                return self._there[leaf.number]
            return leaf.tensor.to(side.device, non_blocking=True)

        return _mapped(self._batch, (_Place, _Others), found)


class _Place:
    """Stands for a tensor on its way."""

    def __init__(self, number: int) -> None:
        self.number = number


class _Others:
    """Holds what torch moves when it is received."""

    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor


def move(device: Device, batch: Any) -> Any:
    """The batch on the device; torch's current stream waits for it, and no thread does."""
    device.behind.wait()
    moved = Moved(device, batch)
    device.keep(moved.number, moved.sources)
    return moved.received()


def _is_plain(tensor: torch.Tensor) -> bool:
    """Whether a tensor is nothing but its bytes on the CPU; all others are torch's to move."""
    return (
        type(tensor) is torch.Tensor
        and tensor.device.type == "cpu"
        and tensor.layout is torch.strided
        and not (tensor.is_nested or tensor.requires_grad or tensor.is_quantized)
        and not (tensor.is_conj() or tensor.is_neg())
        and tensor.nbytes > 0
    )


def _over(memory: torch.Tensor, offset: int, like: torch.Tensor) -> torch.Tensor:
    """A contiguous tensor over bytes of another, with a version counter of its own: writing to one of several
    does not make the others look changed."""
    made = torch.empty(0, dtype=like.dtype, device=memory.device)
    start = (memory.storage_offset() + offset) // like.itemsize
    return made.set_(memory.untyped_storage(), start, like.shape)  # type: ignore[no-any-return, call-overload]


def _mapped(batch: Any, leaves: tuple[type, ...], change: Callable[[Any], Any]) -> Any:
    """The same nesting, with other leaves. What has none in it stays as it is."""
    if isinstance(batch, leaves):
        return change(batch)
    if isinstance(batch, (str, bytes)):
        return batch
    if isinstance(batch, Mapping):
        changed = {key: _mapped(value, leaves, change) for key, value in batch.items()}
        if all(changed[key] is value for key, value in batch.items()):
            return batch
        if isinstance(batch, MutableMapping):  # its class may have attributes of its own
            same = copy.copy(batch)
            for key, value in changed.items():
                same[key] = value
            return same
        return _made(type(batch), changed)
    if isinstance(batch, tuple) and hasattr(batch, "_fields"):
        return type(batch)(*(_mapped(value, leaves, change) for value in batch))
    if isinstance(batch, Sequence):
        changed_list = [_mapped(value, leaves, change) for value in batch]
        if all(new is old for new, old in zip(changed_list, batch, strict=True)):
            return batch  # a range, say, cannot be made of a list
        return changed_list if type(batch) is list else _made(type(batch), changed_list)
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        made = copy.copy(batch)
        for field in dataclasses.fields(batch):
            value = _mapped(getattr(batch, field.name), leaves, change)
            object.__setattr__(made, field.name, value)  # frozen ones too
        return made
    return batch


def _made(kind: type, content: Any) -> Any:
    try:
        return kind(content)
    except TypeError:  # a class that cannot be made so: torch's pin_memory does the same
        return content
