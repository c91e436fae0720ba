"""pytorch/vision, references/segmentation: presets.py, utils.py and train.py with --use-v2."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils.data import DataLoader, RandomSampler
from torchvision import tv_tensors
from torchvision.datasets import VOCSegmentation, wrap_dataset_for_transforms_v2
from torchvision.transforms import v2

from benchmarks.strangers.contract import MEAN, STD, Case
from benchmarks.strangers.files import Files

CROP, BASE = 240, 260
FILL = {tv_tensors.Mask: 255, "others": 0}


class PadIfSmaller(v2.Transform):  # type: ignore[misc]
    """Their v2_extras.PadIfSmaller."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.size = size
        self.fill = v2._utils._setup_fill_arg(FILL)

    def make_params(self, flat_inputs: list[Any]) -> dict[str, Any]:
        height, width = v2._utils.query_size(flat_inputs)
        padding = [0, 0, max(self.size - width, 0), max(self.size - height, 0)]
        return {"padding": padding, "needed": any(padding)}

    def transform(self, inpt: Any, params: dict[str, Any]) -> Any:
        if not params["needed"]:
            return inpt
        fill = v2._utils._get_fill(self.fill, type(inpt))
        return self._call_kernel(v2.functional.pad, inpt, padding=params["padding"], fill=fill)


class Preset:
    """Their SegmentationPresetTrain."""

    def __init__(self) -> None:
        types = {torch.Tensor: torch.float32, tv_tensors.Mask: torch.int64, "others": None}
        self.transforms = v2.Compose(
            [
                v2.RandomResize(min_size=BASE // 2, max_size=BASE * 2),
                v2.RandomHorizontalFlip(0.5),
                PadIfSmaller(CROP),
                v2.RandomCrop(CROP),
                v2.PILToTensor(),
                v2.ToDtype(types, scale=True),
                v2.Normalize(mean=MEAN, std=STD),
                v2.ToPureTensor(),
            ]
        )

    def __call__(self, picture: Any, target: Any) -> Any:
        return self.transforms(picture, target)


def together(tensors: Any, fill: int) -> Any:
    """Their cat_list."""
    sizes = tuple(max(side) for side in zip(*(tensor.shape for tensor in tensors), strict=True))
    batch = tensors[0].new(len(tensors), *sizes).fill_(fill)
    for tensor, place in zip(tensors, batch, strict=True):
        place[..., : tensor.shape[-2], : tensor.shape[-1]].copy_(tensor)
    return batch


def collated(rows: Any) -> Any:
    """Their collate_fn."""
    pictures, targets = zip(*rows, strict=True)
    return together(pictures, 0), together(targets, 255)


def loader(files: Files, workers: int) -> Any:
    """As train.py makes it."""
    voc = VOCSegmentation(files.voc(), image_set="train", transforms=Preset())
    dataset = wrap_dataset_for_transforms_v2(voc)
    return DataLoader(
        dataset,
        batch_size=files.batch(8),
        sampler=RandomSampler(dataset),
        num_workers=workers,
        collate_fn=collated,
        drop_last=True,
    )


CASES = {"segmentation": Case(loader, pictures=500)}
