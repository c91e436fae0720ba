"""Batches of a sampler that may draw at any time: pulled when torch pulls them, and then made ahead."""

from __future__ import annotations

from array import array
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from torch import Tensor
from torch.cuda import OutOfMemoryError

from .._core.indices import index_list
from ..errors import ChangedError

if TYPE_CHECKING:
    from .._core.indices import Indices
    from .collation import Collation
    from .draws import Draws
    from .lane import Lane
    from .stream import Stream, Ticket

    Drawn: TypeAlias = array[int] | Exception | None

FLIGHTS_AHEAD = 4  # flights under way; single batches if one is larger than a flight
MOST_REDRAWN = 3  # the draws of a batch are repeated so often if its pictures change on disk meanwhile
BYTES_AHEAD = 8 << 20  # output under way for index lists that were pulled on torch's schedule


class PulledFlights:
    """Batches of a sampler that may draw at any time. A flight is one index list, pulled when torch does."""

    def __init__(
        self,
        lane: Lane,
        lists: Iterator[Any],
        fetch: Callable[[Any], Any],
        pull_ahead: int,
        draw: Draws | None = None,
        collation: Collation | None = None,
    ) -> None:
        self._lane = lane
        self._draw = draw  # makes the random draws of a list, from the generators that torch would use
        self._collation = collation
        self._waits = collation is not None and pull_ahead > 0 and draw is not None and not draw.early
        self._stream: Stream | None = None
        self._lists = lists
        self._fetch = fetch  # torch's way to a batch or an error, for lists without integers and empty lists
        self._workers = pull_ahead > 0
        self._waiting: deque[tuple[Any, Indices | None, Drawn]] = deque()  # pulled, not yet submitted
        self._flights: deque[tuple[Any, Ticket | Exception | None, int]] = deque()
        # If samples draw: the lists of both deques above, and the generators' states before and after each;
        # how many were drawn for so far, and those that are pulled but not drawn for.
        self._pulled: deque[tuple[Any, Any, Any, Any]] = deque()
        self._drawn = 0
        self._undrawn: deque[tuple[Any, Any]] = deque()
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
            if self._collation is not None:
                self._collation.failed()
            self._land()
            raise
        if self._collation is not None:
            return self._collated(self._collation, batch)
        self._land()
        return batch

    def drain(self) -> None:
        """See DrawnFlights."""
        self._lists = iter(())
        while self._flights:
            with suppress(Exception):
                self.take()

    def _collated(self, collation: Collation, rows: Any) -> Any:
        drawn = self._pulled[0][3] if self._waits else None
        try:
            self._land()  # so that later batches are made meanwhile
        finally:  # torch's worker has called the function when the sampler raises
            try:
                batch = collation(rows, drawn)
            finally:
                if collation.overtaken and self._draw is not None:
                    self._rewind(self._draw, array("q"))
                    collation.overtake()
                self._submit_ahead()
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
                self._rewind(self._draw, self._pulled[0][1])  # the batch's pictures on disk have changed
                self._submit_ahead()
        raise AssertionError

    def _rewind(self, draw: Draws, forgotten: array[int]) -> None:
        """Gives up all batches that are drawn: they are to be drawn again."""
        for _, ticket, _ in self._flights:
            if self._stream is not None and ticket is not None and not isinstance(ticket, Exception):
                self._stream.cancel(ticket)
        for index, indices, before, _ in reversed(self._pulled):
            draw.rewind(before, forgotten)
            self._undrawn.appendleft((index, indices))
        self._drawn -= len(self._pulled)
        self._flights.clear()
        self._waiting.clear()
        self._pulled.clear()
        self._bytes = 0

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
        self._undrawn.append((index, indices))
        self._draw_on()

    def _draw_on(self) -> None:
        """Draws for the lists that may be drawn for.

        A collate function may draw from the same generator, after its own batch's samples: then one list of
        each worker is drawn for, and is in the air, until it has drawn.
        """
        most, collation, draw = len(self._undrawn), self._collation, self._draw
        if self._waits and collation is not None and draw is not None and (draw.python or not collation.calm):
            most = collation.finished + collation.count - self._drawn
        while self._undrawn and most > 0:
            self._draw_for(*self._undrawn.popleft())
            most -= 1

    def _draw_for(self, index: Any, indices: array[int] | None) -> None:
        assert self._draw is not None
        drawn: Drawn = None
        before = self._draw.state()
        if indices is None or not len(indices):
            self._draw.skip()
        else:
            try:
                with self._lane.counts.drawing():
                    drawn = self._draw(indices)
            except Exception as error:  # torch's workers send the error in the place of the batch
                drawn = error
        after = self._collation.state(self._drawn) if self._waits and self._collation is not None else None
        self._pulled.append((index, indices, before, after))
        self._drawn += 1
        self._waiting.append((index, indices, drawn))

    def _followed(self, indices: Indices) -> Indices | None:
        """The same indices, after the lane took over the user's changes; None if Python must fetch them."""
        before = self._lane.view
        if not self._lane.follow():
            return None
        view = self._lane.view
        if view is not before:
            self._draw = None
            if view.draws:
                self._draw = view.new_draws(None)
        return indices

    def _pull_one_more(self) -> None:
        try:
            self._pull()
        except StopIteration:
            return

    def _submit_ahead(self) -> None:
        if self._undrawn:
            self._draw_on()
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
