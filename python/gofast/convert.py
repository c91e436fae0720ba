"""convert: a table in another format."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from inspect import signature
from typing import TYPE_CHECKING

from . import errors
from ._core import engine, table_operations
from ._core.arguments import checked
from ._tables.features import Column, FillValue
from ._tables.label_option import DEFAULT_LABEL, Label
from ._tables.sources import Path, expand

if TYPE_CHECKING:
    from ._loader.classes import LabelType
    from ._tables.codings import Categories, Dates
    from ._tables.column_options import Header
    from ._tables.limits import Limits


@checked
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
    decimal: str = ".",
    thousands: str | None = None,
    encoding: str = "utf-8",
    skiprows: int = 0,
    threads: int | None = None,
    limits: Limits | Mapping[str, int] | None = None,
) -> None:
    """Reads a table and writes it in another format, with a progress bar on long work.

    The values are stored in the smallest type that holds all of them exactly. The file
    gets its name only when it is complete.

    An HDF5 file is read too, by h5py: ``columns``, ``label`` and ``exclude`` name its datasets, by default
    all that hold numbers. In another HDF5 file they keep names, shapes and types (in this machine's order of
    bytes), and may be larger than memory; :meth:`gofast.ArrayDataset.from_hdf5` maps them there. Their
    attributes stay behind.

    Args:
        src: like ``path`` of :class:`gofast.TableDataset`; or one HDF5 file.
        dst: a name that ends in ``.npy`` (rows of the features, with numeric labels
            as the first columns), ``.npz`` (``features`` and one array for each label),
            ``.parquet`` (the labels, then one column for each feature) or ``.h5`` (as ``.npz``; a label of
            words is their numbers, and the dataset ``classes`` has the words).
        label: as for :class:`gofast.TableDataset`, which says more of all the following.
        label_type: ``"int"``, ``"float"``, ``"text"`` or ``"auto"``.
        header: whether the first line of a text file names the columns.
        columns: names or positions of the feature columns; default all but the label and a pandas index.
        exclude: names or positions of columns to leave out.
        fill_value: replaces missing cells, which are otherwise an error.
        categories: numbers of the words in columns of text.
        dates: units of columns of dates.
        delimiter: the character between the cells of a text file.
        decimal: what stands for the decimal point in a text file.
        thousands: what stands between thousands there.
        encoding: of a text file, such as ``"latin-1"``.
        skiprows: lines of a text file before its header.
        threads: threads for decoding; default all that the process may use.
        limits: a dict, or :class:`gofast.typing.Limits`.

    Raises:
        OptionError: dst ends in something else, or cannot hold the table.
        gofast.errors.GofastError: the errors of opening a dataset, and those of writing.

    Example:
        >>> gofast.convert("train.csv", "train.parquet")
    """
    given = locals()
    from ._tables import hdf5_convert
    from ._tables.column_options import selection, verified
    from ._tables.hdf5_file import is_hdf5
    from ._tables.limits import Limits

    target, limits = os.fspath(dst), Limits.of(limits)
    source = expand(src, target)
    said = f"converting {source[0]} to {target}"
    of_hdf5 = any(map(is_hdf5, source))
    if of_hdf5 and len(source) > 1:
        raise errors.OptionError(f"{len(source)} files, and HDF5 among them: convert one such file at a time")
    config: table_operations.Sources = {
        **verified(**{name: given[name] for name in signature(selection).parameters if name in given}),
        "paths": source,
        "rounds": "",
        "threads": engine.threads(threads),
        "limits": limits.as_config(),
    }
    to_hdf5, ending = hdf5_convert.is_target(target), os.path.splitext(target)[1]
    if not to_hdf5 and ending not in (".npy", ".npz", ".parquet"):
        known = "name the file .npy, .npz, .parquet or .h5"
        raise errors.OptionError(f"convert: cannot write {target!r} in the format {ending!r}: {known}").at(
            path=target
        )
    if of_hdf5 and to_hdf5:
        hdf5_convert.copy(config, target, said)
    elif of_hdf5:
        with hdf5_convert.as_npz(config, target) as npz:
            table_operations.convert({"destination": target, **npz}, said)
    elif to_hdf5:
        hdf5_convert.write(table_operations.open_table(config, said), target, said)
    else:
        table_operations.convert({"destination": target, **config}, said)
