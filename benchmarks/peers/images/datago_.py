"""datago: files read and decoded by Rust threads; the crops are torchvision's, on its PIL pictures."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import torch
from datago import DatagoClient

from benchmarks.peers.images.contract import BATCH, TRAIN, Peer
from benchmarks.peers.images.torchvision_ import pil_transform, single


class Epochs:
    """A client an epoch; datago gives neither labels nor an order."""

    def __init__(self, folder: str, kind: str) -> None:
        single()
        self.transform = pil_transform(kind)
        self.config = json.dumps(
            {
                "source_type": "file",
                "source_config": {"root_path": folder, "random_sampling": kind == TRAIN},
                "prefetch_buffer_size": 2 * BATCH,
                "samples_buffer_size": BATCH,
                "limit": 1_000_000,
            }
        )

    def __iter__(self) -> Iterator[tuple[torch.Tensor, None]]:
        client = DatagoClient(self.config)
        client.start()
        pictures: list[Any] = []
        try:
            while (sample := client.get_sample()) is not None:
                pictures.append(self.transform(sample.image.to_pil_image().convert("RGB")))
                if len(pictures) == BATCH:
                    yield torch.stack(pictures), None
                    pictures = []
            if pictures:
                yield torch.stack(pictures), None
        finally:
            client.stop()


PEER = Peer(Epochs, ordered=False)
