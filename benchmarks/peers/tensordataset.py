"""torch's own TensorDataset over float32 tensors."""

from __future__ import annotations

from typing import Any

from torch.utils.data import TensorDataset

from benchmarks.peers.contract import LOADERS, Epochs, row_major
from benchmarks.peers.pandas_ import read_parquet


def prepare(path: str) -> Any:
    """The tensors of the whole table."""
    return TensorDataset(*row_major(read_parquet(path)))


EPOCHS = Epochs(prepare, LOADERS)
