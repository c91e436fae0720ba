"""Batches from DataLoader workers: a ring of shared slots instead of copies.

A worker makes its ring (a memfd) when it fills its first batch. What crosses the
process border is a small ticket; unpickling it in the parent maps the ring once
(through ``/proc/PID/fd``), and builds tensors over the slot. When the last of them
dies, the slot is free again: its state lies in the shared pages. Torch's own
transport would make, fault in and unlink a file in /dev/shm for every batch.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.reduction import ForkingPickler
from typing import Any

import torch
from torch.multiprocessing.reductions import reduce_tensor
from torch.utils.dlpack import from_dlpack

from .. import errors
from .._core import engine
from .._core.native import Ring
from .._core.numbers import NAMES, OPAQUE, dlpack
from .batch import Batch
from .batch_source import BatchSource
from .slots import SharedRing


def can_share() -> bool:
    """Whether there are memfds here, and the parent can open ours through /proc.

    The permission is the same both ways for processes of one user, so ours to
    look at the parent's answers for it. Where not, torch's own transport works.
    """
    parent = multiprocessing.parent_process()  # not getppid: that may be the fork server
    try:
        os.close(os.memfd_create("gofast-try", os.MFD_CLOEXEC))
        os.close(os.open(f"/proc/{parent.pid if parent else 'self'}/fd", os.O_RDONLY | os.O_DIRECTORY))
    except OSError:
        return False
    return True


def shared_batch(
    view: BatchSource,
    ring: SharedRing,
    slot: int,
    images: torch.Tensor,
    labels: torch.Tensor | None,
    replaced: Mapping[int, int] | None,
    more: tuple[Any, ...],
) -> Batch:
    """A batch in a worker whose collated form crosses as a ticket."""

    def hand_over() -> Any:
        collated = view.collated(images, labels, more)
        crossing: Any
        if isinstance(collated, torch.Tensor):
            crossing = images.as_subclass(SharedTensor)
        else:
            crossing = (_SharedDict if view.output == "dict" else _SharedList)(collated)
        keys = tuple(crossing) if isinstance(crossing, _SharedDict) else None
        crossing.origin = (ring, slot, images, images.data_ptr(), keys, labels is not None)
        return crossing

    return Batch(view, images, labels, hand_over, replaced, more)


# What a collated batch in a worker was made of: its slot, its images and where they lay, its keys, whether it
# has labels.
_Origin = tuple[SharedRing, int, torch.Tensor, int, tuple[str, ...] | None, bool]


class SharedTensor(torch.Tensor):
    """A collated batch in a worker that is the images alone; crosses to the parent as a ticket."""

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    origin: _Origin

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _plain(self).__reduce_ex__(protocol)  # type: ignore[no-untyped-call]


class _SharedDict(dict[str, Any]):
    """A collated batch in a worker; crosses to the parent as a ticket."""

    origin: _Origin

    def __reduce__(self) -> tuple[Any, ...]:  # for copies, and for files, which must not hold tickets
        return dict, (dict(self),)


class _SharedList(list[Any]):
    """A collated batch in a worker; crosses to the parent as a ticket."""

    origin: _Origin

    def __reduce__(self) -> tuple[Any, ...]:
        return list, (list(self),)


def _send_dict(batch: _SharedDict) -> tuple[Any, ...]:
    if tuple(batch) == batch.origin[4]:
        ticket = _ticket(batch.origin, tuple(batch.values()))
        if ticket is not None:
            return _rebuild, ticket
    return batch.__reduce__()


def _send_list(batch: _SharedList) -> tuple[Any, ...]:
    ticket = _ticket(batch.origin, tuple(batch))
    return batch.__reduce__() if ticket is None else (_rebuild, ticket)


_reduce_tensor: Callable[[torch.Tensor], Any] = reduce_tensor


def _plain(batch: torch.Tensor) -> torch.Tensor:
    """The same tensor, as torch's own class."""
    made: torch.Tensor = batch.as_subclass(torch.Tensor)
    return made


def _send_tensor(batch: SharedTensor) -> tuple[Any, ...]:
    images = batch.origin[2]
    untouched = batch.data_ptr() == images.data_ptr() and not batch.requires_grad
    if untouched and (batch.shape, batch.stride()) == (images.shape, images.stride()):
        ticket = _ticket(batch.origin, (images,))
        if ticket is not None:
            return _rebuild_alone, ticket
    sent: tuple[Any, ...] = _reduce_tensor(_plain(batch))
    return sent


ForkingPickler.register(SharedTensor, _send_tensor)
ForkingPickler.register(_SharedDict, _send_dict)
ForkingPickler.register(_SharedList, _send_list)


