"""What makes batches that arrive on a device."""

from __future__ import annotations

import time
from array import array
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._core import engine
from .._loader.batcher import Batcher, Ticket, forked, given_up
from .mover import move
from .transfer import Arriving, finish_of

if TYPE_CHECKING:
    from .._loader.batch_source import BatchSource
    from .._loader.core_dataset import CoreDataset
    from .._loader.counts import Counts
    from .._loader.destination import Destination
    from .device import Device

AHEAD = 3  # batches that are on the device, or on their way, beside the one that is handed over
BYTES_AHEAD = 512 << 20  # of their memory there; one batch may be larger


class DeviceBatcher(Batcher):
    """A batcher whose batches arrive on a device.

    A batch that is finished is sent while an earlier one is handed over, up to AHEAD of them; its slot is
    free when its copy is done. Whoever gets it does not wait for the copy: torch's current stream does.
    """

    def __init__(
        self,
        device: Device,
        view: BatchSource,
        destination: Destination,
        threads: int | None = None,
        counts: Counts | None = None,
    ) -> None:
        self._finish = finish_of(device, view)
        self._unsent: deque[tuple[Ticket, int]] = deque()  # batches in their order
        # Those before them, which are sent.
        self._arriving: deque[tuple[Ticket, int, Arriving | Exception]] = deque()
        self._next: Arriving | None = None  # room for the batch that is waited for
        self._apart: dict[int, torch.Tensor] | None = None  # its samples that cannot be had as stored bytes
        self._device = device
        super().__init__(view, destination, threads, counts)

    def _core(self) -> CoreDataset:
        return self._finish.core

    def _slot_row_bytes(self) -> int:
        return self._finish.row_bytes

    def submit(
        self, indices: array[int] | torch.Tensor, batch_size: int, records: array[int] | None = None
    ) -> Ticket:
        """See Batcher."""
        ticket = super().submit(indices, batch_size, records)
        self._unsent.extend((ticket, k) for k in range(ticket.batches))
        return ticket

    def take(self, ticket: Ticket) -> Any:
        """See Batcher.

        Raises:
            DeviceError: the driver refused the batch's move.
            torch.OutOfMemoryError: the device has no memory for the batch, which can be taken again.
        """
        if self._crew is not engine._crew:
            raise forked()
        if ticket._next == ticket.batches:  # Ctrl-C came when the last one had been taken
            raise given_up()
        arriving = None
        try:
            arriving = self._first(ticket, ticket._next)
            self._send_ahead()
            batch = self._handed_over(ticket, arriving)
        except torch.cuda.OutOfMemoryError:
            raise
        except Exception:
            self._over(ticket, arriving)
            raise
        if self.counts is not None:
            rows = min(ticket._each, ticket._rows - ticket._next * ticket._each)
            self.counts.add(batches=1, samples=rows, bytes=rows * self.view.row_bytes)
        self._over(ticket, arriving)
        return batch

    def _over(self, ticket: Ticket, arriving: Arriving | Exception | None) -> None:
        queue = self._arriving  # another thread may close the stream, and put another queue here
        if queue and queue[0][2] is arriving:
            queue.popleft()  # first: a batch that Ctrl-C takes away here is missed when it is asked for
        self._step(ticket)

    def _first(self, ticket: Ticket, k: int) -> Arriving | Exception:
        """The batch, sent."""
        queue = self._arriving
        while queue and queue[0][0] not in self._live:
            queue.popleft()
        if queue and queue[0][0] is ticket and queue[0][1] == k:
            return queue[0][2]
        arriving = self._sent_now(ticket, k)
        queue.appendleft((ticket, k, arriving))  # pictures that were drawn again come before others
        unsent = self._unsent
        if unsent and unsent[0] == (ticket, k):
            unsent.popleft()
        return arriving

    def _handed_over(self, ticket: Ticket, arriving: Arriving | Exception) -> Any:
        """The batch, for which torch's current stream waits from now on."""
        if isinstance(arriving, Exception):
            raise arriving
        side, labels = self._device.side, arriving.labels
        stream = side.current()
        self._device.receive(arriving.number, side.handle(stream))
        side.used(arriving.images, stream)
        if labels is not None:
            side.used(labels, stream)
        images = arriving.images
        for position, sample in (arriving.apart or {}).items():
            images[position].copy_(move(self._device, sample))
        self._device.behind.handed_out(stream, self._finish.bytes * len(images))
        images = self.view.shaped(images)
        if self._keys is not None:
            return {self._keys[0]: images, self._keys[1]: labels}
        start, each = ticket._next * ticket._each, ticket._each
        return self._collated(images, labels, ticket._indices, start, each, arriving.replaced)

    def _more(
        self, indices: array[int] | torch.Tensor, replaced: Mapping[int, int] | None
    ) -> tuple[Any, ...]:
        return tuple(move(self._device, value) for value in super()._more(indices, replaced))

    def now(self, rows: torch.Tensor, start: int, stop: int) -> Any:
        """See Batcher."""
        asked = rows[start:stop]
        if self.view.fetches:
            self.view.fetch(asked)
        ticket = self.submit(asked, stop - start)
        try:
            return self.take(ticket)
        except BaseException:
            self.cancel(ticket)  # nobody takes it again
            raise

    def _sent_now(self, ticket: Ticket, k: int) -> Arriving:
        """Sends a batch as soon as it is finished."""
        self._device.behind.wait()
        self._next = self._room(ticket, k)  # first: without memory on the device, the batch stays where it is
        try:
            arriving: Arriving = self._collect(ticket, k, ticket._at + 8 * k, 0)
            if not arriving:
                since = time.perf_counter()
                arriving = self._wait(ticket, k)
                self._device.waited += time.perf_counter() - since
        finally:
            self._next = None
        return arriving

    def _send_ahead(self) -> None:
        """Sends batches that are finished already."""
        unsent, queue = self._unsent, self._arriving
        while unsent and len(queue) <= AHEAD:
            ticket, k = unsent[0]
            if ticket not in self._live or k < ticket._next:
                unsent.popleft()
                continue
            place = ticket._at + 8 * k
            size = len(queue) * self._finish.bytes * ticket._each
            if size >= BYTES_AHEAD or not self._device.behind.has_room() or not self._device.ready(place):
                return
            try:
                self._next = self._room(ticket, k)
                arriving = self._collect(ticket, k, place, 0)
            except torch.cuda.OutOfMemoryError:
                return  # it is asked for again when its turn comes
            except Exception as error:
                arriving = error  # it is raised when its turn comes
            finally:
                self._next = None
            if not arriving:
                return
            queue.append((ticket, k, arriving))
            unsent.popleft()

    def _mend(self, ticket: Ticket, k: int, slot: int) -> None:
        self._apart = {} if self._finish.wired else None
        super()._mend(ticket, k, slot)

    def _room(self, ticket: Ticket, k: int) -> Arriving:
        self._apart = None  # of a batch that could not be mended
        rows = min(ticket._each, ticket._rows - k * ticket._each)
        labels = None if ticket.labels is None else ticket.labels[k]
        records = None
        if ticket._records is not None:
            words = self.view.record_words
            drawn = np.frombuffer(ticket._records, np.int32).reshape(-1, words)
            records = drawn[k * ticket._each : k * ticket._each + rows]
        return self._finish.room(rows, labels, records)

    def _collect(self, ticket: Ticket, k: int, place: int, mended: int) -> Any:
        arriving = self._next
        assert arriving is not None
        number = self._device.send(arriving.job, place, mended)
        if not number:
            return number
        arriving.number = number
        arriving.replaced, ticket._replaced = ticket._replaced, None
        arriving.apart, self._apart = self._apart, None
        return arriving

    def cancel(self, ticket: Ticket) -> None:
        """See Batcher."""
        super().cancel(ticket)
        if ticket._next < ticket.batches:  # copies: another thread may be inside `take`
            self._unsent = deque(entry for entry in list(self._unsent) if entry[0] is not ticket)
            self._arriving = deque(entry for entry in list(self._arriving) if entry[0] is not ticket)
