"""Recipes whose transforms are torchvision's: ImageFolder is swapped, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torchvision
from torch.utils.data import default_collate
from torchvision import transforms as T
from torchvision.transforms import v2

from benchmarks.peers.recipes.contract import MEAN, STD, Recipe, sides

SIZE, CLASSES = 224, 1000
END = [T.ToTensor(), T.Normalize(MEAN, STD)]
MIX = v2.RandomChoice([v2.MixUp(num_classes=CLASSES, alpha=0.2), v2.CutMix(num_classes=CLASSES, alpha=1.0)])


def crop(size: int = SIZE, *rest: Any, scale: tuple[float, float] = (0.08, 1.0)) -> Any:
    """A random crop, a flip, and what follows."""
    return T.Compose([T.RandomResizedCrop(size, scale=scale), T.RandomHorizontalFlip(), *rest])


def reference(augment: Any) -> Any:
    """torchvision's references/classification/presets.py."""
    numbers = [T.PILToTensor(), T.ConvertImageDtype(torch.float), T.Normalize(MEAN, STD)]
    return crop(176, augment, *numbers, T.RandomErasing(0.1))


def mixed(rows: Any) -> Any:
    """The collate_fn of torchvision's references/classification/train.py."""
    return MIX(*default_collate(rows))


def simclr() -> Any:
    """SimCLR's, with its strong jitter."""
    jitter = T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8)
    blur = T.RandomApply([T.GaussianBlur(23, (0.1, 2.0))], 0.5)
    return crop(SIZE, jitter, T.RandomGrayscale(0.2), blur, *END)


def folders(transform: Callable[[], Any], pictures: int = 2_000, **options: Any) -> Recipe:
    """torchvision's ImageFolder against gofast's."""

    def theirs(folder: str) -> Any:
        return torchvision.datasets.ImageFolder(folder, transform())

    def ours(folder: str) -> Any:
        import gofast

        return gofast.ImageFolder(folder, transform())

    return Recipe(sides(theirs, ours, "torchvision", **options), pictures)


def ten_crops() -> Any:
    """The usual evaluation with ten crops."""
    end = T.Lambda(lambda crops: torch.stack([T.functional.to_tensor(crop) for crop in crops]))
    return T.Compose([T.Resize(256), T.TenCrop(SIZE), end])


RECIPES = {
    "basic": folders(lambda: crop(SIZE, *END)),
    "reference": folders(lambda: reference(T.TrivialAugmentWide())),
    "reference mixup": folders(lambda: reference(T.TrivialAugmentWide()), collate_fn=mixed),
    "randaugment": folders(lambda: crop(SIZE, T.RandAugment(2, 9), *END, T.RandomErasing(0.25))),
    "autoaugment": folders(lambda: crop(SIZE, T.AutoAugment(), *END)),
    "augmix": folders(lambda: crop(SIZE, T.AugMix(), *END), 500),
    "simclr": folders(simclr, 500),
    "preset": folders(torchvision.models.ResNet50_Weights.DEFAULT.transforms, shuffle=False),
    "rotation affine": folders(
        lambda: crop(
            SIZE,
            T.RandomRotation(15),
            T.RandomAffine(10, (0.1, 0.1), (0.9, 1.1), 5, T.InterpolationMode.BILINEAR),
            *END,
        ),
        1_000,
    ),
    "ten crops": folders(ten_crops, 500, shuffle=False, batch_size=16),
}
