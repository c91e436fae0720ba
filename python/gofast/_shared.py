"""Batches from DataLoader workers: a ring of shared slots instead of copies.

A worker makes its ring (a memfd) when it fills its first batch. What crosses the
process border is a small ticket; unpickling it in the parent maps the ring once
(through ``/proc/PID/fd``), and builds tensors over the slot. When the last of them
dies, the slot is free again: its state lies in the shared pages. Torch's own
transport would make, fault in and unlink a file in /dev/shm for every batch.
"""

from __future__ import annotations

import copy
import multiprocessing
import os
import threading
from array import array
from collections.abc import Collection
from typing import Any

import torch
from torch.utils.data import get_worker_info
from torch.utils.dlpack import from_dlpack

from . import _engine, errors
from ._batch import Batch
from ._view import View

_COUNT = 16  # twice what prefetch_factor=2 keeps busy, with room for a slow consumer


class WorkerRing:
    """The worker's side. One filler; slots are freed here or in the parent."""

    def __init__(self, slot_bytes: int, count: int) -> None:
        capsule = _engine.capsule()
        self.slot_bytes, self.count = slot_bytes, count
        size = capsule.shared_ring_bytes(slot_bytes, count)
        # Not close-on-exec matters little: workers do not exec.
        self.fd = os.memfd_create("gofast-ring", os.MFD_CLOEXEC)
        os.truncate(self.fd, size)
        self.inode = os.fstat(self.fd).st_ino
        self.address: int = capsule.shared_ring(self.fd, slot_bytes, count)


class WorkerRings:
    """Rings of this worker process, for batches of up to slot_bytes."""

    def __init__(self, slot_bytes: int) -> None:
        self.slot_bytes = slot_bytes
        self._rings = [WorkerRing(slot_bytes, _COUNT)]

    def reserve(self, view: View, rows: int) -> tuple[WorkerRing, array[int]]:
        """Takes a slot for a batch of rows rows: its ring and address."""
        slots = array("q", [0])
        where = slots.buffer_info()[0]
        capsule = _engine.capsule()
        for ring in reversed(self._rings):
            if capsule.reserve(view.address, ring.address, rows, rows, where) == 1:
                return ring, slots
        # The consumer holds on to batches: more rings, in ever larger steps.
        ring = WorkerRing(self.slot_bytes, 2 * self._rings[-1].count)
        self._rings.append(ring)
        capsule.reserve(view.address, ring.address, rows, rows, where)
        return ring, slots


def in_worker() -> bool:
    """Whether this is a worker process of a torch DataLoader (not a thread)."""
    return get_worker_info() is not None and multiprocessing.parent_process() is not None


def parent_can_open() -> bool:
    """Whether the parent will be able to open our descriptors through /proc.

    The permission is the same both ways for processes of one user, so ours to
    look at the parent's answers for it.
    """
    try:
        os.close(os.open(f"/proc/{os.getppid()}/fd", os.O_RDONLY | os.O_DIRECTORY))
    except OSError:
        return False
    return True


def shared_batch(view: View, ring: WorkerRing, slot: int, images: torch.Tensor, labels: torch.Tensor | None) -> Batch:
    """A batch in a worker whose collated form crosses as a ticket."""

    def hand_over() -> Any:
        kind = _SharedDict if view.output == "dict" else _SharedList
        crossing = kind(view.collated(images, labels))
        crossing.origin = (ring, slot, images, labels, view.keys if view.output == "dict" else None)
        return crossing

    return Batch(view, images, labels, hand_over)


# What a collated batch in a worker was made of: its slot, its tensors, its keys.
_Origin = tuple[WorkerRing, int, torch.Tensor, torch.Tensor | None, tuple[str, str] | None]


