"""The queue of an epoch's lists: pulled, drawn for, and submitted to the engine, which makes their batches.

A flight is one submission: a list, or several in a row whose samples draw nothing. A limit in bytes keeps
large batches from piling up in memory.
"""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import errors
from .._core.generators import Generators
from .._core.indices import index_list
from .draws import BatchPosition, Undrawn
from .order import Pull
from .recent_batches import Between
from .speculation import Speculation

if TYPE_CHECKING:
    from .collation import Collation
    from .draws import Draws
    from .iterator_stream import IteratorStream
    from .schedule import DrawnOrder
    from .workers import Workers

# The output of one flight. An epoch of 60,000 x 784 float32 in batches of 16 took 12.8 to 13.2 ms with
# flights of 512 KiB to 2 MiB (2 cores, 2026-11), and 3 times as long with one flight for each batch.
FLIGHT_BYTES = 512 << 10
FLIGHTS_AHEAD = 4  # flights under way; single batches if one is larger than a flight
BYTES_AHEAD = 8 << 20  # output under way for lists that were pulled on torch's schedule


class Given(NamedTuple):
    """What is kept of a list whose batch was given, or has failed, to go back behind an earlier one.

    Attributes:
        index: as the sampler gave it.
        before: the draws' state before it was drawn for.
        worker, generators: whose turn it was to collate, and what it had.
    """

    index: Any
    before: Any
    worker: int
    generators: Generators | None


