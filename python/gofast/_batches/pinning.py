"""Batches in pinned memory, for loaders of torch's with pin_memory=True: torch then has nothing to copy.

A dataset is not told what becomes of its batches, so it looks who asks. This room knows no devices; `pinner`
is what `gofast._device` puts here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import TypeAlias

import torch
from torch.utils.data._utils.pin_memory import _pin_memory_loop
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from .._core.native import Ring

Pin: TypeAlias = Callable[
    [Ring, int], bool
]  # a ring, of which no slot is taken, and its bytes: whether it is pinned

# torch's code that pins what it gets: a batch that it has just fetched, and one that a worker has sent.
_FETCHES = _SingleProcessDataLoaderIter._next_data.__code__
_RECEIVES = _pin_memory_loop.__code__

pinner: Callable[[], Pin | None] = lambda: None  # noqa: E731


def pin_for_caller() -> Pin | None:
    """What pins batch memory, if torch is about to pin the batch that is being made or received here."""
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _FETCHES:
            return pinner() if frame.f_locals["self"]._pin_memory else None
        if frame.f_code is _RECEIVES:
            return pinner()
        frame = frame.f_back
    return None
