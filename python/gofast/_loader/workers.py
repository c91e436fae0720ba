"""The worker processes that torch would have started: what each would draw from, and what it would see."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from torch.utils.data._utils import worker as torchs

from .._core.generators import Generators, taken
from .._core.openmp import alone


class Workers:
    """Stands for the workers of one iterator: batch k of an epoch is worker k % count's.

    ``workers[i]`` is what worker i's generators have now, made when it is first asked for.

    Args:
        base_seed: what the loader drew for its workers; worker i starts from base_seed + i.
        dataset: for `get_worker_info`.

    Attributes:
        count: their number.
        now: what the generators of each have; None: what they start from.
        left: what the last turn left.
    """

    left: Generators

    def __init__(self, base_seed: int, count: int, dataset: Any = None) -> None:
        self.base_seed, self.count, self._dataset = base_seed, count, dataset
        self.now: list[Generators | None] = [None] * count
        self._first: dict[int, Generators] = {}

    def __getitem__(self, worker: int) -> Generators:
        now = self.now[worker]
        if now is None:
            now = self.now[worker] = self._start(worker)
        return now

    def _start(self, worker: int) -> Generators:
        """What a worker's generators start from."""
        if worker not in self._first:
            self._first[worker] = Generators.of_worker(self.base_seed, worker)
        return self._first[worker]

    def __setitem__(self, worker: int, now: Generators) -> None:
        self.now[worker] = now

    def begin(self, init: Callable[[int], object]) -> None:
        """Calls a worker_init_fn in each."""
        for worker in range(self.count):
            with self.turn(worker, self[worker]):
                init(worker)
            self[worker] = self.left.counted()

    def told(self) -> dict[str, Any]:
        """What `load` takes, as plain data."""
        return {
            "base_seed": self.base_seed,
            "now": [now and now.plain(self._start(worker)) for worker, now in enumerate(self.now)],
        }

    def load(self, told: dict[str, Any]) -> None:
        """Goes on as workers that told their state, in another process, and were as many."""
        self.base_seed, now = told["base_seed"], told["now"]
        self._first.clear()
        if len(now) != self.count:
            now = [None] * self.count
        self.now[:] = [one and Generators.of(one, self._start(worker)) for worker, one in enumerate(now)]

    def turn(self, worker: int, start: Generators) -> AbstractContextManager[None]:
        """A context in which this process draws as the worker would, and on one thread as it would.

        Args:
            start: what the worker's generators have first. What becomes of it is `left` behind.
        """
        self.left = start  # also if a signal's handler raises before the first line of the context
        return self._turn(worker, start)

    @contextmanager
    def _turn(self, worker: int, start: Generators) -> Iterator[None]:
        info = torchs.WorkerInfo(
            id=worker, num_workers=self.count, seed=self.base_seed + worker, dataset=self._dataset
        )
        with taken():
            caller = Generators.now()
            before = torchs._worker_info
            try:
                torchs._worker_info = info
                start.put(caller)
                with alone():
                    yield
            finally:
                torchs._worker_info = before
                now = None
                try:
                    now = self.left = Generators.now()
                finally:
                    caller.put(now)
