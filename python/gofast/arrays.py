"""ArrayDataset: rows of numpy or torch arrays that are in memory already."""

from __future__ import annotations

import dataclasses
import math
from array import array
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from . import errors
from ._core import table_operations
from ._core.arguments import checked
from ._core.numbers import OPAQUE, DType, torch_dtype
from ._core.reason import Reason
from ._loader.batch import Batch, Rows
from ._loader.core_dataset import CoreDataset, IntArray
from ._loader.extra_columns import ArrayColumns
from ._loader.native_dataset import NativeDataset, overridden
from ._loader.typed import Options, TargetTransform, Transform, TupleForm
from ._loader.view import Form, Line, View
from ._loader.wire import StoredTable
from ._plan import transforms
from ._tables.fields import INTEGERS, KERNEL_DIMENSIONS, KERNEL_TYPES, ROWS, Array, ArrayMemory, C, Field
from ._tables.rows import RowDataset
from ._tables.scale import Scale, default_keys, sizes
from ._tables.source_batch import SourceBatch
from ._tables.statistics import Numbers


class ArrayDataset(RowDataset[Options]):
    """Map-style dataset over arrays, as ``torch.utils.data.TensorDataset``.

    Without options, samples and batches equal TensorDataset's in values, types, shapes and
    aliasing. A sample is a view of the arrays, nothing is copied before a batch is made,
    and a change of an array shows in the next sample. ``print(gofast.explain(ds))``
    shows which arrays are gathered in C and which by torch.

    Args:
        *arrays: features [n, ...], then labels [n, ...], then anything else [n, ...] that
            belongs to them: tensors of any type, or numpy arrays of the types that
            ``torch.from_numpy`` takes. Samples never require grad, even if their tensor
            does. Samples of a read-only array are copies.
        dtype: type of the features in a sample; default their own. Another type, and scale,
            mean and std, need features of type uint8, int16, int32, int64, float32 or float64
            on the CPU. An integer type must hold all values of the features' type.
        keys: names of the arrays in a ``"dict"`` sample, one for each array.
        target_transform: for the second array.
        one_hot: number of classes in the second array: its integers become float32 [classes].
        shape: of one sample's features; default their own. See :class:`gofast.TableDataset` for this and
            the following.
        scale: ``"unit"`` gives float32(x) / 255; ``None`` leaves the features as they are.
        mean: with ``std``, (x - mean) / std in float32; numbers or ``"auto"``.
        std: see ``mean``.
        output: ``"tuple"`` or ``"dict"`` samples.
        transform: called with each sample's features. One of torchvision's that makes tensors of PIL
            images (``ToTensor``, ``PILToTensor``, ``ToImage``) is given what ``PIL.Image.fromarray`` makes
            of a numpy array of uint8 [n, height, width] or [n, height, width, 3], as torchvision's own
            datasets do. Of such pictures, and of tensors of uint8 [n, channels, height, width], a
            :class:`gofast.DataLoader` makes batches natively where all of the transform is native.
        batch_transform: called with each batch's features [n, *shape], in Python.

    Raises:
        gofast.errors.GofastError: for arrays that do not fit together, or that torch
            cannot read without a copy, such as ``x[::-1]``.

    Example:
        >>> ds = gofast.ArrayDataset(np.zeros((10, 3), np.float32), np.arange(10))
        >>> ds[3]
        (tensor([0., 0., 0.]), tensor(3))
    """

    _memory: ArrayMemory
    _bare = False  # samples are the values of the only array, not tuples of them

    @checked
    def __init__(
        self: ArrayDataset[tuple[TupleForm, Transform, TargetTransform, None]],
        *arrays: Array,
        shape: Sequence[int] | int | None = None,
        scale: Scale = None,
        mean: Numbers = None,
        std: Numbers = None,
        dtype: DType | None = None,
        keys: tuple[str, ...] | None = None,
        output: TupleForm = "tuple",  # type: ignore[assignment]
        one_hot: int | None = None,
        transform: Transform = None,  # type: ignore[assignment]
        target_transform: TargetTransform = None,  # type: ignore[assignment]
        batch_transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> None:
        memory = ArrayMemory(arrays)
        self._memory = memory
        self._own = memory.fields[0].tensor.dtype
        self._shell: View | None = None
        self._stand_in: NativeDataset | None = None
        self._compiled_at: list[tuple[Any, ...]] = []
        own = self._own
        arithmetic = scale is not None or mean is not None or std is not None
        shape = sizes(shape)
        if dtype is None:
            dtype = own if own.is_floating_point or not arithmetic else torch.float32
        dtype = torch_dtype(dtype)
        if keys is None and len(arrays) <= 2:
            keys = default_keys(shape)
        elif keys is None and output == "dict":
            raise errors.OptionError(f"keys: give {len(arrays)} different names, one for each array")
        elif keys is None:
            keys = tuple(str(i) for i in range(len(arrays)))
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
        super().__init__(
            shape=shape,
            scale=scale,
            mean=mean,
            std=std,
            dtype=dtype,
            keys=keys,
            output=output,
            missing_label=-1,
            one_hot=one_hot,
            transform=transform,
            target_transform=target_transform,
            batch_transform=batch_transform,
            label=None if len(arrays) == 1 else "label",
            class_to_idx=None,
        )
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

    def __repr__(self) -> str:
        arrays = ", ".join(
            f"{field!r} {'in C' if self._is_in_c(i) else 'by torch'}"
            for i, field in enumerate(self._memory.fields)
        )
        return f"ArrayDataset({len(self)} rows of {arrays}; samples: shape {self.shape}, {self.dtype})"

    @property
    def _steady(self) -> bool:  # type: ignore[override]
        return all(f.steady for f in self._memory.fields)

    @property
    def tensors(self) -> tuple[torch.Tensor, ...]:
        """The arrays as tensors over the same memory, like the attribute of TensorDataset."""
        return tuple(f.tensor for f in self._memory.fields)

    @property
    def targets(self) -> torch.Tensor:
        """The second array itself; -1 for every row if there is none."""
        fields = self._memory.fields
        return fields[1].tensor if len(fields) > 1 else super().targets

    def _is_in_c(self, position: int) -> bool:
        """Whether the kernel gathers this array. It gathers features and labels only."""
        in_c = self._is_native and not self._memory.by_rows
        return in_c and (position == 0 or (position == 1 and self._label_is_native))

    def _sources(self) -> list[Line]:
        lines = []
        how = "row by row" if self._memory.by_rows else "one torch.index_select a batch"
        for i, field in enumerate(self._memory.fields):
            what = f"{len(self)} rows of {field!r}"
            if self._is_in_c(i):
                lines.append((f"array {i}", "C", what))
            else:
                lines.append(
                    (f"array {i}", "torch", f"{what}, {how}" + (f": {field.reason}" if field.reason else ""))
                )
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
        self.classes = self.class_to_idx = None
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
            return SourceBatch(indices, self._fill, lambda i: self._row(self._sample(self._checked(i))))
        return self._fill(indices)

    def _fill(self, indices: array[int]) -> Batch:
        if self._is_native:
            return super()._fill(indices)
        rows = torch.tensor([self._checked(i) for i in indices], dtype=torch.int64, device="cpu")
        values = self._gather(rows, 0)
        return Batch(self._view(), values[0], None, more=values[1:])

    def _has_python_rows(self) -> bool:
        return self._memory.by_rows or super()._has_python_rows()

    def _shown(self, row: int, features: Any = None) -> Any:
        field = self._memory.fields[0]
        if self._has_images():
            from PIL import Image

            return Image.fromarray(np.asarray(field.given)[row])
        return field[row] if features is None else features

    def _has_images(self) -> bool:
        """Whether its transform is given PIL images."""
        from ._images.array_pictures import become_images

        return self._is_as_given and become_images(self._memory.fields[0].given, self.transform)

    @property
    def _is_as_given(self) -> bool:
        """Whether nothing is done to features before the transform."""
        return self._is_plain and self.shape == self._memory.fields[0].shape

    def _made_by(self) -> NativeDataset:
        """Its pictures, where one of torchvision's transforms is given them."""
        known = self._is_as_given and self.batch_transform is None and not self._memory.by_rows
        if not known or transforms.identify(self.transform) is None or overridden(self, RowDataset):
            return self
        if self._stand_in is None:
            from ._images.array_pictures import ArrayPictures

            self._stand_in = ArrayPictures(self)
        return self._stand_in

    def _native_view(self) -> View | Reason:
        view = super()._native_view()
        if isinstance(view, Reason) or (self._is_native and not self._memory.by_rows):
            return view
        fields = self._memory.fields
        worst = next((i for i, field in enumerate(fields) if field.way == ROWS), 0)
        why = fields[worst].reason
        if why is None:
            return Reason("Python code has a say in its samples")
        return dataclasses.replace(why, step=f"array {worst}")

    def _joined(self, parts: Sequence[Any], index_map: IntArray | None) -> View:
        return self._with_columns(View(parts, index_map, self._form()), 1 + self._label_is_native)

    def _with_columns(self, view: View, first: int) -> View:
        """A batch source with the arrays that torch gathers, from the first of them on."""
        width = len(self._memory.fields) - first
        return view.carry([ArrayColumns(view.datasets, view.starts, first, width)])

    def _form(self) -> Form:
        form = super()._form()._replace(alone=self._bare, opaque=self._is_opaque)
        return form if self._label_is_native else form._replace(label_dtype=None, label_shape=())

    def _sample_signature(self) -> tuple[Any, ...]:
        rest = [(f.tensor.dtype, f.shape) for f in self._memory.fields[1 + self._label_is_native :]]
        return (*super()._sample_signature(), "arrays", self._numbers.type, self.one_hot, *rest)

    def _places(self) -> object:
        return self._memory.places()

    @property
    def _mapped(self) -> Sequence[Field]:
        return [field for field in self._memory.fields if field.mapped]

    def _stored_table(self, core: CoreDataset) -> StoredTable | None:
        return None

    def _is_as_torch(self) -> bool:
        return (
            self._output == "tuple"
            and self._is_plain
            and self.one_hot is None
            and self.shape == self._memory.fields[0].shape
            and self.transform is None
            and self.target_transform is None
            and self.batch_transform is None
        )

    def _indexed(self, index: Any) -> tuple[torch.Tensor, ...]:
        if type(index) is int:
            self._checked(index)
        return tuple(field[index] for field in self._memory.fields)

    # -- for the kernels -------------------------------------------------------------

    def _view(self) -> View:
        if self._is_native:
            return super()._view()
        if self._shell is None:
            self._shell = self._with_columns(View([self], None, self._form(), cores=()), 1)
        return self._shell

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

    def _core_config(self) -> table_operations.Rows:
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

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_shell": None, "_stand_in": None, "_compiled_at": []}
