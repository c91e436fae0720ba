"""Warnings that point at the user's own line."""

from __future__ import annotations

import functools
import multiprocessing
import os
import sys
import warnings
from pathlib import Path

from ..errors import GofastWarning

_said: set[str] = set()  # keys of the warnings that are given once in a process


def warn(text: str, category: type[Warning] = GofastWarning, *, once: str | None = None) -> None:
    """Warns at the first line up the stack that is neither gofast's nor torch's.

    In a forked worker, that is the line that started the worker.

    Args:
        text: says what is wrong, and how to fix it or silence the warning.
        once: a key; a warning with the same key is given only once in this process.
    """
    if once is not None:
        if once in _said:
            return
        _said.add(once)
    ours = _ours()
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(ours):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


@functools.cache
def _ours() -> tuple[str, ...]:
    """Folders whose lines are not the user's."""
    import torch

    files = (Path(__file__).parent, Path(torch.__file__), Path(multiprocessing.__file__))
    return tuple(str(file.parent) + os.sep for file in files)
