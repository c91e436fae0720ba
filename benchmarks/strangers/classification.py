"""pytorch/vision, references/classification: presets.py and train.py."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
import torchvision
from torch.utils.data import DataLoader, RandomSampler, default_collate
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

from benchmarks.strangers.contract import MEAN, STD, Case, gofast
from benchmarks.strangers.files import Files

POLICIES = {"ta_wide": "TrivialAugmentWide", "augmix": "AugMix"}


class Preset:
    """Their ClassificationPresetTrain."""

    def __init__(self, policy: str, backend: str, use_v2: bool, erase: float = 0.1) -> None:
        t: Any = v2 if use_v2 else v1
        bilinear = InterpolationMode.BILINEAR
        steps = [t.PILToTensor()] if backend == "tensor" else []
        steps += [
            t.RandomResizedCrop(176, interpolation=bilinear, antialias=True),
            t.RandomHorizontalFlip(0.5),
        ]
        steps += [getattr(t, POLICIES[policy])(interpolation=bilinear)]
        steps += [t.PILToTensor()] if backend == "pil" else []
        steps += [t.ToDtype(torch.float, scale=True) if use_v2 else t.ConvertImageDtype(torch.float)]
        steps += [t.Normalize(mean=MEAN, std=STD), t.RandomErasing(p=erase)]
        self.transforms = t.Compose([*steps, t.ToPureTensor()] if use_v2 else steps)

    def __call__(self, picture: Any) -> Any:
        return self.transforms(picture)


def mixed(mix: Any, rows: Any) -> Any:
    """Their collate_fn."""
    return mix(*default_collate(rows))


def loader(
    files: Files, workers: int, preset: Any, mix: bool = False, folder: Any = None, kind: Any = DataLoader
) -> Any:
    """As train.py makes it."""
    folder = folder or torchvision.datasets.ImageFolder
    dataset = folder(files.folder, preset())
    collate: Any = default_collate
    if mix:
        both = [v2.MixUp(alpha=0.2, num_classes=1000), v2.CutMix(alpha=1.0, num_classes=1000)]
        collate = partial(mixed, v2.RandomChoice(both))
    return kind(
        dataset,
        batch_size=files.batch(32),
        sampler=RandomSampler(dataset),
        num_workers=workers,
        collate_fn=collate,
    )


def swapped(files: Files, workers: int, **options: Any) -> Any:
    """With gofast's folder and loader."""
    return loader(files, workers, folder=gofast().ImageFolder, kind=gofast().DataLoader, **options)


def made(policy: str, backend: str, use_v2: bool, mix: bool = False, pictures: int = 1_000) -> Case:
    """A case of these arguments of train.py."""
    options: Any = {"preset": partial(Preset, policy, backend, use_v2), "mix": mix}
    return Case(partial(loader, **options), partial(swapped, **options), pictures)


CASES = {
    "classification": made("ta_wide", "pil", False),
    "classification v2": made("ta_wide", "pil", True, mix=True),
    "classification tensor": made("ta_wide", "tensor", True),
    "classification augmix": made("augmix", "pil", False, pictures=500),
}
