"""A batch of an ArrayDataset that is made when it is collated."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from typing import Any

from .._loader.batch import Batch, Rows


class DeferredBatch(Rows):
    """A batch that is made when it is collated. Its rows are views of the user's memory, as TensorDataset's.

    So a kept row does not keep the batch in memory, and writing to a row changes the array, as with torch.

    Args:
        fill: makes the batch of these samples.
        row: makes one of them.
    """

    def __init__(
        self, indices: array[int], fill: Callable[[array[int]], Batch], row: Callable[[int], Any]
    ) -> None:
        super().__init__(len(indices))
        self._indices, self._fill, self._row = indices, fill, row

    def collated(self) -> Any:
        """The batch as ``default_collate`` of its rows would give it."""
        return self._fill(self._indices).collated()

    def _rows(self) -> Sequence[Any]:
        return [self._row(i) for i in self._indices]
