"""What a peer has to offer, so that every one is timed and checked by the same code."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

Tensors = tuple[Tensor, Tensor]  # float32 [n, 1, 28, 28] in 0..1, int64 [n]

# The ways an epoch is run. A mode names the loader, so that peers are compared within one mode.
PLAIN, FRESH, PERSISTENT, OWN = "plain", "2 fresh workers", "2 persistent workers", "own loader"


def _as_opened(opened: Any) -> Tensors:
    x, y = opened
    return x, y


@dataclass(frozen=True)
class Opener:
    """File to tensors. `open` is what is timed; `tensors` gives every row of its result, for the check."""

    open: Callable[[str], Any]
    tensors: Callable[[Any], Tensors] = _as_opened
    warm: bool = True  # read a small file first, so that lazy imports and thread pools are not timed


@dataclass(frozen=True)
class Epochs:
    """An opened table and the ways to run through it.

    `order` says which rows a seed gives: torch's sampler's, a bare randperm's, or the file's."""

    prepare: Callable[[str], Any]
    modes: dict[str, Callable[[Any, int], Iterable[Any]]]
    order: str = "sampler"
    scaled: bool = False  # the dataset is a part of the table, and its time is scaled to the whole


def normalised(table: Tensor) -> Tensors:
    """[n, 785] integers, the label first, to the numbers that a training loop wants.

    The memory order stays the table's, which is the least work: column by column for most peers. gofast's
    rows lie together, so this favours the peers (row by row costs them 0.05-0.1 s more at 60,000 rows)."""
    return table[:, 1:].float().div_(255).view(-1, 1, 28, 28), table[:, 0].long()


def row_major(tensors: Tensors) -> Tensors:
    """The same with each row's pixels together: else an epoch of indexing takes 0.54 s instead of 0.04 s."""
    x, y = tensors
    return x.contiguous(), y


def plain(dataset: Any, batch: int) -> DataLoader[Any]:
    """torch's DataLoader without workers."""
    return DataLoader(dataset, batch_size=batch, shuffle=True)


def fresh(dataset: Any, batch: int) -> DataLoader[Any]:
    """Two forked workers, started for every epoch (torch's default)."""
    return DataLoader(dataset, batch_size=batch, shuffle=True, num_workers=2, multiprocessing_context="fork")


def persistent(dataset: Any, batch: int) -> DataLoader[Any]:
    """Two forked workers, started once."""
    return DataLoader(
        dataset,
        batch_size=batch,
        shuffle=True,
        num_workers=2,
        multiprocessing_context="fork",
        persistent_workers=True,
    )


LOADERS: dict[str, Callable[[Any, int], Iterable[Any]]] = {PLAIN: plain, FRESH: fresh, PERSISTENT: persistent}


def pair(batch: Any) -> Tensors:
    """A batch of any peer (dict or tuple) as image and label."""
    if isinstance(batch, dict):
        return batch["image"], batch["label"]
    x, y = batch
    assert isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)
    return x, y
