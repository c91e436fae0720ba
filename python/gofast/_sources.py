"""From what a user gives as ``path`` to the list of files of one table."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable

from . import errors

Path = str | os.PathLike[str]


def expand(path: Path | Iterable[Path], output: str | None = None) -> list[str]:
    """Files, in order: those given, or the sorted content of globs and folders.

    Hidden files and those that begin with ``_`` (Spark's markers) are left out of
    folders, and so is ``output``, a file that will be made of them. Raises
    NotFoundError when a path does not exist or a pattern or folder gives no file,
    and OptionError when ``output`` would replace a source or something that is not a file.
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise errors.OptionError("path=[]: give at least one file")
    made = set() if output is None else {os.path.realpath(output + end) for end in ("", ".part")}
    files = [file for p in paths for file in _expand_one(os.fspath(p), made)]
    if output is not None and os.path.lexists(output):
        if os.path.exists(output) and not os.path.isfile(output):
            raise errors.OptionError(f"{output!r} is there and is not a file: it will not be replaced")
        if os.path.exists(output) and any(os.path.samefile(output, file) for file in files):
            raise errors.OptionError(f"{output!r} is a source itself: it will not be replaced")
    return files


def _expand_one(path: str, made: set[str]) -> list[str]:
    if os.path.isdir(path):
        found = sorted(
            entry.path
            for entry in os.scandir(path)
            if entry.is_file()
            and not entry.name.startswith((".", "_"))
            and os.path.realpath(entry.path) not in made
        )
        if not found:
            raise _not_found(path, "the folder holds no files")
        return found
    if not os.path.exists(path) and glob.has_magic(path):
        found = sorted(
            file
            for file in glob.glob(path, recursive=True)
            if os.path.isfile(file) and os.path.realpath(file) not in made
        )
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
