"""Recipes whose transforms are torchvision's: ImageFolder is swapped, and nothing else."""

from __future__ import annotations

from typing import Any

import torch
import torchvision
from torch.utils.data import default_collate
from torchvision import transforms as T
from torchvision.transforms import v2

from benchmarks.peers.recipes.contract import MEAN, STD, Recipe, folders

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


def ten_crops() -> Any:
    """The usual evaluation with ten crops."""
    end = T.Lambda(lambda crops: torch.stack([T.functional.to_tensor(crop) for crop in crops]))
    return T.Compose([T.Resize(256), T.TenCrop(SIZE), end])


def affine() -> Any:
    """Small turns and shifts."""
    moved = T.RandomAffine(10, (0.1, 0.1), (0.9, 1.1), 5, T.InterpolationMode.BILINEAR)
    return crop(SIZE, T.RandomRotation(15), moved, *END)


PRESET = torchvision.models.ResNet50_Weights.DEFAULT.transforms
RECIPES = {
    "basic": Recipe(folders(lambda: crop(SIZE, *END))),
    "reference": Recipe(folders(lambda: reference(T.TrivialAugmentWide()))),
    "reference mixup": Recipe(folders(lambda: reference(T.TrivialAugmentWide()), collate_fn=mixed)),
    "randaugment": Recipe(folders(lambda: crop(SIZE, T.RandAugment(2, 9), *END, T.RandomErasing(0.25)))),
    "autoaugment": Recipe(folders(lambda: crop(SIZE, T.AutoAugment(), *END))),
    "augmix": Recipe(folders(lambda: crop(SIZE, T.AugMix(), *END)), 500),
    "simclr": Recipe(folders(simclr), 500),
    "preset": Recipe(folders(PRESET, shuffle=False)),
    "rotation affine": Recipe(folders(affine), 1_000),
    "ten crops": Recipe(folders(ten_crops, shuffle=False, batch_size=16), 500),
}
