"""What gofast demo compares: an epoch by the usual Dataset, and by gofast."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from .. import loader as own
from ..table import TableDataset

_SIDE, _CLASSES, _PICTURES = 320, 4, 256
_ROWS, _COLUMNS = 20_000, 32


class _Rows(Dataset[Any]):
    """What tutorials show: a table in memory, a row at a time."""

    def __init__(self, path: str) -> None:
        with open(path, newline="") as file:
            rows = list(csv.reader(file))
        self.values = np.array(rows[1:], np.float32)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> dict[str, Any]:
        row = self.values[index]
        return {"image": torch.tensor(row[1:]), "label": torch.tensor(int(row[0]))}


def table(folder: str) -> dict[str, Any]:
    """A table, which it writes."""
    path = os.path.join(folder, "table.csv")
    draw = np.random.default_rng(0)
    values = np.concatenate([draw.integers(0, 10, (_ROWS, 1)), draw.integers(0, 1000, (_ROWS, _COLUMNS))], 1)
    names = ",".join(["label", *(f"x{i}" for i in range(_COLUMNS))])
    np.savetxt(path, values, "%d", ",", header=names, comments="")
    return _compared(
        f"a table of {_ROWS:,} rows and {_COLUMNS} columns, batches of 256",
        ("a Dataset of rows, torch's DataLoader", lambda: DataLoader(_Rows(path), 256, shuffle=True)),
        (
            "gofast.TableDataset, gofast.DataLoader",
            lambda: own.DataLoader(TableDataset(path), 256, shuffle=True),
        ),
    )


def pictures(folder: str) -> dict[str, Any]:
    """A folder of pictures, which it writes. Needs torchvision."""
    from PIL import Image
    from torchvision import datasets, transforms

    from ..images import ImageFolder

    root = os.path.join(folder, "pictures")
    draw = np.random.default_rng(0)
    for i in range(_PICTURES):
        place = os.path.join(root, f"class{i % _CLASSES}")
        os.makedirs(place, exist_ok=True)
        rough = draw.integers(0, 256, (12, 12, 3), np.uint8)
        picture = Image.fromarray(rough).resize((_SIDE * 4 // 3, _SIDE), Image.Resampling.BICUBIC)
        picture.save(os.path.join(place, f"{i:04}.jpg"), quality=90)
    recipe = transforms.Compose(
        [transforms.RandomResizedCrop(224), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
    )
    return _compared(
        f"{_PICTURES} pictures of {_SIDE * 4 // 3} x {_SIDE}, random crops of 224, batches of 32",
        (
            "torchvision's ImageFolder, torch's DataLoader",
            lambda: DataLoader(datasets.ImageFolder(root, recipe), 32, shuffle=True),
        ),
        (
            "gofast.ImageFolder, gofast.DataLoader",
            lambda: own.DataLoader(ImageFolder(root, recipe), 32, shuffle=True),
        ),
    )


Way = tuple[str, Callable[[], Iterable[Any]]]


def _compared(what: str, before: Way, after: Way) -> dict[str, Any]:
    """Times both ways, a warm epoch each, after comparing their first epochs.

    Both have one thread of torch's, as in torch's workers. On a busy machine, torch's threads wait for each
    other with the processor in use: two of them made torchvision's epochs many times as long.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        loaders = [make() for _, make in (before, after)]
        batches = _equal(loaders)
        seconds = [min(_epoch(loader) for _ in range(2)) for loader in loaders]
    finally:
        torch.set_num_threads(threads)
    return {
        "what": what,
        "before": seconds[0],
        "after": seconds[1],
        "before_how": before[0],
        "after_how": after[0],
        "batches": batches,
    }


def _equal(loaders: list[Iterable[Any]]) -> int:
    epochs = []
    for loader in loaders:
        torch.manual_seed(0)
        epochs.append([list(batch.values()) if isinstance(batch, dict) else batch for batch in loader])
    for number, (ours, theirs) in enumerate(zip(*epochs, strict=True)):
        if not all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True)):
            raise RuntimeError(f"batch {number} differs: please report this with the output of `gofast info`")
    return len(epochs[0])


def _epoch(loader: Iterable[Any]) -> float:
    started = time.perf_counter()
    for _ in loader:
        pass
    return time.perf_counter() - started
