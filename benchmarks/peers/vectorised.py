"""The classic with its work moved to __init__: what a careful user writes."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.utils.data import Dataset

from benchmarks.peers.contract import LOADERS, Epochs, Tensors, row_major
from benchmarks.peers.pandas_ import read_parquet


class Vectorised(Dataset[dict[str, Tensor]]):
    """The whole table as float32 in memory."""

    def __init__(self, path: str, read: Callable[[str], Tensors] = read_parquet) -> None:
        self.x, self.y = row_major(read(path))

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        return {"image": self.x[index], "label": self.y[index]}


EPOCHS = Epochs(Vectorised, LOADERS)
