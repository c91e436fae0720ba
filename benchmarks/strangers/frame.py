"""What notebooks on Kaggle write: a Dataset of a DataFrame of paths, and one of a CSV, a column a label."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

from benchmarks.strangers.contract import MEAN, STD, Case, gofast
from benchmarks.strangers.files import Files

LABELS = 8
TRAIN = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(MEAN, STD)])
SQUARE = T.Compose(
    [T.Resize((256, 256)), T.RandomRotation(10), T.CenterCrop(224), T.ToTensor(), T.Normalize(MEAN, STD)]
)


class Pictures(Dataset[Any]):
    """Paths and classes of a DataFrame.

    Args:
        opened: None for PIL.Image.open, or what stands for it.
    """

    def __init__(self, frame: Any, transform: Any, opened: Callable[..., Any] | None = None) -> None:
        self.frame, self.transform, self.opened = frame, transform, opened

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, index: int) -> Any:
        row = self.frame.iloc[index]
        image = (self.opened or Image.open)(row["path"]).convert("RGB")
        return self.transform(image), row["label"]


class Labelled(Dataset[Any]):
    """A picture, and a number for each label."""

    def __init__(self, table: str, transform: Any, opened: Callable[..., Any] | None = None) -> None:
        self.table, self.transform, self.opened = pd.read_csv(table), transform, opened

    def __len__(self) -> int:
        return len(self.table)

    def __getitem__(self, index: int) -> Any:
        with (self.opened or Image.open)(self.table.iloc[index, 0]) as file:
            image = file.convert("RGB")
        labels = self.table.iloc[index, 1:].to_numpy().astype("float32")
        return {"image": self.transform(image), "labels": torch.from_numpy(labels)}


def frame(files: Files, workers: int, kind: Any = DataLoader, opened: Any = None) -> Any:
    """Shuffled, with torch's default collate function."""
    dataset = Pictures(pd.read_csv(files.table()), TRAIN, opened)
    return kind(dataset, batch_size=files.batch(64), shuffle=True, num_workers=workers)


def labels(files: Files, workers: int, kind: Any = DataLoader, opened: Any = None) -> Any:
    """The same, of dicts."""
    dataset = Labelled(files.table(LABELS), SQUARE, opened)
    return kind(dataset, batch_size=files.batch(32), shuffle=True, num_workers=workers, drop_last=True)


def swapped(made: Any, files: Files, workers: int) -> Any:
    """With gofast.open and its loader."""
    return made(files, workers, gofast().DataLoader, gofast().open)


CASES = {
    "frame": Case(frame, partial(swapped, frame)),
    "labels": Case(labels, partial(swapped, labels)),
}
