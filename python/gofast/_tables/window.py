"""A stream's rows that are in memory together."""

from __future__ import annotations

import os
from collections.abc import Callable

import numpy as np
import torch

from .. import errors
from .._core.memory import CopiedMemory, Memory
from .._loader.core_dataset import CoreDataset
from .cells import CellPlace, Locate, bad_cell, first_bad
from .rows import RowDataset
from .sample_options import SampleOptions
from .table_options import TableOptions
from .value_range import check_range


class Window(RowDataset):
    """The rows of a window.

    Args:
        memory: their table.
        source: the stream's files.
        locate: tells where a row stands in the files.
        options: of samples.
        end: gives the memory back.
    """

    def __init__(
        self,
        memory: Memory,
        source: TableOptions,
        locate: Locate,
        options: SampleOptions,
        end: Callable[[], None] | None = None,
    ) -> None:
        self._memory = memory
        self._source, self._locate = source, locate
        self._options, self._end = options, end
        self._pid = os.getpid()
        super().__init__(options, source.label, source.classes)

    def end(self) -> None:
        """Nobody reads the rows any more."""
        if self._end is not None:
            self._end()
            self._end = None

    def copied(self, rows: torch.Tensor) -> Window:
        """These rows, in memory of their own."""
        numbers, locate = rows.numpy(), self._locate
        memory = CopiedMemory(self._memory, numbers)
        return Window(memory, self._source, lambda row: locate(int(numbers[row])), self._options)

    def _core(self) -> CoreDataset:
        if self._pid != os.getpid():  # a forked process's library makes views that join none of its parent's
            self._compiled, self._pid = None, os.getpid()
        return super()._core()

    def _place(self, row: int) -> CellPlace:
        return self._locate(row)

    def _check_range(self) -> None:
        layout, features = self._memory.layout, self._memory.features
        if layout.rows and layout.type.startswith("float") and not self.dtype.is_floating_point:
            found = first_bad(features, lambda block: block != np.trunc(block))
            said = f'and dtype={self.dtype} is for integers: nothing is rounded; give dtype="float32"'
            if found is not None:
                raise bad_cell(layout, self._locate, *found, f"{features[found]} is a float, {said}")
            place = self._locate(0)  # one is written as 1.0: nobody knows which
            raise errors.BadValueError(
                f"{place.path}: in row {place.row} or behind it, a feature is written as a float, {said}"
            ).at(path=place.path)
        check_range(self, self._source.fill_value, self._locate)
