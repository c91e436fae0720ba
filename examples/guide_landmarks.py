"""A CSV that names pictures, with several numbers for each: torch's tutorial on custom Datasets.

The tutorial reads a file of names and landmarks with pandas, opens a picture for each index, and turns the
rest of the row into an array. Two lines of it are slow: `iloc`, and the decoding of whole pictures, one at a
time. If the Dataset is to stay, because its transforms move the landmarks too, `gofast.open` alone replaces
the second line. If the transforms are of the picture, `ImageFiles.from_csv` replaces the class: `label=`
takes a list of columns.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from article_tools import DATA, Comparison
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms as T

import gofast

PHOTOS = DATA / "photos"
POINTS = [f"{axis}{point}" for point in range(5) for axis in "xy"]
TRANSFORM = T.Compose([T.Resize(128), T.CenterCrop(112), T.ToTensor()])


class Landmarks(Dataset[tuple[Tensor, Tensor]]):
    """As the tutorial has it, with the function that opens a picture."""

    def __init__(self, path: Path, opened: Callable[[Any], Any]) -> None:
        self.frame, self.opened = pd.read_csv(path), opened

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        image = self.opened(PHOTOS / self.frame.iloc[index, 0]).convert("RGB")
        points = np.array(self.frame.iloc[index, 1:], dtype="float32")
        return TRANSFORM(image), torch.from_numpy(points)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "landmarks.csv")
        names = [str(photo.relative_to(PHOTOS)) for photo in sorted(PHOTOS.rglob("*.jpg"))]
        points = np.random.default_rng(0).integers(0, 112, (len(names), len(POINTS)))
        frame = pd.DataFrame(points, columns=POINTS)
        frame.insert(0, "name", names)
        frame.to_csv(path, index=False)

        ways = Comparison("pictures with landmarks", "pictures", epochs=3)
        ways.add(
            "PIL.Image.open",
            "Each picture is decoded whole, by one core.",
            lambda: DataLoader(Landmarks(path, Image.open), 12),
        )
        ways.add(
            "gofast.open",
            "The class stays. What is recorded of a picture is made when its pixels are asked for.",
            lambda: DataLoader(Landmarks(path, gofast.open), 12),
        )
        ways.add(
            "gofast.ImageFiles.from_csv",
            "No class: a batch is one call, on all cores, and decodes only what the crop shows.",
            lambda: DataLoader(
                gofast.ImageFiles.from_csv(path, PHOTOS, path="name", label=POINTS, transform=TRANSFORM), 12
            ),
        )
        ways.show_equal()


if __name__ == "__main__":
    main()
