"""Tables that live on the device: a batch is a list of rows, of which a kernel makes numbers there.

The kernel goes to the stream that the batch is for, so nothing waits, and nothing is made ahead: it takes
microseconds.
"""

from __future__ import annotations

import ctypes
import os
from array import array
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import torch

from .. import errors
from .._core.units import size
from .._loader.batch_source import row_index_error
from .._loader.batcher import given_up
from .transfer import making_of

if TYPE_CHECKING:
    from .._loader.batch_source import BatchSource
    from .._loader.core_dataset import IntArray
    from .._loader.counts import Counts
    from .._loader.destination import Destination
    from .._loader.transfer_format import StoredTable
    from .device import Device, Upload

Resident = Literal["auto"] | bool

NOT_A_TABLE = (
    "resident=True: the samples are not rows of one table that nobody can write to, such as a "
    'TableDataset or a Subset of one; leave resident="auto"'
)
OWN_COLLATE = 'resident=True: a collate_fn of your own makes the batches on the CPU; leave resident="auto"'
SHARE = 0.25  # of the device's free memory that a table may take for "auto"
ROW_BYTES = 8  # what crosses for a row


class ResidentTable:
    """A table on a device.

    Attributes:
        features: as they are stored.
        labels: each row's, as samples have them; None without.
        bytes: of both, but for features that another one has.

    Args:
        features: that are there already: those of the same table with other labels.
    """

    def __init__(self, device: Device, stored: StoredTable, features: Upload | None) -> None:
        labels = stored.labels()
        self.features = features or device.upload(stored.features)
        self.labels = None if labels is None else device.upload(labels.view(-1).view(torch.uint8).numpy())
        self.uploads = [self.features] if self.labels is None else [self.features, self.labels]
        new = self.uploads if features is None else self.uploads[1:]
        self.bytes = sum(uploaded.memory.nbytes for uploaded in new)


def is_resident(device: Device, view: BatchSource, resident: Resident) -> bool:
    """Whether a view's samples are rows of a table that is on the device, or shall be."""
    stored = view.table() if resident is not False else None
    if stored is None or device.kernel(stored.wire.stored, stored.wire.made) is None:
        return False
    kept = device.tables.get(stored.memory, {})
    if resident is True or stored.label_key in kept:
        return True
    new = stored.bytes - (stored.features.nbytes if kept else 0)
    return bool(new <= SHARE * device.stats()["free"])


def table_of(device: Device, view: BatchSource, resident: Resident) -> ResidentTable | None:
    """The view's table on the device, if it shall be there; it is uploaded once for all loaders.

    Raises:
        OptionError: resident=True, and the samples are no rows of one table that nobody writes to.
        DeviceError: resident=True, and the device has no room, or no kernel.
    """
    if not is_resident(device, view, resident):
        if resident is True and view.table() is None:
            raise errors.OptionError(NOT_A_TABLE)
        if resident is True:
            raise errors.DeviceError(f"resident=True: {device.without_kernels}")
        return None
    stored = view.table()
    assert stored is not None
    kept = device.tables.setdefault(stored.memory, {})
    if stored.label_key not in kept:
        others = [table.features for table in kept.values()]
        try:
            kept[stored.label_key] = ResidentTable(device, stored, others[0] if others else None)
        except torch.cuda.OutOfMemoryError as error:  # torch may have less: set_per_process_memory_fraction
            if resident == "auto":
                return None
            raise errors.DeviceError(
                f"resident=True: the table takes {size(stored.bytes)}, and {device} has no room: {error}"
            ) from None
    table: ResidentTable = kept[stored.label_key]
    return table


class ResidentTicket:
    """Consecutive batches. Their rows go to the device when the first is made, since that may fail.

    Attributes:
        asked: the indices.
        rows: of the table.
        each: samples of a batch.
        bad: which indices are none; None: all are right.
        next: the batch that is made next.
        there: the rows on the device.
    """

    __slots__ = ("asked", "bad", "each", "next", "rows", "there")

    def __init__(self, asked: IntArray, rows: IntArray, each: int, bad: Any) -> None:
        self.asked, self.rows, self.each, self.bad = asked, rows, each, bad
        self.next = 0
        self.there: Upload | None = None


