"""Batches under way: decides which batches are submitted to the engine early, and how far ahead.

A flight is one submission. It has several batches in a row, which the engine makes in the background and
the loader collects one at a time. A call into the engine costs microseconds, so small batches share a
flight. A limit in bytes keeps large batches from piling up in memory.

Both classes here follow torch's schedule in everything that a sampler lets others see (see `schedule`).
Without workers, torch pulls one index list for each batch, just before it fetches the batch. With workers,
it pulls `pull_ahead` lists at the start and one more after each batch that it has received.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from torch import Tensor
from torch.cuda import OutOfMemoryError

from .._core.indices import index_list
from ..errors import ChangedError
from .changes import Changes, changes
from .schedule import Order

if TYPE_CHECKING:
    from torch.utils.data import BatchSampler

    from .._core.indices import Indices
    from .draws import Draws
    from .lane import Lane
    from .stream import Stream, Ticket

    Drawn: TypeAlias = array[int] | Exception | None

# The output of one flight. An epoch of 60,000 x 784 float32 in batches of 16 took 12.8 to 13.2 ms with
# flights of 512 KiB to 2 MiB (2 cores, 2026-11), and 3 times as long with one flight for each batch.
FLIGHT_BYTES = 512 << 10
FLIGHTS_AHEAD = 4  # flights under way; single batches if one is larger than a flight
MOST_REDRAWN = 3  # the draws of a batch are repeated so often if its pictures change on disk meanwhile
BYTES_AHEAD = 8 << 20  # output under way for index lists that were pulled on torch's schedule


class DrawnFlights:
    """The batches of an epoch that is drawn already. Flights run further ahead than torch would pull."""

    def __init__(
        self,
        lane: Lane,
        order: Order,
        pull_ahead: int,
        draw: Draws | None = None,
        *,
        sampler: BatchSampler | None = None,
        pull: Callable[[Iterator[Any], int], PulledFlights] | None = None,
    ) -> None:
        self._draw = draw  # makes the random draws of samples; may be called at any time
        self._lane = lane
        self._order = order
        self._sampler: Any = order if sampler is None else sampler
        self._batch_size = order.batch_size
        self._pull_ahead, self._pull = pull_ahead, pull
        self._changes = Changes() if pull_ahead else changes  # torch's workers have copies: no change shows
        self._seen = lane.seen if not pull_ahead else 0  # there may be changes since `iter`
        self._looks = lane.looks or order.picks
        self._picked = None if order.picks else lane.picked
        if self._picked is not None or not lane.ahead:
            self._rows = order.indices(0, order.batches)
            self._address = self._rows.data_ptr()
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
        if (
            self._seen != self._changes.count
            or self._batch_size != self._sampler.batch_size
            or self._rest is not None
            or (self._looks and not self._picks_the_same())
        ) and not self._is_as_it_was():
            assert self._rest is not None
            return self._rest.take()
        if self._left:
            return self._take_next()
        return self._take_first() if self._ahead else self._take_now()

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

    def _picks_the_same(self) -> bool:
        """Whether a quick look shows that the next batch has the rows that it was submitted with."""
        if self._picked is None:
            return False
        start, stop = self._order.bounds(self._started - self._left)
        return self._picked.unchanged(self._address + 8 * start, stop - start)

    def _is_as_it_was(self) -> bool:
        """Whether the next batch is what torch would make now. If not, pulls the rest as torch would."""
        if self._rest is not None:
            return False
        order, batch = self._order, self._started - self._left
        if batch == order.batches or self._pull is None:
            return True
        seen = self._changes.count
        if (
            self._batch_size == self._sampler.batch_size
            and order.still_picked(batch + self._pull_ahead)
            and (self._workers or self._lane.unchanged(order.indices(batch, batch + 1)))
        ):
            self._seen = seen
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
            drawn = None if self._draw is None else self._draw(array("q", indices.tolist()))
            self._flights.append((self._submit(indices, order.batch_size, drawn), stop - first))
            self._submitted = first = stop
            self._size = min(self._size * 2, self._largest)


class PulledFlights:
    """Batches of a sampler that may draw at any time. A flight is one index list, pulled when torch does."""

    def __init__(
        self,
        lane: Lane,
        lists: Iterator[Any],
        fetch: Callable[[Any], Any],
        pull_ahead: int,
        draw: Draws | None = None,
    ) -> None:
        self._lane = lane
        self._draw = draw  # makes the random draws of a list, from the generators that torch would use
        self._stream: Stream | None = None
        self._lists = lists
        self._fetch = fetch  # torch's way to a batch or an error, for lists without integers and empty lists
        self._workers = pull_ahead > 0
        self._waiting: deque[tuple[Any, Indices | None, Drawn]] = deque()  # pulled, not yet submitted
        self._flights: deque[tuple[Any, Ticket | Exception | None, int]] = deque()
        # If samples draw: the lists of both deques above, and the generators' states before each.
        self._pulled: deque[tuple[Any, Any, Any]] = deque()
        self._bytes = 0
        for _ in range(pull_ahead):
            self._pull_one_more()
        self._submit_ahead()

    def take(self) -> Any:
        """The next batch in order; raises its error or the sampler's, or StopIteration after the last."""
        if not self._flights:
            if self._workers:
                raise StopIteration
            self._pull()
            self._submit_ahead()
        try:
            batch = self._taken()
        except OutOfMemoryError:
            raise
        except Exception:
            self._land()
            raise
        self._land()
        return batch

    def _taken(self) -> Any:
        for again in reversed(range(MOST_REDRAWN + 1)):
            index, ticket, _ = self._flights[0]
            try:
                if isinstance(ticket, Exception):
                    raise ticket
                if ticket is None or self._stream is None:
                    return self._fetch(index)
                return self._stream.take(ticket)
            except ChangedError:
                if self._draw is None or not again:
                    raise
                self._draw_again(self._draw)
        raise AssertionError

    def _draw_again(self, draw: Draws) -> None:
        """Draws again for the first batch and for all after it: its pictures on disk have changed."""
        for _, ticket, _ in self._flights:
            if self._stream is not None and ticket is not None and not isinstance(ticket, Exception):
                self._stream.cancel(ticket)
        pulled = list(self._pulled)
        draw.rewind(pulled[0][2], pulled[0][1])
        self._flights.clear()
        self._waiting.clear()
        self._pulled.clear()
        self._bytes = 0
        for index, indices, _ in pulled:
            self._draw_for(index, indices)
        self._submit_ahead()

    def _land(self) -> None:
        if self._pulled:
            self._pulled.popleft()
        self._bytes -= self._flights.popleft()[2]
        if self._workers:
            try:
                self._pull_one_more()
            finally:
                self._submit_ahead()

    def _pull(self) -> None:
        index = next(self._lists)
        if isinstance(index, Iterator):
            index = list(index)  # it is read here, and again later if it holds no integers
        indices: Indices | None = index_list(index, masks=self._draw is not None)
        if not self._workers and indices is not None and len(indices):
            indices = self._followed(indices)
        if self._draw is None:
            self._waiting.append((index, indices, None))
            return
        if isinstance(indices, Tensor):
            indices = array("q", indices.tolist())
        self._draw_for(index, indices)

    def _draw_for(self, index: Any, indices: array[int] | None) -> None:
        assert self._draw is not None
        drawn: Drawn = None
        self._pulled.append((index, indices, self._draw.state()))
        if indices is None or not len(indices):
            self._draw.skip()
        else:
            try:
                drawn = self._draw(indices)
            except Exception as error:  # torch's workers send the error in the place of the batch
                drawn = error
        self._waiting.append((index, indices, drawn))

    def _followed(self, indices: Indices) -> Indices | None:
        """The same indices, after the lane took over the user's changes; None if Python must fetch them."""
        before = self._lane.view
        if not self._lane.follow(indices):
            return None
        view = self._lane.view
        if view is not before:
            self._draw = None
            if view.draws:
                self._draw = view.new_draws(0, 0)
        return indices

    def _pull_one_more(self) -> None:
        try:
            self._pull()
        except StopIteration:
            return

    def _submit_ahead(self) -> None:
        while self._waiting:
            index, indices, drawn = self._waiting[0]
            size = 0 if indices is None else len(indices)
            added = size * self._lane.row_bytes
            if len(self._flights) >= FLIGHTS_AHEAD and self._bytes + added > BYTES_AHEAD:
                return
            ticket: Ticket | Exception | None = None
            if isinstance(drawn, Exception):
                ticket = drawn
            elif indices is not None and size:
                self._stream = self._lane.open(size)  # the same one, unless the lane was closed meanwhile
                ticket = self._stream.submit(indices, size, drawn)
            self._waiting.popleft()
            self._flights.append((index, ticket, added))
            self._bytes += added
