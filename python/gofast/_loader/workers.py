"""The worker processes that torch would have started: what each would draw from, and what it would see."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.data._utils import worker as torchs

from .._core import generators
from .._core.openmp import alone


class Workers:
    """Stands for the workers of one iterator: batch k of an epoch is worker k % count's.

    Args:
        base_seed: what the loader drew for its workers; worker i starts from base_seed + i.
        dataset: for `get_worker_info`.

    Attributes:
        count: their number.
        torch: the state of torch's generator in each. Never changed in place.
        python: of Python's random in each; None where nobody has asked for it.
        left: the state that the last turn left.
    """

    def __init__(self, base_seed: int, count: int, dataset: Any = None) -> None:
        self.count = count
        self._base_seed, self._dataset = base_seed, dataset
        self._rest: list[generators.States | None] = [None] * count  # but these two of torch and Python
        self.torch = [generators.worker_state(base_seed + worker) for worker in range(count)]
        self.python: list[Any] = [None] * count
        self.left = self.torch[0]
        self._caller: generators.NumpyState | None = None  # as the last turn left it

    def begin(self, init: Callable[[int], object]) -> None:
        """Calls a worker_init_fn in each."""
        for worker in range(self.count):
            with self.turn(worker, self.torch[worker]):
                init(worker)
            self.torch[worker] = self.left

    def python_of(self, worker: int) -> Any:
        """The state of Python's random in a worker."""
        return self.python[worker] or random.Random(self._base_seed + worker).getstate()

    @contextmanager
    def turn(self, worker: int, state: torch.Tensor) -> Iterator[None]:
        """Within this context, this process draws as the worker would, and on one thread as it would.

        Args:
            state: of torch's generator. What becomes of it is `left` behind.
        """
        rest = self._rest[worker] or generators.States.of_worker(self._base_seed, worker)
        rest.torch, rest.python = state, self.python[worker] or rest.python
        info = torchs.WorkerInfo(
            id=worker, num_workers=self.count, seed=self._base_seed + worker, dataset=self._dataset
        )
        with generators.taken():
            caller = generators.States.now(self._caller)
            before, torchs._worker_info = torchs._worker_info, info
            try:
                rest.put(caller.numpy)
                with alone():
                    yield
            finally:
                torchs._worker_info = before
                try:
                    rest = generators.States.now(rest.numpy)
                finally:
                    caller.put(rest.numpy)
                self._caller, self._rest[worker], self.left = caller.numpy, rest, rest.torch
                self.python[worker] = rest.python