def _ticket(origin: _Origin, values: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """What crosses to the parent, or None where a collate_fn has put something else in
    the batch that only torch can send.

    A ticket owns one more reference to the slot: it is made only when it is sent.
    """
    ring, slot, images, address, keys, labelled = origin
    # Channels last, the memory is [n, H, W, C].
    last = images.dim() == 4 and not images.is_contiguous() and images.permute(0, 2, 3, 1).is_contiguous()
    laid = images.permute(0, 2, 3, 1) if last else images
    if len(values) <= labelled or values[0] is not images or images.requires_grad:
        return None
    beside = [_packed(value) for value in values[1:]]
    if any(packed is None for packed in beside):
        return None
    # The tensor may have got another shape in place, or other memory.
    if images.data_ptr() != address or not laid.is_contiguous() or not 1 <= images.dim() <= 9:
        return None
    return (
        os.getpid(),
        ring.fd,
        ring.inode,
        ring.slot_bytes,
        ring.count,
        engine.capsule().hand_over(slot),
        tuple(laid.shape),
        last,
        str(images.dtype).removeprefix("torch."),
        keys,
        beside,
    )


# What stands beside the images, as it crosses: texts; a small tensor's bytes, type and shape; a tensor that
# torch sends in its own way.
_Packed = tuple[Any] | tuple[bytes, torch.dtype, tuple[int, ...]] | torch.Tensor


def _packed(value: Any) -> _Packed | None:
    """What crosses in the value's place; None where the whole batch is torch's to send."""
    if isinstance(value, (list, tuple)):
        return (value,) if all(type(text) is str for text in value) else None
    if type(value) is not torch.Tensor or value.requires_grad or value.layout is not torch.strided:
        return None
    if value.device.type != "cpu" or value.is_quantized or value.is_conj() or value.is_neg():
        return None
    if not 0 < value.nbytes <= _SMALL_BYTES or value.dim() == 0 or not value.is_contiguous():
        return value
    return value.reshape(-1).view(torch.uint8).numpy().tobytes(), value.dtype, tuple(value.shape)


def _unpacked(packed: _Packed) -> Any:
    if isinstance(packed, torch.Tensor):
        return packed
    if len(packed) == 1:
        return packed[0]
    data, dtype, shape = packed
    return torch.frombuffer(bytearray(data), dtype=dtype).reshape(shape)


_SMALL_BYTES = 64 << 10  # of a tensor that goes through the pipe; torch's way costs about 0.2 ms


def _rebuild(
    pid: int,
    fd: int,
    inode: int,
    slot_bytes: int,
    count: int,
    number: int,
    shape: tuple[int, ...],
    last: bool,
    dtype: str,
    keys: tuple[str, ...] | None,
    beside: Sequence[_Packed],
) -> Any:
    """Builds the batch in the parent, over the worker's slot."""
    ring = _map(pid, fd, inode, slot_bytes, count)
    adopt = engine.capsule().adopt
    if dtype in NAMES.values():
        images = from_dlpack(adopt(ring, number, *dlpack(dtype), *shape))
    else:
        own: torch.dtype = getattr(torch, dtype)
        pairs = (2,) if own.itemsize == 16 else ()
        images = from_dlpack(adopt(ring, number, *dlpack(OPAQUE[own.itemsize]), *shape, *pairs)).view(own)
        images = images.squeeze(-1) if pairs else images
    if last:
        images = images.permute(0, 3, 1, 2)
    values = [images, *map(_unpacked, beside)]
    return values if keys is None else dict(zip(keys, values, strict=False))


def _rebuild_alone(*ticket: Any) -> torch.Tensor:
    images: torch.Tensor = _rebuild(*ticket)[0]
    return images


# inode -> (pid, the mapped ring). Dropped when the worker is gone; a ring lives on while
# batches of it do.
_rings: dict[int, tuple[int, Ring]] = {}
_lock = threading.RLock()


def _reset_lock() -> None:
    global _lock
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_reset_lock)


def _map(pid: int, fd: int, inode: int, slot_bytes: int, count: int) -> Ring:
    with _lock:
        known = _rings.get(inode)
        if known is not None and known[0] == pid:
            return known[1]
        _forget_dead_workers()
        mine = os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR | os.O_CLOEXEC)
        try:
            if os.fstat(mine).st_ino != inode:
                raise errors.EngineError(f"worker {pid} ended before its batch was received")
            ring = engine.capsule().ring(slot_bytes, count, mine)
        finally:
            os.close(mine)  # the mapping stays
        _rings[inode] = (pid, ring)
        for worker in multiprocessing.active_children():
            if worker.pid == pid:  # its DataLoader keeps the object until it has shut the worker down
                weakref.finalize(worker, _forget, inode).atexit = False
        return ring


def _forget(inode: int) -> None:
    _rings.pop(inode, None)  # without the lock: the garbage collector calls this at any time


def _forget_dead_workers() -> None:
    """Drops the rings of workers that are gone and were not our children."""
    for inode, (pid, _) in list(_rings.items()):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            _forget(inode)
        except PermissionError:
            pass  # alive, under another user
