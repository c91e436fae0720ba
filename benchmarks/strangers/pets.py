"""What tutorials fine-tune with: torchvision's OxfordIIITPet, resized to squares."""

from __future__ import annotations

from typing import Any

from torch.utils.data import DataLoader
from torchvision import datasets
from torchvision import transforms as T

from benchmarks.strangers.contract import MEAN, STD, Case, gofast
from benchmarks.strangers.files import Files


def loader(files: Files, workers: int, kind: Any = DataLoader) -> Any:
    """The training half."""
    transform = T.Compose(
        [T.Resize((224, 224)), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize(mean=MEAN, std=STD)]
    )
    dataset = datasets.OxfordIIITPet(files.pets(), split="trainval", transform=transform)
    return kind(dataset, batch_size=files.batch(32), shuffle=True, num_workers=workers)


CASES = {"pets": Case(loader, lambda files, workers: loader(files, workers, gofast().DataLoader))}
