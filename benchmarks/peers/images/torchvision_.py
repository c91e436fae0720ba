"""torchvision: what is to be reproduced, and to be beaten. On PIL pictures, and on tensors (v2)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader
from torchvision import transforms
from torchvision.datasets import ImageFolder
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

from benchmarks.peers.images.contract import BATCH, MEAN, SHORT_SIDE, SIZE, STD, TRAIN, Peer


def pil_transform(kind: str) -> Any:
    """The transforms of torchvision's own ImageNet scripts."""
    if kind == TRAIN:
        first: list[Any] = [transforms.RandomResizedCrop(SIZE), transforms.RandomHorizontalFlip()]
    else:
        first = [transforms.Resize(SHORT_SIDE), transforms.CenterCrop(SIZE)]
    return transforms.Compose([*first, transforms.ToTensor(), transforms.Normalize(MEAN, STD)])


def tensor_transform(kind: str) -> Any:
    """The same on uint8 tensors."""
    if kind == TRAIN:
        first: list[Any] = [v2.RandomResizedCrop(SIZE, antialias=True), v2.RandomHorizontalFlip()]
    else:
        first = [v2.Resize(SHORT_SIDE, antialias=True), v2.CenterCrop(SIZE)]
    return v2.Compose([*first, v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)])


def load_tensor(path: str) -> torch.Tensor:
    """Decoded by torchvision's own libjpeg."""
    picture: torch.Tensor = decode_image(path, ImageReadMode.RGB)
    return picture


def loader(dataset: Any, kind: str, workers: int) -> DataLoader[Any]:
    """torch's DataLoader. Workers live on from epoch to epoch, which is the best for them."""
    return DataLoader(
        dataset,
        batch_size=BATCH,
        shuffle=kind == TRAIN,
        num_workers=workers,
        multiprocessing_context="fork" if workers else None,
        persistent_workers=workers > 0,
    )


def single() -> None:
    """torch's own threads wait actively for each other: in the way of a peer's threads (datago: 23 ms of
    processor time a picture instead of 3), and of no use to one."""
    torch.set_num_threads(1)


def pil(workers: int) -> Callable[[str, str], DataLoader[Any]]:
    """ImageFolder as everybody uses it."""

    def opened(folder: str, kind: str) -> DataLoader[Any]:
        if not workers:
            single()
        return loader(ImageFolder(folder, pil_transform(kind)), kind, workers)

    return opened


def tensors(workers: int) -> Callable[[str, str], DataLoader[Any]]:
    """ImageFolder with a loader that gives tensors."""

    def opened(folder: str, kind: str) -> DataLoader[Any]:
        if not workers:
            single()
        return loader(ImageFolder(folder, tensor_transform(kind), loader=load_tensor), kind, workers)

    return opened


def fresh(folder: str, kind: str) -> DataLoader[Any]:
    """torch's default: two workers that are started for every epoch."""
    dataset = ImageFolder(folder, pil_transform(kind))
    return DataLoader(
        dataset, batch_size=BATCH, shuffle=kind == TRAIN, num_workers=2, multiprocessing_context="fork"
    )


FRESH = Peer(fresh, exact=True, workers=2)
PIL = {workers: Peer(pil(workers), exact=True, workers=workers) for workers in (0, 1, 2, 4)}
TENSORS = {workers: Peer(tensors(workers), workers=workers) for workers in (0, 1, 2, 4)}
