"""Batches that arrive on a GPU, or lie in pinned memory."""

from __future__ import annotations

from .._batches import pinning


def _pinner() -> pinning.Pin | None:
    from .device import pinner

    return pinner()


pinning.pinner = _pinner
