"""Batches of a table's rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch

from .._batches.core_dataset import CoreDataset, IntArray, joined
from .._batches.view import Output, View
from .._batches.wire import Wire, alike
from .._core import operations
from .._core.numbers import Spec, itemsize


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

    def _core_config(self) -> operations.Rows:
        """The same, as the core reads it."""

    def _kept(self) -> object:
        """The memory that it lies in, as it is now."""


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
        self._tables = tuple(datasets)

    def _new_wire(self) -> Wire | None:
        return stored_rows(self._tables, self._map)


def stored_rows(datasets: Sequence[HasRows], index_map: IntArray | None) -> Wire | None:
    """The wire of tables end to end, whose samples are alike."""
    spec, configs = datasets[0]._numbers, [dataset._core_config() for dataset in datasets]
    stored = configs[0]["type"]
    if "float" in stored or itemsize(stored) >= itemsize(spec.type):
        return None  # of floats: a device need not make the same NaN of a NaN
    if any(config["type"] != stored for config in configs):
        return None
    if any(dataset._numbers.config() != spec.config() for dataset in datasets):
        return None
    plain = Spec(False, None, None, stored).config()
    cores = []
    for dataset, config in zip(datasets, configs, strict=True):
        config["transform"] = {**config["transform"], **plain}
        cores.append(CoreDataset(operations.rows(config), dataset._kept()))
    mean, std = alike(spec.mean, spec.std)
    return Wire(
        core=joined(cores, index_map),
        stored=stored,
        made=spec.type,
        shape=tuple(datasets[0].shape),
        scale="divide" if spec.unit else "cast",
        mean=mean,
        std=std,
        channels=1 if mean is None else len(mean),
        last=False,
        erasures=(),
    )
