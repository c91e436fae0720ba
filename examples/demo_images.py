"""A folder of photographs, before and after gofast.

Before is what every tutorial has: torchvision's ImageFolder with random crops and flips. After is the same
script with one import changed. Every crop, flip and loss is the same, to the last bit: random transforms draw
from torch's generator as torchvision would, in the main process and in workers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torchvision
from demo_training import DEVICE, EPOCHS, Pipeline, report, same_batches, train
from torch import nn
from torch.utils.data import DataLoader, RandomSampler
from torchvision import transforms

import gofast

PHOTOS = Path(__file__).resolve().parent / "data" / "photos"
BATCH, SIDE = 32, 96
PASSES = 32  # an epoch sees each of the few photographs so many times, each time cut out otherwise

TRAIN = transforms.Compose(
    [
        transforms.RandomResizedCrop(SIDE),
        transforms.RandomHorizontalFlip(),
        transforms.ToTensor(),
        transforms.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]
)


def small_cnn() -> nn.Module:
    """Three convolutions and the mean of what they see: 6,243 parameters."""
    return nn.Sequential(
        nn.Conv2d(3, 16, 5, stride=4),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, stride=2),
        nn.ReLU(),
        nn.Conv2d(16, 16, 3, stride=2),
        nn.ReLU(),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 3),
    )


def loader(kind: Callable[..., Any], workers: int, **more: Any) -> Callable[[Any], Iterable[Any]]:
    """torch's DataLoader, or ours, with the script's arguments."""
    return lambda dataset: kind(
        dataset,
        batch_size=BATCH,
        sampler=RandomSampler(dataset, num_samples=PASSES * len(dataset)),
        num_workers=workers,
        **more,
    )


def pipelines(root: str) -> list[Pipeline]:
    """The baseline first; the rest in the order of the table.

    With workers each draws from a generator of its own, so torch's batches depend on their number.
    """

    def torchvisions() -> Any:
        return torchvision.datasets.ImageFolder(root, TRAIN)

    def ours() -> Any:
        return gofast.ImageFolder(root, TRAIN)

    ways = [
        Pipeline("torchvision, num_workers=0", torchvisions, loader(DataLoader, 0), before=True),
        Pipeline("torchvision, num_workers=2", torchvisions, loader(DataLoader, 2), before=True, equals=1),
        Pipeline("gofast.ImageFolder, num_workers=0", ours, loader(DataLoader, 0)),
        Pipeline("gofast.ImageFolder, num_workers=2", ours, loader(DataLoader, 2), equals=1),
        Pipeline("gofast.DataLoader, num_workers=2", ours, loader(gofast.DataLoader, 2), equals=1),
    ]
    if DEVICE.type == "cuda":
        there = loader(gofast.DataLoader, 2, device=DEVICE)
        ways.append(Pipeline("gofast.DataLoader, on the GPU", ours, there, equals=1))
    return ways


def main() -> None:
    ways = pipelines(str(PHOTOS))
    dataset = ways[-1].open()
    print(
        f"photographs from a folder: {len(dataset)} of {', '.join(dataset.classes)}, {PASSES} crops of "
        f"{SIDE} x {SIDE} an epoch from each, batch {BATCH}, {EPOCHS} epochs",
        flush=True,
    )
    batches = 0
    for way in ways[2:]:
        batches = same_batches(ways[way.equals], way)
    runs = train(ways, small_cnn)
    report(runs, batches)
    print(f"all {len(runs[0].losses)} losses are equal, to the last bit, where num_workers is equal")
    print("\nwhat runs where, says gofast.explain:")
    print("  " + gofast.explain(dataset).replace("\n", "\n  "))
