"""Labels of pictures in memory that stay the user's, who may write to them at any time."""

from __future__ import annotations

import contextlib
import copy
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .._loader.core_dataset import IntArray
from .._loader.extra_columns import ExtraColumns, Uncollated, parts_of


class AsTheyAre(Uncollated):
    """Labels that are no tensor yet."""

    def collated(self) -> Any:
        """See the base class. ``default_collate`` takes twice as long through a list of ints."""
        if {*map(type, self)} == {int}:
            with contextlib.suppress(OverflowError):  # which torch words otherwise
                return torch.tensor(np.array(self, np.int64))
        return torch.utils.data.default_collate(tuple(self))  # type: ignore[arg-type]


class Labels:
    """The labels of a dataset, as its ``__getitem__`` gives them: read when a batch is handed out.

    Args:
        source: what the dataset holds: a list, an array, a tensor. The user may write to it at any time.
        each: makes the label of a sample from its element; None: it is that.
        whole: the labels are whole numbers: each is ``int`` of its element.
    """

    def __init__(self, source: Any, each: Callable[[Any], Any] | None, whole: bool) -> None:
        self.source, self.each, self.whole = source, each, whole
        self._number = whole and _numbers(source)

    def of(self, rows: IntArray) -> Any:
        """The labels of these samples, which are in range: a list, or a tensor int64 [n]."""
        source = self.source
        if self._number and isinstance(source, torch.Tensor):
            return source.index_select(0, torch.from_numpy(rows)).long()
        if self._number:
            return torch.tensor(source[rows].astype(np.int64, copy=False))
        elements = map(source.__getitem__, rows.tolist())
        return AsTheyAre(elements if self.each is None else map(self.each, elements))

    def as_now(self) -> Labels:
        """The same, which nobody writes to."""
        kept = self.source.clone() if isinstance(self.source, torch.Tensor) else copy.copy(self.source)
        return Labels(kept, self.each, self.whole)


def are_labels(source: Any, count: int, whole: bool) -> bool:
    """Whether it has a label for each of so many pictures and no more, of which -1 would be another one; and
    a copy of it is one of them.

    Args:
        whole: ``int`` of each is its label: it must not raise.
    """
    if type(source) in (list, tuple):
        kinds = {*map(type, source)} if whole else set()
        return len(source) == count and all(issubclass(kind, (int, np.integer)) for kind in kinds)
    if type(source) is torch.Tensor:
        there = source.device.type == "cpu" and source.layout == torch.strided
    else:
        there = type(source) is np.ndarray
    if not there or source.ndim == 0 or len(source) != count:
        return False
    return not whole or _numbers(source)


def _numbers(source: Any) -> bool:
    """Whether it is an array of integers that int64 holds, one for each sample."""
    if type(source) is torch.Tensor:
        kind = source.dtype in (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)
        return kind and source.ndim == 1 and source.device.type == "cpu" and source.layout == torch.strided
    return type(source) is np.ndarray and source.ndim == 1 and np.can_cast(source.dtype, np.int64)


class OwnLabels(ExtraColumns):
    """The labels of such datasets."""

    def __init__(self, labels: Sequence[Labels], starts: IntArray) -> None:
        self._labels, self._starts = labels, starts

    def values(self, rows: IntArray) -> Sequence[Any]:
        """As indexing gives them, or as a tensor where they are whole numbers."""
        if len(self._labels) == 1:
            return (self._labels[0].of(rows),)
        made = AsTheyAre([None] * len(rows))
        for part, here, positions in parts_of(rows, self._starts):
            some = self._labels[part].of(here)
            assert positions is not None
            for position, label in zip(positions.tolist(), self.each(some), strict=True):
                made[position] = label
        return (made,)

    def each(self, values: Any) -> list[Any]:
        """As indexing gives them."""
        made: list[Any] = values.tolist() if isinstance(values, torch.Tensor) else values
        return made

    def as_forked(self) -> ExtraColumns:
        """Workers have copies of the labels. Pictures are read as they are when their batch is made."""
        return OwnLabels([labels.as_now() for labels in self._labels], self._starts)

    def same(self, other: ExtraColumns) -> bool:
        """See the base class."""
        pairs = zip(self._labels, other._labels, strict=True) if isinstance(other, OwnLabels) else ()
        return isinstance(other, OwnLabels) and all(a.source is b.source for a, b in pairs)
