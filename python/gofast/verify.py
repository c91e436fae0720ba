"""verify: checks that a cache file still holds what was written."""

from __future__ import annotations

import os

from ._core import table_operations
from ._tables.sources import Path


def verify(path: Path) -> None:
    """Reads a whole cache file, or a preprocessed set, and compares its content with its checksums.

    Opening a cache checks only its header; this finds a flipped bit anywhere.

    Args:
        path: the file that was given as ``cache=``, or the folder of :func:`gofast.preprocess`.

    Raises:
        DamagedError: the content differs from what was written; names the array.
        NotFoundError, ReadError: the file is not there or cannot be read.

    Example:
        >>> table = gofast.TableDataset("train.csv", cache="train.cache.npz")
        >>> gofast.verify("train.cache.npz")
    """
    if os.path.isdir(path):
        from ._sets import files  # which needs torch

        files.verify(os.fspath(path))
        return
    table_operations.verify({"path": os.fspath(path)}, f"verifying {os.fspath(path)}")
