"""Follows a user's changes in the middle of an epoch: with num_workers=0, torch shows them in the next batch.

A loader that runs ahead looks here before it hands a batch out. Some memory, such as a writable array, could
only be checked for the price of a batch. It is not read ahead at all: see `View.steady`.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor
from torch.utils.data import ConcatDataset, Subset

from .._core import engine
from .._core.indices import whole
from .._core.memory import address_of
from .changes import changes

if TYPE_CHECKING:
    from .core_dataset import IntArray
    from .view import NativeDataset, View

_FEW = 4  # a tree of so many datasets is checked whole before each batch; in a larger one, those in the batch


class Follower:
    """Notices whether a loader's dataset still has the samples of the view that was made from it.

    Attributes:
        view: the view of the dataset as it was last seen; None while Python code takes part in its samples.
        seen: the number of changes when the view was made, or checked last.
        always: the counter of changes is not enough: indices, transforms and lists may change in place.
        picked: the quick check, if the dataset is a Subset by a list; else None.

    Args:
        resolve: makes the view.
    """

    def __init__(self, dataset: Any, view: View, resolve: Callable[[Any], View | None]) -> None:
        self._dataset = dataset
        self._resolve = resolve
        self.seen = changes.count
        self._take(view)

    def _take(self, view: View | None) -> None:
        self.view = view
        self._epochs = () if view is None else view.epochs
        self._tree = view is not None and not any(d is self._dataset for d in view.datasets)
        self._heavy = view is not None and view.heavy
        self._views: dict[int, tuple[NativeDataset, View | None]] = {}
        if view is not None and self._heavy:
            self._views = {id(d): (d, d._native_view() if self._tree else view) for d in view.datasets}
        self.always = self._tree or self._heavy
        self.picked = None if view is None or not self._tree else PickedList.of(self._dataset, view)

    def unchanged(self, indices: array[int] | Tensor) -> bool:
        """Whether the view still gives what the dataset would give for these indices."""
        if self.view is None:
            return False
        count = changes.count
        if self.seen != count:
            if self._tree or self._resolve(self._dataset) is not self.view:
                return False
            if self._epochs != self.view.epochs:
                return False
            self.seen = count  # a change of another dataset, or one without effect on samples
        if not self.always:
            return True
        at = np.asarray(indices, np.int64)
        if self._heavy and not all(d._native_view_of(at) is v for d, v in self._touched(at)):
            return False
        return not self._tree or self._same_rows(at)

    def renew(self) -> View | None:
        """The view of the dataset as it is now."""
        self.seen = changes.count
        self._take(self._resolve(self._dataset))
        return self.view

    def _touched(self, at: IntArray) -> Sequence[tuple[NativeDataset, View | None]]:
        if len(self._views) <= _FEW:
            return list(self._views.values())
        view: Any = self.view
        try:
            return [self._views[n] for n in {id(view.locate(index)[0]) for index in at.tolist()}]
        except IndexError:
            return list(self._views.values())  # the engine will say what is wrong

    def _same_rows(self, at: IntArray) -> bool:
        view = self.view
        assert view is not None
        if self.picked is not None and self.picked.unchanged(address_of(at), len(at)):
            return True
        at = np.where(at < 0, at + len(view), at)
        if len(at) and not (int(at.min()) >= 0 and int(at.max()) < len(view)):
            return len(self._dataset) == len(view)
        rows = zip(view.datasets, view.lengths, strict=True)
        now = _places(self._dataset, at, rows, [0])
        if now is None or next(rows, None) is not None:
            return False
        return np.array_equal(now, at if view.index_map is None else view.index_map[at])


class PickedList:
    """A Subset of one dataset by a list of row numbers, such as random_split makes.

    Args:
        view: the view of the Subset; its map has the rows that the list picked.
    """

    def __init__(self, subset: Subset[Any], view: View, rows: IntArray) -> None:
        self._subset, self._rows = subset, rows
        self._dataset: Any = view.datasets[0]
        self._map, self._listed = address_of(rows), len(rows)
        self._picks: Callable[..., bool] = engine.capsule().picks

    @classmethod
    def of(cls, dataset: Any, view: View) -> PickedList | None:
        """The check for this dataset; None if it is not such a Subset."""
        rows = view.index_map
        if rows is None or type(dataset) is not Subset or dataset.dataset is not view.datasets[0]:
            return None
        return cls(dataset, view, rows)

    def unchanged(self, indices: int, count: int) -> bool:
        """Whether the Subset still picks the same rows. False may also mean that only a closer look can tell.

        Args:
            indices: the address of count int64s.
        """
        subset = self._subset
        listed = subset.indices
        return (
            type(listed) is list
            and type(subset) is Subset
            and subset.dataset is self._dataset
            and self._picks(listed, indices, count, self._map, self._listed)
        )


def _places(dataset: Any, at: IntArray, parts: Iterator[tuple[Any, int]], end: list[int]) -> IntArray | None:
    """Where these rows lie in the concatenation of parts, or None if the tree has changed."""
    if type(dataset) is Subset:
        picked = _picked(dataset.indices, at)
        return None if picked is None else _places(dataset.dataset, picked, parts, end)
    if type(dataset) is ConcatDataset:
        made, start = np.empty_like(at), 0
        if len(dataset.datasets) != len(dataset.cumulative_sizes):
            return None
        for part, stop in zip(dataset.datasets, dataset.cumulative_sizes, strict=True):
            inside = (start <= at) & (at < stop)
            places = _places(part, at[inside] - start, parts, end)
            if places is None:
                return None
            made[inside] = places
            start = stop
        return made
    known, rows = next(parts, (None, 0))
    if known is None or known is not dataset or len(known) != rows:
        return None
    start = end[0]
    end[0] += rows
    return start + np.where(at < 0, at + rows, at)


def _picked(indices: Any, at: IntArray) -> IntArray | None:
    """The rows that a Subset picks at these positions, or None if the engine cannot tell."""
    try:
        if isinstance(indices, (Tensor, np.ndarray)):
            return np.asarray(indices[at], np.int64)
        return np.array(whole([indices[i] for i in at.tolist()]), np.int64)
    except (IndexError, TypeError, ValueError, OverflowError):
        return None
