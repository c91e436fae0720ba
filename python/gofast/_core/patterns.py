"""Patterns like the shell's, in what users give as paths."""

from __future__ import annotations

import glob
import os


def is_pattern(path: str) -> bool:
    """Whether a path is a pattern, and not an existing path that looks like one."""
    return glob.has_magic(path) and not os.path.exists(path)


def matching(pattern: str) -> list[str]:
    """The files that match, sorted by path; ``**`` stands for any folders."""
    return sorted(path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
