"""From what a user gives as ``path`` to the list of files of one table."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable

from . import errors

Path = str | os.PathLike[str]


def expand(path: Path | Iterable[Path]) -> list[str]:
    """Files, in order: those given, or the sorted content of globs and folders.

    Hidden files and those that begin with ``_`` (Spark's markers) are left out of
    folders. Raises NotFoundError when a path does not exist or a pattern or folder
    gives no file.
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise errors.OptionError("path=[]: give at least one file")
    return [file for p in paths for file in _expand_one(os.fspath(p))]


def _expand_one(path: str) -> list[str]:
    if os.path.isdir(path):
        found = sorted(
            entry.path
            for entry in os.scandir(path)
            if entry.is_file() and not entry.name.startswith((".", "_"))
        )
        if not found:
            raise _not_found(path, "the folder holds no files")
        return found
    if not os.path.exists(path) and glob.has_magic(path):
        found = sorted(file for file in glob.glob(path, recursive=True) if os.path.isfile(file))
        if not found:
            raise _not_found(path, "no file matches the pattern")
        return found
    if not os.path.exists(path):
        raise _not_found(path, "no such file")
    return [path]


def _not_found(path: str, why: str) -> errors.NotFoundError:
    error = errors.NotFoundError(f"open {path}: {why}")
    error.path = path
    return error
