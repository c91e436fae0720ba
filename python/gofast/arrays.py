"""ArrayDataset: rows of numpy or torch arrays that are in memory already."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from . import errors
from ._memory import Layout, Memory
from ._rows import Numbers, Output, RowDataset, Scale

_FEATURE_TYPES = ("uint8", "int16", "int32", "int64", "float32", "float64")
Array = torch.Tensor | npt.NDArray[Any]


class ArrayMemory(Memory):
    """The user's own arrays: nothing is copied where the types allow it."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        if not 1 <= len(arrays) <= 2:
            raise errors.OptionError(
                f"{len(arrays)} arrays: give the features, and at most one array of labels"
            )
        features = _numpy(arrays[0])
        if any(len(a.shape) == 0 or a.shape[0] != features.shape[0] for a in arrays):
            sizes = [tuple(a.shape) for a in arrays]
            raise errors.SchemaError(
                f"arrays of shapes {sizes}: the first dimension, of rows, must be the same"
            )
        if features.dtype.name not in _FEATURE_TYPES or not features.dtype.isnative:
            raise errors.UnsupportedError(
                f"features of type {features.dtype}: use one of {', '.join(_FEATURE_TYPES)}"
            )
        rows, shape = len(features), features.shape[1:]
        width = int(np.prod(shape, dtype=np.int64))
        if width == 0:
            raise errors.SchemaError(f"features of shape {features.shape}: a row has no values")
        self.features = np.ascontiguousarray(features).reshape(rows, width)
        self.float64_labels = False
        kinds: tuple[str, ...] = ()
        labels = np.empty((rows, 0), np.int64)
        if len(arrays) == 2:
            given = _numpy(arrays[1])
            if given.ndim not in (1, 2) or given.dtype.kind not in "biuf" or given.dtype == np.uint64:
                raise errors.UnsupportedError(
                    f"labels of type {given.dtype} and shape {given.shape}: "
                    "give integers or floats, [n] or [n, columns]"
                )
            real = given.dtype.kind == "f"
            self.float64_labels = given.dtype == np.float64
            wide = np.ascontiguousarray(given, np.float64 if real else np.int64)
            labels = wide.reshape(rows, *given.shape[1:] or (1,)).view(np.int64)
            kinds = ("float" if real else "int",) * labels.shape[1]
        self.labels = labels
        self.layout = Layout(
            rows=rows,
            width=width,
            type=features.dtype.name,
            bool=False,
            shape=shape,
            features=(),
            labels=tuple(str(i) for i in range(len(kinds))),
            label_kinds=kinds,
            classes=None,
            features_offset=0,
            labels_offset=0,
            size=0,
        )


class ArrayDataset(RowDataset):
    """Map-style dataset over arrays, as ``torch.utils.data.TensorDataset``.

    Without options its samples equal TensorDataset's (integer labels narrower than
    64 bits become int64). The options are :class:`gofast.TableDataset`'s. Arrays are
    not copied: change them, and the samples change.

    Args:
        *arrays: features [n, ...] of type uint8, int16, int32, int64, float32 or
            float64, and optionally labels [n] or [n, columns], as numpy arrays or CPU
            tensors.
        dtype: of the samples; default that of the features.
        shape, scale, mean, std, keys, output, one_hot, transform, target_transform,
            batch_transform: see :class:`gofast.TableDataset`.

    Raises:
        gofast.errors.GofastError: for arrays that do not fit together.

    Example:
        >>> ds = gofast.ArrayDataset(np.zeros((10, 3), np.float32), np.arange(10))
        >>> ds[3]
        (tensor([0., 0., 0.]), tensor(3))
    """

    def __init__(
        self,
        *arrays: Array,
        shape: Sequence[int] | None = None,
        scale: Scale = None,
        mean: Numbers = None,
        std: Numbers = None,
        dtype: torch.dtype | None = None,
        keys: tuple[str, str] = ("image", "label"),
        output: Output = "tuple",
        one_hot: int | None = None,
        transform: Callable[[torch.Tensor], Any] | None = None,
        target_transform: Callable[[torch.Tensor], Any] | None = None,
        batch_transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
    ) -> None:
        memory = ArrayMemory(arrays)
        self._memory = memory
        arithmetic = scale is not None or mean is not None or std is not None
        if dtype is None:
            own: torch.dtype = getattr(torch, memory.layout.type)
            dtype = own if own.is_floating_point or not arithmetic else torch.float32
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
        )

    def __repr__(self) -> str:
        layout = self._memory.layout
        return (
            f"ArrayDataset({layout.rows} rows, {layout.width} features stored as {layout.type}, "
            f"shape {self.shape}, {self.dtype})"
        )

    def _float_label_dtype(self) -> torch.dtype:
        memory = self._memory
        assert isinstance(memory, ArrayMemory)
        return torch.float64 if memory.float64_labels else torch.float32


def _numpy(array: Array) -> npt.NDArray[Any]:
    if isinstance(array, torch.Tensor):
        if array.device.type != "cpu":
            raise errors.UnsupportedError(f"an array on {array.device}: move it to the CPU")
        try:
            return array.detach().numpy()
        except TypeError:
            raise errors.UnsupportedError(f"an array of type {array.dtype}: numpy has no such type") from None
    return np.asarray(array)
