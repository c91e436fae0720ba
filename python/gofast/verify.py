"""verify: reads a file whole, and says what opening it would say, or whether a cache is as it was written."""

from __future__ import annotations

import os
from typing import Any

from . import errors
from ._core import command_operations, engine, table_operations
from ._core.arguments import checked
from ._images.kept_sets import sets_in
from ._tables import array_folder
from ._tables.columns import verified
from ._tables.sources import Path


@checked
def verify(path: Path, **options: Any) -> None:
    """Reads a table, a cache of a table or of pictures, or a preprocessed set, and raises what is wrong.

    Opening a cache checks only its header; this compares all checksums, and finds a flipped bit anywhere. A
    table is read as :class:`gofast.TableDataset` reads it, with the same errors, and is not kept. For folders
    of pictures and for many files, there is the command ``gofast verify``.

    Args:
        path: a table; the folder that was given as ``cache=``; or that of :func:`gofast.preprocess`.
        options: those of TableDataset that say what a table's columns and cells are: ``label``, ``columns``,
            ``exclude``, ``fill_value``, ``header``, ``delimiter`` and their kin.

    Raises:
        DamagedError: the content differs from what was written; names the array, or file and offset.
        NotFoundError, ReadError: the file is not there or cannot be read.
        gofast.errors.GofastError: what TableDataset raises for a table.

    Example:
        >>> table = gofast.TableDataset("train.csv", cache="train.cache")
        >>> gofast.verify("train.cache")
        >>> gofast.verify("train.csv")
    """
    table, threads = verified(**options), engine.threads()
    said = f"verifying {os.fspath(path)}"
    if sets := sets_in(path):
        found = command_operations.verify_files({"paths": sets, "threads": threads, "table": table}, said)
        for one in found["damaged"]:
            raise errors.DamagedError(one["reason"]).at(path=one["path"])
        return
    if os.path.isdir(path):
        if not array_folder.is_whole(path):
            raise errors.NotFoundError(f"open {path}: no cache and no set is there").at(path=os.fspath(path))
        array_folder.verify(os.fspath(path))
        return
    table_operations.verify({"paths": [os.fspath(path)], "threads": threads, "limits": {}, **table}, said)
