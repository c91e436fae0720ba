"""Pictures with the row of another dataset beside each: from a path column of a table."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from .. import errors
from .._loader.batcher import Batcher
from .._loader.core_dataset import IntArray
from .._loader.destination import ForTorch
from .._loader.native_dataset import NativeDataset, Refusal
from .._loader.view import Line
from .core_pictures import CorePictures
from .dataset import ImageDataset
from .seen import HasPictures
from .view import ImageView


class PicturesBeside(ImageDataset):
    """A dataset of pictures whose samples, dicts, also have what a dataset of as many rows gives. Base class.

    The rows' batches are made natively when those of the pictures are handed out.
    """

    _rows: NativeDataset

    def _stand_beside(self, rows: NativeDataset) -> None:
        """Takes the rows. Before `_begin`."""
        view = rows._native_view()
        if isinstance(view, Refusal):
            raise errors.OptionError(f"the rows beside pictures must be made natively: {view.why}")
        self._rows = rows
        self._row_names = tuple(rows[0]) if len(rows) else ()

    @property
    def _names(self) -> tuple[str, ...]:
        own = super()._names
        for name in own:
            if name in self._row_names:
                raise errors.OptionError(f"two values of a sample would be called {name!r}: say keys=")
        return (*own, *self._row_names)

    def _row(self, picture: Any, sample: int, label: Any) -> Any:
        values = [picture]
        if self._options.return_index:
            values.append(sample)
        if self._options.return_path:
            values.append(self._listing.path(sample))
        return sample, dict(zip(self._names, values, strict=False))

    def _samples(self, indices: list[int]) -> list[Any]:
        made = super()._samples(indices)
        get: Any = self._rows
        beside = get.__getitems__(
            [sample for sample, _ in made]
        )  # together: texts of a batch are padded alike
        return [row | more for (_, row), more in zip(made, list(beside), strict=True)]

    def _new_view(
        self,
        datasets: Sequence[Any],
        index_map: IntArray | None,
        cores: Sequence[CorePictures],
        generator: torch.Generator | None = None,
    ) -> ImageView:
        return ViewBeside(datasets, index_map, cores, generator)

    def _sample_signature(self) -> tuple[Any, ...]:
        return (*super()._sample_signature(), *self._rows._sample_signature())

    def _explained(self) -> list[Line]:
        return super()._explained() + [
            (f"rows: {step}", where, what) for step, where, what in self._rows._explained()
        ]


class ViewBeside(ImageView):
    """Such pictures. What stands beside is made when a batch is handed out, by the thread that asks."""

    def __init__(
        self,
        datasets: Sequence[HasPictures],
        index_map: IntArray | None,
        cores: Sequence[CorePictures],
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(datasets, index_map, cores, generator)
        self.has_more = True
        parts: list[Any] = list(datasets)
        self._beside = parts[0]._rows._joined([part._rows for part in parts], None)
        self._row_names = parts[0]._row_names
        self._batcher: Batcher | None = None

    def _rows_at(self, indices: Sequence[int] | torch.Tensor, replaced: Mapping[int, int] | None) -> IntArray:
        """The numbers of the rows, among those of all datasets."""
        rows = np.asarray(indices, np.int64) % len(self)  # negative ones count from the end
        if self._map is not None:
            rows = self._map[rows]
        for position, used in (replaced or {}).items():  # of the same dataset
            start = self._starts[np.searchsorted(self._starts, rows[position], "right") - 1]
            rows[position] = start + used
        return rows

    def more(
        self, indices: Sequence[int] | torch.Tensor, replaced: Mapping[int, int] | None = None
    ) -> tuple[Any, ...]:
        """What is asked for of the pictures, and then the rows' values: those of what stands in."""
        own = super().more(indices, replaced) if any(self._with) else ()
        batcher = self._batcher
        if batcher is None or batcher.pid != os.getpid():
            batcher = self._batcher = ForTorch(shares=False).batcher(self._beside)
        rows = torch.from_numpy(self._rows_at(indices, replaced))
        return *own, *batcher.now(rows, 0, len(rows)).values()

    def rows(
        self, images: torch.Tensor, labels: torch.Tensor | None, more: tuple[Any, ...] = ()
    ) -> list[Any]:
        """See View."""
        own = sum(self._with)
        rows = super().rows(images, labels, more[:own])
        columns = [
            [value.clone() for value in values.unbind(0)] if isinstance(values, torch.Tensor) else values
            for values in more[own:]
        ]
        for row, values in zip(rows, zip(*columns, strict=True), strict=True):
            row.update(zip(self._row_names, values, strict=True))
        return rows
