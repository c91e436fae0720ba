"""Which loaders keep the engine: each is asked by gofast.explain."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import ConcatDataset, Dataset, IterableDataset, Subset, WeightedRandomSampler
from torchvision import transforms as T
from torchvision.transforms import v2

import gofast
from generating.markdown import table


class OwnDataset(Dataset[int]):
    """A dataset that is not gofast's."""

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return index


class OwnStream(IterableDataset[int]):
    """A stream."""

    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


def _shuffled(pairs: list[Any]) -> Any:
    return torch.stack([a for a, _ in pairs]), torch.tensor([b for _, b in pairs])


def _seed(worker: int) -> None:
    random.seed(torch.initial_seed() % 2**32)
    np.random.seed(torch.initial_seed() % 2**32)


def _opens(worker: int) -> None:
    print("worker", worker)


def markdown() -> str:
    """The table of loaders."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "a").mkdir()
        for i in range(8):
            Image.new("RGB", (40, 30), (i, 2 * i, 3 * i)).save(Path(folder) / "a" / f"{i}.jpg")
        rows = [[what, _made(loader)] for what, loader in _loaders(folder)]
    return table(["gofast.DataLoader over", "its batches are made by"], rows)


def _made(loader: Any) -> str:
    _, where, what = gofast.explain(loader).lines[-1]
    return f"{'the engine' if where == 'Go' else 'torch'}: {what}"


def _loaders(folder: str) -> Iterator[tuple[str, Any]]:
    rows = torch.arange(8.0)
    arrays = gofast.ArrayDataset(rows, torch.arange(8))
    native = T.Compose([T.RandomResizedCrop(24), T.ToTensor()])
    pictures = gofast.ImageFolder(folder, native)
    own = gofast.ImageFolder(folder, T.Compose([T.Resize((24, 24)), T.Lambda(lambda p: p), T.ToTensor()]))
    mix = v2.MixUp(num_classes=4)
    yield (
        "a table or pictures with a native transform, `num_workers=2`",
        gofast.DataLoader(pictures, 2, num_workers=2),
    )
    yield "the same, `num_workers=0`", gofast.DataLoader(pictures, 2)
    yield "arrays that can be written to, `num_workers=0`", gofast.DataLoader(arrays, 2)
    yield "arrays that can be written to, `num_workers=2`", gofast.DataLoader(arrays, 2, num_workers=2)
    yield "a `Subset`", gofast.DataLoader(Subset(pictures, [1, 3]), 2, num_workers=2)
    yield "a `ConcatDataset`", gofast.DataLoader(ConcatDataset([pictures, pictures]), 2, num_workers=2)
    yield (
        "a `WeightedRandomSampler`",
        gofast.DataLoader(pictures, 2, sampler=WeightedRandomSampler([1.0] * 8, 8), num_workers=2),
    )
    yield (
        "a `collate_fn` that keeps nothing from call to call",
        gofast.DataLoader(pictures, 2, collate_fn=_shuffled, num_workers=2),
    )
    yield (
        "a `collate_fn` that calls torchvision's MixUp",
        gofast.DataLoader(
            pictures, 2, collate_fn=lambda b: mix(*torch.utils.data.default_collate(b)), num_workers=2
        ),
    )
    yield (
        "a `worker_init_fn` that only seeds",
        gofast.DataLoader(pictures, 2, worker_init_fn=_seed, num_workers=2),
    )
    yield "any other `worker_init_fn`", gofast.DataLoader(pictures, 2, worker_init_fn=_opens, num_workers=2)
    yield "`batch_size=None`", gofast.DataLoader(pictures, None, num_workers=2)
    yield "a transform with a step of your own", gofast.DataLoader(own, 2, num_workers=2)
    yield "a dataset of your own", gofast.DataLoader(OwnDataset(), 2, num_workers=2)
    yield "an `IterableDataset`", gofast.DataLoader(OwnStream(), 2, num_workers=2)
