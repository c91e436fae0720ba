"""Tensor indexing by hand, without Dataset or DataLoader: what an expert writes when speed is all."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks.peers.contract import OWN, Epochs, Tensors, row_major
from benchmarks.peers.pandas_ import read_parquet


class Indexing:
    """Iterates shuffled batches; a permutation is drawn for every epoch."""

    def __init__(self, tensors: Tensors, batch: int) -> None:
        self.x, self.y = tensors
        self.batch = batch

    def __iter__(self) -> Iterator[Tensors]:
        order = torch.randperm(len(self.y))
        for start in range(0, len(order), self.batch):
            index = order[start : start + self.batch]
            yield self.x[index], self.y[index]


def prepare(path: str) -> Tensors:
    """The tensors of the whole table."""
    return row_major(read_parquet(path))


EPOCHS = Epochs(prepare, {OWN: Indexing}, order="randperm")
