"""What makes batches: it submits rows of a view, and takes them finished, in the memory of a destination."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof
from typing import Any, Protocol

import torch
from torch.utils.dlpack import from_dlpack

from .. import errors
from .._core import engine
from .._core.native import Request
from .batch import Batch
from .batch_source import BatchSource
from .core_dataset import CoreDataset
from .counts import Counts, counted_by, here, process
from .pinning import PinnedMemory
from .slots import RING, SharedRing, Slots
from .worker_ring import shared_batch

_WAIT_MS = 100  # Ctrl-C reaches Python between two waits

# A batch of table rows with more output than this is shared among the engine's threads; below,
# waking a thread costs more than it brings (measured with batch 16 to 4096 of
# 784 features on 2 cores).
_PARALLEL_BYTES = 512 << 10

# Samples, their labels, what stands in for others, and the slot with its ring, if it is another process's.
_Filled = tuple[torch.Tensor, torch.Tensor | None, Mapping[int, int] | None, SharedRing | None, int]


class BatchDestination(Protocol):
    """Where batches lie: what a Batcher asks a `destination.Destination`."""

    rows: bool

    def pins(self, rows: int) -> bool:
        """Whether a batch of so many rows lies in torch's pinned memory."""

    def new_slots(self, bytes_: int) -> Slots:
        """Slots of so many bytes."""


class Ticket:
    """Consecutive batches in flight.

    Attributes:
        batches: their number.
        labels: of each; None: they have none.
    """

    __slots__ = (
        "_at", "_core", "_each", "_indices", "_memory", "_next", "_records", "_replaced", "_request", "_rows",
        "_slots", "batches", "labels",
    )  # fmt: skip

    def __init__(
        self,
        slots: array[int],
        labels: Sequence[torch.Tensor] | None,
        indices: array[int] | torch.Tensor,
        rows: int,
        records: array[int] | None,
        each: int,
        core: CoreDataset,
        memory: PinnedMemory | None = None,
    ) -> None:
        self._core = core  # what the engine reads
        self._memory = memory  # what it writes to, if that is not the slots' own
        self._slots = slots  # an address is cleared when its slot is taken or released
        self._at = slots.buffer_info()[0]
        self.labels = labels
        self._each = each  # samples of a batch
        self._rows = rows
        self._request = Request()
        self._indices, self._records = indices, records  # kept for samples that must be made in another way
        self._replaced: Mapping[int, int] | None = None  # samples that stand in for others in the next batch
        self._next = 0
        self.batches = len(slots)


