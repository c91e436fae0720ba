"""Lists of sample numbers, as far as they are certainly read as torch would read them."""

from __future__ import annotations

import operator
from array import array
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import torch
from torch import Tensor

from .. import errors

if TYPE_CHECKING:
    Indices: TypeAlias = "array[int] | Tensor"

# What indexes anything as an int does: neither bools, nor tensors, which may be masks.
_WHOLE = {int, np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64}
_INTEGERS = (torch.int8, torch.int16, torch.int32, torch.int64, torch.uint8)


def listed(indices: Iterable[Any]) -> Sequence[Any]:
    """A batch's indices with a length, to be read more than once: torch only iterates over them."""
    return indices if type(indices) is list else list(indices)


def whole(indices: Sequence[Any]) -> array[int]:
    """A list's int64s.

    Raises:
        TypeError: an element is a mask, or no integer.
        OverflowError: one is beyond an int64.
    """
    made = array("q", indices)
    if not _WHOLE.issuperset(map(type, indices)) and any(_is_mask(i) for i in indices):
        raise TypeError("a mask is not a row number")
    return made


def _is_mask(index: Any) -> bool:
    """Whether it chooses rows where it indexes a tensor, though it counts as an integer."""
    if isinstance(index, Tensor):
        return index.dtype in (torch.bool, torch.uint8)
    return isinstance(index, (bool, np.bool_)) or getattr(index, "dtype", None) == np.bool_


def index_list(index: Iterable[Any], masks: bool = False) -> Indices | None:
    """What a batch sampler yielded, as int64s in a row, or None if its elements are not all integers.

    Args:
        index: not an iterator, which could not be read again.
        masks: bools and mask tensors are integers too, as they are to a list of pictures.
    """
    if isinstance(index, (Tensor, np.ndarray)):
        integers = _integers(index)
        if integers is not None:
            return integers
    try:
        rows = listed(index)  # array would take bytes for eight to a number
        return array("q", rows) if masks else whole(rows)
    except (TypeError, ValueError, OverflowError):
        return None


def picked_from(indices: Any) -> Tensor | None:
    """A sequence whose elements torch picks by position, as int64s, or None where only picking tells them.

    Types are compared exactly: a subclass, a pandas Series for one, may give anything for a position.
    """
    kind = type(indices)
    if kind is Tensor and indices.dtype == torch.uint8:
        return None  # its elements are masks where they index a tensor
    if kind is Tensor or kind is np.ndarray or kind is np.memmap:
        return _integers(indices)
    try:
        if kind is range:
            return torch.from_numpy(np.arange(indices.start, indices.stop, indices.step, dtype=np.int64))
        if (kind is list or kind is tuple) and _WHOLE.issuperset(map(type, indices)):
            return torch.from_numpy(np.array(array("q", indices), dtype=np.int64))
    except (TypeError, ValueError, OverflowError):
        pass
    return None


def _integers(values: Tensor | np.ndarray[Any, Any]) -> Tensor | None:
    if values.ndim != 1:
        return None
    if isinstance(values, np.ndarray):
        fits = values.dtype.kind in "iu" and np.can_cast(values.dtype, np.int64)
        return torch.from_numpy(values.astype(np.int64)) if fits else None
    return values.to(device="cpu", dtype=torch.int64).contiguous() if values.dtype in _INTEGERS else None


def positions(index: Any, rows: int) -> list[int]:
    """The rows that a list, array, tensor or boolean mask chooses."""
    chosen = np.asarray(index)
    if chosen.dtype == np.bool_:
        if chosen.shape != (rows,):
            raise errors.RowIndexError(
                f"a mask of shape {chosen.shape} does not fit a dataset of {rows} rows"
            )
        return [int(i) for i in np.flatnonzero(chosen)]
    return [operator.index(i) for i in index]
