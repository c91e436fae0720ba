"""How well an order of blocks mixes rows, beside a full shuffle."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core.units import many
from .blocks import BlockOrder

_SAMPLES = 50_000  # positions that are looked at
_BATCH, _BATCHES = 512, 64
LOOKED_AT = 16  # blocks whose labels are looked at
_CLASSES = 256  # more are no classes
_SORTED = 0.2  # of the variance that labels have in all: more between blocks is an order


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
    places = random.integers(0, total, _SAMPLES)
    window = np.searchsorted(ends, places, "right")
    # All windows' blocks one behind the other: a random place among a window's is a row of one of them.
    blocks = np.concatenate([np.asarray(window.blocks) for window in order.windows])
    behind = np.cumsum(sizes[blocks])
    at = random.integers(np.concatenate([[0], ends[:-1]])[window], ends[window])
    which = np.searchsorted(behind, at, "right")
    moved = np.abs(places - (first[blocks[which]] + at - (behind - sizes[blocks])[which])) / total
    full = np.abs(places - random.integers(0, total, _SAMPLES)) / total
    batch = min(_BATCH, total)
    here, there = list[int](), list[int]()
    for _ in range(_BATCHES):
        some = sizes[order.windows[int(np.searchsorted(ends, random.integers(total), "right"))].blocks]
        share = some / some.sum()
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


def labels_mixing(blocks: Sequence[np.ndarray[tuple[int], np.dtype[Any]]], together: int) -> list[str]:
    """Sentences about the labels of some blocks.

    The variance of what labels a batch has is that of a full shuffle, and the part of that between the blocks
    which is left when so many of them are in memory together.

    Args:
        blocks: labels of each.
        together: blocks whose rows are mixed.
    """
    every = np.concatenate([np.zeros(0), *blocks]).astype(np.float64)
    if len(blocks) < 2 or not len(every):
        return []
    classes = np.unique(every)
    if len(classes) > _CLASSES or (classes != np.trunc(classes)).any():
        shares = np.array([[block.mean()] for block in blocks])
        one = float(every.var())
    else:
        shares = np.array([(block[:, None] == classes).mean(0) for block in blocks])
        one = float(((every[:, None] == classes).mean(0) * (every[:, None] != classes).mean(0)).sum())
    if not one > 0:
        return []
    chance = one * float(np.mean([1 / len(block) for block in blocks]))
    between = max(float(shares.var(0, ddof=1).sum()) - chance, 0.0)
    times = 1 + between / together / (one / _BATCH)
    said = [f"labels of {_BATCH} rows in a row vary {times:.1f} times as much as in a full shuffle"]
    if between > _SORTED * one:
        said.append("rows with the same label stand together in the files: mix them once, when written")
    return said
