"""huggingface/pytorch-image-models: train.py's loader; facebookresearch/ConvNeXt: datasets.py and main.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from timm.data import Mixup, auto_augment, create_dataset, create_loader, create_transform
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import datasets

from benchmarks.strangers.contract import MEAN, STD, Case, gofast
from benchmarks.strangers.files import Files

RECIPE = "rand-m9-mstd0.5-inc1"


def posterize(image: Any, bits: int, **_: Any) -> Any:
    """timm's, which asks for 0 bits at its strongest; Pillow 13 refuses that."""
    return auto_augment.posterize(image, max(bits, 1))


auto_augment.NAME_TO_OP["PosterizeIncreasing"] = posterize


def timm(files: Files, workers: int, dataset: Any = None) -> Any:
    """As train.py makes it, without its prefetcher, which is for a GPU."""
    return create_loader(
        dataset or create_dataset("", root=files.folder),
        input_size=(3, 224, 224),
        batch_size=files.batch(64),
        is_training=True,
        use_prefetcher=False,
        re_prob=0.25,
        re_mode="pixel",
        auto_augment=RECIPE,
        num_workers=workers,
        persistent_workers=workers > 0,
    )


def timm_swapped(files: Files, workers: int) -> Any:
    """With gofast's folder."""
    return timm(files, workers, gofast().ImageFolder(files.folder))


class Mixed:
    """Its batches after timm's Mixup, which the loop of engine.py calls."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[Any]:
        mix = Mixup(mixup_alpha=0.8, cutmix_alpha=1.0, label_smoothing=0.1, num_classes=1000)
        for samples, targets in self.loader:
            yield mix(samples, targets)


def convnext(files: Files, workers: int, folder: Any = None, kind: Any = DataLoader) -> Any:
    """As main.py makes it, on one machine."""
    transform = create_transform(
        input_size=224,
        is_training=True,
        color_jitter=0.4,
        auto_augment=RECIPE,
        interpolation="bicubic",
        re_prob=0.25,
        re_mode="pixel",
        re_count=1,
        mean=MEAN,
        std=STD,
    )
    dataset = (folder or datasets.ImageFolder)(files.folder, transform=transform)
    sampler: Any = DistributedSampler(dataset, num_replicas=1, rank=0, shuffle=True, seed=0)
    size = files.batch(64) // 2 * 2  # Mixup takes even batches
    return Mixed(kind(dataset, sampler=sampler, batch_size=size, num_workers=workers, drop_last=True))


def convnext_swapped(files: Files, workers: int) -> Any:
    """With gofast's folder and loader."""
    return convnext(files, workers, gofast().ImageFolder, gofast().DataLoader)


CASES = {"timm": Case(timm, timm_swapped), "convnext": Case(convnext, convnext_swapped)}
