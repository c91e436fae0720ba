"""A GPU that waits: num_workers, pin_memory, and what they cannot do.

Guides to performance say how to find out: train with one batch again and again. If that is much faster than
an epoch of the loader, the model waits for data. Then they advise `num_workers`, `persistent_workers` and
`pin_memory`. These spread the work over processes and hide the copy to the GPU, but a picture costs what it
did: on a machine with few cores for each GPU it remains too much. gofast makes a picture cheaper, and needs
no processes. Here the loop trains, and what is compared are the losses of all samples: a loop that waits
less comes to the same model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
import torchvision
from article_tools import DATA, DEVICE, Comparison, duration, timed
from torch import Tensor, nn
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast

PHOTOS = str(DATA / "photos")
TRANSFORM = T.Compose([T.Resize(256), T.CenterCrop(224), T.ToTensor(), T.Normalize([0.5] * 3, [0.25] * 3)])
WORKERS: dict[str, Any] = {"num_workers": 2, "persistent_workers": True, "pin_memory": DEVICE.type == "cuda"}


class Trained:
    """An epoch of training with a loader's batches. What it yields are the losses and the labels."""

    def __init__(self, loader: Iterable[Any]) -> None:
        self.loader = loader

    def __iter__(self) -> Iterator[tuple[Tensor, Tensor]]:
        torch.manual_seed(0)
        model = nn.Sequential(
            nn.Conv2d(3, 8, 7, 4), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)
        ).to(DEVICE)
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        for images, labels in self.loader:
            images, labels = images.to(DEVICE, non_blocking=True), labels.to(DEVICE, non_blocking=True)
            loss = nn.functional.cross_entropy(model(images), labels, reduction="none")
            optimizer.zero_grad()
            torch.autograd.backward(loss.mean())
            optimizer.step()
            yield loss.detach(), labels


def main() -> None:
    torch.set_num_threads(1)
    theirs = torchvision.datasets.ImageFolder(PHOTOS, TRANSFORM)
    ours = gofast.ImageFolder(PHOTOS, TRANSFORM)
    loaders: list[tuple[str, str, Callable[[], Iterable[Any]]]] = [
        ("torchvision", "Pictures are made while the model waits.", lambda: DataLoader(theirs, 9)),
        ("the guides' advice", "Two processes make them.", lambda: DataLoader(theirs, 9, **WORKERS)),
        ("gofast.ImageFolder", "One import changed.", lambda: DataLoader(ours, 9)),
        ("gofast.DataLoader", "Threads work ahead.", lambda: gofast.DataLoader(ours, 9, **WORKERS)),
    ]
    least = timed(Trained(list(DataLoader(ours, 9))))
    print(f"with batches that lie in memory an epoch takes {duration(least)}: no loader can be faster\n")
    ways = Comparison("training on pictures", "pictures", epochs=3)
    for name, why, loader in loaders:
        ways.add(name, why, lambda loader=loader: Trained(loader()))  # type: ignore[misc]
    ways.show_equal()


if __name__ == "__main__":
    main()
