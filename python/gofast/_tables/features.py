"""The options that choose the features and fill their missing cells, in the form that the engine takes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from .. import errors
from .._core.table_operations import Features

Column = str | int
FillValue = float | Mapping[Column, float] | None


def feature_options(
    columns: Sequence[Column] | None, exclude: Column | Sequence[Column] | None, fill_value: FillValue
) -> Features:
    """The options of the features, checked."""
    each = fill_value if isinstance(fill_value, Mapping) else {}
    return {
        "columns": None if columns is None else column_list("columns", columns),
        "exclude": column_list("exclude", exclude),
        "fill_value": None if isinstance(fill_value, Mapping) else _fill("fill_value", fill_value),
        "fill_values": [
            {"column": column_list("fill_value", column)[0], "value": _fill(f"fill_value[{column!r}]", value)}
            for column, value in each.items()
        ],
    }


def column_list(option: str, columns: Column | Sequence[Column] | None) -> list[Column]:
    """Names and positions, one or several."""
    if columns is None:
        return []
    try:
        listed = [columns] if isinstance(columns, (str, int)) else list(columns)
    except TypeError:
        listed = [False]
    if not all(isinstance(c, (str, int)) and not isinstance(c, bool) for c in listed):  # a mask, perhaps
        raise errors.OptionError(f"{option}={columns!r}: give names or positions of columns")
    return listed


def _fill(option: str, value: float | None) -> float | str | None:
    """A number, or "nan" for NaN, which JSON does not have."""
    if value is None and option == "fill_value":
        return None
    try:
        number = math.inf if isinstance(value, (str, bytes)) or value is None else float(value)
    except (TypeError, ValueError):
        number = math.inf
    if math.isinf(number):
        raise errors.OptionError(
            f"{option}={value!r}: give a finite number, or nan to keep missing cells as NaN"
        )
    return "nan" if math.isnan(number) else number


def fills(fill_value: FillValue) -> list[float]:
    """The numbers that the option may put into the table."""
    if fill_value is None:
        return []
    return [float(v) for v in (fill_value.values() if isinstance(fill_value, Mapping) else [fill_value])]
