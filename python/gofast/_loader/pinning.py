"""Batches that are made in torch's own pinned memory, for pin_memory=True: torch then has nothing to copy.

It must be torch's. Whoever copies a batch with `to("cuda", non_blocking=True)` may drop it at once: torch
keeps pinned memory of its own until the copy is done, and no other.
"""

from __future__ import annotations

import sys
from array import array
from types import FrameType
from typing import TYPE_CHECKING

import torch
from torch.utils.data.dataloader import _SingleProcessDataLoaderIter

from .._core import engine

if TYPE_CHECKING:
    from .core_dataset import CoreDataset

# torch's code that pins a batch which it has just fetched. What a worker sends is pinned by a copy.
_FETCHES = _SingleProcessDataLoaderIter._next_data.__code__


def is_asked_for() -> bool:
    """Whether torch is about to pin the batch that is being made here: a dataset is not told, so it looks."""
    if not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if frame.f_code is _FETCHES:
            return bool(frame.f_locals["self"]._pin_memory)
        frame = frame.f_back
    return False


def empty(shape: tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """Pinned memory."""
    return torch.empty(shape, dtype=dtype, device="cpu", pin_memory=True)


class PinnedMemory:
    """Pinned memory of some batches.

    Attributes:
        batches: [n, ...] each, as the core lays samples out.
    """

    def __init__(self, core: CoreDataset, rows: int, batch_rows: int) -> None:
        dtype: torch.dtype = getattr(torch, core.sample_type)
        counts = [min(batch_rows, rows - start) for start in range(0, rows, batch_rows)]
        self.batches = [empty((count, *core.sample_shape), dtype) for count in counts]

    def lend_to(self, slots: array[int]) -> None:
        """Has slots that were reserved for the batches make them here."""
        places = array("q", [batch.data_ptr() for batch in self.batches])
        engine.capsule().lend(slots.buffer_info()[0], len(slots), places.buffer_info()[0])
