"""What gofast demo compares: an epoch of training by what scripts have, at its best too, and by gofast."""

from __future__ import annotations

import csv
import os
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

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

    def vectorised() -> Dataset[Any]:
        values = torch.from_numpy(_Rows(path).values)
        return TensorDataset(values[:, 1:].contiguous(), values[:, 0].long())

    return _compared(
        f"a table of {_ROWS:,} rows and {_COLUMNS} columns, batches of 256",
        lambda: nn.Sequential(nn.Linear(_COLUMNS, 64), nn.ReLU(), nn.Linear(64, 10)),
        [
            ("a Dataset of rows, torch's DataLoader", lambda: DataLoader(_Rows(path), 256, shuffle=True)),
            ("TensorDataset, torch's DataLoader", lambda: DataLoader(vectorised(), 256, shuffle=True)),
            (
                "gofast.TableDataset, gofast.DataLoader",
                lambda: own.DataLoader(TableDataset(path), 256, shuffle=True),
            ),
        ],
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
    workers = min(len(os.sched_getaffinity(0)), 8)  # draws depend on their number: both sides have as many
    given: dict[str, Any] = {"shuffle": True, "num_workers": workers, "persistent_workers": True}
    return _compared(
        f"{_PICTURES} pictures of {_SIDE * 4 // 3} x {_SIDE}, random crops of 224, batches of 32, "
        f"num_workers={workers}",
        lambda: nn.Sequential(
            nn.Conv2d(3, 16, 5, 4), nn.ReLU(), nn.AdaptiveAvgPool2d(4), nn.Flatten(), nn.Linear(256, _CLASSES)
        ),
        [
            (
                "torchvision's ImageFolder, torch's DataLoader",
                lambda: DataLoader(datasets.ImageFolder(root, recipe), 32, **given),
            ),
            (
                "gofast.ImageFolder, gofast.DataLoader",
                lambda: own.DataLoader(ImageFolder(root, recipe), 32, **given),
            ),
        ],
    )


Way = tuple[str, Callable[[], Iterable[Any]]]


def _compared(what: str, model: Callable[[], nn.Module], ways: list[Way]) -> dict[str, Any]:
    """Trains with each way, gofast's last, a warm epoch each, after comparing their first epochs.

    All have one thread of torch's, as in torch's workers. On a busy machine, torch's threads wait for each
    other with the processor in use: two of them made torchvision's epochs many times as long.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        loaders = [make() for _, make in ways]
        batches = _equal(loaders)
        timed = [min(_epoch(loader, model()) for _ in range(2)) for loader in loaders]
    finally:
        torch.set_num_threads(threads)
    named = zip(ways, timed, strict=True)
    return {
        "what": what,
        "batches": batches,
        "ways": [{"how": how, "epoch": epoch, "waiting": waiting} for (how, _), (epoch, waiting) in named],
    }


def _equal(loaders: list[Iterable[Any]]) -> int:
    epochs = []
    for loader in loaders:
        torch.manual_seed(0)
        epochs.append([_parts(batch) for batch in loader])
    for number, (first, *others) in enumerate(zip(*epochs, strict=True)):
        for parts in others:
            if not all(torch.equal(a, b) for a, b in zip(first, parts, strict=True)):
                raise RuntimeError(
                    f"batch {number} differs: please report this with the output of `gofast info`"
                )
    return len(epochs[0])


def _parts(batch: Any) -> list[torch.Tensor]:
    """The samples and the labels of a batch, which is a dict or a pair."""
    return list(batch.values() if isinstance(batch, dict) else batch)


def _epoch(loader: Iterable[Any], model: nn.Module) -> tuple[float, float]:
    """Seconds of an epoch of training, and those of it in which it waited for batches."""
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
    waiting, started = 0.0, time.perf_counter()
    mark = started
    for batch in loader:
        waiting += time.perf_counter() - mark
        samples, labels = _parts(batch)
        optimizer.zero_grad()
        torch.autograd.backward(nn.functional.cross_entropy(model(samples), labels))
        optimizer.step()
        mark = time.perf_counter()
    ended = time.perf_counter()
    return ended - started, waiting + ended - mark
