"""Classes that only torchvision.transforms.v2 has, natively: the same samples and draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from torchvision import datasets
from torchvision.transforms import v2

import gofast
from beside_torchvision import same_folder, stays_in_python
from picture_chains import write_pictures

DISTORT = v2.RandomPhotometricDistort
CHAINS: dict[str, list[Any]] = {
    "rgb": [v2.RGB(), v2.Resize((9, 8))],
    "permutation": [v2.CenterCrop((20, 31)), v2.RandomChannelPermutation(), v2.RandomHorizontalFlip()],
    "permutation of what is resized": [v2.RandomChannelPermutation(), v2.RandomResizedCrop(20)],
    "distortion": [v2.RandomResizedCrop(32), DISTORT()],
    "distortion always": [
        DISTORT(p=1.0),
        v2.RandomResizedCrop(24),
        DISTORT((0, 3), (0, 2), (0, 9), (-0.5, 0.5), 1),
    ],
    "distortion seldom": [v2.RandomApply([v2.Pad(2), DISTORT(p=0.2), v2.CenterCrop(8)]), v2.CenterCrop(20)],
    "resize": [v2.RandomResize(20, 90), v2.RandomCrop(16), v2.RandomResize(8, 9), v2.CenterCrop(10)],
    "resize by lanczos": [v2.RandomResize(20, 90, "lanczos"), v2.RandomResizedCrop(16)],
    "shortest": [v2.RandomShortestSize([20, 33, 47]), v2.RandomCrop(16)],
    "shortest with a longest": [v2.RandomShortestSize((40, 90), 70, "nearest"), v2.RandomCrop(8, None, True)],
    "one shortest": [v2.RandomShortestSize(30), v2.CenterCrop(20)],
    "scale": [v2.ScaleJitter((64, 48)), v2.CenterCrop(40)],
    "scale by bicubic": [
        v2.ScaleJitter((70, 90), (0.8, 1.25), "bicubic"),
        v2.RandomCrop(32, pad_if_needed=True),
    ],
    "zoom": [v2.RandomZoomOut(), v2.RandomResizedCrop(30)],
    "zoom always": [
        v2.RandomZoomOut((9, 200, 30), (1.0, 2.5), p=1.0),
        v2.Resize((30, 40)),
        v2.RandomZoomOut(p=0),
    ],
    "zoom into nothing": [v2.RandomZoomOut({"others": 7}, (1.0, 1.0), p=1), v2.CenterCrop(20)],
    "center crop with padding": [v2.CenterCrop((300, 11)), v2.CenterCrop((20, 120))],
    "ssd": [DISTORT(), v2.RandomZoomOut([123, 117, 104]), v2.RandomHorizontalFlip(), v2.Resize((60, 60))],
}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("v2")
    write_pictures(folder, 12, 9, (16, 17, 33, 64, 97, 128, 201))
    return folder


@pytest.mark.parametrize("name", CHAINS)
@pytest.mark.parametrize("last", ["tensor", "picture"])
def test_native_and_the_same(root: Path, name: str, last: str) -> None:
    """With PIL images handed over, what they say beside pixels too."""
    if last == "tensor":
        same_folder(root, [*CHAINS[name], v2.ToImage()], strides=True)
    else:
        same_folder(root, [*CHAINS[name], v2.Lambda(lambda image: image)], rounds=2, native=False)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([v2.Grayscale(1), v2.RGB()], "makes three channels of one"),
        ([v2.Grayscale(1), v2.RandomChannelPermutation()], "of one channel"),
        ([v2.Grayscale(1), DISTORT()], "of one channel"),
        ([v2.ToImage(), DISTORT()], "recolours a tensor"),
        ([v2.ToImage(), v2.RandomChannelPermutation()], "permutes a tensor"),
        ([v2.ToImage(), v2.RandomZoomOut()], "pads a tensor"),
        ([v2.ToImage(), v2.ScaleJitter((8, 8))], "resizes a tensor"),
        ([DISTORT(hue=(-1, 1))], "unusual hue"),
        ([DISTORT(contrast=None)], "torchvision raises"),
        ([v2.RandomResize(8, 8)], "torchvision raises"),
        ([v2.RandomShortestSize(list(range(1, 40)))], "unusual min_size"),
        ([v2.RandomShortestSize([8], 1.5)], "unusual max_size"),
        ([v2.ScaleJitter((8, 8), (-1, 1))], "unusual scale_range"),
        ([v2.RandomZoomOut(side_range=(1, 65))], "unusual side_range"),
        ([v2.RandomZoomOut(fill=(1, 2))], "unusual fill"),
    ],
)
def test_what_stays_in_python(steps: list[Any], reason: str) -> None:
    stays_in_python(steps, reason)


def test_a_picture_that_is_scaled_to_nothing(root: Path) -> None:
    transform = v2.Compose([v2.ScaleJitter((1, 1), (0.1, 0.2)), v2.Resize((8, 8)), v2.ToImage()])
    for dataset in (datasets.ImageFolder(root, transform), gofast.ImageFolder(root, transform)):
        with pytest.raises(ValueError, match="height and width must be > 0"):
            dataset[0]
