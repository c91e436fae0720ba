"""Where an epoch of a loader stands, and how an equal one goes on from there, in another process too."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from ..errors import UnsupportedError
from .in_flight import Given, InFlight, index_of
from .order import Order, Pull, begin
from .recent_batches import MOST, Between, RecentBatches
from .schedule import DrawnOrder
from .skips import Skips

if TYPE_CHECKING:
    from .collation import Collation
    from .workers import Workers


NEVER = -1  # a turn that does not come, and the size of batches that have none


class EpochState:
    """The place of an epoch: base class of Epoch, which moves it, and says what the arguments are.

    Attributes:
        passed: so many steps were skipped so far.
        recent: remembers the batches of flights.
        marks: it does not remember the batch that was given last.
    """

    recent: RecentBatches | None = None
    marks = True

    def __init__(
        self,
        order: Order,
        queue: InFlight,
        pull_ahead: int,
        collation: Collation | None,
        workers: Workers | None,
        sampler: Any,
        skips: Skips,
    ) -> None:
        self._order, self._queue, self._pull_ahead = order, queue, pull_ahead
        self._drawn = order if isinstance(order, DrawnOrder) else None
        self._collation, self._workers, self._sampler = collation, workers, sampler
        self.skips, self.passed = skips, 0
        self._past: deque[Given] = deque(maxlen=MOST)  # where more than the place decides what comes next
        self._left = 0  # batches of the flight that was opened: self._take(self._ticket) gives the next
        self._flight: Pull | None = None
        self._opened = 0  # lists of it and of those before
        self._early, self._last_turn = False, NEVER

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

    def positions(self) -> tuple[int, int, int, int, int]:
        """How many lists are pulled, fetched, drawn for, submitted and given."""
        queue = self._queue
        submitted = self._opened + sum(pull.lists for pull in queue.flights)
        drawn = submitted + sum(pull.lists for pull in queue.drawn)
        pulled = drawn + sum(pull.lists for pull in queue.pulled)
        return pulled, pulled, drawn, submitted, self.given

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

    def _skip(self) -> None:
        """The order takes over the steps to skip: before anything is pulled."""
        if isinstance(self._order, DrawnOrder):
            self._order.skip(self.skips)
        else:
            self._order.skips = self.skips

    def inherit(self) -> None:
        """This process was forked, and is the child: it goes on with batches that its own engine makes."""
        self._queue.inherit()
        left, flight = self._left, self._flight
        if left and flight is not None:
            rest = Pull(None, flight.indices[(flight.lists - left) * flight.each :])
            rest.each, rest.lists = flight.each, left
            self._queue.drawn.appendleft(rest)
            self._give_back()

    def _give_back(self) -> None:
        """The rest of the flight that was opened is not given from it."""
        if self.recent is not None:
            self.recent.cut(self.left)
        self._opened, self._left, self.marks = self.given, 0, True
