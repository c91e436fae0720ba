"""``shape=`` decides about the numbers: rows that are pictures are divided by 255, others stay as they are.

Only arguments decide, never the values: a file with a largest value of 255 and a file with a 300 are treated
in the same way.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np
import torch

from .. import errors
from .._core.memory import Memory
from .cells import Block, Locate, bad_cell, first_bad

Scale = Literal["auto", "unit"] | None


def whole_shape(shape: Sequence[int], width: int) -> tuple[int, ...]:
    """The shape, with its -1, of which there may be one, replaced by a size."""
    whole = list(shape)
    known = int(np.prod([d for d in whole if d != -1], dtype=np.int64))
    if whole.count(-1) == 1 and known > 0 and width % known == 0:
        whole[whole.index(-1)] = width // known
    if any(d < 1 for d in whole) or int(np.prod(whole, dtype=np.int64)) != width:
        hint = (
            "; is one of them the label? Name it: label=0 is the first column" if known == width - 1 else ""
        )
        raise errors.OptionError(f"shape={tuple(shape)} does not hold the {width} features of a row{hint}")
    return tuple(whole)


def sizes(shape: Sequence[int] | int | None) -> Sequence[int] | None:
    """The sizes of a shape; one may be given as a number."""
    if shape is None:
        return None
    one = tuple(shape) if isinstance(shape, Iterable) else (shape,)
    if not all(isinstance(d, int) and not isinstance(d, bool) for d in one):
        raise errors.OptionError(f"shape={shape!r}: give whole numbers, such as (1, 28, 28)")
    return one


def is_picture(shape: Sequence[int] | None) -> bool:
    """Whether a row is a picture: the given ``shape=`` has two or three dimensions."""
    return shape is not None and len(shape) in (2, 3)


def default_keys(shape: Sequence[int] | None) -> tuple[str, str]:
    """The default names of features and label."""
    return ("image", "label") if is_picture(shape) else ("features", "label")


def is_unit(
    scale: Scale, shape: Sequence[int] | None, dtype: torch.dtype, memory: Memory, locate: Locate
) -> bool:
    """Whether samples are divided by 255.

    Args:
        shape: the option as the user gave it.
        locate: gives the place of a row, for errors.

    Raises:
        BadValueError: ``scale="auto"``, and a picture has a value that is not a whole number
            from 0 to 255.
    """
    if scale not in ("auto", "unit", None):
        raise errors.OptionError(f'scale={scale!r} is not "auto", "unit" or None')
    if scale != "auto" or not dtype.is_floating_point:
        return scale == "unit"
    layout = memory.layout
    if not is_picture(shape):
        return False
    if layout.type != "uint8" or layout.bool:
        _check(memory, shape, locate)
    return True


def _check(memory: Memory, shape: Sequence[int] | None, locate: Locate) -> None:
    layout = memory.layout
    said = (
        f"shape={tuple(shape or ())} says that rows are pictures, whole numbers from 0 to 255: "
        'scale=None takes the numbers as they are, scale="unit" divides them by 255'
    )
    if layout.bool:
        path = locate(0).path
        where = "" if path is None else f"{path}: "
        raise errors.BadValueError(f"{where}the features are booleans, but {said}").at(path=path)
    found = first_bad(memory.features, _not_a_code)
    if found is not None:
        value = memory.features[found]
        raise bad_cell(layout, locate, *found, f"{value} is not the code of a pixel, but {said}")


def _not_a_code(block: Block) -> Block:
    inside = (block >= 0) & (block <= 255)
    return ~inside if block.dtype.kind in "iu" else ~(inside & (block == np.trunc(block)))
