"""gofast demo: before and after, on pictures and a table that it makes itself."""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

from .. import loader as own
from ..table import TableDataset
from . import output

_SIDE, _CLASSES, _PICTURES = 320, 4, 256
_ROWS, _COLUMNS = 20_000, 32


def add(parsers: output.Parsers) -> None:
    """Adds the sub-command."""
    parser = output.add(
        parsers,
        "demo",
        run,
        "before and after, on data that it makes itself",
        "Makes a folder of pictures and a CSV table in a temporary folder, and times an epoch of each: by "
        "the usual Dataset, and by gofast. The batches of both are compared, value by value.",
        "gofast demo",
    )
    output.add_json(parser)


def run(given: argparse.Namespace) -> int:
    """Runs it."""
    with tempfile.TemporaryDirectory(prefix="gofast-demo-") as folder:
        results = [_table(folder)]
        try:
            import torchvision  # noqa: F401
        except ImportError:
            output.note("without torchvision there is no demo of pictures: pip install torchvision")
        else:
            results.append(_pictures(folder))
    if given.json:
        output.print_json(results)
        return output.DONE
    for result in results:
        print(
            f"{result['what']}\n  before  {result['before']:7.3f} s an epoch  {result['before_how']}\n"
            f"  after   {result['after']:7.3f} s an epoch  {result['after_how']}\n"
            f"  {result['before'] / result['after']:.1f} times faster, {result['batches']} equal batches"
        )
    return output.DONE


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


def _table(folder: str) -> dict[str, Any]:
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


def _pictures(folder: str) -> dict[str, Any]:
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
    """Times both ways, a warm epoch each, after comparing their first epochs."""
    loaders = [make() for _, make in (before, after)]
    batches = _equal(loaders)
    seconds = [min(_epoch(loader) for _ in range(2)) for loader in loaders]
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
