"""NVIDIA DALI's CPU pipeline on two threads: the fastest of the others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from nvidia.dali import fn, pipeline_def, types
from torch.utils.dlpack import from_dlpack

from benchmarks.peers.images.contract import BATCH, MEAN, SHORT_SIDE, SIZE, STD, TRAIN, Peer
from benchmarks.peers.images.torchvision_ import single

THREADS = 2


@pipeline_def(batch_size=BATCH, num_threads=THREADS, device_id=None, seed=1, prefetch_queue_depth=2)  # type: ignore[untyped-decorator, unused-ignore]
def pipeline(folder: str, kind: str) -> Any:
    """As in DALI's own ImageNet example; triangular with antialias is its name for Pillow's bilinear."""
    files, labels = fn.readers.file(
        file_root=folder, random_shuffle=kind == TRAIN, name="files", shuffle_after_epoch=False
    )
    resampling = {"interp_type": types.INTERP_LINEAR, "antialias": True}
    if kind == TRAIN:
        crops = fn.decoders.image_random_crop(
            files, random_aspect_ratio=(3 / 4, 4 / 3), random_area=(0.08, 1.0), output_type=types.RGB
        )
        pictures = fn.resize(crops, resize_x=SIZE, resize_y=SIZE, **resampling)
        mirror: Any = fn.random.coin_flip()
    else:
        pictures = fn.resize(
            fn.decoders.image(files, output_type=types.RGB), resize_shorter=SHORT_SIDE, **resampling
        )
        mirror = 0
    numbers = fn.crop_mirror_normalize(
        pictures,
        crop=(SIZE, SIZE),
        dtype=types.FLOAT,
        output_layout="CHW",
        mirror=mirror,
        mean=[255 * value for value in MEAN],
        std=[255 * value for value in STD],
    )
    return numbers, labels


class Epochs:
    """Batches that torch can use: copied out of DALI's buffers, as DALI's own iterator for torch does."""

    def __init__(self, folder: str, kind: str) -> None:
        single()
        self.pipe = pipeline(folder, kind)
        self.pipe.build()
        self.count: int = self.pipe.epoch_size("files")

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for _ in range(self.count // BATCH):
            numbers, labels = self.pipe.run()
            pictures = from_dlpack(numbers.as_tensor()).clone()
            yield pictures, from_dlpack(labels.as_tensor()).long().flatten()


PEER = Peer(Epochs)
