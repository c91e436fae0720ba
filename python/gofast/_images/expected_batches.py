"""Batches that a user's code will stack as it stacked the last ones: places for samples before that.

All samples of such a batch are lazy, and of one program. Nobody sees its memory before it is stacked: who
looks at a sample earlier gets a copy. Where a loader stacks, samples may be of any kind, be looked at and be
kept: see `_loader/sample_memory.py`.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch

from .._loader.sample_memory import empty_batch

_MOST_MISSES = 3  # batches in a row that were expected and did not come


class ExpectedBatch:
    """Memory that becomes a batch if the samples that are made in it are stacked, each where it lies.

    Attributes:
        memory: nobody has seen it.
        given: rows that samples lie in, or lay in when they were dropped.
    """

    __slots__ = ("given", "memory")

    def __init__(self, memory: torch.Tensor) -> None:
        self.memory, self.given = memory, 0


Row = tuple[ExpectedBatch, int]


class ExpectedBatches:
    """What will be stacked of one program's samples. One thread at a time asks.

    Samples are counted since the last stack. Two views of each picture are two batches: the even samples are
    one, the odd ones the other. `step` is the number of such columns.
    """

    def __init__(self) -> None:
        self._next = self._start = 0  # numbers, of which no two samples have the same
        self._over = False  # something was stacked: the next sample is of another round
        self._rows, self._step = 0, 1
        self._shape: tuple[int, ...] = ()
        self._columns = set[int]()  # that were stacked in the last round
        self._seen = set[int]()  # and in this one
        self._batches: dict[int, ExpectedBatch] = {}
        self._size = 0  # of the last batch, which may have been the last one of an epoch
        self._misses = 0

    def number(self) -> int:
        """A new sample's."""
        if self._over:
            self._over, self._start = False, self._next
            self._columns, self._seen = self._seen, set()
            self._batches.clear()
        self._next += 1
        return self._next - 1

    def row(self, number: int, shape: tuple[int, ...], dtype: torch.dtype) -> Row | None:
        """Where the sample of that number will lie; None: nobody knows. It has that row from now on."""
        row, column = divmod(number - self._start, self._step)
        known = 0 <= row < self._rows and column in self._columns and shape == self._shape
        if not known or self._misses == _MOST_MISSES:
            return None
        batch = self._batches.get(column)
        if batch is None:
            memory = empty_batch((self._rows, *shape), dtype)
            batch = self._batches[column] = ExpectedBatch(memory)
        batch.given += 1
        return batch, row

    def take(self, rows: Sequence[Row | None]) -> torch.Tensor | None:
        """The batch of samples in these rows, if each lies where it will: the others have none yet.

        It is the caller's then. None: the batch is other memory, and samples that were made are copied.
        """
        found = [(batch, at, i) for i, one in enumerate(rows) if one is not None for batch, at in [one]]
        if not found:
            return None
        first = found[0][0]
        fits = len(rows) == len(first.memory) and len(found) == first.given
        fits = fits and all(batch is first and at == i for batch, at, i in found)
        self._misses = 0 if fits else self._misses + 1
        self._batches = {column: one for column, one in self._batches.items() if one is not first}
        return first.memory if fits else None

    def learn(self, numbers: Sequence[int], shape: tuple[int, ...]) -> None:
        """Samples of these numbers were stacked."""
        first, step, size = numbers[0], numbers[1] - numbers[0], len(numbers)
        if step < 1 or any(one != first + i * step for i, one in enumerate(numbers)):
            self._rows = 0
        elif size >= self._rows or size == self._size or step != self._step or shape != self._shape:
            self._rows, self._step, self._shape = size, step, shape
        self._size, self._over = size, True
        self._seen.add((first - self._start) % max(step, 1))

    def forget(self) -> None:
        """Samples were stacked, but that is a row of a batch."""
        self._rows = 0
        self._batches.clear()
