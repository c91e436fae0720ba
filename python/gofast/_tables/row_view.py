"""Batches of a table's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch

from .._batches.view import IntArray, Output, Program, View
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

    def _program(self) -> Program:
        """The transform, compiled."""


class RowView(View):
    """Rows of matrices that the kernel makes into samples, with their labels."""

    def __init__(self, datasets: Sequence[HasRows], index_map: IntArray | None) -> None:
        first = datasets[0]
        programs = [d._program() for d in datasets]
        self._lay_out(datasets, programs, index_map, first.shape, first._numbers.type)
        self.output = first._output
        self.keys = first.keys
        self.label_dtype = first._label_dtype
        self.label_shape = first._label_shape
        self.row_bytes = int(np.prod(first.shape, dtype=np.int64)) * first.dtype.itemsize
