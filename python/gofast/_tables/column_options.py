"""A user's options for a table's columns, in the form that the engine takes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from .. import errors
from .._core.table_operations import Options, Selection
from .._core.warn import warn
from .._loader.classes import Classes, LabelType, Name, numbered
from .codings import Categories, Dates, Named, Unit, categorized, coding_options, counted
from .encodings import upper_half
from .features import Column, FillValue, column_list, feature_options
from .label_option import DEFAULT_LABEL, DefaultLabel, Label

Header = Literal["auto"] | bool

_LIKE_LABELS = {"label", "labels", "target", "targets", "y", "y_true", "class", "classes", "class_id"}
_LIKE_LABELS |= {"category", "outcome", "species", "ground_truth"}


def selection(
    *,
    label: Label = DEFAULT_LABEL,
    label_type: LabelType = "auto",
    classes: Mapping[Name, int] | None = None,
    header: Header = "auto",
    columns: Sequence[str | int] | None = None,
    exclude: Column | Sequence[Column] | None = None,
    fill_value: FillValue = None,
    categories: Mapping[str, Named] | None = None,
    dates: Mapping[str, Unit] | None = None,
    delimiter: str | None = None,
    decimal: str = ".",
    thousands: str | None = None,
    encoding: str = "utf-8",
    skiprows: int = 0,
) -> Selection:
    """The options that shape the decoded table, in the form that the engine takes."""
    if not isinstance(header, bool) and header != "auto":
        raise errors.OptionError(f'header={header!r} is not "auto", True or False')
    return {
        "label": column_list("label", label),
        "label_optional": isinstance(label, DefaultLabel),
        "label_type": label_type,
        "classes": None if classes is None else _classes(classes),
        **feature_options(columns, exclude, fill_value),
        **coding_options(categories, dates),
        "header": None if header == "auto" else header,
        "delimiter": _character("delimiter", delimiter, ";"),
        "decimal": _character("decimal", decimal, ","),
        "thousands": _character("thousands", thousands, ","),
        "encoding": upper_half(encoding),
        "skiprows": skiprows,
    }


def verified(
    *,
    classes: Classes | None = None,
    categories: Categories | None = None,
    dates: Dates | None = None,
    **others: Any,
) -> Options:
    """The options that a table is verified with: those of a dataset of float32."""
    config = selection(
        classes=None if classes is None else numbered(classes),
        categories=categorized(categories),
        dates=counted(dates),
        **others,
    )
    return {**config, "texts": [], "rounds": "float32"}


def _classes(class_to_idx: Mapping[Name, int]) -> dict[str, Any]:
    names = list(class_to_idx)
    kind = "names" if isinstance(names[0], str) else "values"
    return {kind: names, "numbers": list(class_to_idx.values())}


def _character(option: str, value: str | None, such: str) -> str:
    if value is None and option != "decimal":
        return ""
    if not isinstance(value, str) or not value:
        rest = "" if option == "decimal" else ", or None"
        raise errors.OptionError(f'{option}={value!r}: give one character, such as "{such}"{rest}')
    return value


def warn_of_no_label(path: Any, features: Iterable[str]) -> None:
    """Warns that the default label column is missing, and names features that look like a label."""
    alike = [repr(name) for name in features if name.strip(" _").lower() in _LIKE_LABELS]
    so = "so every label is -1"
    if alike:
        what = "is a feature" if len(alike) == 1 else "are features"
        so += f" and {', '.join(alike)} {what}: say label={alike[0]}, or label=None if there is no label"
    else:
        so += ": name it with label=, or say label=None if there is none"
    files = [path] if isinstance(path, (str, os.PathLike)) else path
    table = os.fspath(files[0]) + ("" if len(files) == 1 else f" and {len(files) - 1} more")
    warn(f"{table}: no column is called 'label', {so}")
