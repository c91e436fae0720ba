"""verify: reads files whole, and says what opening them would, or whether a cache is as it was written."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

from . import errors
from ._core import command_operations, engine, table_operations
from ._core.arguments import checked
from ._images.cache_sets import sets_in
from ._tables import array_folder, sources
from ._tables.column_options import verified
from ._tables.hdf5_file import is_hdf5
from ._tables.sources import Path


@checked
def verify(path: Path | Sequence[Path], **options: Any) -> None:
    """Reads what makes a dataset, a cache of a table or of pictures, or a preprocessed set, and raises what
    is wrong.

    Opening a cache checks only its header; this compares all checksums, and finds a flipped bit anywhere. A
    table is read as :class:`gofast.TableDataset` reads it, records as :class:`gofast.TFRecordDataset` and an
    HDF5 file as :meth:`gofast.ArrayDataset.from_hdf5` reads each of its datasets of numbers, with the same
    errors, and nothing is kept. For folders of pictures and for many files, there is the command ``gofast
    verify``.

    Args:
        path: a table, of one file or as TableDataset takes several; TFRecord files, whose compression is
            recognized; an HDF5 file; the folder that was given as ``cache=``; or the folder of
            :func:`gofast.preprocess`.
        options: those of TableDataset that say what a table's columns and cells are: ``label``, ``columns``,
            ``exclude``, ``fill_value``, ``header``, ``delimiter`` and their kin.

    Raises:
        DamagedError: the content differs from what was written; names the array, or file and offset.
        NotFoundError, ReadError: the file is not there or cannot be read.
        gofast.errors.GofastError: what the dataset raises when it is opened.

    Example:
        >>> table = gofast.TableDataset("train.csv", cache="train.cache")
        >>> gofast.verify("train.cache")
        >>> gofast.verify(["train.csv", "test.csv"])
        >>> gofast.verify("train-*.tfrecord")
    """
    table, threads = verified(**options), engine.threads()
    if isinstance(path, (str, os.PathLike)) and os.path.isdir(path):
        if sets := sets_in(path):
            found = command_operations.verify_files(
                {"paths": sets, "shards": [], "threads": threads, "table": table, "one_table": False},
                _said(path),
            )
            for one in found["damaged"]:
                raise errors.DamagedError(one["reason"]).at(path=one["path"])
            return
        if any(os.path.lexists(os.path.join(path, name)) for name in (array_folder.WHOLE, array_folder.PART)):
            array_folder.verify(os.fspath(path))
            return
    paths = sources.expand(path)
    packed = [file for file in paths if file.lower().endswith((".h5", ".hdf5")) or is_hdf5(file)]
    if packed:
        from ._tables import hdf5_verify  # which needs torch

        for file in packed:
            hdf5_verify.verify(file, threads)
    if rest := [file for file in paths if file not in packed]:
        table_operations.verify({"paths": rest, "threads": threads, "limits": {}, **table}, _said(rest[0]))


def _said(path: Path) -> str:
    return f"verifying {os.fspath(path)}"
