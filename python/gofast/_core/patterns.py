"""What users give as paths: files, patterns like the shell's, lists of these."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from pathlib import Path

from .. import errors
from .arguments import several
from .braces import braces, is_meant

Paths = str | Path | Iterable[str | Path]


def is_pattern(path: str) -> bool:
    """Whether a path is a pattern, and not an existing path that looks like one."""
    return glob.has_magic(path) and not os.path.exists(path)


def matching(pattern: str) -> list[str]:
    """The files that match, sorted by path; ``**`` stands for any folders."""
    found = glob.glob(pattern, recursive=True)
    return sorted(path for path in found if os.path.isfile(path) and is_meant(path, pattern))


def files_of(paths: Paths) -> list[str]:
    """The files of a path, a pattern or a list of them, as absolute paths. A pattern may have bash's braces.

    Raises:
        OptionError: these are no paths, or there is none.
        NotFoundError: no file matches a pattern.
    """
    if isinstance(paths, (bytes, dict, set, frozenset)):
        kind = type(paths).__name__
        raise errors.OptionError(f"paths is a {kind}: give a path, a pattern, or a list of them")
    made: list[str] = []
    for path in [paths] if isinstance(paths, (str, os.PathLike)) else several(paths):
        if not isinstance(path, (str, os.PathLike)):
            raise errors.OptionError(f"paths: {path!r:.80} is not a path")
        given = os.path.expanduser(os.fspath(path))
        for each in braces(given) if "{" in given and not os.path.exists(given) else [given]:
            found = matching(each) if is_pattern(each) else [each]
            if not found:
                raise errors.NotFoundError(f"{each}: no file matches the pattern").at(path=each)
            made += map(os.path.abspath, found)
    if not made:
        raise errors.OptionError("paths=[]: give at least one file")
    return made
