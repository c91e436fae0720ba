"""pytorch/vision's documentation: what it shows of TenCrop, of a weight's transforms, and of turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as T
from torchvision.models import ResNet50_Weights

from benchmarks.strangers.contract import MEAN, STD, Case, gofast
from benchmarks.strangers.files import Files


def ten_crops() -> Any:
    """The usual evaluation with ten crops, each normalised."""
    end = T.Compose([T.PILToTensor(), T.ConvertImageDtype(torch.float), T.Normalize(MEAN, STD)])
    return T.Compose(
        [T.Resize(256), T.TenCrop(224), T.Lambda(lambda crops: torch.stack([end(c) for c in crops]))]
    )


def affine() -> Any:
    """Small turns and shifts."""
    moved = T.RandomAffine(10, (0.1, 0.1), (0.9, 1.1), 5, T.InterpolationMode.BILINEAR)
    crop = [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.RandomRotation(15), moved]
    return T.Compose([*crop, T.ToTensor(), T.Normalize(MEAN, STD)])


def made(transform: Callable[[], Any], batch: int = 64, pictures: int = 1_000, **options: Any) -> Case:
    """A folder and a loader around a transform."""

    def loader(files: Files, workers: int, folder: Any = None, kind: Any = DataLoader) -> Any:
        dataset = (folder or datasets.ImageFolder)(files.folder, transform())
        return kind(dataset, batch_size=files.batch(batch), num_workers=workers, **options)

    return Case(
        loader, lambda files, n: loader(files, n, gofast().ImageFolder, gofast().DataLoader), pictures
    )


CASES = {
    "ten crops": made(ten_crops, batch=16, pictures=500),
    "rotation affine": made(affine, shuffle=True),
    "preset": made(ResNet50_Weights.DEFAULT.transforms),
}
