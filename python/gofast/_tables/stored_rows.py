"""A table's rows as they are stored: what may cross to a device, or stay there, instead of samples."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Protocol

import torch

from .._core import table_operations
from .._core.memory import Memory
from .._core.numbers import Spec, itemsize, torch_dtype
from .._loader.batch_source import BatchSource, SampleForm
from .._loader.batcher import Batcher
from .._loader.core_dataset import CoreDataset, IntArray, joined
from .._loader.counts import Counts, counted_by
from .._loader.destination import Destination
from .._loader.transfer_format import StoredTable, TransferFormat, alike

_AT_ONCE = 1 << 16  # labels


class HasRows(Protocol):
    """The interface of a dataset of rows that is used here."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    _numbers: Spec

    @property
    def _label_dtype(self) -> torch.dtype | None: ...

    @property
    def _label_shape(self) -> tuple[int, ...]: ...

    @property
    def _memory(self) -> Memory: ...

    def _core_config(self) -> table_operations.RowsRequest:
        """The rows and their transform, as the core reads them."""

    def _kept(self) -> object:
        """The memory that it lies in, as it is now."""


def stored_table(dataset: HasRows, core: CoreDataset) -> StoredTable:
    """A table that may stay on a device.

    Args:
        core: makes its samples.
    """
    config = dataset._core_config()
    transform = config["transform"]
    return StoredTable(
        memory=dataset._memory,
        features=dataset._memory.features,
        wire=wire_of(dataset, config["type"], core),
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
    form = SampleForm(
        "tuple", ("", ""), (1,), torch_dtype(stored), dataset._label_dtype, dataset._label_shape
    )
    batcher, indices = Batcher(BatchSource((), None, form, [core]), Destination()), torch.arange(rows)
    with counted_by(Counts()):  # it is nobody's batch
        return torch.cat(
            [batcher.now(indices, at, min(at + _AT_ONCE, rows))[1] for at in range(0, max(rows, 1), _AT_ONCE)]
        )


def stored_rows(datasets: Sequence[HasRows], index_map: IntArray | None) -> TransferFormat | None:
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


def wire_of(dataset: HasRows, stored: str, core: CoreDataset) -> TransferFormat:
    """What is made of a table's rows, which are stored as this type."""
    spec = dataset._numbers
    mean, std = alike(spec.mean, spec.std)
    return TransferFormat(
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
