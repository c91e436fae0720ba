"""Batches of a table's rows."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch

from .. import errors
from .._core import engine, table_operations
from .._core.memory import Memory, address_of
from .._core.numbers import Spec, itemsize
from .._loader.core_dataset import CoreDataset, IntArray, joined
from .._loader.slots import RING, Slots
from .._loader.view import Output, View
from .._loader.wire import StoredTable, Wire, alike


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

    @property
    def _memory(self) -> Memory: ...

    def _core(self) -> CoreDataset:
        """The rows and their transform, for the core."""

    def _core_config(self) -> table_operations.Rows:
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
        self._table: StoredTable | None = None

    def table(self) -> StoredTable | None:
        """Of one table in memory that does not change."""
        if len(self._tables) > 1 or not self.steady:
            return None
        if self._table is None:
            self._table = _stored_table(self._tables[0], self)
        return self._table

    def _new_wire(self) -> Wire | None:
        return stored_rows(self._tables, self._map)


def _stored_table(dataset: HasRows, view: RowView) -> StoredTable:
    config = dataset._core_config()
    transform = config["transform"]
    return StoredTable(
        memory=dataset._memory,
        features=dataset._memory.features,
        wire=wire_of(dataset, config["type"], view.core),
        label_key=(transform["label"], transform["missing_label"], transform["classes"]),
        labels=functools.partial(_all_labels, dataset),
        label_bytes=_label_bytes(dataset),
    )


def _label_bytes(dataset: HasRows) -> int:
    dtype = dataset._label_dtype
    return 0 if dtype is None else math.prod(dataset._label_shape) * dtype.itemsize


def _all_labels(dataset: HasRows) -> torch.Tensor | None:
    """The labels of all rows, as samples have them; None without."""
    if dataset._label_dtype is None:
        return None
    config = dataset._core_config()
    stored, rows = config["type"], config["rows"]
    config["row_stride"] = config["width"] * itemsize(stored)
    config["width"] = 1  # the core makes labels together with features: as few as there can be
    config["transform"] = {**config["transform"], **Spec(False, None, None, stored).config(), "shape": [1]}
    core = CoreDataset(table_operations.rows(config), dataset._kept())
    labels = torch.empty((rows, *dataset._label_shape), dtype=dataset._label_dtype, device="cpu")
    if rows:
        indices = np.arange(rows)
        slots, _ = Slots(rows * itemsize(stored), 1).reserve(core, rows, rows)
        capsule, place = engine.capsule(), slots.buffer_info()[0]
        bad = capsule.fill(core.address, address_of(indices), 0, 0, slots[0], labels.data_ptr())
        capsule.move(place, 1, RING)
        if bad >= 0:
            raise errors.UnknownLabelError(f"row {bad}: its label has no place in the one_hot vector")
    return labels


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
        cores.append(CoreDataset(table_operations.rows(config), dataset._kept()))
    return wire_of(datasets[0], stored, joined(cores, index_map))


def wire_of(dataset: HasRows, stored: str, core: CoreDataset) -> Wire:
    """What is made of a table's rows, which are stored as this type."""
    spec = dataset._numbers
    mean, std = alike(spec.mean, spec.std)
    return Wire(
        core=core,
        stored=stored,
        made=spec.type,
        shape=tuple(dataset.shape),
        scale="divide" if spec.unit else "cast",
        mean=mean,
        std=std,
        channels=1 if mean is None else len(mean),
        last=False,
        erasures=(),
    )
