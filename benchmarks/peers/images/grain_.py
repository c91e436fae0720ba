"""Grain on two threads. It has no decoder: the pictures are Pillow's, the crops torchvision's.

Its threads are measured, not its processes (mp_prefetch): those are started again with every iterator, import
torch again for seconds, and go on spinning when their parent is killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grain
import numpy as np
import torch
from PIL import Image
from torchvision.datasets import ImageFolder

from benchmarks.peers.images.contract import BATCH, TRAIN, Peer
from benchmarks.peers.images.torchvision_ import pil_transform, single

READ = grain.ReadOptions(num_threads=2, prefetch_buffer_size=4)  # batches


class Epochs:
    """Grain's pipeline; a thread makes a whole batch."""

    def __init__(self, folder: str, kind: str) -> None:
        single()
        transform = pil_transform(kind)

        def load(sample: tuple[str, int]) -> tuple[Any, Any]:
            with Image.open(sample[0]) as picture:
                return transform(picture.convert("RGB")).numpy(), np.int64(sample[1])

        files = grain.MapDataset.source(ImageFolder(folder).samples).seed(0)
        if kind == TRAIN:
            files = files.shuffle()
        self.data: Any = files.map(load).batch(BATCH).to_iter_dataset(READ)

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for pictures, labels in self.data:
            yield torch.from_numpy(pictures), torch.from_numpy(labels)


PEER = Peer(Epochs)
