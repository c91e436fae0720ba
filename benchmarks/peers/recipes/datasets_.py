"""Hugging Face's datasets over bytes in a Parquet file: decoded by Pillow, or by gofast.Decoder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import torch

from benchmarks.peers.recipes.contract import Recipe, gofast, sides
from benchmarks.peers.recipes.torchvision_ import END, crop


def table(folder: str) -> Any:
    """The folder's pictures as a dataset of bytes, from a Parquet file beside the folder."""
    path = Path(folder).with_suffix(".parquet")
    if not path.exists():
        files = sorted(Path(folder).glob("*/*"))
        rows = [{"bytes": file.read_bytes(), "path": file.name} for file in files]
        pq.write_table(pa.table({"image": rows, "label": range(len(rows))}), path)
    found: Any = datasets.Dataset.from_parquet(str(path), cache_dir=str(path.with_suffix(".cache")))
    return found


def theirs(folder: str) -> Any:
    """As Hugging Face's examples for training on pictures do it."""
    transform = crop(224, *END)

    def applied(rows: Any) -> Any:
        images = [transform(image.convert("RGB")) for image in rows["image"]]
        return {"image": images, "label": rows["label"]}

    return table(folder).cast_column("image", datasets.Image()).with_transform(applied)


def ours(folder: str) -> Any:
    """The same with gofast.Decoder."""
    decode = gofast().Decoder(crop(224, *END))

    def applied(rows: Any) -> Any:
        return {"image": list(decode(rows["image"])), "label": rows["label"]}

    return table(folder).cast_column("image", datasets.Image(decode=False)).with_transform(applied)


def collated(rows: Any) -> Any:
    """Rows of tensors and numbers as a batch."""
    return torch.stack([row["image"] for row in rows]), torch.tensor([row["label"] for row in rows])


RECIPES = {"parquet bytes": Recipe(sides(theirs, ours, "datasets", drop_in=False, collate_fn=collated))}
