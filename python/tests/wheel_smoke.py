"""What an installed wheel must do, on any Python: `python wheel_smoke.py` with gofast and torch installed.

A script and not a pytest module, because the machine that it stands for has neither pytest nor these sources.
"""

from __future__ import annotations

import csv
import os
import shutil
import sys
import tempfile
from pathlib import Path

import torch
from torch.utils.data import DataLoader

import gofast

ROWS, FEATURES, BATCH = 1000, 16, 64
CONTEXTS = ("fork", "forkserver", "spawn")


def write_csv(path: Path) -> None:
    """Row i: label i % 10, pixel j = (i * 7 + j) % 256."""
    with path.open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["label", *(f"pixel{j}" for j in range(FEATURES))])
        rows.writerows([i % 10, *((i * 7 + j) % 256 for j in range(FEATURES))] for i in range(ROWS))


def check(name: str, loader: DataLoader, images: torch.Tensor, labels: torch.Tensor) -> None:
    """Two epochs in order give exactly the expected tensors."""
    for _ in range(2):
        batches = list(loader)
        assert torch.equal(torch.cat([batch["image"] for batch in batches]), images), name
        assert torch.equal(torch.cat([batch["label"] for batch in batches]), labels), name
    print(f"  {name}: {len(batches)} batches as expected")


def main() -> None:
    """Opens a table and reads it through every kind of loader."""
    where = f"gofast {gofast.__version__} in {gofast.__path__[0]}"
    print(f"Python {sys.version.split()[0]}, torch {torch.__version__}, {where}")
    for tool in ("go", "gcc", "cc"):
        assert shutil.which(tool) is None, (
            f"{tool} is on PATH, so this proves nothing about a machine without it"
        )
    rows, columns = torch.arange(ROWS), torch.arange(FEATURES)
    images = ((rows[:, None] * 7 + columns) % 256).to(torch.float32).div(255).reshape(ROWS, 1, 4, 4)
    labels = rows % 10
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        write_csv(path)
        table = gofast.TableDataset(path, shape=(1, 4, 4))
        assert len(table) == ROWS
        assert torch.equal(table[3]["image"], images[3])
        for workers in (0, 2):
            ours = gofast.DataLoader(table, batch_size=BATCH, num_workers=workers)
            check(f"gofast.DataLoader, num_workers={workers}", ours, images, labels)
        check("torch's, num_workers=0", DataLoader(table, batch_size=BATCH), images, labels)
        for context in CONTEXTS:
            loader = DataLoader(table, batch_size=BATCH, num_workers=2, multiprocessing_context=context)
            check(f"torch's, num_workers=2, {context}", loader, images, labels)
        try:
            gofast.TableDataset(os.path.join(folder, "absent.csv"))
        except gofast.errors.GofastError as error:
            print(f"  a missing file: {type(error).__name__}")
        else:
            raise AssertionError("a missing file raised nothing")


if __name__ == "__main__":
    main()
