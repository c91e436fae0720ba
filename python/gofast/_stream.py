"""Native work of one iterator: slots of batch memory, and tickets in flight."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.dlpack import from_dlpack

from . import _engine
from ._view import View, row_index_error

_WAIT_MS = 100  # Ctrl-C reaches Python between two waits
_EMPTY = torch.empty(0)


class Rings:
    """Slots of one size. Grows when the user holds on to batches."""

    _COUNT = 8

    def __init__(self, slot_bytes: int, count: int = _COUNT) -> None:
        self._capsule = _engine.capsule()
        self._bytes = slot_bytes
        self._rings: list[int] = [self._capsule.ring_new(slot_bytes, count)]
        self._count = count

    def reserve(self, view: View, rows: int, batch_rows: int) -> array[int]:
        """Takes a slot for every batch; their addresses."""
        slots = array("q", bytes(8 * -(-rows // batch_rows)))
        out = slots.buffer_info()[0]
        for ring in reversed(self._rings):
            if self._capsule.reserve(view.address, ring, rows, batch_rows, out) >= 0:
                return slots
        # Every slot is held by a tensor of the user's: go beyond, in ever larger
        # steps, so that holding a whole epoch costs few mappings.
        self._count = max(2 * self._count, len(slots))
        ring = self._capsule.ring_new(self._bytes, self._count)
        self._rings.append(ring)
        self._capsule.reserve(view.address, ring, rows, batch_rows, out)
        return slots

    def __del__(self) -> None:
        for ring in getattr(self, "_rings", ()):
            self._capsule.ring_drop(ring)


class Ticket:
    """Consecutive batches in flight.

    Attributes:
        batches: their number.
    """

    __slots__ = ("_id", "_labels", "_next", "_slots", "batches")

    def __init__(self, number: int, slots: array[int], labels: Sequence[torch.Tensor] | None) -> None:
        self._id = number
        self._slots = slots
        self._labels = labels
        self._next = 0
        self.batches = len(slots)


class Stream:
    """Submits index blocks of a view and hands out finished batches, in order.

    Args:
        view: what the indices point into.
        batch_size: rows of the largest batch.
        threads: most engine threads for one ticket; None: all of the engine's.
    """

    def __init__(self, view: View, batch_size: int, threads: int | None = None) -> None:
        self._view = view
        self._native = _engine.native()
        self._capsule = _engine.capsule()
        self._submit = self._native.pybind_Submit
        self._take = self._capsule.take
        self._threads = threads or 0
        self._rings = Rings(max(view.row_bytes * batch_size, 1))
        self._slot_rows = batch_size
        self._live: dict[int, Ticket] = {}
        dict_output = view.output == "dict" and view.label_dtype is not None
        self._keys = view.keys if dict_output else None

    def submit(self, indices: array[int] | torch.Tensor, batch_size: int) -> Ticket:
        """Starts filling the rows ``indices``, in batches of batch_size.

        Args:
            indices: ``array('q')`` or int64 tensor [n], contiguous, on the CPU; copied.
            batch_size: rows of a batch; the last may be shorter.
        """
        if isinstance(indices, torch.Tensor):
            rows, address = indices.numel(), indices.data_ptr()
        else:
            address, rows = indices.buffer_info()
        view = self._view
        if batch_size > self._slot_rows:
            self._rings = Rings(view.row_bytes * batch_size)
            self._slot_rows = batch_size
        labels = view.new_labels(rows)
        slots = self._rings.reserve(view, rows, batch_size)
        label_address = 0 if labels is None else labels.data_ptr()
        try:
            number = self._submit(
                view.address, address, rows, batch_size, slots.buffer_info()[0], label_address, self._threads
            )
        except RuntimeError as error:
            for slot in slots:
                self._capsule.release(slot)
            raise _engine.errors.from_native(error) from None
        ticket = Ticket(number, slots, None if labels is None else labels.split(batch_size))
        self._live[number] = ticket
        return ticket

    def take(self, ticket: Ticket) -> Any:
        """The ticket's next batch, as torch's default_collate would give it.

        Raises:
            RowIndexError: the batch asked for a row that does not exist. Other
                batches of the ticket are not touched.
        """
        k = ticket._next
        slot = ticket._slots[k]
        made = self._take(slot)
        while made is None:
            _engine.call("Wait", ticket._id, _WAIT_MS)
            made = self._take(slot)
        ticket._next = k + 1
        if k + 1 == ticket.batches:
            del self._live[ticket._id]
        if made is False:
            # Another thread may still be writing other rows of this batch.
            while not _engine.call("Wait", ticket._id, _WAIT_MS):
                pass
            index = self._capsule.bad_index(slot)
            self._capsule.release(slot)
            raise row_index_error(index, len(self._view))
        if self._keys is not None:
            assert ticket._labels is not None
            return {self._keys[0]: from_dlpack(made), self._keys[1]: ticket._labels[k]}
        return self._view.collated(from_dlpack(made), None if ticket._labels is None else ticket._labels[k])

    def cancel(self, ticket: Ticket) -> None:
        """Drops a ticket: returns when nothing writes into its memory any more."""
        if self._live.pop(ticket._id, None) is None:
            return
        _engine.call("Cancel", ticket._id)
        for slot in ticket._slots[ticket._next :]:
            self._capsule.release(slot)
        ticket._next = ticket.batches

    def close(self) -> None:
        """Cancels everything in flight. Idempotent."""
        for ticket in list(self._live.values()):
            self.cancel(ticket)

    def __del__(self) -> None:
        if getattr(self, "_live", None) and _engine.loaded():
            self.close()
