"""SPDL: FFmpeg decoders on two threads in one process."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import spdl.io
import torch
from spdl.pipeline import PipelineBuilder
from torchvision.datasets import ImageFolder
from torchvision.transforms import RandomResizedCrop

from benchmarks.peers.images.contract import BATCH, MEAN, SHORT_SIDE, SIZE, STD, TRAIN, Peer
from benchmarks.peers.images.torchvision_ import single

THREADS = 2


def _train_filter() -> str:
    # A crop in parts of the picture's sides: FFmpeg's filter is made before the picture's size is known.
    shape = torch.empty(3, 1000, 1000, device="meta")
    top, left, height, width = RandomResizedCrop.get_params(shape, [0.08, 1.0], [3 / 4, 4 / 3])
    flip = ",hflip" if random.random() < 0.5 else ""
    return (
        f"crop=iw*{width / 1000}:ih*{height / 1000}:iw*{left / 1000}:ih*{top / 1000},"
        f"scale={SIZE}:{SIZE}:flags=bilinear{flip},format=pix_fmts=rgb24"
    )


_VAL_FILTER = (
    f"scale={SHORT_SIDE}:{SHORT_SIDE}:force_original_aspect_ratio=increase:flags=bilinear,"
    f"crop={SIZE}:{SIZE},format=pix_fmts=rgb24"
)


class Epochs:
    """A pipeline an epoch, built as SPDL's ImageNet example builds it."""

    def __init__(self, folder: str, kind: str) -> None:
        self.files, self.train = ImageFolder(folder).samples, kind == TRAIN
        self.mean = 255 * torch.tensor(MEAN).view(1, 3, 1, 1)
        self.scale = 1 / (255 * torch.tensor(STD).view(1, 3, 1, 1))
        single()
        # This names the library of FFmpeg's that is missing; a pipeline does not.
        spdl.io.demux_image(self.files[0][0])

    def _decode(self, sample: tuple[str, int]) -> tuple[Any, int]:
        packets = spdl.io.demux_image(sample[0])
        frames = spdl.io.decode_packets(packets, filter_desc=_train_filter() if self.train else _VAL_FILTER)
        return frames, sample[1]

    def _batch(self, samples: list[tuple[Any, int]]) -> tuple[torch.Tensor, torch.Tensor]:
        pictures: Any = spdl.io.to_torch(spdl.io.convert_frames([frames for frames, _ in samples]))
        numbers = pictures.permute(0, 3, 1, 2).contiguous().float().sub_(self.mean).mul_(self.scale)
        return numbers, torch.tensor([label for _, label in samples])

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        files = list(self.files)
        if self.train:
            random.shuffle(files)
        pipeline = (
            PipelineBuilder()
            .add_source(files)
            .pipe(self._decode, concurrency=THREADS, output_order="input")
            .aggregate(BATCH)
            .pipe(self._batch)
            .add_sink(2)
            .build(num_threads=THREADS, max_failures=0)
        )
        with pipeline.auto_stop():
            yield from pipeline.get_iterator(timeout=60)


PEER = Peer(Epochs)
