"""One epoch of a loader: what is pulled, drawn for, submitted and given, and how far ahead.

A list goes one way, through a queue (`InFlight`): pulled, drawn for, submitted to the engine, and given. So,
counted in lists,

    pulled >= fetched >= drawn >= submitted >= given

where a file on this machine is fetched when it is pulled for.

Everything that a sampler lets others see is on torch's schedule: without workers, a list is pulled just
before its batch is made; with workers, `pull_ahead` lists at the start, and one more when a batch is given.
Only an order that is drawn at once may be pulled earlier. If samples draw nothing, its lists share flights: a
call into the engine costs microseconds.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from torch.cuda import OutOfMemoryError

from ..errors import ChangedError, UnsupportedError
from .changes import changes
from .in_flight import FLIGHT_BYTES, FLIGHTS_AHEAD, Given, InFlight, index_of, raised
from .order import Listed, Order, Pull, begin
from .recent_batches import MOST, Between, RecentBatches
from .schedule import DrawnOrder
from .skips import NO_SKIPS, Skips

if TYPE_CHECKING:
    from .collation import Collation
    from .draws import Draws
    from .iterator_stream import IteratorStream
    from .workers import Workers

NEVER = -1  # a turn that does not come, and the size of batches that have none
MOST_REDRAWN = 3  # the draws of a batch are repeated so often if its pictures change on disk meanwhile


_SKIPPED = object()  # a list whose batch is not made


class _Unsized:
    batch_size = NEVER


_UNSIZED = _Unsized()


class Epoch:
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

    Attributes:
        passed: so many of these came so far.
        recent: remembers the batches of flights.
        marks: it does not remember the batch that was given last.
    """

    recent: RecentBatches | None = None
    marks = True

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
        self.skips, self.passed = skips, 0
        self._lane, self._pull_ahead = lane, pull_ahead
        self._order = order
        drawn = self._drawn = order if isinstance(order, DrawnOrder) else None
        self._collation, self._workers, self._sampler = collation, workers, sampler
        self._queue = InFlight(lane, fetch, not pull_ahead, draw, collation)
        self._past: deque[Given] = deque(maxlen=MOST)  # where more than the place decides what comes next
        self._left = 0  # batches of the flight that was opened: self._take(self._ticket) gives the next
        self._flight: Pull | None = None
        self._take: Callable[[Any], Any] = raised
        self._opened = 0  # lists of it and of those before
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
        self._last_turn = NEVER
        if self._early and drawn is not None:
            self._last_turn = drawn.last_pull - pull_ahead
            self._largest = max(1, FLIGHT_BYTES // max(1, drawn.batch_size * lane.row_bytes))
            self._size = 1  # lists in the next flight; it starts small, so that the first batch comes soon
        if state is not None:
            self._load(state)
        else:
            self._skip()
            if pull_ahead:
                self._begin()
        self._ranked = None if drawn is None else drawn.ranked
        if self._ranked is not None:
            self._ranked.follow(self)
        elif not self._ahead and drawn is not None:
            self._rows = drawn.indices(0, drawn.batches)

    def _skip(self) -> None:
        """The order takes over the steps to skip: before anything is pulled."""
        if isinstance(self._order, DrawnOrder):
            self._order.skip(self.skips)
        else:
            self._order.skips = self.skips

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

    @property
    def given(self) -> int:
        """Batches that were given, or have failed."""
        return self._opened - self._left

    @property
    def samples_given(self) -> int | None:
        """Samples of the sampler in these; None: the batch size was changed in this epoch."""
        return None if self._drawn is None else self._drawn.samples_before(self.given)

    @property
    def left(self) -> int:
        """Batches of the flight that was opened that were not given, if it is remembered."""
        return 0 if self.marks else self._left

    @property
    def under_way(self) -> bool:
        """Whether batches are on their way."""
        return self._left > 0 or len(self._queue) > 0

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        ranked = getattr(self, "_ranked", None)
        if ranked is not None and not over():
            ranked.leave(self.samples_given)

    def positions(self) -> tuple[int, int, int, int, int]:
        """How many lists are pulled, fetched, drawn for, submitted and given."""
        queue = self._queue
        submitted = self._opened + sum(pull.lists for pull in queue.flights)
        drawn = submitted + sum(pull.lists for pull in queue.drawn)
        pulled = drawn + sum(pull.lists for pull in queue.pulled)
        return pulled, pulled, drawn, submitted, self.given

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

    def _remember(self, pull: Pull | None, batch: int) -> None:
        workers, collation = self._workers, self._collation
        worker, generators = 0, None
        if workers is not None and collation is not None:
            worker = batch % workers.count
            generators = workers[worker]
        index = index_of(pull) if pull is not None and self._drawn is None else None
        before = None if pull is None else pull.before
        if index is not None or before is not None or generators is not None:
            self._past.append(Given(index, before, worker, generators))

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

    def _give_back(self) -> None:
        """The rest of the flight that was opened is not given from it."""
        if self.recent is not None:
            self.recent.cut(self.left)
        self._opened, self._left, self.marks = self.given, 0, True

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

    # To go on in another process.

    def inherit(self) -> None:
        """This process was forked, and is the child: it goes on with batches that its own engine makes."""
        self._queue.inherit()
        left, flight = self._left, self._flight
        if left and flight is not None:
            rest = Pull(None, flight.indices[(flight.lists - left) * flight.each :])
            rest.each, rest.lists = flight.each, left
            self._queue.drawn.appendleft(rest)
            self._give_back()

    def state(self, back: int = 0) -> dict[str, Any]:
        """What an equal loader needs to go on behind a batch that was given, as plain data.

        With it belong the generators' states of this moment (`now`, as `beginnings` tells them; see
        `behind`). Not in it is what a collate function or a transform in Python keeps.

        Args:
            back: batches that were given behind it.

        Raises:
            UnsupportedError: the batch size or the sampler's indices were changed in this epoch.
        """
        back = self._lists(back)
        given, drawn, past = self.given - back, self._drawn, self._latest(back)
        return {
            "given": given,
            "order": self._order.state() if drawn is None else drawn.state(given),
            "ahead": [one.index for one in past] + self._queue.lists() if drawn is None else [],
            "pull_ahead": self._pull_ahead,
            "workers": None if self._workers is None else self._queue.told(self._workers, past),
        }

    @contextmanager
    def behind(self, back: int) -> Iterator[Between]:
        """A context in which the generators are as they were before so many batches were drawn for here."""
        lists, skips = self._lists(back), self._order.skips
        with self._queue.behind(self._latest(lists)) as between:
            # Behind a skipped list no loop has drawn.
            first = self.given - lists
            yield between and [one for at, one in enumerate(between, first) if not skips.run(at)[0]]

    def _lists(self, back: int) -> int:
        """How many lists the last batches came of, with those between them that were skipped."""
        at = self.given
        while back:
            at -= 1
            back -= not self._order.skips.run(at)[0]
        if self.given - at > MOST and (self.skips or len(self._past) == MOST):
            raise UnsupportedError(
                f"more than {MOST} steps came behind this batch, with those that were skipped"
            )
        return self.given - at

    def _latest(self, back: int) -> list[Given]:
        return [*self._past][max(0, len(self._past) - back) :]

    def _load(self, state: dict[str, Any]) -> None:
        given, drawn = state["given"], self._drawn
        if (drawn is None) == ("position" in state["order"]):
            raise UnsupportedError("the state is that of a loader with another kind of sampler")
        self._order.load(state["order"])
        self._skip()
        if drawn is not None:
            given = drawn.at  # the size of batches may be another, and the number of ranks
            if self._early:
                self._last_turn = drawn.last_pull - self._pull_ahead
        self._opened = self._queue.begun = given
        if self._workers is not None and state["workers"] is not None:
            self._workers.load(state["workers"])
        for part in (self._queue.draw, self._collation):
            if part is not None:
                part.begin(given)
        for number, index in enumerate(state["ahead"], given):
            pull = Pull(index)
            pull.skip = self._order.skips.run(number)[0]
            self._queue.add(pull)
        begin(self._sampler, state["now"])
        if drawn is not None and self._pull_ahead:
            self._begin()
        elif self._pull_ahead:
            for _ in range(state["pull_ahead"], self._pull_ahead):  # there are more workers now
                self._pull()
            self._queue.fill()
