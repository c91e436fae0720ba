"""Other people's code, a file for each source: written by us after its structure, or, where a package is on
the index, with the package itself. See contract.py.
"""

from __future__ import annotations

import importlib
from typing import NamedTuple

from benchmarks.strangers.contract import Case


class Row(NamedTuple):
    """A case's module of this package, which has it in CASES, its words in the table, and how many times
    faster it has to be, and should be, unmodified at its best."""

    module: str
    about: str
    least: float = 1.0
    aim: float = 1.5


# Modules are imported in the measuring process only; where that fails the case is reported as not measured.
ROWS = {
    "mnist": Row("mnist", "pytorch/examples: MNIST, ToTensor, Normalize", 15, 40),
    "fashion": Row("mnist", "PyTorch's quickstart: FashionMNIST, ToTensor"),
    "cifar10": Row("cifar", "kuangliu/pytorch-cifar: CIFAR10, crop, flip, Normalize", 15, 40),
    "simclr": Row("cifar", "sthalles/SimCLR: two views of CIFAR10, a blur of its own"),
    "classification": Row("classification", "torchvision's reference: v1, PIL, TrivialAugment", 3.8, 4.8),
    "classification v2": Row("classification", "the same: v2, PIL, mixup or cutmix", 3.8, 4.8),
    "classification tensor": Row("classification", "the same: v2, tensors", 3, 4),
    "classification augmix": Row("classification", "the same: v1, PIL, AugMix", 3, 4),
    "segmentation": Row("segmentation", "torchvision's reference: VOC's masks, v2", 2, 3),
    "detection": Row("detection", "torchvision's reference: COCO's boxes, v2", 2, 3),
    "voc": Row("detection", "the same with VOC's boxes", 2, 3),
    "mae": Row("mae", "facebookresearch/mae: pretraining", 3.5, 4.5),
    "dino": Row("dino", "facebookresearch/dino: two large crops, eight small ones", 5, 8),
    "moco": Row("moco", "facebookresearch/moco-v3: two crops", 5, 8),
    "timm": Row("timm_", "timm's create_loader: rand-m9-mstd0.5-inc1, erasing", 3, 4),
    "convnext": Row("timm_", "facebookresearch/ConvNeXt: ImageFolder, timm's transform and Mixup", 3, 4),
    "lightly": Row("lightly_", "lightly: SimCLRTransform", 5, 8),
    "datasets": Row("datasets_", "Hugging Face: with_transform, torch.stack in a collate function", 3, 4.5),
    "frame": Row("frame", "a Dataset of a DataFrame of paths", 3.8, 4.8),
    "labels": Row("frame", "a Dataset of a CSV with a column for each label", 3.8, 4.8),
    "unet": Row("unet", "milesial/Pytorch-UNet: Carvana's pictures and masks, in numpy", 2, 3),
    "pets": Row("pets", "OxfordIIITPet, resized to squares, as tutorials fine-tune"),
    "ten crops": Row("documented", "torchvision's documentation: Resize, TenCrop, Lambda(stack)", 5, 9),
    "rotation affine": Row("documented", "the same: RandomRotation, RandomAffine (bilinear)", 3.5, 5),
    "preset": Row("documented", "the same: ResNet50_Weights.DEFAULT.transforms()", 3.5, 4.5),
}


def case(name: str) -> Case:
    """The case called name; imports its module."""
    found = importlib.import_module(f"benchmarks.strangers.{ROWS[name].module}").CASES[name]
    assert isinstance(found, Case)
    return found
