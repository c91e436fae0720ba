"""The classic: pandas in memory, one iloc a sample."""

from __future__ import annotations

import pandas as pd
import torch
from torch import Tensor
from torch.utils.data import Dataset, Subset

from benchmarks.peers.contract import FRESH, PLAIN, Epochs, fresh, plain

# An epoch of 60,000 rows takes 23 s; every row costs the same, so every tenth is timed and the time scaled.
STEP = 10


class Classic(Dataset[dict[str, Tensor]]):
    """A row at a time out of a DataFrame."""

    def __init__(self, path: str) -> None:
        self.frame = pd.read_parquet(path)

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        row = self.frame.iloc[index]
        label = int(row["label"]) if "label" in row else -1
        pixels = row.drop("label", errors="ignore").to_numpy(dtype="float32").reshape(1, 28, 28)
        return {"image": torch.from_numpy(pixels) / 255, "label": torch.tensor(label)}


def prepare(path: str) -> Subset[dict[str, Tensor]]:
    """Rows spread over the whole table, so that the frame's size still shows in the cache misses."""
    whole = Classic(path)
    return Subset(whole, range(0, len(whole), STEP))


EPOCHS = Epochs(prepare, {PLAIN: plain, FRESH: fresh}, scaled=True)
