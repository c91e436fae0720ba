"""facebookresearch/moco-v3: main_moco.py and moco/loader.py."""

from __future__ import annotations

import random
from typing import Any

from PIL import ImageFilter, ImageOps
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as T

from benchmarks.strangers.contract import MEAN, STD, Case, gofast
from benchmarks.strangers.files import Files


class TwoCrops:
    """Each view by a transform of its own."""

    def __init__(self, first: Any, second: Any) -> None:
        self.first, self.second = first, second

    def __call__(self, picture: Any) -> Any:
        return [self.first(picture), self.second(picture)]


class GaussianBlur:
    """Pillow's, by a radius that is drawn."""

    def __init__(self, sigma: Any = (0.1, 2.0)) -> None:
        self.sigma = sigma

    def __call__(self, picture: Any) -> Any:
        return picture.filter(ImageFilter.GaussianBlur(radius=random.uniform(*self.sigma)))


class Solarize:
    """Pillow's."""

    def __call__(self, picture: Any) -> Any:
        return ImageOps.solarize(picture)


def augmentation(blur: float, *more: Any) -> Any:
    """One of the two."""
    return T.Compose(
        [
            T.RandomResizedCrop(224, scale=(0.08, 1.0)),
            T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], p=0.8),
            T.RandomGrayscale(p=0.2),
            T.RandomApply([GaussianBlur([0.1, 2.0])], p=blur),
            *more,
            T.RandomHorizontalFlip(),
            T.ToTensor(),
            T.Normalize(mean=MEAN, std=STD),
        ]
    )


def loader(files: Files, workers: int, folder: Any = None, kind: Any = DataLoader) -> Any:
    """As main_moco.py makes it, on one machine."""
    views = TwoCrops(augmentation(1.0), augmentation(0.1, T.RandomApply([Solarize()], p=0.2)))
    dataset = (folder or datasets.ImageFolder)(files.folder, views)
    return kind(dataset, batch_size=files.batch(64), shuffle=True, num_workers=workers, drop_last=True)


def swapped(files: Files, workers: int) -> Any:
    """With gofast's folder and loader."""
    return loader(files, workers, gofast().ImageFolder, gofast().DataLoader)


CASES = {"moco": Case(loader, swapped, pictures=500)}