def _ticket(origin: _Origin) -> tuple[Any, ...]:
    """What crosses to the parent. It owns one more reference to the slot, so it is
    made only when it is sent: a collate_fn may take a batch apart and send parts."""
    ring, slot, images, labels, keys = origin
    return (
        os.getpid(),
        ring.fd,
        ring.inode,
        ring.slot_bytes,
        ring.count,
        _engine.capsule().hand_over(slot),
        tuple(images.shape),
        str(images.dtype).removeprefix("torch."),
        None if labels is None else (bytes(labels.numpy().data), str(labels.dtype), tuple(labels.shape)),
        keys,
    )


class _SharedDict(dict[str, torch.Tensor]):
    """A collated batch in a worker; pickles as a ticket while nobody has changed it."""

    origin: _Origin

    def __reduce__(self) -> tuple[Any, ...]:
        _, _, images, labels, keys = self.origin
        if not _is_made_of(self.values(), images, labels) or tuple(self) != (keys or ())[: len(self)]:
            return dict, (dict(self),)
        return _rebuild, _ticket(self.origin)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(dict(self), memo)


class _SharedList(list[torch.Tensor]):
    """A collated batch in a worker; pickles as a ticket while nobody has changed it."""

    origin: _Origin

    def __reduce__(self) -> tuple[Any, ...]:
        _, _, images, labels, _ = self.origin
        if not _is_made_of(self, images, labels):
            return list, (list(self),)
        return _rebuild, _ticket(self.origin)

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        return copy.deepcopy(list(self), memo)


def _is_made_of(values: Collection[torch.Tensor], images: torch.Tensor, labels: torch.Tensor | None) -> bool:
    made = (images,) if labels is None else (images, labels)
    return len(values) == len(made) and all(a is b for a, b in zip(values, made, strict=True))


_DLPACK = {"float32": (2, 32), "float16": (2, 16), "bfloat16": (4, 16), "float64": (2, 64), "uint8": (1, 8)}
_DLPACK |= {"int16": (0, 16), "int32": (0, 32), "int64": (0, 64)}
_LABEL_DTYPES = {str(d): d for d in (torch.int64, torch.float32, torch.float64)}


def _rebuild(
    pid: int,
    fd: int,
    inode: int,
    slot_bytes: int,
    count: int,
    number: int,
    shape: tuple[int, ...],
    dtype: str,
    labels: tuple[bytes, str, tuple[int, ...]] | None,
    keys: tuple[str, str] | None,
) -> Any:
    """Builds the batch in the parent, over the worker's slot."""
    ring = _map(pid, fd, inode, slot_bytes, count)
    images = from_dlpack(_engine.capsule().adopt(ring, number, *_DLPACK[dtype], *shape))
    tensors = [images]
    if labels is not None:
        data, kind, label_shape = labels
        tensors.append(torch.frombuffer(bytearray(data), dtype=_LABEL_DTYPES[kind]).reshape(label_shape))
    return tensors if keys is None else dict(zip(keys, tensors, strict=False))


_rings: dict[int, tuple[int, int]] = {}  # inode -> (pid, address of the mapped ring)
_lock = threading.Lock()


def _reset_lock() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_reset_lock)


def _map(pid: int, fd: int, inode: int, slot_bytes: int, count: int) -> int:
    with _lock:
        known = _rings.get(inode)
        if known is not None and known[0] == pid:
            return known[1]
        _forget_dead_workers()
        mine = os.open(f"/proc/{pid}/fd/{fd}", os.O_RDWR | os.O_CLOEXEC)
        try:
            if os.fstat(mine).st_ino != inode:
                raise errors.EngineError(f"worker {pid} ended before its batch was received")
            address: int = _engine.capsule().shared_ring(mine, slot_bytes, count)
        finally:
            os.close(mine)  # the mapping stays
        _rings[inode] = (pid, address)
        return address


def _forget_dead_workers() -> None:
    """Drops the rings of workers that are gone; batches still held keep theirs."""
    for inode, (pid, address) in list(_rings.items()):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            del _rings[inode]
            _engine.capsule().ring_drop(address)
        except PermissionError:
            pass  # alive, under another user
