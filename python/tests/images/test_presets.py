"""torchvision's presets, which `weights.transforms()` returns, natively."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from torchvision import transforms as v1
from torchvision.models import ResNet50_Weights, ViT_B_16_Weights
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms._presets import ImageClassification, ObjectDetection, SemanticSegmentation

from beside_torchvision import same_folder, stays_in_python
from picture_chains import write_pictures
from test_compile import with_attributes

# The presets, and whether all of it is native; what stays must be so for a reason.
PRESETS = {
    "resnet": ResNet50_Weights.DEFAULT.transforms(),
    "vit": ViT_B_16_Weights.IMAGENET1K_SWAG_E2E_V1.transforms(),
    "small": ImageClassification(crop_size=30, resize_size=20, interpolation=InterpolationMode.LANCZOS),
    "behind a crop": v1.Compose(
        [v1.RandomResizedCrop(40), ImageClassification(crop_size=24, resize_size=32)]
    ),
    "detection": v1.Compose([v1.Resize((33, 44)), ObjectDetection()]),
    "detection in v2": v2.Compose([v2.CenterCrop((33, 44)), ObjectDetection(), v2.RandomHorizontalFlip()]),
    "segmentation": v1.Compose([v1.CenterCrop((50, 40)), SemanticSegmentation(resize_size=20)]),
    "as it is": v1.Compose([v1.CenterCrop((50, 40)), SemanticSegmentation(resize_size=None)]),
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("presets")
    write_pictures(folder, 12, 3, (33, 64, 128, 201))
    return folder


@pytest.mark.parametrize("name", PRESETS)
def test_native_and_the_same(root: Path, name: str) -> None:
    same_folder(root, [PRESETS[name]], strides=True)


@pytest.mark.parametrize(
    ("transform", "reason"),
    [
        (v1.Compose([v1.ToTensor(), ResNet50_Weights.DEFAULT.transforms()]), "behind what makes a tensor"),
        (with_attributes(ImageClassification(crop_size=8), extra=1), "unknown version"),
        (with_attributes(SemanticSegmentation(resize_size=8), resize_size=(8,)), "unusual resize_size"),
        (with_attributes(ImageClassification(crop_size=8), crop_size=[8, 8, 8]), "unusual crop_size"),
        (ImageClassification(crop_size=8, mean=(1.0, 2.0)), "unusual mean"),
        (v1.Compose([v1.Grayscale(1), ImageClassification(crop_size=8)]), "unusual mean"),
    ],
)
def test_what_stays_in_python(transform: Any, reason: str) -> None:
    stays_in_python([transform], reason)
