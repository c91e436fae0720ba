"""verify: checks that a cache file still holds what was written."""

from __future__ import annotations

import os

from . import errors
from ._core import command_operations, engine, table_operations
from ._core.arguments import checked
from ._images.kept_sets import sets_in
from ._tables.sources import Path


@checked
def verify(path: Path) -> None:
    """Reads a cache of a table or of pictures, or a preprocessed set, and compares it with its checksums.

    Opening a cache checks only its header; this finds a flipped bit anywhere.

    Args:
        path: the file that was given as ``cache=``, or its folder, or that of :func:`gofast.preprocess`.

    Raises:
        DamagedError: the content differs from what was written; names the array, or file and offset.
        NotFoundError, ReadError: the file is not there or cannot be read.

    Example:
        >>> table = gofast.TableDataset("train.csv", cache="train.cache.npz")
        >>> gofast.verify("train.cache.npz")
    """
    if sets := sets_in(path):
        config: command_operations.Inspection = {"paths": sets, "threads": engine.threads()}
        found = command_operations.verify_files(config, f"verifying {os.fspath(path)}")
        for one in found["damaged"]:
            raise errors.DamagedError(one["reason"]).at(path=one["path"])
        return
    if os.path.isdir(path):
        from ._sets import files  # which needs torch

        files.verify(os.fspath(path))
        return
    table_operations.verify({"path": os.fspath(path)}, f"verifying {os.fspath(path)}")
