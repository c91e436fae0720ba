"""Batches that are made now: what a dataset keeps in one process for that."""

from __future__ import annotations

import os
from array import array
from collections.abc import Mapping
from ctypes import addressof
from typing import Any

from torch import Tensor

from .. import errors
from .._core import engine
from .._core.native import Request
from .batch import Batch
from .core_dataset import CoreDataset
from .counts import Counts, counted_by, here, process
from .pinning import PinnedMemory, is_asked_for
from .shared import WorkerRings, can_share, in_worker, shared_batch
from .stream import RING, Rings
from .view import View

# A batch of table rows with more output than this is shared among the engine's threads; below,
# waking a thread costs more than it brings (measured with batch 16 to 4096 of
# 784 features on 2 cores).
_PARALLEL_BYTES = 512 << 10


def threads_here() -> int:
    """Threads that may work on one batch.

    A worker process is one thread of work, as in torch: its engine, if the parent had one, would have to be
    loaded again.
    """
    return 1 if in_worker() or not engine.loaded() else engine.threads()


class Filler:
    """Fills batches of a view, for one dataset in one process.

    A forked child starts again, but may use the parent's view: it is plain memory. Threads may share it.

    Args:
        threads: most that work on one batch; None: all of the engine's.
        hands_over: a worker process sends the batches on to its parent.
        counts: of the loader that waits for the batches.
    """

    def __init__(
        self, view: View, threads: int | None = None, hands_over: bool = True, counts: Counts | None = None
    ) -> None:
        self.pid = os.getpid()
        self.view = view
        self._capsule = engine.capsule()
        self._counts = counts
        self._worker = hands_over and in_worker() and can_share()
        most = threads_here()
        self._threads = min(most, threads or most)
        self._rings: Rings | None = None
        self._worker_rings: WorkerRings | None = None
        self._tally = 0 if counts is None else counts.address

    def continues(self, before: Filler) -> None:
        """Takes over the slots of a filler of samples of the same size, which will not be used again."""
        if before.pid == self.pid and before is not self:
            self._rings, self._worker_rings = before._rings, before._worker_rings

    def fill(self, indices: array[int], records: array[int] | None = None) -> Batch:
        """The batch of these samples.

        Args:
            indices: ``array("q")``.
            records: what was drawn for them, where the view draws.
        """
        view, core, n = self.view, self.view.core, len(indices)
        memory = PinnedMemory(core, n, n) if n and not self._worker and is_asked_for() else None
        labels = view.new_labels(n, memory is not None)
        ring = None
        if self._worker:
            ring, slots = self._shared_slots(n).reserve(core, n, self._tally)
        elif memory is not None:
            slots = self.slots(0).reserve(core, n, n, self._tally)
            memory.lend_to(slots)
        else:
            slots = self.slots(n).reserve(core, n, n, self._tally)
        slot = slots[0]
        drawn = 0 if records is None else records.buffer_info()[0]
        made, replaced = self._made(core, indices, 0, n, drawn, slots, labels)
        images = view.tensor(made) if memory is None else view.shaped(memory.batches[0])
        more = view.more(indices, replaced)
        if ring is not None:
            return shared_batch(view, ring, slot, images, labels, replaced, more)
        return Batch(view, images, labels, None, replaced, more)

    def collated(self, rows: Tensor, start: int, stop: int) -> Any:
        """The batch of samples rows[start:stop], for which nothing is drawn, as ``default_collate`` gives it.

        Args:
            rows: int64 [n], contiguous, on the CPU.
        """
        view, core, n = self.view, self.view.core, stop - start
        labels = view.new_labels(n)
        slots = self.slots(n).reserve(core, n, n, self._tally)
        made, replaced = self._made(core, rows, start, n, 0, slots, labels)
        more = view.more(rows[start:stop], replaced) if view.has_more else ()
        return view.collated(view.tensor(made), labels, more)

    def _made(
        self,
        core: CoreDataset,
        rows: array[int] | Tensor,
        start: int,
        n: int,
        drawn: int,
        slots: array[int],
        labels: Tensor | None,
    ) -> tuple[Any, Mapping[int, int] | None]:
        """The capsule with n samples from rows[start] on, and those that stand in for others."""
        view, capsule = self.view, self._capsule
        address = 8 * start + (rows.data_ptr() if isinstance(rows, Tensor) else rows.buffer_info()[0])
        place, slot = slots.buffer_info()[0], slots[0]
        quiet = 2 if self._counts is None and here() is not process else 0
        label_address = 0 if labels is None else labels.data_ptr()
        replaced = None
        try:
            together = n > 1 if view.heavy else n * view.row_bytes > _PARALLEL_BYTES
            if self._threads > 1 and together:
                self._fill_together(core.address, address, drawn, n, slots, label_address)
            else:
                capsule.fill(core.address, address, drawn, 0, slot, label_address)
            made = capsule.take(place, quiet)
            if made is False:
                with counted_by(self._counts or here()):
                    replaced = view.mend(slot, rows[start : start + n], drawn, label_address)
                made = capsule.take(place, quiet | 1)
        except BaseException:  # Ctrl-C comes here too
            view.discard(slot, n)
            capsule.move(place, 1, RING)
            raise
        return made, replaced

    def _fill_together(
        self, core: int, address: int, drawn: int, n: int, slots: array[int], labels: int
    ) -> None:
        """The engine's threads and this one make a batch.

        Of rows, whose cost is known, the engine makes the first and this thread its own share of them. Of
        pictures each takes the next one.
        """
        view, capsule = self.view, self._capsule
        theirs = n if view.heavy else n - n // self._threads
        most = self._threads if view.heavy else self._threads - 1
        request = Request(0, address, drawn, theirs, n, slots.buffer_info()[0], labels, self._counts is None)
        at = addressof(request)
        try:
            if not capsule.submit(engine.crew(), core, most, at):
                raise errors.ClosedError("the engine is closed")
            if theirs < n:
                capsule.fill(core, address, drawn, theirs, slots[0], labels)
            while not capsule.wait(at, 0, 100):
                pass
        finally:  # gives the ticket up; after Ctrl-C the labels' memory may go now
            capsule.cancel(at)

    def slots(self, rows: int) -> Rings:
        """Private slots for batches of rows rows. Other threads may ask at once, for larger ones."""
        rings, size = self._rings, max(self.view.row_bytes * rows, 1)
        if rings is None or size > rings.slot_bytes:
            rings = self._rings = Rings(size)
        return rings

    def _shared_slots(self, rows: int) -> WorkerRings:
        """Shared slots for batches of rows rows."""
        rings, size = self._worker_rings, max(self.view.row_bytes * rows, 1)
        if rings is None or size > rings.slot_bytes:
            rings = self._worker_rings = WorkerRings(size)
        return rings
