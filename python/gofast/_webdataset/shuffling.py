"""webdataset's shuffles, and the seeds that they are given where a user gives none."""

from __future__ import annotations

import itertools
import os
import random
import time
from collections.abc import Iterable, Iterator
from typing import Any

from torch.utils.data import get_worker_info


class AnySeed:
    """Another seed each time. In a worker it follows from the worker's, which a loader's state has.

    Attributes:
        given: how many, in this worker.
    """

    given = 0

    @classmethod
    def next(cls) -> int:
        """One more."""
        worker = get_worker_info()
        if worker is None:
            return int((os.getpid() + time.time()) * 1e9)
        cls.given += 1
        return int(worker.seed + (cls.given - 1 << 64))


class Shuffling:
    """webdataset's shuffle: while the buffer is not full, it takes two samples for each that it gives."""

    def __init__(
        self,
        bufsize: int = 1000,
        initial: int = 100,
        rng: random.Random | None = None,
        seed: Any = None,
        handler: Any = None,
    ) -> None:
        assert rng is None or seed is None
        self.bufsize, self.initial, self.rng, self.seed = bufsize, initial, rng, seed

    def generator(self) -> random.Random:
        """What the next pass draws from."""
        if self.rng is not None:
            return self.rng
        return random.Random(AnySeed.next() if self.seed is None else self.seed)

    def drawn(self, data: Iterable[Any], rng: random.Random, held: list[Any]) -> Iterator[Any]:
        """The samples of one pass; what it holds between two of them is in the list."""
        source, initial = iter(data), min(self.initial, self.bufsize)
        for sample in source:
            held.append(sample)
            if len(held) < self.bufsize:
                held += itertools.islice(source, 1)
            if len(held) >= initial:
                yield _pick(held, rng)
        while held:
            yield _pick(held, rng)

    def __call__(self, data: Iterable[Any]) -> Iterator[Any]:
        return self.drawn(data, self.generator(), [])

    def __repr__(self) -> str:
        return f"<shuffle {self.bufsize}>"


def _pick(held: list[Any], rng: random.Random) -> Any:
    at = rng.randint(0, len(held) - 1)
    sample, held[at] = held[at], held[-1]
    held.pop()
    return sample


class detshuffle(Shuffling):
    """The shuffle whose seed counts epochs."""

    def __init__(self, bufsize: int = 1000, initial: int = 100, seed: Any = 0, epoch: int = -1) -> None:
        super().__init__(bufsize, initial, None, seed)
        self.epoch = epoch

    def generator(self) -> random.Random:
        """That of the next epoch."""
        self.epoch += 1
        return random.Random(self.seed + self.epoch)

    def run(self, src: Iterable[Any]) -> Iterator[Any]:
        """The shuffled samples of one more epoch."""
        return self(src)
