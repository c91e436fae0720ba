"""gofast: the same table, the same loaders, and its own."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch.utils.data import DataLoader

import gofast
from benchmarks.peers.contract import LOADERS, OWN, Epochs, Opener, Tensors, pair


def dataset(path: str, cache: str | None = None) -> Any:
    """The table as the issue's user opens it."""
    return gofast.TableDataset(path, shape=(1, 28, 28), cache=cache)


def first_batch(path: str) -> tuple[Any, Any]:
    """Ready for training: opened, and the first shuffled batch delivered. The engine's load counts."""
    table = dataset(path)
    return table, next(iter(gofast.DataLoader(table, batch_size=512, shuffle=True)))


def all_rows(opened: tuple[Any, Any]) -> Tensors:
    """Every row in the file's order."""
    batches = [pair(batch) for batch in DataLoader(opened[0], batch_size=512)]
    return torch.cat([x for x, _ in batches]), torch.cat([y for _, y in batches])


def own(table: Any, batch: int) -> Iterable[Any]:
    """gofast's DataLoader."""
    loader: Iterable[Any] = gofast.DataLoader(table, batch_size=batch, shuffle=True)
    return loader


TABLE = Opener(first_batch, all_rows, warm=False)
EPOCHS = Epochs(dataset, {**LOADERS, OWN: own})
