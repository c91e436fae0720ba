"""FFCV on two threads: it reads a file of its own, written before, of JPEGs made again or of raw pixels.

It is written once, from the very pictures of the folder at their full size; that time is not counted. A
picture that is linked several times stands in it once, as it lies once in the page cache for the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from ffcv.fields import IntField, RGBImageField
from ffcv.fields.basics import IntDecoder
from ffcv.fields.rgb_image import CenterCropRGBImageDecoder, RandomResizedCropRGBImageDecoder
from ffcv.loader import Loader, OrderOption
from ffcv.transforms import NormalizeImage, RandomHorizontalFlip, Squeeze, ToTensor, ToTorchImage
from ffcv.writer import DatasetWriter
from PIL import Image
from torchvision.datasets import ImageFolder

from benchmarks import data
from benchmarks.peers.images.contract import BATCH, MEAN, SHORT_SIDE, SIZE, STD, TRAIN, Peer
from benchmarks.peers.images.torchvision_ import single

THREADS = 2
PAGE = 32 << 20  # bytes: a picture has to fit into a page of the file


class Pictures:
    """What the writer reads: each file once, with its class."""

    def __init__(self, samples: list[tuple[Path, int]]) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return len(self.samples)

    def __getitem__(self, index: int) -> tuple[Any, int]:
        path, label = self.samples[index]
        with Image.open(path) as picture:
            return np.asarray(picture.convert("RGB")), label


def written(samples: list[tuple[Path, int]], folder: str, mode: str) -> Path:
    """FFCV's file of those pictures; made if it is not there."""
    made = data.CACHE / f"{Path(folder).name}-{mode}.beton"
    if not made.exists():
        part = made.with_suffix(".part")
        fields = {"image": RGBImageField(write_mode=mode), "label": IntField()}
        DatasetWriter(str(part), fields, page_size=PAGE, num_workers=THREADS).from_indexed_dataset(
            Pictures(samples)
        )
        part.replace(made)
    return made


class Epochs:
    """FFCV's loader. Its batches are as it makes them, which is the least work: channels last, in buffers of
    its own that are used again once the loop asks for another batch."""

    def __init__(self, folder: str, kind: str, mode: str) -> None:
        single()
        links = [(Path(path).resolve(), label) for path, label in ImageFolder(folder).samples]
        once = list(dict.fromkeys(links))
        place = {sample: number for number, sample in enumerate(once)}
        file = written(once, folder, mode)
        size = sum(path.stat().st_size for path, _ in once)
        self.note = (
            f"reads a file of its own, written before: {file.stat().st_size / size:.1f} times the bytes of "
            "the folder"
            + (", compressed a second time" if mode == "jpg" else ", not compressed")
            + "; batches are channels last, in memory that is valid until the next one"
        )
        train = kind == TRAIN
        picture: list[Any] = (
            [RandomResizedCropRGBImageDecoder((SIZE, SIZE)), RandomHorizontalFlip()]
            if train
            else [CenterCropRGBImageDecoder((SIZE, SIZE), ratio=SIZE / SHORT_SIDE)]
        )
        numbers = NormalizeImage(255 * np.array(MEAN), 255 * np.array(STD), np.dtype(np.float32))
        self.loader = Loader(
            str(file),
            batch_size=BATCH,
            num_workers=THREADS,
            os_cache=True,
            order=OrderOption.RANDOM if train else OrderOption.SEQUENTIAL,
            indices=np.array([place[sample] for sample in links]),
            pipelines={
                "image": [*picture, numbers, ToTensor(), ToTorchImage()],
                "label": [IntDecoder(), ToTensor(), Squeeze()],
            },
            drop_last=False,
        )

    def __iter__(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        yield from self.loader


def opened(mode: str) -> Callable[[str, str], Epochs]:
    """Pictures stored as `jpg` or `raw`."""
    return lambda folder, kind: Epochs(folder, kind, mode)


JPG, RAW = Peer(opened("jpg")), Peer(opened("raw"))
