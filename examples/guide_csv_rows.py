"""A CSV and a Dataset that takes rows with iloc.

Posts on a first own Dataset read a CSV with pandas and answer each index with `frame.iloc[index]`. It is
short and right, and for each sample pandas makes a Series, which costs more than the model's step on a small
table. Posts on speed go on to the whole table as tensors. `gofast.TableDataset` does without both: no class,
and no copy as floats.

The numbers of a CSV are decimals. All three ways round them once to float32, so the batches are equal bit by
bit.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from article_tools import Comparison
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, TensorDataset

import gofast


class Rows(Dataset[tuple[Tensor, int]]):
    """As posts have it."""

    def __init__(self, path: Path) -> None:
        self.frame = pd.read_csv(path)

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        row = self.frame.iloc[index]
        return torch.tensor(row.drop("label").to_numpy("float32")), int(row["label"])


def tensors(path: Path) -> TensorDataset:
    """The whole table at once."""
    frame = pd.read_csv(path)
    labels = torch.tensor(frame.pop("label").to_numpy("int64"))
    return TensorDataset(torch.tensor(frame.to_numpy("float32")), labels)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "train.csv")
        values = np.random.default_rng(0).normal(50, 20, (2000, 24)).round(3)
        frame = pd.DataFrame(values, columns=[f"x{i}" for i in range(24)])
        frame.assign(label=values[:, 0] > 50).astype({"label": int}).to_csv(path, index=False)

        ways = Comparison("rows of a CSV", "rows", epochs=2)
        ways.add(
            "iloc",
            "A Series of 25 cells for each sample, and torch stacks them.",
            lambda: DataLoader(Rows(path), 128, shuffle=True),
        )
        ways.add(
            "TensorDataset",
            "One conversion, then a view for each sample: Python and the stacking remain.",
            lambda: DataLoader(tensors(path), 128, shuffle=True),
        )
        ways.add(
            "gofast.TableDataset",
            "The CSV is parsed on all cores, and a batch is one call. The loader is torch's.",
            lambda: DataLoader(gofast.TableDataset(path, output="tuple"), 128, shuffle=True),
        )
        ways.add(
            "gofast.DataLoader",
            "The next batches are made while the loop has this one.",
            lambda: gofast.DataLoader(gofast.TableDataset(path, output="tuple"), 128, shuffle=True),
        )
        ways.show_equal()


if __name__ == "__main__":
    main()