class InFlight:
    """Pulls on their way. What must be fetched first waits in `pulled` where draws need a picture's size,
    else in `drawn`; for the next list the caller waits.

    Args:
        fetch: torch's way to a batch or an error, for lists without integers and empty lists.
        follows: the user's changes show in the next list: torch has no workers.
        draw: makes the random draws of samples; None: they have none.
        collation: what draws from a worker's generators behind them.

    Attributes:
        pulled, drawn: what waits to be drawn for, and to be submitted.
        flights: under way, the next one first.
        begun: how many lists were drawn for.
    """

    def __init__(
        self,
        lane: IteratorStream,
        fetch: Callable[[Any], Any],
        follows: bool,
        draw: Draws | None,
        collation: Collation | None,
    ) -> None:
        self._lane, self._fetch, self._follows, self.draw = lane, fetch, follows, draw
        self._collation = None if follows or draw is None or draw.early else collation
        self.pulled: deque[Pull] = deque()
        self.drawn: deque[Pull] = deque()
        self.flights: deque[Pull] = deque()
        self.begun = 0
        self._guesses = Speculation(lane) if follows else None
        self._bytes = 0

    def __len__(self) -> int:
        return len(self.flights) + len(self.drawn) + len(self.pulled)

    def add(self, pull: Pull) -> None:
        """A list was pulled."""
        if pull.indices is None:
            pull.indices = index_list(pull.index, masks=self.draw is not None)
        stamp = self._lane.stamp
        if (
            self._follows
            and stamp is not None
            and pull.indices is not None
            and len(pull.indices)
            and not stamp.holds()
        ):
            self._follow(pull)
        (self.drawn if self.draw is None else self.pulled).append(pull)

    def put(self, pull: Pull) -> None:
        """Lists were pulled early: their indices are known, and the dataset has not changed."""
        (self.drawn if self.draw is None else self.pulled).append(pull)

    def _follow(self, pull: Pull) -> None:
        """Takes over the user's changes before the list is drawn for."""
        lane = self._lane
        before = lane.view
        if self._guesses is not None:
            self._guesses.drop()
        if not lane.follow():  # Python must fetch the samples
            pull.index, pull.indices, pull.samples = index_of(pull), None, None
        elif lane.view is not before:
            self.draw = lane.view.new_draws(None) if lane.view.draws else None

    def fill(self) -> None:
        """Draws and submits as far ahead as it may."""
        if self.pulled:
            self._draw_on()
        lane, drawn, flights = self._lane, self.drawn, self.flights
        while drawn:
            pull = drawn[0]
            if lane.view.fetches and not (pull.here or pull.skip):
                if self._comes(pull, wait=not flights):
                    return
                pull.here = True  # it is asked once, and waits for its turn to be submitted
            indices = pull.indices
            samples = 0 if pull.skip else pull.samples
            if samples is None:
                samples = 0 if indices is None else len(indices)
            size = samples * lane.row_bytes
            if len(flights) >= FLIGHTS_AHEAD and self._bytes + size > BYTES_AHEAD:
                return
            if pull.take is None and not pull.skip:
                if pull.undrawn is not None:
                    self._submit_drawn(pull, pull.undrawn)
                elif samples:
                    each = pull.each or samples
                    batcher = lane.batcher or lane.open()
                    pull.ticket, pull.take = batcher.submit(indices, each, pull.records), batcher.take
                else:
                    pull.take, pull.ticket = self._fetch, pull.index
            pull.bytes = size
            flights.append(pull)
            drawn.popleft()
            self._bytes += size

    def _submit_drawn(self, pull: Pull, undrawn: Undrawn) -> None:
        """Submits the samples that were drawn for: an error of one of them comes first."""
        indices, lane = pull.as_array()[: undrawn.samples], self._lane
        if not indices:
            pull.take, pull.ticket = raised, undrawn.error
            return
        batcher = lane.batcher or lane.open()
        pull.records, pull.ticket = undrawn.records, batcher.submit(indices, len(indices), undrawn.records)

        def take(ticket: Any) -> Any:
            batcher.take(ticket)
            raise undrawn.error

        pull.take = take

    def _draw_on(self) -> None:
        """Draws for the lists that may be drawn for.

        A collate function may draw from the same generator, after its own batch's samples: then one list of
        each worker is drawn for, and is in the air, until it has drawn.
        """
        most, collation, draw = len(self.pulled), self._collation, self.draw
        assert draw is not None
        if collation is not None and (draw.python or not collation.calm):
            most = min(most, collation.finished + collation.count - self.begun)
        fetches = self._lane.view.fetches and self._lane.view.needs_size
        for _ in range(most):
            pull = self.pulled[0]
            drawn = not (pull.skip and draw.early)
            if fetches and drawn and self._comes(pull, wait=not (self.flights or self.drawn)):
                return
            pull.before = draw.state()
            try:
                self._draw_for(draw, pull)
            except BaseException:  # Ctrl-C: it is drawn for again
                draw.rewind(pull.before, array("q"))
                raise
            if collation is not None:
                pull.after = collation.state(self.begun)
            self.begun += 1
            self.drawn.append(self.pulled.popleft())

    def _comes(self, pull: Pull, wait: bool) -> bool:
        """Whether samples of a list are on their way to this machine, and nobody should wait for them yet.

        With `wait` they are there, or the list has the error instead of a batch: later lists are behind it.
        """
        indices = pull.indices if pull.take is None else None
        try:
            return indices is not None and not self._lane.view.fetch(indices, wait)
        except errors.GofastError as error:
            pull.take, pull.ticket = raised, error
            return False

    def _draw_for(self, draw: Draws, pull: Pull) -> None:
        failed = pull.take is raised  # to come
        if failed or pull.indices is None or not len(pull.indices) or (pull.skip and draw.early):
            draw.skip()
            return
        pull.indices = pull.as_array()
        if self._guesses is not None and self._guesses.give(pull, draw):
            return
        try:
            with self._lane.counts.drawing():
                pull.records = draw(pull.indices)
        except Undrawn as undrawn:
            pull.undrawn = undrawn
        except Exception as error:  # torch's workers send the error instead of the batch
            pull.take, pull.ticket = raised, error

    def guess(self, order: DrawnOrder) -> None:
        """Makes later lists of an order that is drawn at once, if samples draw when they are asked for."""
        draw = self.draw
        if self._guesses is not None and draw is not None and not draw.early and self._lane.ahead:
            self._guesses.make(order, draw)

    def failed(self, error: Exception) -> None:
        """The next flight has failed. Nothing is drawn for a picture that cannot be read, or for those behind
        it: torch reads first. What was drawn for later lists is drawn again.
        """
        pull, draw, place = self.flights[0], self.draw, BatchPosition.of(error)
        if pull.records is None or draw is None or draw.early or place is None:
            return
        self.recall()
        try:
            draw(pull.as_array()[: place.drawn])
        except BaseException:  # Ctrl-C: the list comes again
            draw.rewind(pull.before, array("q"))
            raise
        self.begun += 1
        self.flights.append(self.pulled.popleft())

    def pop(self) -> Pull:
        """The next flight, which is not the queue's any more."""
        flight = self.flights.popleft()
        self._bytes -= flight.bytes
        return flight

    def recall(self, changed: bool = False) -> None:
        """Gives up what was drawn for, which is to be drawn again.

        Args:
            changed: the pictures of the next flight have changed on disk.
        """
        draw, first = self.draw, self.flights[0]
        assert draw is not None
        forgotten = first.as_array() if changed and first.indices is not None else array("q")
        self._cancel()
        for pull in reversed([*self.flights, *self.drawn]):
            draw.rewind(pull.before, forgotten)
            pull.take = pull.undrawn = None
            pull.here = False
            self.pulled.appendleft(pull)
            self.begun -= 1
        self.flights.clear()
        self.drawn.clear()
        self._bytes = 0

    def clear(self) -> None:
        """Gives all up."""
        self._cancel()
        for queue in (self.flights, self.drawn, self.pulled):
            queue.clear()
        self._bytes = 0

    def _cancel(self) -> None:
        if self._guesses is not None:
            self._guesses.drop()
        self._lane.cancel()

    def inherit(self) -> None:
        """Takes back what was submitted: this process was forked, and the engine that works on it is the
        parent's. What was drawn for a list stays drawn.
        """
        if self._guesses is not None:
            self._guesses.drop()
        self._lane.inherit()
        for pull in reversed(self.flights):
            self.drawn.appendleft(pull)
        for pull in self.drawn:
            pull.here = False
            if pull.take is not raised:
                pull.take = None
        self.flights.clear()
        self._bytes = 0

    def lists(self) -> list[Any]:
        """The lists on their way, as the sampler gave them."""
        return [index_of(pull) for pull in (*self.flights, *self.drawn, *self.pulled)]

    def told(self, workers: Workers, given: Sequence[Given] = ()) -> dict[str, Any]:
        """What the workers' generators had before anything was drawn for lists that are on their way.

        Args:
            given: the last lists that are not, to which the same applies.
        """
        kept, draw = [*workers.now], None if self.draw is None or self.draw.early else self.draw
        changed = array("q")  # none
        if draw is not None:
            for pull in reversed([*self.flights, *self.drawn]):
                draw.rewind(pull.before, changed)
        for one in reversed(given):
            if one.generators is not None:
                workers[one.worker] = one.generators
            if draw is not None and one.before is not None:
                draw.rewind(one.before, changed)
        if draw is not None:
            draw.begin(self.begun)
        told = workers.told()
        workers.now[:] = kept
        return told

    @contextmanager
    def behind(self, given: Sequence[Given]) -> Iterator[Between]:
        """A context in which this process's generators are as before it drew for these lists.

        Yields their states before each of the later lists, None for one that was not drawn for. None alone:
        nothing was drawn here.
        """
        drawn, draw = any(one.before is not None for one in given), self.draw
        if not drawn or draw is None or draw.early or not self._follows:
            yield None
            return
        now, states = draw.state(), list[dict[str, Any] | None]()
        try:
            for one in reversed(given):
                if one.before is not None:
                    draw.rewind(one.before, array("q"))
                states.append(None if one.before is None else Generators.now().plain())
            yield states[-2::-1]
        finally:
            draw.rewind(now, array("q"))


def index_of(pull: Pull) -> Any:
    """A single list as the sampler gave it."""
    return pull.indices.tolist() if pull.index is None else pull.index


def raised(error: Exception) -> Any:
    """Takes the place of what takes a batch."""
    raise error
