"""Memory for batches of others' code: blocks that are used again; a worker's are shared with its parent."""

from __future__ import annotations

from typing import TypeAlias

import torch
from torch.utils.dlpack import from_dlpack

from .._core import engine
from .._core.native import Block as CoreBlock
from .._core.native import Ring
from .._core.numbers import NAMES, dlpack
from .slots import SharedRing, new_ring, usual_count
from .worker_ring import SharedTensor

Laid: TypeAlias = "dict[int, tuple[torch.UntypedStorage, MemoryBlock]]"  # by a storage's identity
_MOST_BYTES = 1 << 30  # of a ring, if it has more than two slots
_MOST_TIMES = 4  # as large as what lies in it a slot may be: who keeps that keeps the slot


class MemoryBlock:
    """The memory of a batch, until the last tensor on it is gone."""

    __slots__ = ("_block", "_laid", "_ring", "_slot")

    def __init__(self, block: CoreBlock, slot: int, ring: SharedRing | None, laid: Laid) -> None:
        self._block, self._slot, self._ring, self._laid = block, slot, ring, laid

    def tensor(self, offset: int, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A tensor from that byte on, with a storage of its own, not yet written; its type is in NAMES."""
        made: torch.Tensor = from_dlpack(
            engine.capsule().piece(self._block, offset, *dlpack(NAMES[dtype]), *shape)
        )
        return made

    def held(self) -> int:
        """How many storages on it are alive."""
        return engine.capsule().held(self._block)

    def batch(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A tensor from its start on, which a worker's batch may have."""
        made = self.tensor(0, shape, dtype)
        if self._ring is not None:
            storage = made.untyped_storage()
            self._laid[storage._cdata] = storage, self
        return made

    def crossing(self, bytes_: int) -> torch.Tensor:
        """So many bytes from its start on, which go to the parent process as a ticket."""
        batch = self.tensor(0, (bytes_,), torch.uint8)
        crossing: SharedTensor = batch.as_subclass(SharedTensor)
        assert self._ring is not None
        crossing.origin = self._ring, self._slot, batch, batch.data_ptr(), None, False
        return crossing


class BatchMemory:
    """Blocks of any size. Several threads may take at once.

    Attributes:
        shared: a worker process makes batches in them for its parent.
        laid: then, the storages that lie at the start of one, since the last batch was sent.
    """

    def __init__(self, shared: bool) -> None:
        self.shared = shared
        self.laid: Laid = {}
        # Slot bytes, the largest last. Each change makes another list: threads may be reading this one.
        self._rings: list[tuple[int, Ring, SharedRing | None]] = []

    def take(self, bytes_: int) -> MemoryBlock:
        """A block of so many bytes at least.

        Raises:
            OSError: there is no memory that could be shared.
        """
        most = _MOST_TIMES * _rounded(bytes_)
        for slot_bytes, ring, worker_ring in self._rings:
            fits = bytes_ <= slot_bytes <= most
            if fits and (taken := engine.capsule().block(ring)) is not None:
                return MemoryBlock(*taken, worker_ring, self.laid)
        self._add(_rounded(bytes_))
        return self.take(bytes_)

    def _add(self, slot_bytes: int) -> None:
        """More memory: somebody holds on to batches, or they are larger now.

        Smaller slots are given up then, but for those of a worker, which its parent may be about to map.
        """
        same = sum(1 for there, _, _ in self._rings if there == slot_bytes)
        count = usual_count(self.shared) << same
        count = max(2, min(count, _MOST_BYTES // slot_bytes))
        made = (slot_bytes, *new_ring(slot_bytes, count, self.shared))
        kept = [one for one in self._rings if self.shared or one[0] >= slot_bytes]
        self._rings = sorted([*kept, made], key=lambda one: one[0])


def _rounded(bytes_: int) -> int:
    """Batches that grow by and by shall not have a ring for each size."""
    step = 1 << max(bytes_.bit_length() - 3, 12)
    return -(-bytes_ // step) * step
