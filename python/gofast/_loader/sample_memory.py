"""Where finished samples are made: side by side in the memory of their batch, which then needs no copy.

Each is an ordinary tensor, with a storage of its own. Whether anybody still holds one when the batch is
handed over is not guessed: storages say when they end. While one is held, the batch is a copy, as torch's is.
"""

from __future__ import annotations

import math
import operator
import os
import threading
from collections.abc import Sequence
from typing import Any, TypeAlias

import torch

from .._core.numbers import NAMES
from .batch_memory import BatchMemory

_MOST_ASKED = 4096  # samples of a batch
_MOST_KINDS = 32  # tensors of a row
_MOST_MISSES = 3  # batches in a row that were not made of what lay there

_here = threading.local()
Kind: TypeAlias = "tuple[tuple[int, ...], torch.dtype]"


def _after_fork_in_child() -> None:
    global _here
    _here = threading.local()  # the memory may be shared


os.register_at_fork(after_in_child=_after_fork_in_child)


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Memory for a finished sample: `torch.empty`, at its place in the batch that this thread makes."""
    made = in_place(shape, dtype)
    return torch.empty(shape, dtype=dtype, device="cpu") if made is None else made


def in_place(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor | None:
    """Memory at a sample's place in the batch that this thread makes; None where it has none."""
    places: SampleMemory | None = getattr(_here, "places", None)
    return None if places is None else places.next((shape, dtype))


def lie_together(rows: Sequence[torch.Tensor], batch: torch.Tensor) -> None:
    """These samples, which nobody keeps, lie side by side: as a batch they are this tensor."""
    places: SampleMemory | None = getattr(_here, "places", None)
    if places is not None:
        places.lie_together(rows, batch)


class making:
    """What this thread makes meanwhile is for rows of a batch, and lies at these places."""

    def __init__(self, places: SampleMemory | None) -> None:
        self._places, self._before = places, getattr(_here, "places", None)

    def begin(self) -> None:
        """From here on."""
        _here.places = self._places
        if self._places is not None:
            self._places.begin()

    __enter__ = begin

    def __exit__(self, *_: object) -> None:
        _here.places = self._before


class StackedBatches:
    """Batches that a user's code stacks: in memory that is used again, and that a worker's parent maps.

    As a context it is for this thread.

    Args:
        least: bytes; smaller batches are torch's.
    """

    def __init__(self, memory: BatchMemory, least: int) -> None:
        self.memory, self._least = memory, least

    def begin(self) -> None:
        """What this thread stacks from now on lies here."""
        _here.batches = self

    __enter__ = begin

    def __exit__(self, *_: object) -> None:
        _here.batches = None

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
        """A batch, not yet written."""
        bytes_ = math.prod(shape) * dtype.itemsize
        if bytes_ < self._least or dtype not in NAMES:
            return torch.empty(shape, dtype=dtype, device="cpu")
        try:
            return self.memory.take(bytes_).batch(shape, dtype)
        except (OSError, MemoryError):  # torch needs less for one batch
            return torch.empty(shape, dtype=dtype, device="cpu")


def shares_batches() -> bool:
    """Whether what this thread stacks goes to the parent process without a copy."""
    batches: StackedBatches | None = getattr(_here, "batches", None)
    return batches is not None and batches.memory.shared


