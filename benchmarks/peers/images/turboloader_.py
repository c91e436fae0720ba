"""TurboLoader on two threads, from its own file of pictures of 256 x 256 that were made before (TBL-RAW).

Its crops are torchvision's, its pixels are not. The time to write the file is not counted.
"""

from __future__ import annotations

import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torchvision.datasets import ImageFolder
from turboloader import TblRawImageLoader, preprocess_to_tbl

from benchmarks import environments
from benchmarks.peers.images.contract import BATCH, SIZE
from benchmarks.peers.images.torchvision_ import single

STORED, THREADS = 256, 2


def written(folder: str) -> Path:
    """Its file of the folder's pictures; made if it is not there."""
    made = environments.MADE / f"{Path(folder).name}-{STORED}.tbl"
    if not made.exists():
        tar, part = made.with_suffix(".tar"), made.with_suffix(".part.tbl")
        with tarfile.open(tar, "w") as archive:
            for number, (path, _) in enumerate(ImageFolder(folder).samples):
                archive.add(path, f"{number:06}.jpg")
        preprocess_to_tbl(str(tar), str(part), STORED, num_workers=THREADS)
        tar.unlink()
        part.rename(made)
    return made


class Epochs:
    """Training batches with their labels, which it leaves to its user."""

    def __init__(self, folder: str) -> None:
        single()
        self.labels = torch.tensor(ImageFolder(folder).targets)
        self.loader = TblRawImageLoader(
            written(folder), BATCH, train_aug=True, hflip_prob=0.5, image_size=SIZE
        )

    def __iter__(self) -> Iterator[tuple[Any, torch.Tensor]]:
        for pictures, about in self.loader:
            yield torch.from_numpy(pictures), self.labels[torch.as_tensor(about["indices"])]
