"""How well an order of blocks mixes rows, beside a full shuffle."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._core.units import many
from .blocks import BlockOrder

_SAMPLES = 50_000  # positions that are looked at
_BATCH, _BATCHES = 512, 64


def mixing(order: BlockOrder, rows: Sequence[int]) -> list[str]:
    """Sentences for explain.

    Any row of a window's blocks is as likely at each of its positions, so no permutation is made.

    Args:
        rows: of each block.
    """
    sizes = np.array(rows, np.int64)
    total, random = int(sizes.sum()), np.random.default_rng(0)
    if not total:
        return ["no rows"]
    first = np.cumsum(sizes) - sizes
    ends = np.cumsum([window.rows for window in order.windows])
    moved = np.empty(_SAMPLES)
    places = random.integers(0, total, _SAMPLES)
    for at, place in enumerate(places):
        window = order.windows[int(np.searchsorted(ends, place, "right"))]
        moved[at] = abs(int(place) - _row(window.blocks, sizes, first, random)) / total
    full = np.abs(places - random.integers(0, total, _SAMPLES)) / total
    batch = min(_BATCH, total)
    here, there = list[int](), list[int]()
    for _ in range(_BATCHES):
        window = order.windows[int(np.searchsorted(ends, random.integers(total), "right"))]
        share = sizes[window.blocks] / sizes[window.blocks].sum()
        here.append(int(np.count_nonzero(random.multinomial(batch, share))))
        there.append(int(np.count_nonzero(random.multinomial(batch, sizes / total))))
    windows = len(order.windows)
    return [
        f"{many(len(rows), 'block')} of {int(sizes.mean()):,} rows, {len(order.windows[0].blocks)} in memory "
        f"together: {many(windows, 'window')} an epoch",
        f"a row moves by {np.mean(moved):.3f} of all rows on average (full shuffle: {np.mean(full):.3f}), "
        f"by {np.quantile(moved, 0.05):.3f} at the 5th percentile ({np.quantile(full, 0.05):.3f})",
        f"{batch} rows in a row come from {np.mean(here):.0f} of the blocks ({np.mean(there):.0f})",
    ]


def _row(
    blocks: Sequence[int],
    sizes: np.ndarray[tuple[int], np.dtype[np.int64]],
    first: np.ndarray[tuple[int], np.dtype[np.int64]],
    random: np.random.Generator,
) -> int:
    """A random row of these blocks."""
    at = int(random.integers(sizes[blocks].sum()))
    ends = np.cumsum(sizes[blocks])
    which = int(np.searchsorted(ends, at, "right"))
    return int(first[blocks[which]] + at - (ends[which] - sizes[blocks[which]]))
