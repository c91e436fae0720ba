"""The base of ArrayDataset: rows of several arrays become samples."""

from __future__ import annotations

import dataclasses
import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .. import errors
from .._core import table_operations
from .._core.numbers import OPAQUE
from .._loader.batch import Batch, Rows
from .._loader.batch_source import BatchSource, Line
from .._loader.batch_types import Kind, Options
from .._loader.core_dataset import CoreDataset
from .._loader.native_dataset import NativeDataset
from .array_memory import INTEGERS, KERNEL_DIMENSIONS, KERNEL_TYPES, ArrayMemory, C
from .origin import Origin
from .rows import RowDataset
from .sample_options import SampleOptions


class ArrayRows(RowDataset[Options, Kind]):
    """Rows of arrays [n, ...]: features, labels, and whatever belongs to them. Base class.

    Attributes:
        _origin: where they come from.
    """

    _memory: ArrayMemory
    _origin = Origin()
    _bare = False  # samples are the values of the only array, not tuples of them

    def _hold(self, memory: ArrayMemory, options: SampleOptions, origin: Origin | None = None) -> None:
        """Makes this a dataset over these arrays."""
        self._memory = memory
        if origin is not None:
            self._origin = origin
        self._own = own = memory.fields[0].tensor.dtype
        self._shell: BatchSource | None = None
        self._stand_in: NativeDataset | None = None
        self._compiled_at: list[tuple[Any, ...]] = []
        arithmetic = any(one is not None for one in (options.scale, options.mean, options.std))
        dtype: Any = options.dtype
        if dtype is None:
            dtype = own if own.is_floating_point or not arithmetic else torch.float32
        keys, count = options.keys, len(memory.fields)
        if keys is None and count > 2:
            if options.output == "dict":
                raise errors.OptionError(f"keys: give {count} different names, one for each array")
            keys = tuple(str(i) for i in range(count))
        self._is_opaque = own not in KERNEL_TYPES
        if self._is_opaque and (arithmetic or dtype != own):
            raise errors.UnsupportedError(
                f"features of type {own}: dtype, scale, mean and std take {', '.join(KERNEL_TYPES.values())}"
            )
        if {own, dtype} <= INTEGERS and not np.can_cast(KERNEL_TYPES[own], KERNEL_TYPES[dtype]):
            # A value that fits now may not fit after the array has changed.
            raise errors.OptionError(
                f"dtype={dtype} does not hold all that features of type {own} may hold: convert the array"
            )
        options = dataclasses.replace(options, dtype=dtype, keys=keys)
        super().__init__(options, None if count == 1 else "label")
        if not self._is_plain:
            self._core()  # checks mean and std, even if the core will make no samples
            try:
                self._features(memory.fields[0][:0])
            except (RuntimeError, TypeError) as error:
                raise errors.UnsupportedError(f"features that numpy cannot read: {error}") from None

    def _check_keys(self, keys: Sequence[str]) -> None:
        count = len(self._memory.fields)
        fits = len(keys) == count or (count == 1 and len(keys) == 2)
        if not fits or len(set(keys)) != len(keys):
            raise errors.OptionError(f"keys={keys!r}: give {count} different names, one for each array")

    @property
    def _steady(self) -> bool:  # type: ignore[override]
        return all(f.steady for f in self._memory.fields)

    def _is_in_c(self, position: int) -> bool:
        """Whether the kernel gathers this array. It gathers features and labels only."""
        in_c = self._is_native and not self._memory.by_rows
        return in_c and (position == 0 or (position == 1 and self._label_is_native))

    def _origins(self, samples: Sequence[int]) -> list[tuple[str | None, int]]:
        return [(self._origin.path or None, sample) for sample in samples]

    def _sources(self) -> list[Line]:
        lines = []
        how = "row by row" if self._memory.by_rows else "one torch.index_select a batch"
        for i, field in enumerate(self._memory.fields):
            what = f"{len(self)} rows of {field!r}"
            if self._is_in_c(i):
                lines.append((f"array {i}", "C", what))
            else:
                why = f": {field.reason}" if field.reason else ""
                lines.append((f"array {i}", "torch", f"{what}, {how}{why}"))
        return lines

    # -- from arrays to samples --------------------------------------------------

    def _output_type(self, dtype: torch.dtype) -> str:
        """The kernel's name of the type of the samples. Types that are only copied count as integers."""
        if self._is_opaque:
            return OPAQUE.get(dtype.itemsize, "uint8")
        return super()._output_type(dtype)

    def _resolve_labels(self, label: object) -> None:
        fields = self._memory.fields
        features = fields[0]
        own = features.tensor.dtype
        self.classes, self.class_to_idx = self._origin.classes, None
        if self.classes is not None:
            self.class_to_idx = {name: number for number, name in enumerate(self.classes)}
        self._is_plain = self._numbers.plain and self.dtype == own
        double = own.itemsize == 16
        self._is_native = features.way == C and len(self.shape) + double <= 8
        self._label_dtype, self._label_shape, self._label_mode = None, (), ""
        self._label_is_native = False
        if label is None:
            if self.one_hot is not None:
                raise errors.OptionError(f"one_hot={self.one_hot} needs an array of labels")
            return
        labels = fields[1]
        if self.one_hot is None:
            self._label_dtype, self._label_shape, self._label_mode = labels.tensor.dtype, labels.shape, "copy"
            self._label_is_native = labels.way == C
            return
        if labels.tensor.dtype.is_floating_point or labels.tensor.is_complex() or labels.width != 1:
            raise errors.OptionError(f"one_hot={self.one_hot} needs labels [n] of integers")
        self._label_dtype, self._label_shape, self._label_mode = torch.float32, (self.one_hot,), "one_hot"
        self._label_is_native = labels.way == C and labels.tensor.dtype == torch.int64
        self._check_one_hot(self.one_hot)

    def _check_one_hot(self, classes: int) -> None:
        labels = self._memory.fields[1][:].reshape(-1).long()
        bad = ((labels < 0) | (labels >= classes)).nonzero()
        if len(bad):
            row = self._place(int(bad[0])).row
            said = f"row {row}: label {int(labels[bad[0]])} is outside one_hot={classes}"
            raise errors.BadValueError(said).at(row=row)

    def _one_hot(self, labels: torch.Tensor, classes: int) -> torch.Tensor:
        """One-hot rows for labels [n, ...], which may have changed since they were checked."""
        whole = labels.reshape(-1).long()
        bad = whole[(whole < 0) | (whole >= classes)]
        if len(bad):
            raise errors.UnknownLabelError(f"label {int(bad[0])} is outside one_hot={classes}")
        return torch.nn.functional.one_hot(whole, classes).to(torch.float32)

    def _features(self, rows: torch.Tensor) -> torch.Tensor:
        """The features [n, ...] after scale, mean, std, dtype and shape."""
        if not self._is_plain:
            if rows.dtype != self._own:  # numpy would convert values that may not fit
                self._memory.check()
            rows = self._numbers.make(rows.numpy().reshape(len(rows), self._memory.layout.width))
        return rows.reshape(len(rows), *self.shape)

    def _sample(self, row: int) -> list[Any]:
        """The values in the sample of a row."""
        fields = self._memory.fields
        values = [field[row] for field in fields]
        if not self._is_plain or self.shape != fields[0].shape:
            values[0] = self._features(values[0].unsqueeze(0))[0]
        if self.one_hot is not None:
            values[1] = self._one_hot(values[1], self.one_hot)[0]
        return values

    def _gather(self, rows: torch.Tensor, first: int) -> tuple[torch.Tensor, ...]:
        """Values first, first + 1, ... of rows [n], by torch."""
        values = [field.gather(rows) for field in self._memory.fields[first:]]
        if first == 0:
            values[0] = self._features(values[0])
        if first < 2 and self.one_hot is not None:
            values[1 - first] = self._one_hot(values[1 - first], self.one_hot)
        return tuple(values)

    # -- torch's protocol ----------------------------------------------------------

    def _collate(self, indices: list[int]) -> Any:
        if indices:
            return super()._collate(indices)
        none = torch.empty(0, dtype=torch.int64, device="cpu")
        return self._view().collated(self._gather(none, 0)[0], None, self._gather(none, 0)[1:])

    def _batch(self, indices: array[int]) -> Rows:
        if self._is_plain and self.one_hot is None and self._memory.writable:
            return DeferredBatch(indices, self._fill, lambda i: self._row(self._sample(self._checked(i))))
        return self._fill(indices)

    def _fill(self, indices: array[int]) -> Batch:
        if self._is_native:
            return super()._fill(indices)
        rows = torch.tensor([self._checked(i) for i in indices], dtype=torch.int64, device="cpu")
        values = self._gather(rows, 0)
        return Batch(self._view(), values[0], None, more=values[1:])

    def _has_python_rows(self) -> bool:
        return self._memory.by_rows or super()._has_python_rows()

    # -- for the kernels -------------------------------------------------------------

    def _core(self) -> CoreDataset:
        places = self._memory.places()
        if self._compiled is None or places != self._compiled_at:
            self._memory.check()
            self._compiled = CoreDataset(table_operations.rows(self._core_config()), keep=self._kept())
            self._compiled_at = places
        return self._compiled

    def _kept(self) -> object:
        # The tensors as they are now: the user may give his own tensors other memory.
        return [field.tensor.detach() for field in self._memory.fields[:2]]

    def _core_config(self) -> table_operations.RowsRequest:
        fields = self._memory.fields
        config = super()._core_config()
        config["row_stride"] = fields[0].stride
        if self._is_opaque:
            config["type"] = self._numbers.type
        if self._is_opaque and self.dtype.itemsize == 16:
            config["width"] *= 2
            config["transform"]["shape"].append(2)
        shape = config["transform"]["shape"]
        if len(shape) > KERNEL_DIMENSIONS:  # torch gathers such rows; the core checks mean and std
            shape[1:] = [math.prod(shape[1:])]
        if not self._label_is_native:
            config["transform"]["label"] = ""
            config["labels"], config["label_float"] = 0, []
            return config
        labels = fields[1]
        config["label_stride"] = labels.stride
        config["label_size"] = labels.width * labels.tensor.dtype.itemsize
        config["label_float"] = [False]
        return config


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
