"""huggingface/transformers: examples/pytorch/image-classification, over bytes in a Parquet file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from torch.utils.data import DataLoader
from torchvision import transforms as T

from benchmarks.strangers.contract import MEAN, STD, Case, gofast
from benchmarks.strangers.files import Files

TRANSFORM = T.Compose(
    [T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(mean=MEAN, std=STD)]
)


def table(files: Files) -> Any:
    """The pictures as a dataset of bytes."""
    path = Path(f"{files.folder}.parquet")
    if not path.exists():
        rows = [{"bytes": file.read_bytes(), "path": file.name} for file in files.pictures]
        pq.write_table(pa.table({"image": rows, "label": files.classes}), path)
    found: Any = datasets.Dataset.from_parquet(str(path), cache_dir=f"{files.folder}.cache")
    return found


def transformed(rows: Any) -> Any:
    """Their train_transforms."""
    rows["pixel_values"] = [TRANSFORM(image.convert("RGB")) for image in rows["image"]]
    return rows


def collated(rows: Any) -> Any:
    """Their collate_fn."""
    pixels = torch.stack([row["pixel_values"] for row in rows])
    return {"pixel_values": pixels, "labels": torch.tensor([row["label"] for row in rows])}


def loader(files: Files, workers: int, kind: Any = DataLoader) -> Any:
    """As run_image_classification_no_trainer.py makes it."""
    dataset = table(files).cast_column("image", datasets.Image()).with_transform(transformed)
    return kind(dataset, shuffle=True, collate_fn=collated, batch_size=files.batch(64), num_workers=workers)


def swapped(files: Files, workers: int) -> Any:
    """With gofast.DataLoader."""
    return loader(files, workers, gofast().DataLoader)


CASES = {"datasets": Case(loader, swapped)}
