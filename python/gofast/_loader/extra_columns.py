"""Extra columns: what samples have beside features and label, such as texts, paths or the row of a table.

The core makes features and labels. Extra columns are made by the thread that hands a batch out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from .core_dataset import IntArray


class Uncollated(list[Any]):
    """Values of a column as indexing gives them. Base class of lists that a batch may carry until it is
    collated."""

    def collated(self) -> Any:
        """The values as ``default_collate`` gives them."""
        raise NotImplementedError


class ExtraColumns:
    """Some extra columns of a batch source. Base class.

    Attributes:
        width: how many columns.
    """

    width = 1

    def values(self, rows: IntArray) -> Sequence[Any]:
        """The columns of a batch, each as ``default_collate`` gives it, or Uncollated.

        Args:
            rows: numbers in the source's datasets, which lie end to end; int64, none of them negative.
        """
        raise NotImplementedError

    def each(self, values: Any) -> list[Any]:
        """The samples' values of a column, as indexing gives them: in memory of their own."""
        if isinstance(values, torch.Tensor):
            return [value.clone() for value in values.unbind(0)]
        return list(values)

    def as_forked(self) -> ExtraColumns:
        """The same as workers see it that are forked now: they have copies of what the user may write to."""
        return self

    def same(self, other: ExtraColumns) -> bool:
        """Whether both give the same values for the same rows of the same datasets."""
        return True


def parts_of(rows: IntArray, starts: IntArray) -> Iterator[tuple[int, IntArray, IntArray | None]]:
    """Which dataset has which rows: its number, the rows' numbers there, and their positions; None: all.

    Args:
        starts: the number of each dataset's first row.
    """
    if len(starts) == 1:
        yield 0, rows, None
        return
    owner = np.searchsorted(starts, rows, "right") - 1
    for part in np.unique(owner).tolist():
        positions = np.flatnonzero(owner == part)
        yield part, rows[positions] - starts[part], positions


class HasArrays(Protocol):
    """A dataset that has arrays behind its samples."""

    def _gather(self, rows: torch.Tensor, first: int) -> tuple[torch.Tensor, ...]:
        """Rows of the arrays from number `first` on."""


class ArrayColumns(ExtraColumns):
    """Arrays whose rows torch gathers.

    Args:
        first: the number of the first of them.
        width: how many there are.
    """

    def __init__(self, parts: Sequence[HasArrays], starts: IntArray, first: int, width: int) -> None:
        self._parts, self._starts, self._first, self.width = parts, starts, first, width

    def values(self, rows: IntArray) -> Sequence[Any]:
        """See the base class."""
        pieces, places = [], []
        for part, here, positions in parts_of(rows, self._starts):
            pieces.append(self._parts[part]._gather(torch.from_numpy(here), self._first))
            if positions is None:
                return pieces[0]
            places.append(torch.from_numpy(positions))
        order = torch.cat(places).argsort()
        return [torch.cat(values).index_select(0, order) for values in zip(*pieces, strict=True)]
