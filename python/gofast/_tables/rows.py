"""The base of TableDataset and ArrayDataset: rows of a matrix become samples."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, Literal, overload

import numpy as np
import torch

from .. import errors
from .._core import engine, table_operations
from .._core.indices import listed, positions, whole
from .._core.memory import Memory
from .._core.numbers import NAMES, Spec, unknown_dtype
from .._core.reason import Reason
from .._loader.batch import Batch, Rows
from .._loader.batch_source import BatchSource, Line, Output, SampleForm, called, row_index_error
from .._loader.batch_types import Kind, Options, Unknown
from .._loader.batcher import Batcher
from .._loader.classes import in_order
from .._loader.core_dataset import CoreDataset, IntArray
from .._loader.destination import own_batcher
from .._loader.explain import overrides
from .._loader.getitems import getitems
from .._loader.native_dataset import NativeDataset, overridden
from .._loader.transfer_format import StoredTable, TransferFormat
from .cells import CellPlace
from .sample_options import SampleOptions
from .scale import default_keys, is_picture, is_unit, whole_shape
from .statistics import mean_and_std
from .stored_rows import stored_rows, stored_table

_LABEL_TYPES = {int: torch.int64, float: torch.float64}


class RowDataset(NativeDataset[Kind], Generic[Options, Kind]):
    """A map-style dataset over the rows of a matrix in memory. Base class.

    Indexing gives one sample for an int (negative from the end), and a collated
    batch for a slice or a list of ints.
    """

    _memory: Memory
    _is_native = True  # the kernel gathers the features

    def __init__(
        self, options: SampleOptions, label: object, class_to_idx: Mapping[Any, int] | None = None
    ) -> None:
        shape: Any = options.shape
        dtype: Any = options.dtype
        keys = default_keys(shape) if options.keys is None else options.keys
        self._check_keys(keys)
        layout = self._memory.layout
        self.shape = layout.shape if shape is None else whole_shape(shape, layout.width)
        self.dtype = dtype
        self.keys = tuple(str(key) for key in keys)
        self.scale = options.scale
        self.transform = options.transform
        self.target_transform = options.target_transform
        self.batch_transform = options.batch_transform
        self.missing_label = -1 if options.missing_label is None else options.missing_label
        self.one_hot = options.one_hot
        self._output: Output = options.output
        name = self._output_type(dtype)
        unit = is_unit(self.scale, shape, dtype, self._memory, self._place)
        mean, std = mean_and_std(options.mean, options.std, self._memory, self.shape, is_picture(shape), unit)
        self._numbers = Spec(unit, mean, std, name)
        self._check_range()
        self.class_to_idx: dict[Any, int] | None = None if class_to_idx is None else dict(class_to_idx)
        self._resolve_labels(label)
        self._per_process: Batcher | None = None
        # Compiling checks every option that the core checks, at once.
        self._compiled: CoreDataset | None = None
        # Compile now if the engine is loaded, since forked workers can use a view that was made before
        # the fork. Also if there are mean, std or an integer type: the core checks them, and its errors
        # belong here. Otherwise the engine can wait: a table from a cache file opens without it.
        if engine.loaded() or self._numbers.mean is not None or not dtype.is_floating_point:
            self._view()

    def _check_keys(self, keys: Sequence[str]) -> None:
        if len(keys) != 2 or keys[0] == keys[1]:
            raise errors.OptionError(
                f"keys={keys!r}: give two different names, of the features and of the label"
            )

    def _sources(self) -> list[Line]:
        """The first lines of explain: the sources of the rows."""
        layout = self._memory.layout
        stored = f"{layout.rows} rows x {layout.width} features, stored as {layout.type}"
        return [("source", "Go", stored)]

    def _output_type(self, dtype: torch.dtype) -> str:
        """The kernel's name of the type of the samples."""
        if dtype not in NAMES:
            raise unknown_dtype(dtype)
        return NAMES[dtype]

    def _place(self, row: int) -> CellPlace:
        """The place of a row in its sources."""
        return CellPlace(None, row)

    def _check_range(self) -> None:
        """If the rows cannot change, refuses values that the type of the samples does not hold."""

    @cached_property  # a subclass may assign its own
    def mean(self) -> torch.Tensor | None:
        """The values that are subtracted, float32: one, one per channel or one per feature; or None."""
        return None if self._numbers.mean is None else torch.from_numpy(self._numbers.mean.copy())

    @cached_property
    def std(self) -> torch.Tensor | None:
        """The values that the difference is divided by, in the form of `mean`."""
        return None if self._numbers.std is None else torch.from_numpy(self._numbers.std.copy())

    def _resolve_labels(self, label: object) -> None:
        layout = self._memory.layout
        kinds = layout.label_kinds
        if self.class_to_idx is None and layout.classes is not None:
            self.class_to_idx = {name: i for i, name in enumerate(layout.classes)}
        self.classes: list[Any] | None = None if self.class_to_idx is None else in_order(self.class_to_idx)
        self._label_dtype: torch.dtype | None = torch.int64
        self._label_shape: tuple[int, ...] = ()
        self._label_mode = "int64"
        if self.one_hot is not None and not kinds:
            raise errors.OptionError(f"one_hot={self.one_hot} needs a label, and there is none")
        if label is None:
            self._label_dtype, self._label_mode = None, ""
        elif not kinds:
            self._label_mode = "missing"
        elif self.one_hot is not None:
            self._check_one_hot(self.one_hot)
            self._label_mode, self._label_dtype, self._label_shape = "one_hot", torch.float32, (self.one_hot,)
        else:
            if "float" in kinds:
                self._label_dtype = self._float_label_dtype()
                self._label_mode = "float64" if self._label_dtype == torch.float64 else "float32"
            if len(kinds) > 1:
                self._label_shape = (len(kinds),)

    def _float_label_dtype(self) -> torch.dtype:
        """The type of regression targets: float64 if the samples are float64, else float32."""
        return torch.float64 if self.dtype == torch.float64 else torch.float32

    def _check_one_hot(self, classes: int) -> None:
        kinds = self._memory.layout.label_kinds
        if len(kinds) != 1 or kinds[0] == "float":
            raise errors.OptionError(f"one_hot={classes} needs one label column of integers or text")
        for name, number in (self.class_to_idx or {}).items():
            if not 0 <= number < classes:
                raise errors.OptionError(
                    f"one_hot={classes} is too small for the class {name!r}, number {number}"
                )
        labels = self._memory.label_column(0)
        bad = np.flatnonzero((labels < 0) | (labels >= classes))
        if len(bad):
            said = f"row {bad[0]}: label {labels[bad[0]]} is outside one_hot={classes}"
            raise errors.BadValueError(said).at(row=int(bad[0]))

    # -- torch's protocol ------------------------------------------------------

    def __len__(self) -> int:
        return self._memory.layout.rows

    if TYPE_CHECKING:

        @overload
        def __getitem__(
            self: RowDataset[tuple[Unknown, object, object, object]]
            | RowDataset[tuple[object, Unknown, object, object]]
            | RowDataset[tuple[object, object, Unknown, object]]
            | RowDataset[tuple[object, object, object, Unknown]],
            index: Any,
        ) -> Any: ...
        @overload
        def __getitem__(
            self: RowDataset[tuple[Literal["dict"], None, None, None]], index: Any
        ) -> dict[str, torch.Tensor]: ...
        @overload
        def __getitem__(
            self: RowDataset[tuple[Literal["tuple"], None, None, None]], index: int
        ) -> tuple[torch.Tensor, ...]: ...
        @overload
        def __getitem__(self, index: Any) -> Any: ...

    def __getitem__(self, index: Any) -> Any:
        if self._is_as_torch():
            return self._indexed(index)
        if isinstance(index, slice):
            return self._collate(list(range(*index.indices(len(self)))))
        if isinstance(index, (list, tuple, range, np.ndarray, torch.Tensor)) and np.ndim(index) > 0:
            return self._collate(positions(index, len(self)))
        values = self._transformed(operator.index(index))
        if self.batch_transform is not None:
            values[0] = self.batch_transform(values[0].unsqueeze(0))[0]
        return self._row(values)

    def _is_as_torch(self) -> bool:
        """Whether every index gives what TensorDataset gives."""
        return False

    def _indexed(self, index: Any) -> Any:
        raise NotImplementedError

    def _transformed(self, index: int) -> list[Any]:
        values = self._sample(self._checked(index))
        if self.transform is not None:
            values[0] = self.transform(self._shown(self._checked(index), values[0]))
        if self._label_dtype is not None and self.target_transform is not None:
            values[1] = self.target_transform(values[1])
        return values

    def _shown(self, row: int, features: Any) -> Any:
        """What the transform is given of a row."""
        return features

    def _row(self, values: Sequence[Any]) -> Any:
        if self._output == "dict":
            return dict(zip(self.keys, values, strict=False))
        return tuple(values)

    def _collate(self, indices: list[int]) -> Any:
        if not indices:
            images = torch.empty((0, *self.shape), dtype=self.dtype, device="cpu")
            none, view = torch.empty(0, dtype=torch.int64, device="cpu"), self._view()
            return view.collated(images, view.new_labels(0), view.more(none))
        rows: Any = self.__getitems__(indices)
        return torch.utils.data.default_collate(rows)

    @getitems
    def __getitems__(self, indices: Iterable[int]) -> Sequence[Any]:
        """The rows of a whole batch; torch's fetcher calls this. See `_loader/batch`."""
        indices = listed(indices)
        if type(self).__getitem__ is not RowDataset.__getitem__ or len(indices) == 0:
            return [self[i] for i in indices]
        if self._has_python_rows():
            rows = [self._transformed(operator.index(i)) for i in indices]
            self._fit_together(rows, indices)
            return self._finished(rows)
        try:
            wanted = whole(indices)
        except OverflowError:
            raise row_index_error(
                next(i for i in indices if not -(1 << 63) <= i < 1 << 63), len(self)
            ) from None
        except TypeError:
            return [self[i] for i in indices]
        if self.batch_transform is None:
            return self._batch(wanted)
        return self._batch_transformed(self._fill(wanted))

    def _batch_transformed(self, batch: Batch) -> Batch:
        if self.batch_transform is None:
            return batch
        return Batch(batch._view, self.batch_transform(batch.images), batch.labels, more=batch._more)

    def _finished(self, rows: list[list[Any]]) -> list[Any]:
        """The samples of a batch, of the values that `_transformed` gave for each."""
        if self.batch_transform is not None:
            made = self.batch_transform(torch.stack([row[0] for row in rows]))
            for row, image in zip(rows, made, strict=True):
                row[0] = image.clone()
        return [self._row(row) for row in rows]

    def _fit_together(self, rows: list[list[Any]], indices: Sequence[int]) -> None:
        """Makes values of rows that were made one by one alike, so that they can be collated."""

    def _batch(self, indices: array[int]) -> Rows:
        """A batch, not yet collated."""
        return self._fill(indices)

    def _fill(self, indices: array[int]) -> Batch:
        """A batch, made now."""
        return self._here().batch(indices)

    @property
    def targets(self) -> torch.Tensor:
        """Labels of all rows, before target_transform and one_hot: [n] or [n, columns]."""
        layout = self._memory.layout
        if not layout.label_kinds:
            return torch.full((layout.rows,), self.missing_label, dtype=torch.int64, device="cpu")
        columns = [
            torch.from_numpy(self._memory.label_column(i).copy()) for i in range(len(layout.label_kinds))
        ]
        if "float" in layout.label_kinds:
            columns = [c.to(self._float_label_dtype()) for c in columns]
        return columns[0] if len(columns) == 1 else torch.stack(columns, 1)

    # -- one sample, without the engine ----------------------------------------

    def _checked(self, index: int) -> int:
        rows = len(self)
        if not -rows <= index < rows:
            raise row_index_error(index, rows)
        return index + rows if index < 0 else index

    def _sample(self, row: int) -> list[Any]:
        """The values in the sample of a row: features and label."""
        image, label = self._numbers.make(self._memory.features[row]).reshape(self.shape), self._label(row)
        return [image] if label is None else [image, label]

    def _label(self, row: int) -> torch.Tensor | None:
        if self._label_dtype is None:
            return None
        if self._label_mode == "missing":
            return torch.tensor(self.missing_label, device="cpu")
        values = self._memory.label_row(row)
        if self._label_mode == "one_hot":
            label = torch.zeros(self._label_shape, dtype=torch.float32, device="cpu")
            label[int(values[0])] = 1
            return label
        # Use the label's own type first: torch makes a float32 from an int by way of float64.
        labels = [
            torch.tensor(v, dtype=_LABEL_TYPES[type(v)], device="cpu").to(self._label_dtype) for v in values
        ]
        return torch.stack(labels) if self._label_shape else labels[0]

    # -- batches, by the kernels -----------------------------------------------

    def _has_python_rows(self) -> bool:
        """Whether rows must be made one by one, because Python code takes part in them."""
        return (
            self.transform is not None
            or self.target_transform is not None
            or type(self).__getitem__ is not RowDataset.__getitem__
        )

    def _native_view(self) -> BatchSource | Reason:
        """A view for gofast.DataLoader."""
        refused = overridden(self, RowDataset)
        if refused is not None:
            return refused
        for name in ("transform", "target_transform", "batch_transform"):
            if getattr(self, name) is not None:
                return Reason(f"{name}={called(getattr(self, name))} runs in Python")
        return self._view()

    def _explained(self) -> list[Line]:
        """The lines of gofast.explain: which steps run natively and which in Python."""
        pictures = self._made_by()
        if pictures is not self:
            return pictures._explained()
        made = [str(self.dtype).removeprefix("torch."), f"shape {self.shape}"]
        if self._numbers.mean is not None:
            made.insert(0, "(x - mean) / std")
        if self._numbers.unit:
            made.insert(0, "x / 255")
        lines = self._sources()
        lines.append(("transform", "Python" if lines[0][1] == "torch" else "C", ", ".join(made)))
        lines += overrides(self, RowDataset, "rows")
        for name in ("transform", "target_transform", "batch_transform"):
            if getattr(self, name) is not None:
                what = "batch" if name == "batch_transform" else "row"
                lines.append((name, "Python", f"your callable: one call a {what}"))
        return lines

    def _joined(self, parts: Sequence[Any], index_map: IntArray | None) -> BatchSource:
        return BatchSource(parts, index_map, self._form())

    def _form(self) -> SampleForm:
        """What its samples are, as far as the core makes them."""
        return SampleForm(
            self._output, self.keys, tuple(self.shape), self.dtype, self._label_dtype, self._label_shape
        )

    def _sample_signature(self) -> tuple[Any, ...]:
        """A value that must be equal for two datasets if their rows shall be in one batch."""
        return self._form()

    @staticmethod
    def _wire(parts: Sequence[Any], index_map: IntArray | None) -> TransferFormat | None:
        return stored_rows(parts, index_map)

    def _stored_table(self, core: CoreDataset) -> StoredTable | None:
        return stored_table(self, core)

    def _view(self) -> BatchSource:
        return self._here().view

    def _here(self) -> Batcher:
        here = self._per_process = own_batcher(self, self._per_process)
        return here

    def _core(self) -> CoreDataset:
        if self._compiled is None:
            self._compiled = CoreDataset(table_operations.rows(self._core_config()), keep=self._kept())
        return self._compiled

    def _kept(self) -> object:
        """The memory that the core reads."""
        return self._memory

    def _core_config(self) -> table_operations.RowsRequest:
        layout, memory = self._memory.layout, self._memory
        return {
            "features": memory.features_address,
            "labels": memory.labels_address,
            "rows": layout.rows,
            "width": layout.width,
            "type": layout.type,
            "label_float": [kind == "float" for kind in layout.label_kinds],
            "transform": self._transform_config(),
        }

    def _transform_config(self) -> table_operations.Transform:
        return {
            **self._numbers.config(),
            "shape": list(self.shape),
            "label": self._label_mode,
            "missing_label": self.missing_label,
            "classes": self.one_hot or 0,
        }

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        state["_per_process"] = state["_compiled"] = None
        return state
