"""Batches of a table's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch

from .._batches.core_dataset import CoreDataset, IntArray
from .._batches.view import Output, View
from .._core.numbers import Spec


class HasRows(Protocol):
    """The interface of a dataset of rows that the views use."""

    _output: Output
    keys: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: torch.dtype
    _numbers: Spec

    @property
    def _label_dtype(self) -> torch.dtype | None: ...

    @property
    def _label_shape(self) -> tuple[int, ...]: ...

    def _core(self) -> CoreDataset:
        """The rows and their transform, for the core."""


class RowView(View):
    """Rows of matrices that the kernel makes into samples, with their labels."""

    def __init__(self, datasets: Sequence[HasRows], index_map: IntArray | None) -> None:
        first = datasets[0]
        self._lay_out(datasets, [d._core() for d in datasets], index_map)
        self.output = first._output
        self.keys = first.keys
        self.label_dtype = first._label_dtype
        self.label_shape = first._label_shape
        self.row_bytes = int(np.prod(first.shape, dtype=np.int64)) * first.dtype.itemsize
