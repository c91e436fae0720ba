"""One epoch of a loader: what is pulled, drawn for, submitted and given, and how far ahead.

A pull goes through three queues: pulled, drawn for, and submitted to the engine, which makes its batches in
the background (a flight). The loader gives them one at a time. So, counted in lists,

    pulled >= fetched >= drawn >= submitted >= given

A file on this machine is there when it is pulled for. What must be fetched first will wait before it is drawn
for (`_draw_on`), since draws may need a picture's size.

Everything that a sampler lets others see is on torch's schedule: without workers, a list is pulled just
before its batch is made; with workers, `pull_ahead` lists at the start, and one more when a batch is given.
Only an order that is drawn at once may be pulled earlier. If samples draw nothing, its lists share flights: a
call into the engine costs microseconds.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from torch import Tensor
from torch.cuda import OutOfMemoryError

from .._core.indices import index_list
from ..errors import ChangedError
from .changes import changes
from .order import NEVER, Listed, Order, Pull, begin, beginnings
from .schedule import DrawnOrder

if TYPE_CHECKING:
    from .collation import Collation
    from .draws import Draws
    from .lane import Lane
    from .workers import Workers

# The output of one flight. An epoch of 60,000 x 784 float32 in batches of 16 took 12.8 to 13.2 ms with
# flights of 512 KiB to 2 MiB (2 cores, 2026-11), and 3 times as long with one flight for each batch.
FLIGHT_BYTES = 512 << 10
FLIGHTS_AHEAD = 4  # flights under way; single batches if one is larger than a flight
BYTES_AHEAD = 8 << 20  # output under way for lists that were pulled on torch's schedule
MOST_REDRAWN = 3  # the draws of a batch are repeated so often if its pictures change on disk meanwhile


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
    """

    def __init__(
        self,
        lane: Lane,
        order: Order,
        fetch: Callable[[Any], Any],
        pull_ahead: int = 0,
        draw: Draws | None = None,
        collation: Collation | None = None,
        workers: Workers | None = None,
        sampler: Any = None,
        state: dict[str, Any] | None = None,
    ) -> None:
        self._lane, self._fetch, self._pull_ahead = lane, fetch, pull_ahead
        self._order: Any = order  # a DrawnOrder, where it is early
        self._draw, self._collation, self._workers = draw, collation, workers
        self._sampler = sampler
        self._waits = collation is not None and pull_ahead > 0 and draw is not None and not draw.early
        # What waits to be drawn for, to be submitted, and to be given.
        self._pulls: deque[Pull] = deque()
        self._drawn: deque[Pull] = deque()
        self._flights: deque[Pull] = deque()
        self._bytes = 0  # of the flights
        self._left = 0  # batches of the flight that was opened: self._take(self._ticket) gives the next
        self._take: Callable[[Any], Any] = _raised
        self._opened = 0  # lists of it and of those before
        # Lists that are known and draw nothing: they share flights. Rows that anybody may write to are made
        # when they are asked for.
        self._shared = order.early and draw is None
        self._ahead = lane.ahead
        # Lists are pulled before torch pulls them.
        self._early = self._shared or (order.early and draw is not None and draw.early and not pull_ahead)
        self._stamp = lane.stamp if self._early else None
        self._sized: Any = sampler if order.early else order  # what tells the batch size
        self._batch_size = order.batch_size
        self._looks = order.looks_up or (self._stamp is not None and self._stamp.looks)
        # When torch makes this batch, it finds the sampler exhausted. A flight starts with it, so that only
        # the first batch of a flight needs to look.
        self._last_turn = order.last_pull - pull_ahead if self._early else NEVER
        if self._early:
            self._largest = max(1, FLIGHT_BYTES // max(1, order.batch_size * lane.row_bytes))
            self._size = 1  # lists in the next flight; it starts small, so that the first batch comes soon
        if state is not None:
            self._load(state)
        elif pull_ahead:
            self._begin(pull_ahead)
        if not self._ahead and isinstance(order, DrawnOrder):
            self._rows = order.indices(0, order.batches)

    def _begin(self, lists: int) -> None:
        """Pulls what torch has pulled before the next batch."""
        if not self._early:
            for _ in range(lists):
                self._pull()
        elif self._last_turn < self._opened:
            self._order.finish()
        self._fill()

    @property
    def given(self) -> int:
        """Batches that were given, or have failed."""
        return self._opened - self._left

    def positions(self) -> tuple[int, int, int, int, int]:
        """How many lists are pulled, fetched, drawn for, submitted and given."""
        submitted = self._opened + sum(pull.lists for pull in self._flights)
        drawn = submitted + sum(pull.lists for pull in self._drawn)
        pulled = drawn + sum(pull.lists for pull in self._pulls)
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
        return self._open() if self._shared else self._listed()

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
            self._order.finish()
        if not self._ahead:  # the rows may be written to at any time: the batch is made now
            if number == self._order.batches:
                raise StopIteration
            self._opened += 1
            try:
                return self._lane.make(self._rows, *self._order.bounds(number))
            except OutOfMemoryError:
                self._opened -= 1
                raise
        self._fill()
        if not self._flights:
            raise StopIteration
        flight = self._flights.popleft()
        self._bytes -= flight.bytes
        self._take, self._ticket, self._left = flight.take, flight.ticket, flight.lists
        self._opened += flight.lists
        if not ends or not self._pull_ahead:
            return self._next()
        try:
            return self._next()
        finally:
            self._order.finish()  # with workers, torch pulls after it has received a batch or its error

    def _collated(self, collation: Collation) -> Any:
        if not self._shared:
            return self._listed()
        try:
            rows = self._next() if self._left else self._open()
        except (StopIteration, OutOfMemoryError):
            raise
        except Exception:
            collation.failed()
            raise
        return collation(rows)

    # One list a flight.

    def _listed(self) -> Any:
        """The batch of the next list."""
        if self._early:
            if self._opened == self._last_turn:
                self._order.finish()
            self._fill()
        elif not self._pull_ahead and not self._flights:
            self._pull()
            self._fill()
        if not self._flights:
            raise StopIteration
        collation = self._collation
        try:
            batch = self._made()
        except OutOfMemoryError:
            raise
        except Exception:
            if collation is not None:
                collation.failed()
            self._land()
            raise
        if collation is None:
            self._land()
            return batch
        after = self._flights[0].after
        try:
            self._land()  # so that later batches are made meanwhile
        finally:  # torch's worker has called the function when the sampler raises
            try:
                batch = collation(batch, after)
            finally:
                if collation.overtaken:
                    self._recall(array("q"))
                    collation.overtake()
                self._fill()
        return batch

    def _made(self) -> Any:
        flight = self._flights[0]
        try:
            return flight.take(flight.ticket)
        except ChangedError:
            if self._draw is None:
                raise
        return self._made_again(MOST_REDRAWN)

    def _made_again(self, times: int) -> Any:
        """The batch whose pictures on disk are not those that it was drawn for."""
        pictures = self._flights[0].indices
        self._recall(array("q") if pictures is None else _as_array(pictures))
        self._fill()
        flight = self._flights[0]
        try:
            return flight.take(flight.ticket)
        except ChangedError:
            if times == 1:
                raise
        return self._made_again(times - 1)

    def _land(self) -> None:
        """A batch is given."""
        self._bytes -= self._flights.popleft().bytes
        self._opened += 1
        if self._pull_ahead:
            try:
                self._pull()
            finally:
                self._fill()

    def _recall(self, forgotten: array[int]) -> None:
        """Gives up what was drawn for, which is to be drawn again.

        Args:
            forgotten: samples whose pictures on disk have changed.
        """
        draw = self._draw
        assert draw is not None
        self._lane.cancel()
        for pull in reversed([*self._flights, *self._drawn]):
            draw.rewind(pull.before, forgotten)
            pull.take = None
            self._pulls.appendleft(pull)
        self._flights.clear()
        self._drawn.clear()
        self._bytes = 0

    # From pull to flight.

    def _pull(self) -> None:
        """Pulls as torch does."""
        pull = self._order.pull()
        if pull is not None:
            self._add(pull)

    def _add(self, pull: Pull) -> None:
        if pull.indices is None:
            pull.indices = index_list(pull.index, masks=self._draw is not None)
        if not self._pull_ahead and pull.indices is not None and len(pull.indices):
            self._follow(pull)
        (self._drawn if self._draw is None else self._pulls).append(pull)

    def _follow(self, pull: Pull) -> None:
        """Takes over the user's changes before the list is drawn for."""
        lane = self._lane
        before = lane.view
        if not lane.follow():  # Python must fetch the samples
            pull.index, pull.indices = _index(pull), None
        elif lane.view is not before:
            self._draw = lane.view.new_draws(None) if lane.view.draws else None

    def _fill(self) -> None:
        """Draws and submits as far ahead as it may."""
        if self._early:
            self._pull_early()
        if self._pulls:
            self._draw_on()
        drawn, flights = self._drawn, self._flights
        while drawn:
            pull = drawn[0]
            indices = pull.indices
            samples = 0 if indices is None else len(indices)
            size = samples * self._lane.row_bytes
            if len(flights) >= FLIGHTS_AHEAD and self._bytes + size > BYTES_AHEAD:
                return
            if pull.take is None:
                if samples:
                    each = pull.each or samples
                    stream = self._lane.open(each)
                    pull.ticket, pull.take = stream.submit(indices, each, pull.records), stream.take
                else:
                    pull.take, pull.ticket = self._fetch, pull.index
            pull.bytes = size
            flights.append(pull)
            drawn.popleft()
            self._bytes += size

    def _pull_early(self) -> None:
        order = self._order
        most = FLIGHTS_AHEAD if self._draw is None else FLIGHTS_AHEAD * self._largest
        while len(self._flights) + len(self._drawn) + len(self._pulls) < most:
            first = order.at
            stop = first + (self._size if self._draw is None else 1)
            if first < self._last_turn < stop:
                stop = self._last_turn
            pull = order.ahead(stop - first)
            if pull is None:
                return
            (self._drawn if self._draw is None else self._pulls).append(pull)
            self._size = min(self._size * 2, self._largest)

    def _draw_on(self) -> None:
        """Draws for the lists that may be drawn for.

        A collate function may draw from the same generator, after its own batch's samples: then one list of
        each worker is drawn for, and is in the air, until it has drawn.
        """
        most, collation, draw = len(self._pulls), self._collation, self._draw
        assert draw is not None
        if self._waits and collation is not None and (draw.python or not collation.calm):
            begun = self._opened + len(self._flights) + len(self._drawn)
            most = min(most, collation.finished + collation.count - begun)
        for _ in range(most):
            self._draw_for(draw, self._pulls[0])
            self._drawn.append(self._pulls.popleft())

    def _draw_for(self, draw: Draws, pull: Pull) -> None:
        pull.before = draw.state()
        if pull.indices is None or not len(pull.indices):
            draw.skip()
        else:
            pull.indices = _as_array(pull.indices)
            try:
                with self._lane.counts.drawing():
                    pull.records = draw(pull.indices)
            except Exception as error:  # torch's workers send the error in the place of the batch
                pull.take, pull.ticket = _raised, error
        if self._waits and self._collation is not None:
            pull.after = self._collation.state(self._opened + len(self._flights) + len(self._drawn))

    # What changes in the middle.

    def _catch_up(self) -> None:
        """Follows what the user has changed since the last batch."""
        order = self._order
        if self._batch_size != self._sized.batch_size or not order.holds():
            self._on_schedule()
            self._order = self._sized = order.rest()
            self._batch_size, self._looks = NEVER, False
        elif self._stamp is not None and not self._stamp.holds():
            self._on_schedule()

    def _on_schedule(self) -> None:
        """From here on, lists are pulled when torch pulls them. What was made ahead is given up."""
        if not self._early:
            return
        self._lane.cancel()
        for queue in (self._flights, self._drawn, self._pulls):
            queue.clear()
        self._opened, self._left, self._bytes = self.given, 0, 0
        self._shared = self._early = False
        self._stamp, self._last_turn, self._looks = None, NEVER, self._order.looks_up
        self._order.at = self._opened
        self._begin(self._pull_ahead)

    def drain(self) -> None:
        """Makes what torch's workers still make of an epoch that is given up: collate functions draw."""
        self._on_schedule()
        self._order = Listed(None, iter(()))
        while self._flights:
            with suppress(Exception):
                self._listed()

    # To go on in another process.

    def state(self) -> dict[str, Any]:
        """All that an equal loader needs to go on behind the batch that was given last, as plain data.

        It holds for this moment: nobody may have drawn from the process's generators since the batch was
        given. Not in it is what a collate function or a transform in Python keeps.

        Raises:
            UnsupportedError: the batch size or the sampler's indices were changed in this epoch.
        """
        ahead = [*self._flights, *self._drawn, *self._pulls]
        return {
            "given": self.given,
            "order": self._order.state(),
            "ahead": [] if self._early else [_index(one) for one in ahead],
            "now": beginnings(self._sampler),
            "workers": None if self._workers is None else self._told(self._workers),
        }

    def _told(self, workers: Workers) -> dict[str, Any]:
        """The workers' generators, before anything was drawn for batches that are not given."""
        kept, draw, ahead = [*workers.now], self._draw, [*self._flights, *self._drawn]
        if draw is not None and not draw.early:
            for pull in reversed(ahead):
                draw.rewind(pull.before, array("q"))
            draw.begin(self._opened + len(ahead))
        told = workers.told()
        workers.now[:] = kept
        return told

    def _load(self, state: dict[str, Any]) -> None:
        given, order = state["given"], self._order
        order.load(state["order"], given if self._early else None)
        self._opened = given
        if self._workers is not None:
            self._workers.load(state["workers"])
        for part in (self._draw, self._collation):
            if part is not None:
                part.begin(given)
        for index in state["ahead"]:
            self._add(Pull(index))
        begin(self._sampler, state["now"])
        if self._pull_ahead:
            self._fill()


def _as_array(indices: array[int] | Tensor) -> array[int]:
    return indices if isinstance(indices, array) else array("q", indices.tolist())


def _index(pull: Pull) -> Any:
    """A single list as the sampler gave it."""
    return pull.indices.tolist() if pull.index is None else pull.index


def _raised(error: Exception) -> Any:
    raise error