def empty_batch(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Memory for a batch of samples: `torch.empty`, where a loader makes batches in memory of its own."""
    batches: StackedBatches | None = getattr(_here, "batches", None)
    return torch.empty(shape, dtype=dtype, device="cpu") if batches is None else batches.empty(shape, dtype)


class _Column:
    """The memory of one tensor of all rows.

    Attributes:
        start: the address of the first row's.
        batch: all of them; None until somebody wants that.
    """

    def __init__(self, blocks: BatchMemory, rows: int, kind: Kind) -> None:
        self.kind, self.row_bytes = kind, math.prod(kind[0]) * kind[1].itemsize
        self.block = blocks.take(rows * self.row_bytes)
        self.start = 0
        self.batch: torch.Tensor | None = None

    def piece(self, row: int) -> torch.Tensor:
        """A row's memory."""
        made = self.block.tensor(row * self.row_bytes, *self.kind)
        if row == 0:
            self.start = made.data_ptr()
        return made

    def is_made_of(self, rows: Sequence[torch.Tensor]) -> bool:
        """Whether these tensors, plain ones of one type and shape, fill it from its start on."""
        at = self.start
        for row in rows:
            if row.data_ptr() != at or not row.is_contiguous():
                return False
            at += self.row_bytes
        return (rows[0].shape, rows[0].dtype) == self.kind

    def give(self, rows: int) -> torch.Tensor:
        """So many rows as a batch, which is not seen by anybody before `settle`."""
        self.batch = self.block.batch((rows, *self.kind[0]), self.kind[1])
        return self.batch

    def settle(self) -> bool:
        """Makes what was given a copy where somebody holds a row; whether that was so."""
        if self.batch is None or self.block.held() == 1:
            return False
        copy = self.batch.clone()
        # Nobody has seen it yet.
        self.batch.set_(copy.untyped_storage(), 0, copy.shape, copy.stride())
        return True


class SampleMemory:
    """Places for samples, of one thread.

    It expects that a batch's rows ask for what those of the batch before asked for.
    """

    def __init__(self, blocks: BatchMemory) -> None:
        self._blocks = blocks
        self._kinds: list[Kind] = []  # the tensors of a row, in the order in which they are asked for
        self._rows = 0  # of a batch
        self._passed = set[int]()  # the numbers of those whose memory became no part of a batch
        self._asked: list[Kind] = []  # in this batch
        self._columns: dict[int, _Column] = {}  # by the number of their kind
        self._misses = 0
        self._over = False  # nothing is made in place any more
        self._together: tuple[Sequence[torch.Tensor], torch.Tensor] | None = None

    def next(self, asked: Kind) -> torch.Tensor | None:
        """Memory at the next place; None where there is none."""
        number, kinds = len(self._asked), self._kinds
        if number == _MOST_ASKED:
            return None
        self._asked.append(asked)
        if not kinds:
            return None
        row, kind = divmod(number, len(kinds))
        if row >= self._rows or kinds[kind] != asked or kind in self._passed:
            return None
        column = self._columns.get(kind)
        if column is None:
            if row:
                return None
            try:
                column = self._columns[kind] = _Column(self._blocks, self._rows, asked)
            except (OSError, MemoryError):
                self._kinds = []
                return None
        return column.piece(row)

    def lie_together(self, rows: Sequence[torch.Tensor], batch: torch.Tensor) -> None:
        """See the function of this name. Workers send other memory."""
        self._together = None if self._blocks.shared else (rows, batch)

    def batch(self, rows: Sequence[torch.Tensor]) -> torch.Tensor | None:
        """All rows of a column, if these tensors are that. `finish` comes next."""
        if self._together is not None:
            same, made = self._together
            if len(rows) == len(same) and all(map(operator.is_, rows, same)):
                return made
        start = rows[0].data_ptr()
        for column in self._columns.values():
            if column.start == start and column.batch is None and column.is_made_of(rows):
                return column.give(len(rows))
        return None

    def finish(self, rows: list[Any]) -> None:
        """A batch was collated. Its rows go: what is still held then is somebody else's too.

        Args:
            rows: a list that torch's loader has made, and nobody else has. It is emptied.
        """
        count, columns = len(rows), self._columns.values()
        used = any(column.batch is not None for column in columns)
        if used:
            rows.clear()
            self._passed.update(kind for kind, column in self._columns.items() if column.batch is None)
        self._misses = 0 if used or not columns else self._misses + 1
        kept = [column.settle() for column in columns]
        # One sample that is kept keeps the memory of its batch.
        self._over = self._over or any(kept) or self._misses == _MOST_MISSES
        self._learn(count)
        self.begin()

    def _learn(self, rows: int) -> None:
        asked = self._asked
        each, over = divmod(len(asked), rows)
        kinds = asked[:each]
        usual = not over and each <= _MOST_KINDS and asked == kinds * rows and not self._over
        if kinds != self._kinds:
            self._passed.clear()
        self._kinds, self._rows = kinds if usual else [], rows

    def begin(self) -> None:
        """The next thing that is asked for is of a batch's first row."""
        self._asked, self._columns, self._together = [], {}, None
