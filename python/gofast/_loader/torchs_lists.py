"""The lists that torch's own iterators pull, and where they stand among them."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from .. import errors
from .order import Listed, Order, begin, beginnings
from .recent_batches import MOST, Between
from .schedule import DrawnOrder, draw_order


class TorchsLists:
    """What a sampler gives, list by list, drawn when torch draws it, with the place of each batch.

    Args:
        sampler: torch's index sampler.
        lists: its iterator.
        pull_ahead: lists that torch has pulled before the first batch.
        begun: what `beginnings` told before that was made; None: torch's own sampler, which draws later.
        state: of an equal loader's epoch, to go on from there: `state`, with ``now`` as `Epoch.state` says.

    Attributes:
        given: batches that were handed out, or have failed.
    """

    def __init__(
        self,
        sampler: Any,
        lists: Iterator[Any],
        pull_ahead: int,
        begun: dict[str, Any] | None,
        state: dict[str, Any] | None = None,
    ) -> None:
        self._sampler, self._pull_ahead = sampler, pull_ahead
        order: Order | None = draw_order(sampler)
        if order is None:
            order = Listed(sampler, lists, begun or beginnings(sampler))
        self._drawn = order if isinstance(order, DrawnOrder) else None
        self.given, self._ahead = 0, deque[Any]()
        if state is not None:
            if (self._drawn is None) == ("position" in state["order"]):
                raise errors.UnsupportedError("the state is that of a loader with another kind of sampler")
            order.load(state["order"])
            self.given = state["given"] if self._drawn is None else self._drawn.at
            self._ahead.extend(state["ahead"])
            begin(sampler, state["now"])
        self._order = order
        self._pulls: Order = order if self._drawn is None else self._drawn.rest()
        self._under_way: deque[Any] = deque()
        self._past: deque[Any] = deque(maxlen=MOST)

    def pull(self) -> Any:
        """The next list, as the sampler gave it; raises StopIteration after the last, and what it raises."""
        if self._ahead:
            index = self._ahead.popleft()
        else:
            pull = self._pulls.pull()
            if pull is None:
                raise StopIteration
            index = pull.index
        self._under_way.append(index if self._drawn is None else None)
        return index

    def give(self) -> None:
        """A batch is handed out, or has failed."""
        if self._under_way:
            self._past.append(self._under_way.popleft())
            self.given += 1

    def state(self, back: int) -> dict[str, Any]:
        """What an equal loader needs to go on, as Epoch.state tells it.

        Args:
            back: batches that were handed out behind the one whose state it is.
        """
        given, drawn = self.given - back, self._drawn
        if drawn is not None and (drawn.batch_size != self._sampler.batch_size or not drawn.holds()):
            raise errors.UnsupportedError("the sampler was changed in this epoch: its place cannot be kept")
        past = [*self._past][max(0, len(self._past) - back) :]
        return {
            "given": given,
            "order": self._order.state() if drawn is None else drawn.state(given),
            "ahead": [*past, *self._under_way, *self._ahead] if drawn is None else [],
            "pull_ahead": self._pull_ahead,
            "workers": None,
        }

    def behind(self, back: int) -> AbstractContextManager[Between]:
        """See Epoch.behind: what a dataset in Python draws is not taken back."""
        return nullcontext()
