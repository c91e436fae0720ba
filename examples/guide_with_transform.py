"""Pictures in a table: the guide to `with_transform` of Hugging Face's datasets.

The guide's transform gets the columns of some rows, with a list of PIL images in one of them, and transforms
one image after another. If the column is cast to `Image(decode=False)`, it has the bytes of files instead,
and `gofast.Decoder` makes the batch of them in one call. `Rows` stands for a `datasets.Dataset`, so that the
script runs without the package. With it, the last way is this:

    rows = rows.cast_column("image", datasets.Image(decode=False)).with_transform(fast)

Of Parquet files, as on the hub, `gofast.ImageFiles.from_parquet` makes them without the package.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Callable
from typing import Any

import pandas as pd
import torch
from article_tools import DATA, Comparison
from PIL import Image
from torch import Tensor
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast

TRANSFORM = T.Compose([T.Resize(128), T.CenterCrop(112), T.ToTensor(), T.Normalize([0.5] * 3, [0.5] * 3)])
FILES = sorted((DATA / "photos").rglob("*.jpg"))
Columns = dict[str, Any]


class Rows:
    """Pictures as bytes and their labels, with a transform of the rows that a batch asks for."""

    def __init__(self, transform: Callable[[Columns], Columns]) -> None:
        self.transform = transform
        self.images = [{"bytes": file.read_bytes(), "path": file.name} for file in FILES]

    def __len__(self) -> int:
        return len(self.images)

    def __getitems__(self, indices: list[int]) -> list[Columns]:
        some = {"image": [self.images[i] for i in indices], "label": [i // 12 for i in indices]}
        columns = self.transform(some)
        return [{name: values[i] for name, values in columns.items()} for i in range(len(indices))]


def slow(columns: Columns) -> Columns:
    """The guide's transform; the package itself makes the PIL images."""
    images = [Image.open(io.BytesIO(image["bytes"])).convert("RGB") for image in columns["image"]]
    return {"pixel_values": [TRANSFORM(image) for image in images], "label": columns["label"]}


decode = gofast.Decoder(TRANSFORM)


def fast(columns: Columns) -> Columns:
    """The same by gofast."""
    return {"pixel_values": decode(columns["image"]), "label": columns["label"]}


def pair(rows: list[Columns]) -> tuple[Tensor, Tensor]:
    """A batch."""
    return torch.stack([row["pixel_values"] for row in rows]), torch.tensor([row["label"] for row in rows])


def main() -> None:
    ways = Comparison("pictures in a table", "pictures", epochs=3)
    for name, why, transform in (
        ("PIL images", "One picture after another, decoded whole.", slow),
        ("gofast.Decoder", "A batch at a call, on all cores.", fast),
    ):
        ways.add(name, why, lambda t=transform: DataLoader(Rows(t), 12, collate_fn=pair))  # type: ignore
    with tempfile.NamedTemporaryFile(suffix=".parquet") as file:
        images, labels = Rows(slow).images, [i // 12 for i in range(len(FILES))]
        pd.DataFrame({"image": images, "label": labels}).to_parquet(file.name)
        ways.add(
            "gofast.ImageFiles.from_parquet",
            "The file of all rows, as the hub has it.",
            lambda: gofast.DataLoader(gofast.ImageFiles.from_parquet(file.name, transform=TRANSFORM), 12),
        )
    ways.show_equal()


if __name__ == "__main__":
    main()
