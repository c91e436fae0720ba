"""lightly-ai/lightly: SimCLRTransform and LightlyDataset, as its examples use them."""

from __future__ import annotations

from typing import Any

from lightly.data import LightlyDataset
from lightly.transforms import SimCLRTransform
from torch.utils.data import DataLoader

from benchmarks.strangers.contract import Case
from benchmarks.strangers.files import Files


def loader(files: Files, workers: int) -> Any:
    """As examples/pytorch/simclr.py makes it."""
    dataset = LightlyDataset(files.folder, transform=SimCLRTransform(input_size=224))
    return DataLoader(dataset, batch_size=files.batch(64), shuffle=True, drop_last=True, num_workers=workers)


CASES = {"lightly": Case(loader, pictures=500)}
