"""Batches that are made before they are asked for, on the guess that nobody draws until then.

Without workers, torch draws for a batch when it is asked for, from generators that everybody draws from. But
a loop that trains on a GPU draws from none of them. So the next batches are drawn for on copies, and made. If
the generators have not moved when such a batch is asked for, they get what the copies have: nobody sees a
difference. Else what was made is given up, and drawn for again.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING, Any

from .._core.signals import by_handler

if TYPE_CHECKING:
    from .draws import Draws
    from .iterator_stream import IteratorStream
    from .order import Pull
    from .schedule import DrawnOrder

# A guess costs the loop's thread 50 us. Loops that do nothing, over batches of 1 to 4 pictures of 40 x 36
# pixels, became slower by a tenth (2 cores, 2026-11). Where a batch comes sooner than this, none is made.
_LEAST_NS = 1_000_000


class Speculation:
    """The guesses of one iterator. A guess is a pull with the state that it leaves behind."""

    def __init__(self, lane: IteratorStream) -> None:
        self._lane = lane
        self._made: deque[tuple[Pull, Any]] = deque()  # each begins where the one before ends
        self._last = 0  # when a batch was asked for

    def make(self, order: DrawnOrder, draw: Draws) -> None:
        """Guesses as far ahead as is worth it, behind the list that was pulled last."""
        lane, made = self._lane, self._made
        before, self._last = self._last, time.perf_counter_ns()
        if self._last - before < _LEAST_NS or lane.trust.waits():
            return
        while len(made) < lane.trust.most:
            pull = order.ahead(1, len(made))
            if pull is None:
                return
            indices = pull.indices = pull.as_array()
            if lane.view.fetches and not lane.view.fetch(indices, wait=False):
                return
            pull.before = made[-1][1] if made else draw.state()
            try:
                with lane.counts.drawing():
                    pull.records, after = draw.ahead(indices, pull.before)
                if not pull.skip:
                    batcher = lane.batcher or lane.open()
                    pull.ticket, pull.take = batcher.submit(indices, pull.each, pull.records), batcher.take
            except Exception as error:
                if by_handler(error):
                    raise
                return  # if it comes again, it is when the batch is asked for
            made.append((pull, after))

    def give(self, pull: Pull, draw: Draws) -> bool:
        """Whether a list that was pulled is under way already. Then it is drawn for.

        All is given up if the guess was wrong.
        """
        if not self._made:
            return False
        guess, after = self._made[0]
        lane = self._lane
        if guess.indices != pull.indices or not draw.give(guess.before, after):
            self.drop()
            lane.trust.wrong()
            lane.counts.add(misguessed=1)
            return False
        pull.records, pull.ticket, pull.take = guess.records, guess.ticket, guess.take
        self._made.popleft()
        lane.trust.right()
        lane.counts.add(guessed=1)
        return True

    def drop(self) -> None:
        """Gives all up."""
        made, self._made = self._made, deque()
        # The last first: it has not begun.
        self._lane.give_up([pull.ticket for pull, _ in reversed(made) if not pull.skip])
