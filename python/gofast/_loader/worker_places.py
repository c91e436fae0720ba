"""Where the copies of an iterable dataset in worker processes stand: told with each batch, behind it."""

from __future__ import annotations

import pickle
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from torch.utils.data import get_worker_info
from torch.utils.data._utils.pin_memory import pin_memory

from .. import errors
from .._core.generators import Generators
from .recent_batches import MOST

_pin_memory: Callable[..., Any] = pin_memory


class PlacedBatch(NamedTuple):
    """A batch, and where the worker that made it stands behind it.

    Attributes:
        place: what the worker told behind this batch, pickled; None: nothing.
        since: so many batches, of one sample each, came behind the one with which it told a place.
    """

    batch: Any
    worker: int
    place: bytes | None
    since: int

    def pin_memory(self, *device: Any) -> PlacedBatch:
        """torch calls it."""
        return self._replace(batch=_pin_memory(self.batch, *device))


class PlacedCollate:
    """What a loader's workers call in place of another collate function: gives the place with the batch.

    Args:
        dataset: tells it.
        function: makes the batch.
        batched: torch makes the list of rows. Else it gets them one by one, and a place (0.3 ms of a shuffle
            of 1,000) comes with some of them, for a fiftieth of the time.
    """

    def __init__(self, dataset: Any, function: Callable[[Any], Any], batched: bool) -> None:
        self._dataset, self._function, self._batched = dataset, function, batched
        self._due, self._since = 0.0, 0

    def __call__(self, rows: Any) -> PlacedBatch:
        """The batch of these rows."""
        batch, worker = self._function(rows), get_worker_info()
        assert worker is not None
        began = time.perf_counter()
        if began < self._due and not self._batched:
            self._since += 1
            return PlacedBatch(batch, worker.id, None, self._since)
        place = self._dataset._place()
        # In one piece: torch would make a file of every tensor.
        told = place and pickle.dumps({**place, "then": Generators.plain_now()})
        ended = time.perf_counter()
        self._due, self._since = ended + 50 * (ended - began), 0
        return PlacedBatch(batch, worker.id, told, 0)


class WorkerPlaces:
    """The places behind the batches that were handed out.

    Args:
        dataset: tells them.
        workers: how many.
        state: of an equal one, to go on from there.

    Attributes:
        known: a batch that failed has no place.
    """

    def __init__(self, dataset: Any, workers: int, state: dict[str, Any] | None) -> None:
        self._dataset, self.known = dataset, True
        if state is not None:
            dataset._begin_at(None, state["begun"])
        state = state or {"workers": [None] * workers, "next": 0}
        self._begin: list[Any] = [at and (at, 0) for at in state["workers"]]
        self._turn: int = state["next"]
        self._past: deque[tuple[int, Any]] = deque(maxlen=MOST)  # the worker, and its place before that
        self._began = 0  # epochs

    def begun(self, cycle: Iterator[int]) -> Iterator[int]:
        """An epoch begins: torch asks the workers in this order."""
        self._workers, self._next = [*self._begin], self._turn
        self._past, self.known = deque(maxlen=MOST), True
        for _ in islice(cycle, self._turn):
            pass
        self._began, self._given = self._began + 1, 0
        self._begin, self._turn = [None] * len(self._begin), 0
        return cycle

    def worker_begin(self, begin: Callable[[int], None]) -> WorkerBeginsAt:
        """What a worker calls when it begins."""
        return WorkerBeginsAt(self._dataset, begin, self._begin)

    def taken(self, placed: PlacedBatch) -> Any:
        """The batch, which is handed out."""
        before = self._workers[placed.worker]
        self._past.append((placed.worker, before))
        self._given += 1
        place = before[0] if placed.since and before is not None else placed.place
        self.known &= place is not None
        self._workers[placed.worker] = place, placed.since
        self._next = (placed.worker + 1) % len(self._workers)
        return placed.batch

    def state(self, back: int) -> dict[str, Any] | None:
        """What an equal one goes on from; None: nobody knows.

        Args:
            back: batches that were handed out behind the one whose state it is.

        Raises:
            UnsupportedError: workers that go on with another epoch did not all tell where they began it.
        """
        if self._began > 1 and self._given - back < (count := len(self._begin)):
            raise errors.UnsupportedError(
                f"persistent_workers=True: in epochs behind the first, there is no state before batch {count}"
            )
        if not self.known or back > len(self._past):
            return None
        workers, following = [*self._workers], self._next
        for following, place in [*self._past][::-1][:back]:
            workers[following] = place
        return {
            "workers": [at and _with(*at) for at in workers],
            "next": following,
            "begun": self._dataset._begun(),
        }


class WorkerBeginsAt:
    """What a loader's workers call in place of another function, when they begin.

    Args:
        dataset: goes on from the worker's place, where there is one.
    """

    def __init__(self, dataset: Any, function: Callable[[int], None], places: list[Any]) -> None:
        self._dataset, self._function, self._places = dataset, function, places

    def __call__(self, worker: int) -> None:
        """A worker begins."""
        self._function(worker)
        if self._places[worker] is not None:
            self._dataset._begin_at(self._places[worker][0], {})


def _with(place: Any, since: int) -> dict[str, Any]:
    told: dict[str, Any] = pickle.loads(place) if isinstance(place, bytes) else place
    return {**told, "drop": told.get("drop", 0) + since}
