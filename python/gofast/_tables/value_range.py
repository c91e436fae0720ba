"""Checks that a table's values fit the type of its samples: a value that overflows or wraps is an error."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .. import errors
from .cells import Block, Locate, bad_cell, first_bad
from .features import FillValue, fills

if TYPE_CHECKING:
    from .rows import RowDataset


def check_range(dataset: RowDataset[Any], fill_value: FillValue, locate: Locate) -> None:
    """Raises BadValueError for the first value that an integer type or float16 does not hold.

    If the type that stores the values cannot hold such a value, there is nothing to check.
    """
    dtype, layout = dataset.dtype, dataset._memory.layout
    if not dtype.is_floating_point:
        for value in fills(fill_value):
            if math.isnan(value) or value != math.trunc(value):
                raise errors.OptionError(
                    f"fill_value={fill_value!r} does not fit dtype={dtype}, an integer type"
                )
        name = dataset._numbers.type
        if layout.type.startswith("float") or np.can_cast(layout.type, name):
            return  # floats were refused already, by their type
        limits = np.iinfo(name)
        outside = first_bad(dataset._memory.features, lambda x: (x < limits.min) | (x > limits.max))
        advice = "choose a wider type"
    elif dtype == torch.float16:
        if layout.type in ("uint8", "int16"):
            ends = np.iinfo(layout.type)
            every = np.array([[ends.min], [ends.max]], layout.type).repeat(layout.width, axis=1)
            if not _becomes_infinite(dataset, every).any():
                return  # all values between these two fit too
        outside = first_bad(dataset._memory.features, lambda x: _becomes_infinite(dataset, x))
        advice = "the largest float16 is 65504: choose another type, or scale the values"
    else:
        return
    if outside is not None:
        value = dataset._memory.features[outside]
        raise bad_cell(layout, locate, *outside, f"{value} does not fit dtype={dtype}: {advice}")


def _becomes_infinite(dataset: RowDataset[Any], block: Block) -> Block:
    made: Block = dataset._numbers.make(block).numpy()
    infinite: Block = np.isinf(made) & ~np.isinf(block)
    return infinite
