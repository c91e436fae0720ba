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

from benchmarks.peers.images.contract import BATCH, MEAN, SHORT_SIDE, SIZE, STD, TRAIN, WORKERS, Peer


def _transform(m: Any, kind: str, *numbers: Any) -> Any:
    """The transforms of torchvision's own ImageNet scripts; m is v1 or v2."""
    if kind == TRAIN:
        first = [m.RandomResizedCrop(SIZE, antialias=True), m.RandomHorizontalFlip()]
    else:
        first = [m.Resize(SHORT_SIDE, antialias=True), m.CenterCrop(SIZE)]
    return m.Compose([*first, *numbers, m.Normalize(MEAN, STD)])


def pil_transform(kind: str) -> Any:
    """Of PIL pictures."""
    return _transform(transforms, kind, transforms.ToTensor())


def load_tensor(path: str) -> torch.Tensor:
    """Decoded by torchvision's own libjpeg."""
    picture: torch.Tensor = decode_image(path, ImageReadMode.RGB)
    return picture


def loader(dataset: Any, kind: str, workers: int, persistent: bool = True) -> DataLoader[Any]:
    """torch's DataLoader. Workers live on from epoch to epoch, which is the best for them."""
    forked: Any = {"multiprocessing_context": "fork", "persistent_workers": persistent} if workers else {}
    return DataLoader(dataset, BATCH, shuffle=kind == TRAIN, num_workers=workers, **forked)


def single() -> None:
    """torch's own threads wait actively for each other: in the way of a peer's threads (datago: 23 ms of
    processor time a picture instead of 3), and of no use to one."""
    torch.set_num_threads(1)


def pil(workers: int) -> Callable[[str, str], DataLoader[Any]]:
    """ImageFolder as most scripts use it."""

    def opened(folder: str, kind: str) -> DataLoader[Any]:
        if not workers:
            single()
        return loader(ImageFolder(folder, pil_transform(kind)), kind, workers)

    return opened


def tensors(workers: int) -> Callable[[str, str], DataLoader[Any]]:
    """ImageFolder with a loader that gives uint8 tensors, and v2's transforms."""

    def opened(folder: str, kind: str) -> DataLoader[Any]:
        transform = _transform(v2, kind, v2.ToDtype(torch.float32, scale=True))
        return loader(ImageFolder(folder, transform, loader=load_tensor), kind, workers)

    return opened


def fresh(folder: str, kind: str) -> DataLoader[Any]:
    """torch's default: two workers that are started for every epoch."""
    return loader(ImageFolder(folder, pil_transform(kind)), kind, 2, persistent=False)


FRESH = Peer(fresh, exact=True, workers=2)
PIL = {workers: Peer(pil(workers), exact=True, workers=workers) for workers in WORKERS}
TENSORS = {workers: Peer(tensors(workers), workers=workers) for workers in WORKERS if workers}
