"""pytorch/vision, references/detection: presets.py and train.py with --use-v2, on COCO, and on VOC."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler
from torchvision.datasets import CocoDetection, VOCDetection, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2

from benchmarks.strangers.contract import Case
from benchmarks.strangers.files import Files


class Preset:
    """Their DetectionPresetTrain, with --data-augmentation hflip."""

    def __init__(self, backend: str) -> None:
        first = [v2.ToImage()] if backend == "tv_tensor" else []
        middle = [v2.PILToTensor()] if backend == "pil" else []
        end = [v2.ToDtype(torch.float, scale=True), v2.SanitizeBoundingBoxes(), v2.ToPureTensor()]
        self.transforms = v2.Compose([*first, v2.RandomHorizontalFlip(p=0.5), *middle, *end])

    def __call__(self, picture: Any, target: Any) -> Any:
        return self.transforms(picture, target)


def collated(rows: Any) -> Any:
    """Their collate_fn."""
    return tuple(zip(*rows, strict=True))


def loader(files: Files, workers: int, set_of: Any) -> Any:
    """As train.py makes it."""
    dataset = set_of(files)
    batches = BatchSampler(RandomSampler(dataset), files.batch(2), drop_last=True)
    return DataLoader(dataset, batch_sampler=batches, num_workers=workers, collate_fn=collated)


def coco(files: Files) -> Any:
    """COCO, whose pictures are turned as tensors."""
    pictures, annotations = files.coco()
    dataset = CocoDetection(pictures, annotations, transforms=Preset("tv_tensor"))
    return wrap_dataset_for_transforms_v2(dataset, target_keys=["boxes", "labels", "image_id"])


def voc(files: Files) -> Any:
    """VOC, whose pictures are turned by Pillow."""
    return wrap_dataset_for_transforms_v2(VOCDetection(files.voc(), transforms=Preset("pil")))


CASES = {
    "detection": Case(partial(loader, set_of=coco), pictures=500),
    "voc": Case(partial(loader, set_of=voc), pictures=500),
}