class Batcher:
    """Makes batches of a view, in the memory of a destination.

    `submit` starts work on engine threads, and `take` hands its batches out, in order. `now` and `batch` make
    one batch at once: a ticket for a small one costs several times its filling.

    One thread at a time submits and takes; any may make batches at once. Any thread may cancel and close
    meanwhile, and so may whatever runs between two steps of this one: a signal handler, the garbage
    collector. A forked child makes another one, but may use the parent's view: it is plain memory.

    Args:
        view: what the indices point into.
        threads: most that work on a batch; None: all of the engine's.
        counts: of the loader whose batches these are.
        before: what is used no more. If its samples were of the same size, their slots are used again.

    Attributes:
        pid: of the process that made it.
        silent: somebody else counts the batches that are taken, and the waits for them.
    """

    silent = False

    # Takes samples of a mended batch that slots have no place for.
    _apart: dict[int, torch.Tensor] | None = None

    def __init__(
        self,
        view: BatchSource,
        destination: BatchDestination,
        threads: int | None = None,
        counts: Counts | None = None,
        before: Batcher | None = None,
    ) -> None:
        self.view, self.destination, self.rows = view, destination, destination.rows
        self.pid = os.getpid()
        self._capsule = engine.capsule()
        self._take = self._capsule.take
        self._crew: int | None = None
        self._threads, most = threads or 0, engine.threads_here()
        self._most = min(most, threads or most)
        self._row_bytes = self._slot_row_bytes()
        self._slots: Slots | None = None
        if before is not None and before._row_bytes == self._row_bytes:
            self._slots = before._slots
        self._live: set[Ticket] = set()
        self.count_for(counts)
        plain = view.output == "dict" and view.label_dtype is not None and not view.has_more
        self._keys = view.keys if plain and not self.rows else None
        # Two calls less for most: of a batch of 16 rows, which takes 3.5 us, they were a twentieth.
        self._tensor = from_dlpack if view.as_made else view.tensor

    def _core(self) -> CoreDataset:
        """What slots are filled from."""
        return self.view.core

    def _slot_row_bytes(self) -> int:
        """Bytes of a sample in a slot."""
        return self.view.row_bytes

    def _collect(self, ticket: Ticket, k: int, place: int, mended: int) -> Any:
        """What the slot of batch k, whose address lies at a place, becomes: see Capsule.take."""
        return self._take(place, mended | 2 * self.silent)

    @property
    def usable(self) -> bool:
        """Whether there is still a dataset that batches can be filled from."""
        try:
            return self._core().alive and self.view.core.alive
        except (errors.GofastError, ReferenceError):  # arrays of the user's are others now, or it is gone
            return False

    def count_for(self, counts: Counts | None) -> None:
        """From now on the batches are those of this loader."""
        self.counts, self._tally = counts, 0 if counts is None else counts.address

    def slots(self, bytes_: int) -> Slots:
        """Slots of so many bytes. Other threads may ask at once, for larger ones."""
        slots = self._slots
        if slots is None or bytes_ > slots.slot_bytes:
            slots = self._slots = self.destination.new_slots(max(bytes_, 1))
        return slots

    def _reserve(
        self, core: CoreDataset, rows: int, each: int
    ) -> tuple[torch.Tensor | None, array[int], PinnedMemory | None, SharedRing | None]:
        """Memory for batches: of their labels, and their slots, with what these are lent or shared by."""
        if not self.destination.pins(rows):
            slots, ring = self.slots(self._row_bytes * each).reserve(core, rows, each, self._tally)
            return self.view.new_labels(rows), slots, None, ring
        labels, memory = self.view.new_labels(rows, True), PinnedMemory(core, rows, each)
        slots, ring = self.slots(0).reserve(core, rows, each, self._tally)
        memory.lend_to(slots)
        return labels, slots, memory, ring

    # Batches that are made ahead.

    def submit(
        self, indices: array[int] | torch.Tensor, batch_size: int, records: array[int] | None = None
    ) -> Ticket:
        """Starts filling the rows ``indices``, in batches of batch_size. They are here, if the view fetches.

        Args:
            indices: ``array('q')`` or int64 tensor [n], contiguous, on the CPU; copied.
            batch_size: rows of a batch; the last may be shorter.
            records: what was drawn for them, where the view draws; copied.
        """
        if isinstance(indices, torch.Tensor):
            rows, address = indices.numel(), indices.data_ptr()
        else:
            address, rows = indices.buffer_info()
        crew = self._crew
        if crew is None and self.pid == os.getpid():
            crew = self._crew = engine.crew()
        if crew is None or crew is not engine._crew:
            raise forked()
        core = self._core()
        labels, slots, memory, _ = self._reserve(core, rows, batch_size)
        parts: Sequence[torch.Tensor] | None = None
        if labels is not None:
            # No views: a write to one is none to the others. 5 us for 10 of them; torch.split takes 10.
            parts = labels.unsafe_split(batch_size) if rows > batch_size else (labels,)
        ticket = Ticket(slots, parts, indices, rows, records, batch_size, core, memory)
        request = ticket._request
        request.indices, request.rows, request.batch_rows = address, rows, batch_size
        request.slots, request.silent = ticket._at, self.silent
        if records is not None:
            request.records = records.buffer_info()[0]
        if labels is not None:
            request.labels = labels.data_ptr()
        self._live.add(ticket)
        try:
            started = self._capsule.submit(crew, core.address, self._threads, addressof(request))
            if started is None:
                raise given_up()
            if not started:
                raise errors.ClosedError("submit: the engine is closed")
        except BaseException:  # Ctrl-C too, which may come when the work has begun
            self.cancel(ticket)
            raise
        return ticket

    def take(self, ticket: Ticket) -> Any:
        """The ticket's next batch, as torch's default_collate would give it, or a list of its rows.

        Raises:
            RowIndexError: the batch asked for a row that does not exist. Other
                batches of the ticket are not touched.
            CanceledError: the ticket was cancelled, or Ctrl-C came just when the
                batch had been taken.
        """
        if self._crew is not engine._crew:
            raise forked()
        k = ticket._next
        if k == ticket.batches:  # Ctrl-C came when the last one had been taken
            raise given_up()
        made = self._take(ticket._at + 8 * k, 2 * self.silent)
        if not made:
            try:
                made = self._wait(ticket, k)
            except Exception:  # not Ctrl-C: the batch can be taken again then
                self._step(ticket)
                raise
        ticket._next = k + 1  # `_step`, whose call is a fiftieth of a batch of 16 rows
        if k + 1 >= ticket.batches:
            self.cancel(ticket)
        memory = ticket._memory
        images = self._tensor(made) if memory is None else self.view.shaped(memory.batches[k])
        labels = None if ticket.labels is None else ticket.labels[k]
        if (keys := self._keys) is not None:
            return {keys[0]: images, keys[1]: labels}
        replaced, ticket._replaced = ticket._replaced, None
        return self._collated(images, labels, ticket._indices, k * ticket._each, ticket._each, replaced)

    def _collated(
        self,
        images: torch.Tensor,
        labels: torch.Tensor | None,
        indices: array[int] | torch.Tensor,
        start: int,
        count: int,
        replaced: Mapping[int, int] | None,
    ) -> Any:
        """A batch as it is handed out."""
        view, more = self.view, ()
        if view.has_more:
            with counted_by(self.counts or here()):
                more = self._more(indices[start : start + count], replaced)
        if not self.rows:
            return view.collated(images, labels, more)
        batch = Batch(view, images, labels, None, replaced, more)
        return list(batch) if view.lists else batch

    def _more(
        self, indices: array[int] | torch.Tensor, replaced: Mapping[int, int] | None
    ) -> tuple[Any, ...]:
        """What a batch's samples have beside features and label."""
        return (self.view.more_of_rows if self.rows else self.view.more)(indices, replaced)

    def _step(self, ticket: Ticket) -> None:
        ticket._next += 1
        if ticket._next >= ticket.batches:
            self.cancel(ticket)  # all is done: this gives the ticket up

    def _wait(self, ticket: Ticket, k: int) -> Any:
        """Waits for batch k; raises when there will be none."""
        at, request, slot = ticket._at + 8 * k, addressof(ticket._request), ticket._slots[k]
        try:
            made = None
            if slot:
                while not self._capsule.wait(request, slot, _WAIT_MS):
                    pass
                made = self._collect(ticket, k, at, 0)
            if made:
                return made
            if made is None:
                raise given_up()
            # Another thread may still be writing other rows of this batch.
            while not self._capsule.wait(request, 0, _WAIT_MS):
                pass
            return self._mended(ticket, k)
        except Exception:
            self._capsule.move(at, 1, RING)
            raise

    def _mended(self, ticket: Ticket, k: int) -> Any:
        """Batch k, whose samples are partly made in another way."""
        # Mending takes long, and another thread may close this: the slot is not the ticket's meanwhile.
        own = array("q", [0])
        mine, theirs = own.buffer_info()[0], ticket._at + 8 * k
        if not self._capsule.move(theirs, 1, mine):
            raise given_up()
        try:
            self._mend(ticket, k, own[0])
            return self._collect(ticket, k, mine, 1)
        except Exception:
            self._capsule.move(mine, 1, RING)
            raise
        except BaseException:  # Ctrl-C: the batch can be taken again, and is mended then
            self._capsule.move(mine, 1, theirs)
            if ticket not in self._live:
                self._capsule.move(theirs, 1, RING)
            raise

    def _mend(self, ticket: Ticket, k: int, slot: int) -> None:
        start = k * ticket._each
        labels, records = 0, 0
        if ticket.labels is not None:
            labels = ticket.labels[k].data_ptr()
        if ticket._records is not None:
            records = ticket._records.buffer_info()[0] + 4 * self.view.record_words * start
        with counted_by(self.counts or here()):
            ticket._replaced = self.view.mend(slot, ticket._indices[start:], records, labels, self._apart)

    def cancel(self, ticket: Ticket) -> None:
        """Drops a ticket: returns when nothing writes into its memory any more."""
        if ticket not in self._live:
            return
        self._capsule.cancel(addressof(ticket._request))
        self._capsule.move(ticket._at, ticket.batches, RING)  # those that were not taken
        self._live.discard(ticket)

    def close(self) -> None:
        """Cancels everything in flight. Idempotent."""
        if self.pid != os.getpid():
            self._live.clear()  # the work is the parent's; so are the locks, in a state that nobody knows
        interrupt = None
        for ticket in list(self._live):
            try:
                self.cancel(ticket)
            except KeyboardInterrupt as error:  # the memory of the others must be safe too
                interrupt = error
                self.cancel(ticket)
        if interrupt is not None:
            raise interrupt

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not over() and getattr(self, "_live", None):
            self.close()

    # Batches that are made now.

    def now(self, rows: torch.Tensor, start: int, stop: int) -> Any:
        """The batch of samples rows[start:stop], for which nothing is drawn, as `take` would give it.

        Args:
            rows: int64 [n], contiguous, on the CPU.
        """
        images, labels, replaced, _, _ = self._fill(rows, rows.data_ptr() + 8 * start, start, stop - start, 0)
        return self._collated(images, labels, rows, start, stop - start, replaced)

    def batch(self, indices: array[int], records: array[int] | None = None) -> Batch:
        """The batch of these samples, as a list of rows that torch's default_collate need not read.

        Args:
            indices: ``array("q")``.
            records: what was drawn for them, where the view draws.
        """
        view, (address, n) = self.view, indices.buffer_info()
        drawn = 0 if records is None else records.buffer_info()[0]
        images, labels, replaced, ring, slot = self._fill(indices, address, 0, n, drawn)
        more = view.more(indices, replaced)
        if ring is not None:
            return shared_batch(view, ring, slot, images, labels, replaced, more)
        return Batch(view, images, labels, None, replaced, more)

    def _fill(
        self,
        rows: array[int] | torch.Tensor,
        address: int,
        start: int,
        n: int,
        drawn: int,
    ) -> _Filled:
        """Makes samples rows[start:start + n]."""
        if not self.view.fetches:
            return self._fill_from_here(rows, address, start, n, drawn)
        with self.view.using(rows[start : start + n]):
            return self._fill_from_here(rows, address, start, n, drawn)

    def _fill_from_here(
        self, rows: array[int] | torch.Tensor, address: int, start: int, n: int, drawn: int
    ) -> _Filled:
        view, capsule, core = self.view, self._capsule, self._core()
        labels, slots, memory, ring = self._reserve(core, n, n)
        place, slot = slots.buffer_info()[0], slots[0]
        quiet = 2 if self.counts is None and here() is not process else 0
        label_address = 0 if labels is None else labels.data_ptr()
        replaced = None
        try:
            together = n > 1 if view.heavy else n * view.row_bytes > _PARALLEL_BYTES
            if self._most > 1 and together:
                self._fill_together(core.address, address, drawn, n, slots, label_address)
            else:
                capsule.fill(core.address, address, drawn, 0, slot, label_address)
            made = capsule.take(place, quiet)
            if made is False:
                with counted_by(self.counts or here()):
                    replaced = view.mend(slot, rows[start : start + n], drawn, label_address)
                made = capsule.take(place, quiet | 1)
        except BaseException:  # Ctrl-C comes here too
            view.discard(slot, n)
            capsule.move(place, 1, RING)
            raise
        images = self._tensor(made) if memory is None else view.shaped(memory.batches[0])
        return images, labels, replaced, ring, slot

    def _fill_together(
        self, core: int, address: int, drawn: int, n: int, slots: array[int], labels: int
    ) -> None:
        """The engine's threads and this one make a batch.

        The engine makes the first rows, whose cost is known, and this thread its own share of them. Each
        takes the next one of pictures.
        """
        view, capsule = self.view, self._capsule
        theirs = n if view.heavy else n - n // self._most
        most = self._most if view.heavy else self._most - 1
        request = Request(0, address, drawn, theirs, n, slots.buffer_info()[0], labels, self.counts is None)
        at = addressof(request)
        try:
            if not capsule.submit(engine.crew(), core, most, at):
                raise errors.ClosedError("the engine is closed")
            if theirs < n:
                capsule.fill(core, address, drawn, theirs, slots[0], labels)
            while not capsule.wait(at, 0, _WAIT_MS):
                pass
        finally:  # gives the ticket up; after Ctrl-C the labels' memory may go now
            capsule.cancel(at)


def given_up() -> errors.CanceledError:
    return errors.CanceledError("the batch was given up: its loader was closed, or Ctrl-C came in between")


def forked() -> errors.EngineError:
    """The error of an iterator that a forked child uses."""
    return errors.EngineError(
        "this iterator was made before the process was forked: make a new one in the child"
    )
