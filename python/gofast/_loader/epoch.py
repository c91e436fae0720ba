"""One epoch of a loader: what is pulled, drawn for, submitted and given, and how far ahead.

A list goes one way, through a queue (`InFlight`): pulled, drawn for, submitted to the engine, and given. So,
counted in lists,

    pulled >= fetched >= drawn >= submitted >= given

where a file on this machine is fetched when it is pulled for.

Everything that a sampler lets others see is on torch's schedule: without workers, a list is pulled just
before its batch is made; with workers, `pull_ahead` lists at the start, and one more when a batch is given.
Only an order that is drawn at once may be pulled earlier. If samples draw nothing, its lists share flights: a
call into the engine costs microseconds.

Where an epoch stands, and how an equal one goes on from there, is `epoch_state.py`'s.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from torch.cuda import OutOfMemoryError

from ..errors import ChangedError
from .changes import changes
from .epoch_state import NEVER, EpochState
from .in_flight import FLIGHT_BYTES, FLIGHTS_AHEAD, InFlight, raised
from .order import Listed, Order
from .skips import NO_SKIPS, Skips

if TYPE_CHECKING:
    from .collation import Collation
    from .draws import Draws
    from .iterator_stream import IteratorStream
    from .workers import Workers

MOST_REDRAWN = 3  # the draws of a batch are repeated so often if its pictures change on disk meanwhile


_SKIPPED = object()  # a list whose batch is not made


class _Unsized:
    batch_size = NEVER


_UNSIZED = _Unsized()


class Epoch(EpochState):
    """The batches of an epoch, in order.

    Args:
        fetch: torch's way to a batch or an error, for lists without integers and empty lists.
        pull_ahead: lists that torch has pulled before the first batch; 0: it has no workers.
        draw: makes the random draws of samples; None: they have none.
        collation: makes batches of rows; None: they are made already.
        workers: what stands for torch's.
        sampler: that of the order, which the user may change.
        state: of an equal loader's epoch, to go on from there; see `state`.
        skips: steps whose batches are not made, as if they had been handed out.
    """

    def __init__(
        self,
        lane: IteratorStream,
        order: Order,
        fetch: Callable[[Any], Any],
        pull_ahead: int = 0,
        draw: Draws | None = None,
        collation: Collation | None = None,
        workers: Workers | None = None,
        sampler: Any = None,
        state: dict[str, Any] | None = None,
        skips: Skips = NO_SKIPS,
    ) -> None:
        queue = InFlight(lane, fetch, not pull_ahead, draw, collation)
        super().__init__(order, queue, pull_ahead, collation, workers, sampler, skips)
        self._lane, drawn = lane, self._drawn
        self._take: Callable[[Any], Any] = raised
        # Lists that are known and draw nothing: they share flights. Rows that anybody may write to are made
        # when they are asked for.
        self._shared = drawn is not None and draw is None
        self._ahead = lane.ahead
        # Lists are pulled before torch pulls them.
        self._early = drawn is not None and (draw is None or (draw.early and not pull_ahead))
        self._stamp = lane.stamp if self._early else None
        self._sized: Any = _UNSIZED if drawn is None else sampler  # what tells the batch size
        self._batch_size = NEVER if drawn is None else drawn.batch_size
        self._looks = drawn is not None and drawn.looks_up
        self._looks |= self._stamp is not None and self._stamp.looks
        # When torch makes this batch, it finds the sampler exhausted. A flight starts with it, so that only
        # the first batch of a flight needs to look.
        if self._early and drawn is not None:
            self._last_turn = drawn.last_pull - pull_ahead
            self._largest = max(1, FLIGHT_BYTES // max(1, drawn.batch_size * lane.row_bytes))
            if lane.view.fetches:
                self._largest = 1  # a flight waits for the files of all its lists
            self._size = 1  # lists in the next flight; it starts small, so that the first batch comes soon
        if state is None:
            self._skip()
        else:
            self._load(state)
        if lane.view.fetches and drawn is not None and drawn.at < drawn.batches:
            lane.view.expect(drawn.indices(drawn.at, drawn.batches))
        if pull_ahead and (state is None or drawn is not None):
            self._begin()
        elif pull_ahead and state is not None:
            for _ in range(state["pull_ahead"], pull_ahead):  # there are more workers now
                self._pull()
            self._queue.fill()
        self._ranked = None if drawn is None else drawn.ranked
        if self._ranked is not None:
            self._ranked.follow(self)
        elif not self._ahead and drawn is not None:
            self._rows = drawn.indices(0, drawn.batches)

    def _begin(self) -> None:
        """Pulls what torch with workers has pulled before the next batch."""
        if self._early:
            self._pull_early()
            if self._last_turn < self._opened:
                self._finish()
        else:
            for _ in range(self._pull_ahead):
                self._pull()
        self._queue.fill()

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        ranked = getattr(self, "_ranked", None)
        if ranked is not None and not over():
            ranked.leave(self.samples_given)

    def take(self) -> Any:
        """The next batch in order; raises its error, the sampler's, or StopIteration after the last."""
        stamp = self._stamp
        if (
            self._looks
            or self._batch_size != self._sized.batch_size
            or (stamp is not None and stamp.count != changes.count)
        ):
            self._catch_up()
        if self._collation is not None:
            return self._collated(self._collation)
        if self._left:
            return self._next()
        while True:
            batch = self._open() if self._shared else self._listed()
            if batch is not _SKIPPED:
                return batch

    # Lists that share flights.

    def _next(self) -> Any:
        """The next batch of the flight that was opened."""
        try:
            batch = self._take(self._ticket)
        except OutOfMemoryError:
            raise  # of the device that it shall arrive on: it comes again
        except Exception:
            self._left -= 1  # a failed batch is gone; an interrupted one (KeyboardInterrupt) comes again
            raise
        self._left -= 1
        return batch

    def _open(self) -> Any:
        """The first batch of the next flight."""
        number = self._opened
        ends = number == self._last_turn
        if ends and not self._pull_ahead:
            self._finish()
        if not self._ahead:  # the rows may be written to at any time: the batch is made now
            drawn = self._drawn
            if drawn is None or number == drawn.batches:
                raise StopIteration
            if drawn.skips.run(number)[0]:
                self._opened += 1
                self.passed += 1
                return _SKIPPED
            self._opened += 1
            try:
                if self._ranked is not None:
                    rows = self._ranked.indices(*drawn.bounds(number))
                    return self._lane.make(rows, 0, len(rows))
                return self._lane.make(self._rows, *drawn.bounds(number))
            except OutOfMemoryError:
                self._opened -= 1
                raise
        self._pull_early()
        self._queue.fill()
        if not self._queue.flights:
            raise StopIteration
        flight = self._flight = self._queue.pop()
        self._take, self._ticket, self._left = flight.take, flight.ticket, flight.lists
        self._opened += flight.lists
        if flight.skip:
            self._left, self.passed = 0, self.passed + flight.lists
            if ends and self._pull_ahead:
                self._finish()
            return _SKIPPED
        self.marks = True
        try:
            batch = self._next()
        finally:
            if ends and self._pull_ahead:
                self._finish()  # with workers, torch pulls after it has received a batch or its error
        if self._left and self.recent is not None:
            labels = getattr(flight.ticket, "labels", None)
            self.marks = labels is None or not self.recent.begin(labels, batch)
        return batch

    def _collated(self, collation: Collation) -> Any:
        if not self._shared:
            return self._listed()
        try:
            rows = self._next() if self._left else self._open()
        except (StopIteration, OutOfMemoryError):
            raise
        except Exception:
            self._remember(None, self.given - 1)
            collation.failed()
            raise
        self._remember(None, self.given - 1)
        return collation(rows)

    # One list a flight.

    def _listed(self) -> Any:
        """The batch of the next list."""
        queue = self._queue
        if self._early:
            if self._opened == self._last_turn:
                self._finish()
            self._pull_early()
            queue.fill()
        elif not queue.flights:
            if not self._pull_ahead and not len(queue):
                self._pull()
            queue.fill()
        if not queue.flights:
            raise StopIteration
        collation, flight = self._collation, queue.flights[0]
        if flight.skip:
            self._land()
            self.passed += flight.lists
            return _SKIPPED
        if collation is None:
            self._guess()
        try:
            try:
                batch = flight.take(flight.ticket)
            except ChangedError:
                if queue.draw is None:
                    raise
                batch = self._made_again()
        except OutOfMemoryError:
            raise
        except Exception as error:
            if collation is not None:
                collation.failed()
            queue.failed(error)
            self._land()
            raise
        if collation is None:
            self._land()
            return batch
        after = queue.flights[0].after
        try:
            self._land()  # so that later batches are made meanwhile
        finally:  # torch's worker has called the function when the sampler raises
            try:
                batch = collation(batch, after)
            finally:
                if collation.overtaken:
                    queue.recall()
                    collation.overtake()
                queue.fill()
        self._guess()  # now: the function may have drawn
        return batch

    def _made_again(self) -> Any:
        """The batch whose pictures on disk are not those that it was drawn for."""
        for left in reversed(range(MOST_REDRAWN)):
            self._queue.recall(changed=True)
            self._queue.fill()
            flight = self._queue.flights[0]
            try:
                return flight.take(flight.ticket)
            except ChangedError:
                if not left:
                    raise
        raise AssertionError

    def _land(self) -> None:
        """A batch is given."""
        pull = self._queue.pop()
        self._remember(pull, self._opened)
        self._opened += pull.lists
        if self._pull_ahead:
            try:
                self._pull()
            finally:
                self._queue.fill()

    def _pull(self) -> None:
        """Pulls as torch does."""
        pull = self._order.pull()
        if pull is not None:
            self._queue.add(pull)

    def _finish(self) -> None:
        """torch's sampler runs to its end now."""
        if self._drawn is not None:
            self._drawn.finish()

    def _guess(self) -> None:
        """Makes batches that nobody can draw for yet."""
        if self._drawn is not None and not self._early:
            self._queue.guess(self._drawn)

    def _pull_early(self) -> None:
        """Pulls lists for as many flights as may be under way."""
        order, queue = self._drawn, self._queue
        assert order is not None
        most = FLIGHTS_AHEAD if self._shared else FLIGHTS_AHEAD * self._largest
        for _ in range(len(queue), most):
            first = order.at
            skip, alike = order.skips.run(first)
            stop = first + (alike if skip else self._size if self._shared else 1)
            if first < self._last_turn < stop:
                stop = self._last_turn
            pull = order.ahead(stop - first)
            if pull is None:
                return
            queue.put(pull)
            order.at = first + pull.lists  # last: Ctrl-C before loses no list
            self._size = min(self._size * 2, self._largest)

    # What changes in the middle.

    def _catch_up(self) -> None:
        """Follows what the user has changed since the last batch."""
        drawn = self._drawn
        assert drawn is not None
        if self._batch_size != self._sized.batch_size or not drawn.holds():
            self._on_schedule()
            self._become(drawn.rest())
        elif self._stamp is not None and not self._stamp.holds():
            self._on_schedule()

    def _on_schedule(self) -> None:
        """From here on, lists are pulled when torch pulls them. What was made ahead is given up."""
        drawn = self._drawn
        if not self._early or drawn is None:
            return
        self._queue.clear()
        self._give_back()
        self._shared = self._early = False
        self._stamp, self._last_turn, self._looks = None, NEVER, drawn.looks_up
        drawn.at = self._opened
        self._begin()

    def _become(self, order: Listed) -> None:
        """What is pulled from here on."""
        self._order, self._drawn, self._sized = order, None, _UNSIZED
        self._batch_size, self._looks = NEVER, False

    def drain(self) -> None:
        """Makes what torch's workers still make of an epoch that is given up: collate functions draw, and
        samples do up to one that cannot be read."""
        if self._collation is None and (self._queue.draw is None or self._queue.draw.early):
            return
        self._on_schedule()
        self._become(Listed(None, iter(())))
        while self._queue.flights:
            with suppress(Exception):
                self._listed()
