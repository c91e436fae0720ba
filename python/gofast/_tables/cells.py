"""Finding a value that does not fit in a matrix, and saying where it stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import errors
from .._core.memory import Layout

if TYPE_CHECKING:
    import numpy.typing as npt

_VALUES = 1 << 20  # looked at together: they stay in the caches

Block = np.ndarray[Any, np.dtype[Any]]


class Place(NamedTuple):
    """Where a row stands: its file, if any, the row in it, and the line of a text file."""

    path: str | None
    row: int
    line: int | None = None


Locate = Callable[[int], Place]


def first_bad(features: Block, bad: Callable[[Block], npt.NDArray[np.bool_]]) -> tuple[int, int] | None:
    """Row and position of the first value that ``bad`` marks, of a matrix that may be larger than memory."""
    step = max(1, _VALUES // max(1, features.shape[1]))
    for start in range(0, len(features), step):
        marked = bad(features[start : start + step])
        if marked.any():
            row, position = divmod(int(marked.argmax()), features.shape[1])
            return start + row, position
    return None


def bad_cell(layout: Layout, locate: Locate, row: int, position: int, text: str) -> errors.BadValueError:
    """The error of one cell; text says what is wrong with it and what to do next."""
    column, place = column_of(layout, position), locate(row)
    where = "" if place.path is None else f"{place.path}: "
    where += f"row {place.row}" if place.line is None else f"line {place.line}"
    error = errors.BadValueError(f'{where}, column "{column}": {text}')
    error.path, error.row, error.line, error.column = *place, column
    return error


def column_of(layout: Layout, position: int) -> str:
    """The column of a feature; its position where columns have no names, or several values each."""
    return layout.features[position] if len(layout.features) == layout.width else str(position)
