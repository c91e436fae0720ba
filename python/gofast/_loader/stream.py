"""Native work of one iterator: slots of batch memory, and tickets in flight."""

from __future__ import annotations

import os
import sys
from array import array
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof
from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from .. import errors
from .._core import engine
from .._core.native import Request, Ring
from .batch import Batch
from .core_dataset import CoreDataset
from .counts import Counts, counted_by
from .pinning import PinnedMemory
from .view import View

_WAIT_MS = 100  # Ctrl-C reaches Python between two waits
_PRIVATE = -1  # a ring that no other process sees
RING = 0  # where `move` brings slots that nobody needs


class Rings:
    """Slots of one size. Grows when the user holds on to batches.

    Several threads may reserve at once: a ring gives a slot to one of them, and nothing else here matters to
    two of them.

    Args:
        slot_bytes: of one slot.
        pin: pins the memory of new slots, of so many bytes.
    """

    _COUNT = 8

    def __init__(
        self, slot_bytes: int, count: int = _COUNT, pin: Callable[[Ring, int], bool] | None = None
    ) -> None:
        self._capsule = engine.capsule()
        self.slot_bytes = slot_bytes
        self._pin = pin
        self._rings = [self._new_ring(count)]
        self._count = count

    def _new_ring(self, count: int) -> Ring:
        ring = self._capsule.ring(self.slot_bytes, count, _PRIVATE)
        if self._pin is not None:
            self._pin(ring, count * self.slot_bytes)
        return ring

    def reserve(self, core: CoreDataset, rows: int, batch_rows: int, tally: int = 0) -> array[int]:
        """Takes a slot for every batch; their addresses."""
        slots = array("q", bytes(8 * -(-rows // batch_rows)))
        out = slots.buffer_info()[0]
        while True:
            for ring in reversed(self._rings):
                if self._capsule.reserve(ring, core.address, rows, batch_rows, out, tally):
                    return slots
            # Every slot is held by a tensor of the user's: go beyond, in ever larger
            # steps, so that holding a whole epoch costs few mappings. And again, where
            # other threads are quicker to take the new ones.
            self._count = max(2 * self._count, len(slots))
            self._rings.append(self._new_ring(self._count))


class Ticket:
    """Consecutive batches in flight.

    Attributes:
        batches: their number.
    """

    __slots__ = (
        "_at",
        "_core",
        "_each",
        "_indices",
        "_labels",
        "_memory",
        "_next",
        "_records",
        "_replaced",
        "_request",
        "_rows",
        "_slots",
        "batches",
    )

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
        self._labels = labels
        self._each = each  # samples of a batch
        self._rows = rows
        self._request = Request()
        self._indices, self._records = indices, records  # kept for samples that must be made in another way
        self._replaced: Mapping[int, int] | None = None  # samples that stand in for others in the next batch
        self._next = 0
        self.batches = len(slots)


class Stream:
    """Submits index blocks of a view and hands out finished batches, in order.

    One thread at a time submits and takes. Any thread may cancel and close meanwhile, and so may whatever
    runs between two steps of this one: a signal handler, the garbage collector.

    Args:
        view: what the indices point into.
        batch_size: rows of the largest batch.
        threads: most engine threads for one ticket; None: all of the engine's.
        pinned: batches lie in pinned memory of torch's.
        rows: batches are lists of rows, for a collate function of the user's.
        rings: slots that others have used; None: new ones.
    """

    counts: Counts | None = None  # of the loader whose batches these are
    silent = False  # somebody else counts the batches, and the waits for them

    # Takes samples of a mended batch that slots have no place for.
    _apart: dict[int, torch.Tensor] | None = None

    def __init__(
        self,
        view: View,
        batch_size: int,
        threads: int | None = None,
        pinned: bool = False,
        rows: bool = False,
        rings: Rings | None = None,
    ) -> None:
        self._view, self.pinned, self.rows = view, pinned, rows
        self._crew = engine.crew()
        self._capsule = engine.capsule()
        self._submit = self._capsule.submit
        self._take = self._capsule.take
        self._threads = threads or 0
        self._row_bytes = self._slot_row_bytes()
        self._rings = rings or self._new_rings(batch_size)
        self._live: set[Ticket] = set()
        self._pid = os.getpid()
        plain = view.output == "dict" and view.label_dtype is not None and not view.has_more
        self._keys = view.keys if plain and not rows else None
        # Two calls less for most: of a batch of 16 rows, which takes 3.5 us, they were a twentieth.
        self._tensor = from_dlpack if view.as_made else view.tensor

    def _core(self) -> CoreDataset:
        """What slots are filled from."""
        return self._view.core

    def _slot_row_bytes(self) -> int:
        """Bytes of a sample in a slot."""
        return 0 if self.pinned else self._view.row_bytes

    def _new_rings(self, batch_size: int) -> Rings:
        """Slots for batches of so many rows."""
        return Rings(max(self._row_bytes * batch_size, 1))

    def _collect(self, ticket: Ticket, k: int, place: int, mended: int) -> Any:
        """What the slot of batch k, whose address lies at a place, becomes: see Capsule.take."""
        return self._take(place, mended | 2 * self.silent)

    @property
    def usable(self) -> bool:
        """Whether there is still a dataset that it can be filled from."""
        return self._core().alive and self._view.core.alive

    def submit(
        self, indices: array[int] | torch.Tensor, batch_size: int, records: array[int] | None = None
    ) -> Ticket:
        """Starts filling the rows ``indices``, in batches of batch_size.

        Args:
            indices: ``array('q')`` or int64 tensor [n], contiguous, on the CPU; copied.
            batch_size: rows of a batch; the last may be shorter.
            records: what was drawn for them, where the view draws; copied.
        """
        if isinstance(indices, torch.Tensor):
            rows, address = indices.numel(), indices.data_ptr()
        else:
            address, rows = indices.buffer_info()
        if self._crew is not engine._crew:
            raise forked()
        rings = self._rings
        if self._row_bytes * batch_size > rings.slot_bytes:
            rings = self._rings = self._new_rings(batch_size)
        core, labels = self._core(), self._view.new_labels(rows, self.pinned)
        memory = PinnedMemory(core, rows, batch_size) if self.pinned else None
        slots = rings.reserve(core, rows, batch_size, 0 if self.counts is None else self.counts.address)
        if memory is not None:
            memory.lend_to(slots)
        parts: Sequence[torch.Tensor] | None = None
        if labels is not None:  # torch.split takes 5 us, longer than the rows of a small batch
            parts = torch.split(labels, batch_size) if rows > batch_size else (labels,)
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
            started = self._submit(self._crew, core.address, self._threads, addressof(request))
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
        self._step(ticket)
        images = self._tensor(made) if ticket._memory is None else self._lent(ticket._memory, k)
        if self._keys is not None:
            assert ticket._labels is not None
            return {self._keys[0]: images, self._keys[1]: ticket._labels[k]}
        more: tuple[Any, ...] = ()
        replaced, ticket._replaced = ticket._replaced, None
        if self._view.has_more:
            find = self._view.more_of_rows if self.rows else self._view.more
            with counted_by(self.counts):
                more = find(ticket._indices[k * ticket._each : (k + 1) * ticket._each], replaced)
        labels = None if ticket._labels is None else ticket._labels[k]
        if not self.rows:
            return self._view.collated(images, labels, more)
        batch = Batch(self._view, images, labels, None, replaced, more)
        return list(batch) if self._view.lists else batch

    def _lent(self, memory: PinnedMemory, k: int) -> torch.Tensor:
        """Batch k, which does not lie in its slot."""
        return self._view.shaped(memory.batches[k])

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
        # Mending takes long, and another thread may close the stream: the slot is not the ticket's meanwhile.
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
        if ticket._labels is not None:
            labels = ticket._labels[k].data_ptr()
        if ticket._records is not None:
            records = ticket._records.buffer_info()[0] + 4 * self._view.record_words * start
        with counted_by(self.counts):
            ticket._replaced = self._view.mend(slot, ticket._indices[start:], records, labels, self._apart)

    def cancel(self, ticket: Ticket) -> None:
        """Drops a ticket: returns when nothing writes into its memory any more."""
        if ticket not in self._live:
            return
        self._capsule.cancel(addressof(ticket._request))
        self._capsule.move(ticket._at, ticket.batches, RING)  # those that were not taken
        self._live.discard(ticket)

    def close(self) -> None:
        """Cancels everything in flight. Idempotent."""
        if self._pid != os.getpid():
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


def given_up() -> errors.CanceledError:
    return errors.CanceledError("the batch was given up: its loader was closed, or Ctrl-C came in between")


def forked() -> errors.EngineError:
    """The error of an iterator that a forked child uses."""
    return errors.EngineError(
        "this iterator was made before the process was forked: make a new one in the child"
    )
