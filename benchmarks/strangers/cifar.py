"""kuangliu/pytorch-cifar: main.py; and sthalles/SimCLR: data_aug/, on the same set."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as T

from benchmarks.strangers.contract import Case, gofast
from benchmarks.strangers.files import Files


def cifar(files: Files, workers: int, kind: Any = DataLoader) -> Any:
    """kuangliu's recipe."""
    transform = T.Compose(
        [
            T.RandomCrop(32, padding=4),
            T.RandomHorizontalFlip(),
            T.ToTensor(),
            T.Normalize((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
        ]
    )
    with files.unchecked():
        dataset = datasets.CIFAR10(root=files.cifar10(), train=True, transform=transform)
    return kind(dataset, batch_size=128, shuffle=True, num_workers=workers)


class GaussianBlur:
    """A blur by two convolutions of torch's, for one picture."""

    def __init__(self, kernel: int) -> None:
        reach = kernel // 2
        self.side = 2 * reach + 1
        self.across = nn.Conv2d(3, 3, (self.side, 1), bias=False, groups=3)
        self.down = nn.Conv2d(3, 3, (1, self.side), bias=False, groups=3)
        self.reach = reach
        self.blur = nn.Sequential(nn.ReflectionPad2d(reach), self.across, self.down)
        self.to_tensor, self.to_picture = T.ToTensor(), T.ToPILImage()

    def __call__(self, picture: Any) -> Any:
        tensor = self.to_tensor(picture).unsqueeze(0)
        sigma = np.random.uniform(0.1, 2.0)
        weights = np.exp(-(np.arange(-self.reach, self.reach + 1) ** 2) / (2 * sigma**2))
        kernel = torch.from_numpy(weights / weights.sum()).view(1, -1).repeat(3, 1)
        self.across.weight.data.copy_(kernel.view(3, 1, self.side, 1))
        self.down.weight.data.copy_(kernel.view(3, 1, 1, self.side))
        with torch.no_grad():
            blurred = self.blur(tensor).squeeze()
        return self.to_picture(blurred)


class Views:
    """Some views of a picture by one transform, as a list."""

    def __init__(self, transform: Any, number: int = 2) -> None:
        self.transform, self.number = transform, number

    def __call__(self, picture: Any) -> Any:
        return [self.transform(picture) for _ in range(self.number)]


def simclr(files: Files, workers: int, kind: Any = DataLoader) -> Any:
    """SimCLR's pipeline for CIFAR10."""
    size = 32
    jitter = T.RandomApply([T.ColorJitter(0.8, 0.8, 0.8, 0.2)], p=0.8)
    crop = [T.RandomResizedCrop(size=size), T.RandomHorizontalFlip()]
    end = [T.RandomGrayscale(p=0.2), GaussianBlur(kernel=int(0.1 * size)), T.ToTensor()]
    with files.unchecked():
        views = Views(T.Compose([*crop, jitter, *end]))
        dataset = datasets.CIFAR10(files.cifar10(), train=True, transform=views, download=False)
    return kind(dataset, batch_size=256, shuffle=True, num_workers=workers, drop_last=True)


CASES = {
    "cifar10": Case(cifar, lambda files, workers: cifar(files, workers, gofast().DataLoader), 500),
    "simclr": Case(simclr, lambda files, workers: simclr(files, workers, gofast().DataLoader), 100),
}