class ResidentBatcher:
    """Makes batches of a table that is on the device; instead of a Batcher."""

    usable = True  # it reads nothing of the core's

    def __init__(
        self,
        device: Device,
        view: BatchSource,
        destination: Destination,
        table: ResidentTable,
        counts: Counts | None = None,
    ) -> None:
        stored = view.table()
        assert stored is not None
        wire = stored.wire
        self.pid, self.view, self.destination = os.getpid(), view, destination
        self._device, self._table = device, table
        self._shape, self._dtype = wire.shape, getattr(torch, wire.made)
        function = device.kernel(wire.stored, wire.made)
        assert function is not None
        self._function = function
        self._making, self._uploads = making_of(device, wire)
        self._making.stored = table.features.memory.data_ptr()
        self._making_address = ctypes.addressof(self._making)
        self._label_shape, self._label_dtype = view.label_shape, view.label_dtype
        if table.labels is not None:
            self._making.labels = table.labels.memory.data_ptr()
            self._making.label_bytes = stored.label_bytes
        self._read = [*table.uploads, *self._uploads]
        self._plain = view.output == "dict" and view.label_dtype is not None
        self.count_for(counts)

    def count_for(self, counts: Counts | None) -> None:
        """See Batcher."""
        self.counts = counts

    def now(self, rows: torch.Tensor, start: int, stop: int) -> Any:
        """See Batcher."""
        return self.take(self.submit(rows[start:stop], stop - start))

    def submit(
        self, indices: array[int] | torch.Tensor, batch_size: int, records: array[int] | None = None
    ) -> ResidentTicket:
        """Looks the rows of some batches up. See Batcher."""
        asked = np.asarray(indices, np.int64)
        length = len(self.view)
        rows = np.where(asked < 0, asked + length, asked)
        bad = (rows < 0) | (rows >= length)
        wrong = bool(bad.any())
        if wrong:
            rows[bad] = 0  # a batch with such a row is not made
        if self.view.index_map is not None:
            rows = self.view.index_map[rows]
        return ResidentTicket(asked, rows, batch_size, bad if wrong else None)

    def take(self, ticket: ResidentTicket) -> Any:
        """The ticket's next batch. See Batcher.

        Raises:
            RowIndexError: the batch asked for a row that does not exist.
            DeviceError: the driver refused the kernel.
            torch.OutOfMemoryError: the device has no memory for the batch, which can be taken again.
        """
        start = ticket.next * ticket.each
        count = min(ticket.each, len(ticket.rows) - start)
        if count <= 0:  # Ctrl-C came when the last one had been taken
            raise given_up()
        try:
            if ticket.bad is not None:
                self._check(ticket, start, count)
            batch = self._made(ticket, start, count)
        except torch.cuda.OutOfMemoryError:
            raise
        except Exception:
            ticket.next += 1
            raise
        ticket.next += 1
        if self.counts is not None:
            self.counts.add(batches=1, samples=count, bytes=count * self.view.row_bytes)
        return batch

    def _made(self, ticket: ResidentTicket, start: int, count: int) -> Any:
        side = self._device.side
        stream = side.current()
        handle = side.handle(stream)
        for uploaded in self._read:
            uploaded.use_on(stream, handle)
        if ticket.there is None:
            ticket.there = self._device.upload(ticket.rows)
        ticket.there.use_on(stream, handle)
        labels = None
        with self._device.allocating():
            images = side.empty_here((count, *self._shape), self._dtype)
            if self._label_dtype is not None:
                labels = side.empty_here((count, *self._label_shape), self._label_dtype)
        making = self._making
        making.rows, making.count = ticket.there.memory.data_ptr() + 8 * start, count
        making.made = images.data_ptr()
        if labels is not None:
            making.labels_made = labels.data_ptr()
        self._device.launch(self._function, self._making_address, handle)
        if self._plain:
            return {self.view.keys[0]: images, self.view.keys[1]: labels}
        return self.view.collated(images, labels)

    def _check(self, ticket: ResidentTicket, start: int, count: int) -> None:
        wrong = np.flatnonzero(ticket.bad[start : start + count])
        if len(wrong):
            raise row_index_error(int(ticket.asked[start + wrong[0]]), len(self.view))

    def cancel(self, ticket: ResidentTicket) -> None:
        """Nothing of a ticket is under way but its rows, whose memory is torch's."""

    def close(self) -> None:
        """Likewise."""
