"""Slots of batch memory: this process's own, or shared with the process that waits for the batches."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable

from .._core import engine
from .._core.native import Ring
from .core_dataset import CoreDataset

RING = 0  # where `move` brings slots that nobody needs
_PRIVATE = -1  # a ring that no other process sees
_COUNT = 8
_COUNT_SHARED = 16  # twice what prefetch_factor=2 keeps busy, with room for a slow consumer


def usual_count(shared: bool) -> int:
    """Slots of a ring."""
    return _COUNT_SHARED if shared else _COUNT


def new_ring(slot_bytes: int, count: int, shared: bool) -> tuple[Ring, SharedRing | None]:
    """A ring of slots, and the same as the parent process can map it."""
    if shared:
        ring = SharedRing(slot_bytes, count)
        return ring.slots, ring
    return engine.capsule().ring(slot_bytes, count, _PRIVATE), None


class SharedRing:
    """Slots in a memfd, as the worker sees it that fills them. They are freed here or in the parent."""

    def __init__(self, slot_bytes: int, count: int) -> None:
        self.slot_bytes, self.count = slot_bytes, count
        # Not close-on-exec matters little: workers do not exec.
        self.fd = os.memfd_create("gofast-ring", os.MFD_CLOEXEC)
        self.inode = os.fstat(self.fd).st_ino
        self.slots = engine.capsule().ring(slot_bytes, count, self.fd)


class Slots:
    """Slots of one size. Grows when the user holds on to batches.

    Several threads may reserve at once: a ring gives a slot to one of them, and nothing else here matters to
    two of them.

    Args:
        slot_bytes: of one slot.
        shared: batches cross to the parent process in them.
        pin: pins the memory of new slots, of so many bytes.
    """

    def __init__(
        self,
        slot_bytes: int,
        count: int | None = None,
        shared: bool = False,
        pin: Callable[[Ring, int], object] | None = None,
    ) -> None:
        self._capsule = engine.capsule()
        self.slot_bytes = slot_bytes
        self._count = count or usual_count(shared)
        self._shared, self._pin = shared, pin
        self._rings = [self._new_ring()]

    def _new_ring(self) -> tuple[Ring, SharedRing | None]:
        made = new_ring(self.slot_bytes, self._count, self._shared)
        if self._pin is not None:
            self._pin(made[0], self._count * self.slot_bytes)
        return made

    def reserve(
        self, core: CoreDataset, rows: int, batch_rows: int, tally: int = 0
    ) -> tuple[array[int], SharedRing | None]:
        """Takes a slot for every batch: their addresses, and the ring that the parent can map."""
        slots = array("q", bytes(8 * -(-rows // batch_rows)))
        out = slots.buffer_info()[0]
        while True:
            for ring, shared in reversed(self._rings):
                if self._capsule.reserve(ring, core.address, rows, batch_rows, out, tally):
                    return slots, shared
            # Every slot is held by a tensor of the user's: go beyond, in ever larger
            # steps, so that holding a whole epoch costs few mappings. And again, where
            # other threads are quicker to take the new ones.
            self._count = max(2 * self._count, len(slots))
            self._rings.append(self._new_ring())
