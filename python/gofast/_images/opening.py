"""Pillow's `open` under its own name, lazy where that is wanted: everywhere, or for a dataset's own code."""

from __future__ import annotations

import functools
import sys
import threading
from types import FrameType
from typing import Any

import PIL.Image

from .._lazy import open_lazy
from . import conversions
from .compose_calls import follow

_here = threading.local()


@functools.wraps(open_lazy.by_pillow)
def open(fp: Any, mode: Any = "r", formats: Any = None) -> Any:
    """What stands under Pillow's name."""
    if is_pillows(sys._getframe(1)):
        return open_lazy.by_pillow(fp, mode, formats)
    follow()
    return open_lazy.open_lazy(fp, mode, formats)


def is_pillows(caller: FrameType, here: bool = True) -> bool:
    """Whether Pillow's own function must do it.

    Args:
        here: a LazyOpening counts too.
    """
    if not (conversions.installed or (here and _is_here())):  # somebody goes on calling a function of ours
        return True
    # Pillow takes its own images apart; ours are counted.
    name: str = caller.f_globals.get("__name__", "")
    return name.startswith(("PIL.", "gofast._images."))


def _is_here() -> bool:
    return bool(getattr(_here, "lazy", 0))


class LazyOpening:
    """Meanwhile, what this thread opens by ``PIL.Image.open`` is lazy."""

    def __enter__(self) -> None:
        if PIL.Image.open is open_lazy.by_pillow:  # another's stays
            PIL.Image.open = open
        _here.lazy = getattr(_here, "lazy", 0) + 1

    def __exit__(self, *_: object) -> None:
        _here.lazy -= 1
        if not (_here.lazy or conversions.installed) and PIL.Image.open is open:
            PIL.Image.open = open_lazy.by_pillow  # another thread within puts it back with its next batch
