"""Batches under way: decides which batches are submitted to the engine early, and how far ahead.

A flight is one submission. It has several batches in a row, which the engine makes in the background and
the loader collects one at a time. A call into the engine costs microseconds, so small batches share a
flight. A limit in bytes keeps large batches from piling up in memory.

`DrawnFlights` and `PulledFlights` follow torch's schedule in everything that a sampler lets others see
(see `schedule`). Without workers, torch pulls one index list for each batch, just before it fetches the
batch. With workers, it pulls `pull_ahead` lists at the start and one more after each batch that it has
received.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from torch.cuda import OutOfMemoryError

from ..errors import ChangedError
from .changes import changes
from .pulled import FLIGHTS_AHEAD, MOST_REDRAWN, PulledFlights
from .schedule import Order

if TYPE_CHECKING:
    from torch.utils.data import BatchSampler

    from .collation import Collation
    from .draws import Draws
    from .lane import Lane
    from .stream import Ticket

# The output of one flight. An epoch of 60,000 x 784 float32 in batches of 16 took 12.8 to 13.2 ms with
# flights of 512 KiB to 2 MiB (2 cores, 2026-11), and 3 times as long with one flight for each batch.
FLIGHT_BYTES = 512 << 10
NEVER = -1


class DrawnFlights:
    """The batches of an epoch that is drawn already. Flights run further ahead than torch would pull."""

    def __init__(
        self,
        lane: Lane,
        order: Order,
        pull_ahead: int,
        draw: Draws | None = None,
        collation: Collation | None = None,
        *,
        sampler: BatchSampler | None = None,
        pull: Callable[[Iterator[Any], int], PulledFlights] | None = None,
    ) -> None:
        self._draw = draw  # makes the random draws of samples; may be called at any time
        self._collation = collation
        self._lane = lane
        self._order = order
        self._sampler: Any = order if sampler is None else sampler
        self._batch_size = order.batch_size
        self._pull_ahead, self._pull = pull_ahead, pull
        self._stamp = lane.stamp  # None: torch's workers have copies, no change shows
        self._looks = order.looks_up or (lane.stamp is not None and lane.stamp.looks)
        if not lane.ahead:
            self._rows = order.indices(0, order.batches)
        self._rest: PulledFlights | None = None
        self._largest = max(1, FLIGHT_BYTES // max(1, order.batch_size * lane.row_bytes))
        self._ahead = lane.ahead
        self._workers = pull_ahead > 0
        # When torch makes this batch, it finds the sampler exhausted. A flight starts with it, so that
        # only the first batch of a flight needs to look at the schedule.
        self._last_turn = order.last_pull - pull_ahead
        self._size = 1  # batches in the next flight; it starts small, so that the first batch comes soon
        self._submitted = 0
        self._started = 0  # batches in the flights that were opened, the current one included
        self._flights: deque[tuple[Ticket, int]] = deque()
        self._left = 0
        if self._workers:
            self._submit_ahead()
            if self._last_turn < 0:
                order.finish()

    def take(self) -> Any:
        """The next batch in order; raises its error, or StopIteration after the last."""
        stamp = self._stamp
        if (
            self._batch_size != self._sampler.batch_size
            or self._rest is not None
            or self._looks
            or (stamp is not None and stamp.count != changes.count)
        ) and not self._is_as_it_was():
            assert self._rest is not None
            return self._rest.take()
        if self._collation is not None:
            return self._collated(self._collation)
        if self._left:
            return self._take_next()
        return self._take_first() if self._ahead else self._take_now()

    def _collated(self, collation: Collation) -> Any:
        try:
            if self._left:
                rows = self._take_next()
            else:
                rows = self._take_first() if self._ahead else self._take_now()
        except (StopIteration, OutOfMemoryError):
            raise
        except Exception:
            collation.failed()
            raise
        return collation(rows)

    def drain(self) -> None:
        """Makes what torch's workers still make of an epoch that is given up: collate functions draw."""
        if self._rest is not None:
            self._rest.drain()
            return
        taken = self._started - self._left
        self._last_turn = NEVER  # the sampler is not asked for more
        for _ in range(min(self._pull_ahead, self._order.batches - taken)):
            with suppress(Exception):
                self.take()

    def _take_now(self) -> Any:
        """The next batch, made now: its rows may be written to at any time, so it is not made earlier."""
        number = self._started
        if number == self._last_turn:
            self._order.finish()
        if number == self._order.batches:
            raise StopIteration
        self._started += 1
        try:
            return self._lane.make(self._rows, *self._order.bounds(number))
        except OutOfMemoryError:
            self._started -= 1
            raise

    def _take_next(self) -> Any:
        try:
            batch = self._take(self._ticket)
        except OutOfMemoryError:
            raise  # of the device that it shall arrive on: it comes again
        except Exception as error:
            self._left -= 1  # a failed batch is gone; an interrupted one (KeyboardInterrupt) comes again
            if self._draw is None or not isinstance(error, ChangedError):
                raise
            return self._drawn_again(self._started - self._left - 1)
        self._left -= 1
        return batch

    def _drawn_again(self, number: int) -> Any:
        """The batch, drawn again: its pictures on disk are not those that it was drawn for."""
        assert self._draw is not None
        indices = self._order.indices(number, number + 1)
        rows = array("q", indices.tolist())
        for again in reversed(range(MOST_REDRAWN)):
            self._draw.rewind(self._draw.state(), rows)
            try:
                return self._take(self._submit(indices, self._order.batch_size, self._draw(rows)))
            except ChangedError:
                if not again:
                    raise
        raise AssertionError

    def _is_as_it_was(self) -> bool:
        """Whether the next batch is what torch would make now. If not, pulls the rest as torch would."""
        if self._rest is not None:
            return False
        order, batch = self._order, self._started - self._left
        if batch == order.batches or self._pull is None:
            return True
        if (
            self._batch_size == self._sampler.batch_size
            and order.holds()
            and (self._stamp is None or self._stamp.holds())
        ):
            return True
        self._lane.cancel()
        self._flights.clear()
        rest = order.rest(self._sampler, batch)
        self._rest = self._pull(rest.lists, self._pull_ahead)
        rest.thaw()
        return False

    def _take_first(self) -> Any:
        last_turn = self._started == self._last_turn
        if last_turn and not self._workers:
            self._order.finish()
        if self._started == self._order.batches:
            raise StopIteration
        self._submit_ahead()
        self._ticket, self._left = self._flights.popleft()
        self._started += self._left
        if not last_turn or not self._workers:
            return self._take_next()
        try:
            return self._take_next()
        finally:
            self._order.finish()  # with workers, torch pulls after it has received a batch or its error

    def _submit_ahead(self) -> None:
        order, first = self._order, self._submitted
        while first < order.batches and len(self._flights) < FLIGHTS_AHEAD:
            stop = min(first + self._size, self._last_turn if first < self._last_turn else order.batches)
            indices = order.indices(first, stop)
            if not first:
                stream = self._lane.open(order.batch_size)
                self._submit, self._take = stream.submit, stream.take
            drawn = None
            if self._draw is not None:
                with self._lane.counts.drawing():
                    drawn = self._draw(array("q", indices.tolist()))
            self._flights.append((self._submit(indices, order.batch_size, drawn), stop - first))
            self._submitted = first = stop
            self._size = min(self._size * 2, self._largest)
