"""Warnings that point at the user's own line."""

from __future__ import annotations

import multiprocessing
import os
import sys
import warnings
from pathlib import Path

import torch

from ..errors import GofastWarning

_OURS = tuple(
    str(folder) + os.sep
    for folder in (
        Path(__file__).parents[1],
        Path(torch.__file__).parent,
        Path(multiprocessing.__file__).parent,
    )
)
_said: set[str] = set()  # keys of what is said once a process


def warn(text: str, category: type[Warning] = GofastWarning, *, once: str | None = None) -> None:
    """Warns at the first line up the stack that is neither gofast's nor torch's.

    In a forked worker that is the line that started it.

    Args:
        text: what is so, and how to settle it or to silence the warning.
        once: a key: what was said under it is not said again in this process.
    """
    if once is not None:
        if once in _said:
            return
        _said.add(once)
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)
