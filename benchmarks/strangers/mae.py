"""facebookresearch/mae: main_pretrain.py."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets
from torchvision import transforms as T

from benchmarks.strangers.contract import MEAN, STD, Case, gofast
from benchmarks.strangers.files import Files


def loader(files: Files, workers: int, folder: Any = None, kind: Any = DataLoader) -> Any:
    """As main_pretrain.py makes it, on one machine."""
    transform = T.Compose(
        [
            T.RandomResizedCrop(224, scale=(0.2, 1.0), interpolation=T.InterpolationMode.BICUBIC),
            T.RandomHorizontalFlip(),
            T.ToTensor(),
            T.Normalize(mean=MEAN, std=STD),
        ]
    )
    dataset = (folder or datasets.ImageFolder)(files.folder, transform=transform)
    sampler: Any = DistributedSampler(dataset, num_replicas=1, rank=0, shuffle=True)
    return kind(dataset, sampler=sampler, batch_size=files.batch(64), num_workers=workers, drop_last=True)


def swapped(files: Files, workers: int) -> Any:
    """With gofast's folder and loader."""
    return loader(files, workers, gofast().ImageFolder, gofast().DataLoader)


CASES = {"mae": Case(loader, swapped)}
