"""Batches of an ArrayDataset. The kernel gathers some arrays, torch the others."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from .._loader.batch import Batch, Rows
from .._loader.core_dataset import CoreDataset, IntArray, gathered
from .._loader.view import View
from .._loader.wire import Wire
from .fields import ArrayMemory
from .row_view import HasRows, stored_rows


class HasArrays(HasRows, Protocol):
    """The interface of an ArrayDataset that the view and its batches use."""

    @property
    def _memory(self) -> ArrayMemory: ...

    @property
    def _is_opaque(self) -> bool: ...

    @property
    def _bare(self) -> bool: ...

    @property
    def _label_is_native(self) -> bool: ...

    def __len__(self) -> int: ...

    def _gather(self, rows: torch.Tensor, first: int) -> tuple[torch.Tensor, ...]:
        """Rows of the arrays from number `first` on, gathered by torch."""


class ArrayView(View):
    """Rows of arrays. The kernel gathers the features, and the labels if it can; torch gathers other arrays.

    Args:
        native: whether the kernel makes anything at all; if not, there is no C structure.
    """

    def __init__(
        self, datasets: Sequence[HasArrays], index_map: IntArray | None, native: bool = True
    ) -> None:
        first = datasets[0]
        self._arrays = tuple(datasets)
        self._starts = np.cumsum([0] + [len(d._memory.fields[0].tensor) for d in datasets])[:-1]
        self._mapped = [field for d in datasets for field in d._memory.fields if field.mapped]
        self.output = first._output
        self.keys = first.keys
        self.bare = first._bare
        labelled = native and first._label_is_native
        self.label_dtype = first._label_dtype if labelled else None
        self.label_shape = first._label_shape if labelled else ()
        self._first = 1 + labelled if native else 0  # the first array that torch gathers
        self.has_more = len(first._memory.fields) > self._first
        self.row_bytes = int(np.prod(first.shape, dtype=np.int64)) * first.dtype.itemsize
        self._dtype = first.dtype if first._is_opaque else None
        self._places: list[Any] = []
        if native:
            self._index_map = index_map
            self._lay_out_now()

    def _lay_out_now(self) -> None:
        places = [d._memory.places() for d in self._arrays]
        self._lay_out(self._arrays, [d._core() for d in self._arrays], self._index_map)
        self._places = places  # last: if laying out fails, the next call must try it again

    @property
    def core(self) -> CoreDataset:
        """Laid out again if torch has moved a tensor's memory meanwhile."""
        if self._places != [d._memory.places() for d in self._arrays]:
            self._lay_out_now()
        return self._core

    def _new_wire(self) -> Wire | None:
        return stored_rows(self._arrays, self._map)

    def _check(self) -> None:
        for field in self._mapped:
            field.check()

    def new_labels(self, rows: int, pinned: bool = False) -> torch.Tensor | None:
        """See the base class. Asked for before a batch is made: a file that was cut is noticed in time."""
        self._check()
        return super().new_labels(rows, pinned)

    def shaped(self, images: torch.Tensor) -> torch.Tensor:
        """Of the user's type, where the core only copies bytes; of files that are still the same."""
        self._check()
        if self._dtype is None:
            return images
        images = images.view(self._dtype)
        return images.squeeze(-1) if self._dtype.itemsize == 16 else images

    def row_more(self, values: torch.Tensor) -> list[Any]:
        """Rows own their values."""
        return [value.clone() for value in values.unbind(0)]

    def more(
        self, indices: Sequence[int] | torch.Tensor, replaced: Mapping[int, int] | None = None
    ) -> tuple[Any, ...]:
        """The arrays that torch gathers."""
        if not self.has_more:
            return ()
        rows = torch.frombuffer(indices, dtype=torch.int64) if isinstance(indices, array) else indices
        assert isinstance(rows, torch.Tensor)
        rows = rows.remainder(len(self))  # negative ones count from the end
        if self._map is not None:
            rows = torch.from_numpy(self._map)[rows]
        return gathered(self._arrays, self._first, self._starts, rows)


class SourceBatch(Rows):
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
