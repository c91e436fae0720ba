"""Finds a value in a matrix that does not fit, and names its place in an error."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import errors
from .._core.memory import Layout

if TYPE_CHECKING:
    import numpy.typing as npt

_VALUES = 1 << 20  # checked together, so that they stay in the caches

Block = np.ndarray[Any, np.dtype[Any]]


class CellPlace(NamedTuple):
    """The place of a row: its file, if any, the row in the file, and the line of a text file."""

    path: str | None
    row: int
    line: int | None = None


Locate = Callable[[int], CellPlace]


def first_bad(features: Block, bad: Callable[[Block], npt.NDArray[np.bool_]]) -> tuple[int, int] | None:
    """Row and position of the first value that ``bad`` marks. The matrix may be larger than memory."""
    step = max(1, _VALUES // max(1, features.shape[1]))
    for start in range(0, len(features), step):
        marked = bad(features[start : start + step])
        if marked.any():
            row, position = divmod(int(marked.argmax()), features.shape[1])
            return start + row, position
    return None


def bad_cell(layout: Layout, locate: Locate, row: int, position: int, text: str) -> errors.BadValueError:
    """The error for one cell. `text` says what is wrong with it and what to do next."""
    column, place = column_of(layout, position), locate(row)
    where = "" if place.path is None else f"{place.path}: "
    where += f"row {place.row}" if place.line is None else f"line {place.line}"
    return errors.BadValueError(f'{where}, column "{column}": {text}').at(**place._asdict(), column=column)


def column_of(layout: Layout, position: int) -> str:
    """The column of a feature, or its position if columns have no names or several values each."""
    return layout.features[position] if len(layout.features) == layout.width else str(position)
