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
        place: what the worker told behind this batch, pickled; empty: it knows no place; None: it told none
            this time.
    """

    batch: Any
    worker: int
    place: bytes | None

    def pin_memory(self, *device: Any) -> PlacedBatch:
        """torch calls it."""
        return self._replace(batch=_pin_memory(self.batch, *device))


class PlacedCollate:
    """What a loader's workers call in place of another collate function: gives the place with the batch.

    Args:
        dataset: tells it.
        function: makes the batch.
        always: a place comes with each batch. Else it comes with some (0.3 ms of a shuffle of 1,000), for a
            fiftieth of the time: rows come one by one, and the function draws nothing.
    """

    def __init__(self, dataset: Any, function: Callable[[Any], Any], always: bool) -> None:
        self._dataset, self._function, self._always = dataset, function, always
        self._due = 0.0

    def __call__(self, rows: Any) -> PlacedBatch:
        """The batch of these rows."""
        batch, worker = self._function(rows), get_worker_info()
        assert worker is not None
        began = time.perf_counter()
        if began < self._due and not self._always:
            return PlacedBatch(batch, worker.id, None)
        place = self._dataset._place()
        # In one piece: torch would make a file of every tensor.
        told = pickle.dumps({**place, "then": Generators.plain_now()}) if place else b""
        ended = time.perf_counter()
        self._due = ended + 50 * (ended - began)
        return PlacedBatch(batch, worker.id, told)


class _WorkerStand(NamedTuple):
    """Where a worker stands.

    Attributes:
        place: what it told last, pickled or as plain data; None: nothing since it began; empty: nobody knows.
        ends: so many epochs ended since then. An iterator that goes on from the place comes to the end of the
            first of them.
        since: behind all that it gave so many batches, of one sample each.
    """

    place: Any = None
    ends: int = 0
    since: int = 0

    @classmethod
    def of(cls, told: dict[str, Any] | None) -> _WorkerStand:
        """That of which `plain` told."""
        if told is None:
            return cls()
        return cls(told.get("place", told), told.get("ends", 0), told.get("since", 0))

    def plain(self) -> dict[str, Any]:
        """The same as plain data."""
        place = pickle.loads(self.place) if isinstance(self.place, bytes) else self.place
        return {"place": place, "ends": self.ends, "since": self.since}

    def seek(self, dataset: Any) -> None:
        """The next iterator of the dataset goes on from here."""
        if self.place is not None:
            dataset._begin_at(_behind(self.place, 0 if self.ends else self.since), {})
        for _ in range(self.ends):
            for _ in dataset:
                pass
        if self.ends and self.since:
            dataset._begin_at(_behind({}, self.since), {})


def _behind(place: dict[str, Any], batches: int) -> dict[str, Any]:
    return {**place, "drop": place.get("drop", 0) + batches}


class WorkerPlaces:
    """The places behind the batches that were handed out.

    Args:
        dataset: tells them.
        workers: how many.
        state: of an equal one, to go on from there.

    Attributes:
        known: a batch that failed has no place.
        ended: all workers came to the end of the epoch.
    """

    def __init__(self, dataset: Any, workers: int, state: dict[str, Any] | None) -> None:
        self._dataset, self.known, self.ended = dataset, True, False
        if state is not None:
            dataset._begin_at(None, state["begun"])
        state = state or {"workers": [None] * workers, "next": 0}
        self._workers = [*map(_WorkerStand.of, state["workers"])]
        self._next: int = state["next"]
        self._past: deque[tuple[int, _WorkerStand]] = deque(maxlen=MOST)  # and where it stood before that
        self._epochs, self._begun = state.get("epochs", 1), False

    def begun(self, cycle: Iterator[int]) -> Iterator[int]:
        """An epoch begins: torch asks the workers in this order."""
        if self._begun:
            self._workers, self._next = self._behind_all(), 0
            self._epochs += 1
        self._begun, self.known, self.ended = True, True, False
        self._past = deque(maxlen=MOST)
        for _ in islice(cycle, self._next):
            pass
        return cycle

    def worker_begin(self, begin: Callable[[int], None]) -> WorkerBeginsAt:
        """What a worker calls when it begins."""
        return WorkerBeginsAt(self._dataset, begin, self._workers)

    def taken(self, placed: PlacedBatch) -> Any:
        """The batch, which is handed out."""
        before = self._workers[placed.worker]
        self._past.append((placed.worker, before))
        self._workers[placed.worker] = (
            before._replace(since=before.since + 1) if placed.place is None else _WorkerStand(placed.place)
        )
        self._next = (placed.worker + 1) % len(self._workers)
        return placed.batch

    def _behind_all(self) -> list[_WorkerStand]:
        """Behind the epoch. Of one that was left, or in which a batch failed, nobody knows it."""
        if not self.ended or not self.known:
            return [_WorkerStand(b"")] * len(self._workers)
        return [one._replace(ends=one.ends + 1, since=0) for one in self._workers]

    def state(self, back: int, over: bool) -> dict[str, Any] | None:
        """What an equal one goes on from; None: nobody knows, and it may make the first epoch again.

        Args:
            back: batches that were handed out behind the one whose state it is.
            over: the epoch is, and the next one has not begun.

        Raises:
            UnsupportedError: nobody knows where workers began this epoch, or will begin the next one.
        """
        workers, following, epochs = [*self._workers], self._next, self._epochs
        for following, before in [*self._past][::-1][:back]:
            workers[following] = before
        if over:
            workers, following, epochs = self._behind_all(), 0, epochs + 1
        if not self.known or back > len(self._past) or any(one.place == b"" for one in workers):
            if epochs == 1:
                return None
            raise errors.UnsupportedError(
                "persistent_workers=True: an epoch was left early, or a batch failed, and workers have not "
                "told since where they stand: nobody knows where they began this epoch"
            )
        told = [one.plain() for one in workers]
        return {"workers": told, "next": following, "epochs": epochs, "begun": self._dataset._begun(not over)}


class WorkerBeginsAt:
    """What a loader's workers call in place of another function, when they begin.

    Args:
        dataset: goes on from where the worker stands.
    """

    def __init__(self, dataset: Any, function: Callable[[int], None], workers: list[_WorkerStand]) -> None:
        self._dataset, self._function, self._workers = dataset, function, workers

    def __call__(self, worker: int) -> None:
        """A worker begins."""
        self._function(worker)
        self._workers[worker].seek(self._dataset)
