"""Digits from a table, before and after gofast.

Before is the naive way, a Dataset that reads the table with pandas and takes one row at a time, and what a
tuned script has, the whole table as two tensors. After is the same script with one line changed. Model, seed,
order and numbers are the same, so the losses are the same to the last bit; what changes is the time spent on
waiting for batches.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from demo_training import DEVICE, EPOCHS, Pipeline, report, same_batches, train
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import gofast

DIGITS = Path(__file__).resolve().parent / "data" / "digits.parquet"
BATCH = 64
PARAMETERS = 206_922

Batch = dict[str, Tensor]


class Naive(Dataset[Batch]):
    """What most scripts have: pandas in memory, one `iloc` a sample."""

    def __init__(self, path: str) -> None:
        self.frame = pd.read_parquet(path)

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, index: int) -> Batch:
        row = self.frame.iloc[index]
        label = int(row["label"]) if "label" in row else -1
        pixels = row.drop("label", errors="ignore").to_numpy(dtype="float32").reshape(1, 28, 28)
        return {"image": torch.from_numpy(pixels) / 255, "label": torch.tensor(label)}


def small_cnn() -> nn.Module:
    """Two convolutions and two dense layers: 206,922 parameters."""
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == PARAMETERS, f"the model has {count} parameters, expected {PARAMETERS}"
    return model


def plain_loader(workers: int) -> Callable[[Any], Iterable[Batch]]:
    """torch's own DataLoader, as the script had it."""
    return lambda dataset: DataLoader(dataset, batch_size=BATCH, shuffle=True, num_workers=workers)


def pipelines(path: str) -> list[Pipeline]:
    """The baseline first; the rest in the order of the table."""

    def naive() -> Any:
        return Naive(path)

    def tensors() -> Any:
        frame = pd.read_parquet(path)
        labels = torch.from_numpy(frame.pop("label").to_numpy("int64", copy=True))
        return TensorDataset(torch.from_numpy(frame.to_numpy("float32")).reshape(-1, 1, 28, 28) / 255, labels)

    def table() -> Any:
        return gofast.TableDataset(path, shape=(1, 28, 28))

    ways = [
        Pipeline("pandas, num_workers=0", naive, plain_loader(0), before=True),
        Pipeline("pandas, num_workers=2", naive, plain_loader(2), before=True),
        Pipeline("TensorDataset, num_workers=0", tensors, plain_loader(0), before=True),
        Pipeline("gofast.TableDataset, num_workers=0", table, plain_loader(0)),
        Pipeline("gofast.TableDataset, num_workers=2", table, plain_loader(2)),
        Pipeline(
            "gofast.DataLoader",
            table,
            lambda dataset: gofast.DataLoader(dataset, batch_size=BATCH, shuffle=True),
        ),
    ]
    if DEVICE.type == "cuda":
        ways.append(
            Pipeline(
                "gofast.DataLoader, on the GPU",
                table,
                lambda dataset: gofast.DataLoader(dataset, batch_size=BATCH, shuffle=True, device=DEVICE),
            )
        )
    return ways


def main() -> None:
    ways = pipelines(str(DIGITS))
    print(f"digits from a table: {PARAMETERS} parameters, batch {BATCH}, {EPOCHS} epochs", flush=True)
    batches = 0
    for way in ways[2:]:
        batches = same_batches(ways[0], way)
    runs = train(ways, small_cnn)
    report(runs, batches)
    print(f"all {len(runs[0].losses)} losses are equal, to the last bit, in every pipeline")
