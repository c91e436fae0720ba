"""convert: a table in another format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from ._core import engine, table_operations
from ._tables.features import Column, FillValue
from ._tables.label import DEFAULT_LABEL, Label
from ._tables.sources import Path, expand

if TYPE_CHECKING:
    from ._loader.classes import LabelType
    from ._tables.codings import Categories, Dates
    from ._tables.columns import Header
    from .table import Limits


def convert(
    src: Path | Iterable[Path],
    dst: Path,
    *,
    label: Label = DEFAULT_LABEL,
    label_type: LabelType = "auto",
    header: Header = "auto",
    columns: Sequence[str | int] | None = None,
    exclude: Column | Sequence[Column] | None = None,
    fill_value: FillValue = None,
    categories: Categories | None = None,
    dates: Dates | None = None,
    delimiter: str | None = None,
    skiprows: int = 0,
    threads: int | None = None,
    limits: Limits | Mapping[str, int] | None = None,
) -> None:
    """Reads a table and writes it in another format, with a progress bar on long work.

    The values are stored in the smallest type that holds all of them exactly. The file
    gets its name only when it is complete.

    Args:
        src: like ``path`` of :class:`gofast.TableDataset`.
        dst: a name that ends in ``.npy`` (rows of the features, with numeric labels
            as the first columns), ``.npz`` (``features`` and one array for each label)
            or ``.parquet`` (the labels, then one column for each feature).
        label: as for :class:`gofast.TableDataset`, which says more of all the following.
        label_type: ``"int"``, ``"float"``, ``"text"`` or ``"auto"``.
        header: whether the first line of a text file names the columns.
        columns: names or positions of the feature columns; default all but the label.
        exclude: names or positions of columns to leave out.
        fill_value: replaces missing cells, which are otherwise an error.
        categories: numbers of the words in columns of text.
        dates: units of columns of dates.
        delimiter: the character between the cells of a text file.
        skiprows: lines of a text file before its header.
        threads: threads for decoding; default all that the process may use.
        limits: :class:`gofast.Limits`, or a dict of its fields.

    Raises:
        OptionError: dst ends in something else, or cannot hold the table.
        gofast.errors.GofastError: the errors of opening a dataset, and those of writing.

    Example:
        >>> gofast.convert("train.csv", "train.parquet")
    """
    from ._tables.codings import categorized, counted
    from ._tables.columns import selection
    from .table import Limits

    target = os.fspath(dst)
    source = expand(src, target)
    config: table_operations.Conversion = {
        "paths": source,
        "destination": target,
        "threads": engine.threads(threads),
        "limits": Limits.of(limits).as_config(),
        **selection(
            label=label,
            label_type=label_type,
            header=header,
            columns=columns,
            exclude=exclude,
            fill_value=fill_value,
            categories=categorized(categories),
            dates=counted(dates),
            delimiter=delimiter,
            skiprows=skiprows,
        ),
    }
    table_operations.convert(config, f"converting {source[0]} to {target}")
