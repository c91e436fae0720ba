"""A folder of classes with random crops: the recipe of ImageNet.

Articles on its bottleneck measure that decoding JPEGs takes longer than a GPU's step. They then convert the
data set into a format of their own, or decode on the GPU: both give other pixels, and a training that was
tuned on Pillow's gives another result. gofast keeps the files and the pixels. It decodes only the blocks
that a crop needs, and resizes, flips and normalises in one pass. Crops and flips are drawn as torchvision
draws them, in as many workers.
"""

from __future__ import annotations

from typing import Any

import torch
import torchvision
from article_tools import DATA, Comparison
from torch.utils.data import ConcatDataset, DataLoader, Dataset
from torchvision import transforms as T

import gofast

PHOTOS = str(DATA / "photos")
TRANSFORM = T.Compose(
    [
        T.RandomResizedCrop(224),
        T.RandomHorizontalFlip(),
        T.ToTensor(),
        T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]),
    ]
)
LOADER: dict[str, Any] = {"batch_size": 9, "shuffle": True, "num_workers": 2, "persistent_workers": True}


def often(folder: Dataset[Any]) -> Dataset[Any]:
    """The photographs are few: an epoch sees each four times, each time cut out otherwise."""
    return ConcatDataset([folder] * 4)


def main() -> None:
    torch.set_num_threads(1)
    ways = Comparison("random crops of a folder", "pictures", epochs=3)
    ways.add(
        "torchvision.datasets.ImageFolder",
        "Two processes, as a tuned script has them. Each crop is cut out of a whole picture.",
        lambda: DataLoader(often(torchvision.datasets.ImageFolder(PHOTOS, TRANSFORM)), **LOADER),
    )
    ways.add(
        "gofast.ImageFolder",
        "One import changed, in the same two processes.",
        lambda: DataLoader(often(gofast.ImageFolder(PHOTOS, TRANSFORM)), **LOADER),
    )
    ways.add(
        "gofast.DataLoader",
        "Threads of this process, which draw as the two workers would.",
        lambda: gofast.DataLoader(often(gofast.ImageFolder(PHOTOS, TRANSFORM)), **LOADER),
    )
    ways.show_equal()


if __name__ == "__main__":
    main()
