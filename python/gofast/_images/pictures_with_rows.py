"""Pictures with the row of another dataset beside each: from a path column of a table."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch

from .. import errors
from .._core.reason import Reason
from .._loader.batch_source import BatchSource, Line
from .._loader.batcher import Batcher
from .._loader.core_dataset import IntArray
from .._loader.destination import ForTorch
from .._loader.extra_columns import ExtraColumns
from .._loader.native_dataset import NativeDataset
from .image_dataset import ImageDataset


class PicturesWithRows(ImageDataset):
    """A dataset of pictures whose samples, dicts, also have what a dataset of as many rows gives. Base class.

    The rows' batches are made natively when those of the pictures are handed out.
    """

    _rows: NativeDataset

    def _stand_beside(self, rows: NativeDataset) -> None:
        """Takes the rows. Before `_begin`."""
        view = rows._native_view()
        if isinstance(view, Reason):
            raise errors.OptionError(f"the rows beside pictures must be made natively: {view}")
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
        return sample, dict(zip(self._names, [picture, *self._number_and_path(sample)], strict=False))

    def _samples(self, indices: list[int]) -> list[Any]:
        made = super()._samples(indices)
        get: Any = self._rows
        beside = get.__getitems__(
            [sample for sample, _ in made]
        )  # together: texts of a batch are padded alike
        return [row | more for (_, row), more in zip(made, list(beside), strict=True)]

    def _columns(self, parts: Sequence[Any], starts: IntArray) -> list[ExtraColumns]:
        rows: BatchSource = self._rows._joined([part._rows for part in parts], None)
        return [*super()._columns(parts, starts), RowColumns(rows, len(self._row_names))]

    def _sample_signature(self) -> tuple[Any, ...]:
        return (*super()._sample_signature(), *self._rows._sample_signature())

    def _explained(self) -> list[Line]:
        return super()._explained() + [
            (f"rows: {step}", where, what) for step, where, what in self._rows._explained()
        ]


class RowColumns(ExtraColumns):
    """The values of a row of another dataset, made when a batch is handed out, by the thread that asks.

    Args:
        rows: of as many rows as there are pictures.
        width: values of a row.
    """

    def __init__(self, rows: BatchSource, width: int) -> None:
        self._rows, self.width = rows, width
        self._batcher: Batcher | None = None

    def values(self, rows: IntArray) -> Sequence[Any]:
        """See the base class."""
        batcher = self._batcher
        if batcher is None or batcher.pid != os.getpid():
            batcher = self._batcher = ForTorch(shares=False).batcher(self._rows)
        return [*batcher.now(torch.from_numpy(rows), 0, len(rows)).values()]
