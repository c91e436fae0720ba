"""Epochs over a table through each peer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset

from benchmarks.peers.openers import Tensors, gofast_loader, gofast_table, pandas_parquet

# The ways an epoch is run. A mode names the loader, so that peers are compared within one mode.
PLAIN, FRESH, PERSISTENT, OWN = "plain", "2 fresh workers", "2 persistent workers", "own loader"

_torchs: Any = partial(DataLoader, shuffle=True)
_forked: Any = partial(_torchs, num_workers=2, multiprocessing_context="fork")
LOADERS: dict[str, Callable[[Any, int], Iterable[Any]]] = {
    PLAIN: _torchs,
    FRESH: _forked,  # started for every epoch, which is torch's default
    PERSISTENT: partial(_forked, persistent_workers=True),
}


def rows_together(path: str, read: Callable[[str], Tensors] = pandas_parquet) -> Tensors:
    """The tensors of the whole table, each row's pixels together: else an epoch of indexing takes 0.54 s
    instead of 0.04 s."""
    x, y = read(path)
    return x.contiguous(), y


class Naive(Dataset[dict[str, Tensor]]):
    """pandas in memory, one iloc a sample."""

    def __init__(self, path: str) -> None:
        import pandas as pd

        self.frame = pd.read_parquet(path)

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        row = self.frame.iloc[index]
        label = int(row["label"]) if "label" in row else -1
        pixels = row.drop("label", errors="ignore").to_numpy(dtype="float32").reshape(1, 28, 28)
        return {"image": torch.from_numpy(pixels) / 255, "label": torch.tensor(label)}


def every_tenth(path: str) -> Subset[dict[str, Tensor]]:
    """Rows spread over the whole table, so that the frame's size still shows in the cache misses. An epoch of
    60,000 takes 23 s; every row costs the same, so the time is scaled."""
    whole = Naive(path)
    return Subset(whole, range(0, len(whole), 10))


class Vectorised(Dataset[dict[str, Tensor]]):
    """Naive with its work moved to __init__, which a careful user writes: float32 in memory."""

    def __init__(self, path: str, read: Callable[[str], Tensors] = pandas_parquet) -> None:
        self.x, self.y = rows_together(path, read)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"image": self.x[index], "label": self.y[index]}


@dataclass(frozen=True)
class Indexing:
    """Tensor indexing by hand, without Dataset or DataLoader: what an expert writes when speed is all."""

    tensors: Tensors
    batch: int

    def __iter__(self) -> Iterator[Tensors]:
        x, y = self.tensors
        for index in torch.split(torch.randperm(len(y)), self.batch):
            yield x[index], y[index]


class Copy:
    """The roof: the float32 data copied in order, batch by batch, into one buffer, which the next batch
    overwrites."""

    def __init__(self, tensors: Tensors, batch: int) -> None:
        self.batches = list(zip(*(torch.split(part, batch) for part in tensors), strict=True))
        self.buffer = torch.empty_like(self.batches[0][0])

    def __iter__(self) -> Iterator[Tensors]:
        for rows, labels in self.batches:
            yield self.buffer[: len(rows)].copy_(rows), labels


@dataclass(frozen=True)
class Epochs:
    """An opened table and the ways to run through it.

    `order` says which rows a seed gives: torch's sampler's, a bare randperm's, or the file's."""

    prepare: Callable[[str], Any]
    modes: dict[str, Callable[[Any, int], Iterable[Any]]]
    order: str = "sampler"
    scaled: bool = False  # the dataset is a part of the table, and its time is scaled to the whole


EPOCHS = {
    "naive": Epochs(every_tenth, {mode: LOADERS[mode] for mode in (PLAIN, FRESH)}, scaled=True),
    "vectorised": Epochs(Vectorised, LOADERS),
    "TensorDataset": Epochs(lambda path: TensorDataset(*rows_together(path)), LOADERS),
    "indexing": Epochs(rows_together, {OWN: Indexing}, order="randperm"),
    "memcpy": Epochs(rows_together, {OWN: Copy}, order="file"),
    "gofast": Epochs(gofast_table, {**LOADERS, OWN: gofast_loader}),
}
