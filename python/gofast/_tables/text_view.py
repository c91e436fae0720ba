"""Batches of a table's rows that have columns of texts beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np
import torch

from .._core.memory import Memory
from .._loader.core_dataset import IntArray
from .._loader.wire import StoredTable, Wire
from .row_view import HasRows, RowView
from .text_columns import Part, TextColumn


class HasTexts(HasRows, Protocol):
    """The interface of a dataset with columns of texts that the view uses."""

    _texts: Sequence[TextColumn]

    @property
    def _names(self) -> tuple[str, ...]: ...

    @property
    def _memory(self) -> Memory: ...

    def __len__(self) -> int: ...


class TextView(RowView):
    """Rows with texts. Their features and labels are the kernel's; texts are gathered when a batch is handed
    out, with one call for each of their values."""

    def __init__(self, datasets: Sequence[HasTexts], index_map: IntArray | None) -> None:
        super().__init__(datasets, index_map)
        first = datasets[0]
        self.has_more = True
        self.keys = first._names
        self._bare_texts = first._memory.layout.width == 0
        if self._bare_texts:
            self.row_bytes = 1  # the kernel must make something of a row
        self._texts = [dataset._texts for dataset in datasets]
        self._numbers = [dataset._memory.labels[:, -len(dataset._texts) :] for dataset in datasets]
        self._starts = np.cumsum([0] + [len(dataset) for dataset in datasets])[:-1]

    def table(self) -> StoredTable | None:
        """None: a device has no texts."""
        return None

    def _new_wire(self) -> Wire | None:
        return None if self._bare_texts else super()._new_wire()

    def more(
        self, indices: Sequence[int] | torch.Tensor, replaced: Mapping[int, int] | None = None
    ) -> tuple[Any, ...]:
        """The values of the columns of texts."""
        rows = np.asarray(indices, np.int64)
        rows = rows % max(len(self), 1)  # negative ones count from the end
        if self._map is not None:
            rows = self._map[rows]
        made: list[Any] = []
        for k, column in enumerate(self._texts[0]):
            made += column.batch(self._parts(rows, k), len(rows))
        return tuple(made)

    def _parts(self, rows: IntArray, k: int) -> list[Part]:
        """The rows of column k, by the dataset that has them."""
        if len(self._texts) == 1:
            return [Part(self._texts[0][k], self._numbers[0][rows, k])]
        owner = np.searchsorted(self._starts, rows, "right") - 1
        parts = []
        for i in np.unique(owner).tolist():
            places = np.flatnonzero(owner == i)
            numbers = self._numbers[i][rows[places] - self._starts[i], k]
            parts.append(Part(self._texts[i][k], numbers, places))
        return parts

    def row_more(self, values: Any) -> list[Any]:
        """Rows own their values."""
        if isinstance(values, torch.Tensor):
            return [value.clone() for value in values.unbind(0)]
        return list(values)

    def rows(
        self, images: torch.Tensor, labels: torch.Tensor | None, more: tuple[Any, ...] = ()
    ) -> list[Any]:
        """See View."""
        rows = super().rows(images, labels, more)
        if self._bare_texts:
            for row in rows:
                del row[self.keys[0]]
        return rows

    def collated(self, images: torch.Tensor, labels: torch.Tensor | None, more: tuple[Any, ...] = ()) -> Any:
        """See View."""
        batch = super().collated(images, labels, more)
        if self._bare_texts:
            del batch[self.keys[0]]
        return batch
