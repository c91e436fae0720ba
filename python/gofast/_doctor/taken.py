"""Replaces functions in modules that took them by name: after `from os import read`, that is their own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

Swap = tuple[Callable[..., Any], Callable[..., Any]]  # what was there, and what is there now


def everywhere(swapped: dict[int, Swap]) -> None:
    """Puts the new functions wherever a module has an old one.

    Args:
        swapped: by the id of the old function.
    """
    for name, module in list(sys.modules.items()):
        inside = getattr(module, "__dict__", None)
        # What measures has to read without being measured.
        if not isinstance(inside, dict) or name.startswith(f"{__package__}."):
            continue
        for key, value in list(inside.items()):
            if id(value) in swapped:
                inside[key] = swapped[id(value)][1]
