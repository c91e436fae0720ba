"""milesial/Pytorch-UNet: utils/data_loading.py and train.py."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, random_split

from benchmarks.strangers.contract import Case, gofast
from benchmarks.strangers.files import Files


class Carvana(Dataset[Any]):
    """Their BasicDataset: a picture and its mask, scaled and made arrays.

    Args:
        opened: None for PIL.Image.open, or what stands for it.
    """

    def __init__(self, images: str, masks: str, scale: float = 0.5, opened: Any = None) -> None:
        self.images, self.masks, self.scale, self.opened = Path(images), Path(masks), scale, opened
        self.ids = [os.path.splitext(name)[0] for name in sorted(os.listdir(images))]
        self.values = [0, 255]

    def __len__(self) -> int:
        return len(self.ids)

    def preprocess(self, picture: Any, is_mask: bool) -> Any:
        width, height = (int(self.scale * side) for side in picture.size)
        how = Image.Resampling.NEAREST if is_mask else Image.Resampling.BICUBIC
        values = np.asarray(picture.resize((width, height), resample=how))
        if is_mask:
            mask = np.zeros((height, width), dtype=np.int64)
            for number, value in enumerate(self.values):
                mask[values == value] = number
            return mask
        values = values.transpose((2, 0, 1))
        return values / 255.0 if (values > 1).any() else values

    def __getitem__(self, index: int) -> Any:
        name = self.ids[index]
        opened = self.opened or Image.open
        mask = self.preprocess(opened(next(self.masks.glob(name + ".*"))), is_mask=True)
        picture = self.preprocess(opened(next(self.images.glob(name + ".*"))), is_mask=False)
        return {
            "image": torch.as_tensor(picture.copy()).float().contiguous(),
            "mask": torch.as_tensor(mask.copy()).long().contiguous(),
        }


def loader(files: Files, workers: int, kind: Any = DataLoader, opened: Any = None) -> Any:
    """As train.py makes it."""
    dataset = Carvana(*files.carvana(), opened=opened)
    share = len(dataset) // 10
    generator = torch.Generator().manual_seed(0)
    train, _ = random_split(dataset, [len(dataset) - share, share], generator=generator)
    return kind(train, shuffle=True, batch_size=4, num_workers=workers)


def swapped(files: Files, workers: int) -> Any:
    """With gofast.open and its loader."""
    return loader(files, workers, gofast().DataLoader, gofast().open)


CASES = {"unet": Case(loader, swapped)}
