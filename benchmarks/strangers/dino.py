"""facebookresearch/dino: main_dino.py and utils.py."""

from __future__ import annotations

import random
from typing import Any

from PIL import ImageFilter, ImageOps
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets
from torchvision import transforms as T

from benchmarks.strangers.contract import MEAN, STD, Case, gofast
from benchmarks.strangers.files import Files

BICUBIC = T.InterpolationMode.BICUBIC


class GaussianBlur:
    """Pillow's, sometimes."""

    def __init__(self, p: float = 0.5, low: float = 0.1, high: float = 2.0) -> None:
        self.p, self.low, self.high = p, low, high

    def __call__(self, picture: Any) -> Any:
        if random.random() > self.p:
            return picture
        return picture.filter(ImageFilter.GaussianBlur(radius=random.uniform(self.low, self.high)))


class Solarization:
    """Pillow's, sometimes."""

    def __init__(self, p: float) -> None:
        self.p = p

    def __call__(self, picture: Any) -> Any:
        return ImageOps.solarize(picture) if random.random() < self.p else picture


class DataAugmentation:
    """Two large crops and some small ones, as a list."""

    def __init__(self, local: int = 8) -> None:
        jitter = T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8)
        colour = T.Compose([T.RandomHorizontalFlip(p=0.5), jitter, T.RandomGrayscale(p=0.2)])
        end = T.Compose([T.ToTensor(), T.Normalize(MEAN, STD)])

        def crop(size: int, *scale: float) -> Any:
            return T.RandomResizedCrop(size, scale=scale, interpolation=BICUBIC)

        self.first = T.Compose([crop(224, 0.4, 1.0), colour, GaussianBlur(1.0), end])
        self.second = T.Compose([crop(224, 0.4, 1.0), colour, GaussianBlur(0.1), Solarization(0.2), end])
        self.number = local
        self.small = T.Compose([crop(96, 0.05, 0.4), colour, GaussianBlur(0.5), end])

    def __call__(self, picture: Any) -> Any:
        crops = [self.first(picture), self.second(picture)]
        for _ in range(self.number):
            crops.append(self.small(picture))
        return crops


def loader(files: Files, workers: int, folder: Any = None, kind: Any = DataLoader) -> Any:
    """As train_dino makes it, on one machine."""
    dataset = (folder or datasets.ImageFolder)(files.folder, transform=DataAugmentation())
    sampler: Any = DistributedSampler(dataset, num_replicas=1, rank=0, shuffle=True)
    return kind(dataset, sampler=sampler, batch_size=files.batch(64), num_workers=workers, drop_last=True)


def swapped(files: Files, workers: int) -> Any:
    """With gofast's folder and loader."""
    return loader(files, workers, gofast().ImageFolder, gofast().DataLoader)


CASES = {"dino": Case(loader, swapped, pictures=500)}
