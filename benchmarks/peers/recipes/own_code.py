"""Recipes with code of the user's own: DINO's class of ten crops, and a Dataset that opens its files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from PIL import Image
from torch.utils.data import Dataset
from torchvision import transforms as T

from benchmarks.peers.recipes.contract import Recipe, folders, gofast, sides
from benchmarks.peers.recipes.torchvision_ import END, crop

BICUBIC = T.InterpolationMode.BICUBIC


class TenCrops:
    """DINO's DataAugmentationDINO: two large crops and eight small ones, as lists."""

    def __init__(self) -> None:
        colour = [
            T.RandomHorizontalFlip(0.5),
            T.RandomApply([T.ColorJitter(0.4, 0.4, 0.2, 0.1)], 0.8),
            T.RandomGrayscale(0.2),
        ]
        blur = T.GaussianBlur(23, (0.1, 2.0))

        def made(size: int, scale: tuple[float, float], *rest: Any) -> Any:
            first = T.RandomResizedCrop(size, scale=scale, interpolation=BICUBIC)
            return T.Compose([first, *colour, *rest, *END])

        self.first = made(224, (0.4, 1.0), T.RandomApply([blur], 1.0))
        self.second = made(224, (0.4, 1.0), T.RandomApply([blur], 0.1), T.RandomSolarize(128, 0.2))
        self.local = made(96, (0.05, 0.4), T.RandomApply([blur], 0.5))

    def __call__(self, image: Any) -> list[Any]:
        return [self.first(image), self.second(image), *(self.local(image) for _ in range(8))]


class Pictures(Dataset[Any]):
    """What most scripts have: a list of paths, and an Image.open.

    Args:
        opened: PIL.Image.open, or what stands for it.
    """

    def __init__(self, folder: str, transform: Any, opened: Callable[..., Any] = Image.open) -> None:
        self.paths = sorted(Path(folder).glob("*/*"))
        self.transform, self.opened = transform, opened

    def __len__(self) -> int:
        return len(self.paths)

    def __getitem__(self, index: int) -> Any:
        image = self.opened(self.paths[index]).convert("RGB")
        return self.transform(image), index


RECIPES = {
    "dino": Recipe(folders(TenCrops), 500),
    "custom dataset": Recipe(
        sides(
            lambda folder: Pictures(folder, crop(224, *END)),
            lambda folder: Pictures(folder, crop(224, *END), gofast().open),
            "Image.open",
            drop_in=False,
        )
    ),
}
