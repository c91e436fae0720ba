"""Whether a loader's dataset is still what its view was made of: one stamp, asked once a batch.

With num_workers=0, torch shows an attribute that the user sets in the next batch: of the dataset, of its
transform, of a Subset. So does a loader that runs ahead. It asks the stamp before it hands a batch out.

An edit in place of a list (`subset.indices[3] = 7`, `dataset.samples[3] = ...`) shows in the next epoch: a
look at such lists took longer than small batches do. Rows of a writable array are not read ahead at all: see
`BatchSource.steady`.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from torch.utils.data import ConcatDataset, Subset

from .._core.reason import Reason
from .batch_source import BatchSource
from .changes import changes
from .native_dataset import resolve

_holds = operator.methodcaller("holds")


class DatasetStamp:
    """The view of a loader's dataset, and all that it follows from.

    Attributes:
        view: the dataset's, as it was last seen; a reason while Python code takes part in its samples.
        count: the number of changes then: of attributes of any gofast dataset.
        looks: the count is not enough: torch's own datasets and transforms do not count.
    """

    def __init__(self, dataset: Any, view: BatchSource) -> None:
        self._dataset = dataset
        self._take(view, changes.count)

    def _take(self, view: BatchSource | Reason, count: int) -> None:
        self.view, self.count = view, count
        self._epochs = () if isinstance(view, Reason) else view.epochs
        self._held = [*_held(self._dataset)]
        self._plans = () if isinstance(view, Reason) else view.stamps()
        self.looks = isinstance(view, Reason) or bool(self._held or self._plans)

    def holds(self) -> bool:
        """Whether the view still gives what the dataset would give."""
        if isinstance(self.view, Reason):
            return False
        if self.count == changes.count and self._same_objects():
            return True
        count, view = changes.count, resolve(self._dataset)
        if isinstance(view, Reason) or not self.view.same_rows(view) or view.epochs != self._epochs:
            return False
        self._take(self.view, count)  # a change of another dataset, or one without effect on samples
        return True

    def _same_objects(self) -> bool:
        for holder, name, value in self._held:  # a generator for `all` costs more than the loop
            if getattr(holder, name) is not value:
                return False
        return all(map(_holds, self._plans))

    def renew(self) -> BatchSource | Reason:
        """The view of the dataset as it is now."""
        count = changes.count
        self._take(resolve(self._dataset), count)
        return self.view


def _held(dataset: Any) -> Iterator[tuple[object, str, object]]:
    """The attributes by which torch's own datasets choose samples: (dataset, name, value)."""
    if isinstance(dataset, Subset):
        yield dataset, "indices", dataset.indices
        yield dataset, "dataset", dataset.dataset
        yield from _held(dataset.dataset)
    elif isinstance(dataset, ConcatDataset):
        yield dataset, "datasets", dataset.datasets
        yield dataset, "cumulative_sizes", dataset.cumulative_sizes
        for part in dataset.datasets:
            yield from _held(part)
