"""GaussianBlur, natively: torch's convolution and its weights, bit for bit."""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torchvision import datasets
from torchvision import transforms as v1
from torchvision.transforms import _functional_tensor as f1
from torchvision.transforms import v2
from torchvision.transforms.v2.functional import _misc as f2

import gofast
from beside_torchvision import forget_answers, same_folder, stays_in_python, tensor
from gofast._core import gaussian
from gofast._plan.compile import compile
from picture_chains import scene

SIZES = ((96, 96), (37, 100), (9, 23), (224, 224))  # height, width
KERNELS = ((3, 3), (23, 23), (1, 1), (21, 5), (3, 17), (63, 63))  # width, height


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Photographs, greys beside a half, and white noise."""
    folder = tmp_path_factory.mktemp("blur")
    (folder / "all").mkdir()
    dice = np.random.default_rng(5)
    for i, size in enumerate([(240, 240), (60, 300), (230, 24)]):
        scene(*size, seed=i).save(folder / "all" / f"{i}.png", comment="scene")
    for i, low in enumerate((127, 0), 3):
        noise = low + dice.integers(0, 2 if low else 256, (230, 230, 3), np.uint8)
        v1.functional.to_pil_image(noise.astype(np.uint8)).save(folder / "all" / f"{i}.png")
    return folder


@pytest.mark.daily(5)
@pytest.mark.parametrize("m", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_of_pictures(root: Path, m: Any, kernel: tuple[int, int]) -> None:
    for size in SIZES:
        fits = kernel[0] // 2 < size[1] and kernel[1] // 2 < size[0]
        if not fits or (size == (224, 224) and kernel != (23, 23)):
            continue
        for sigma in ((0.1, 2.0), (2.0, 9.0), 0.4)[: 1 if min(size) > 90 else 3]:
            chain = [m.CenterCrop(size), m.GaussianBlur(kernel, sigma), m.PILToTensor()]
            same_folder(root, chain, strides=True)


@pytest.mark.parametrize("m", [v1, v2], ids=["v1", "v2"])
def test_of_tensors(root: Path, m: Any) -> None:
    """Of bytes, however they lie in memory: what comes out is contiguous."""
    cropped = [[m.CenterCrop((40, 50)), tensor(m)], [tensor(m), m.CenterCrop((40, 50))]]
    for before in cropped[: 1 if m is v1 else 2]:
        for behind in ([], [m.RandomHorizontalFlip(), m.ConvertImageDtype(torch.float32)]):
            same_folder(root, [*before, m.GaussianBlur((9, 7)), *behind], strides=True)


@pytest.mark.parametrize("m", [v1, v2], ids=["v1", "v2"])
def test_of_some_samples_only(root: Path, m: Any) -> None:
    blurs = m.RandomApply([m.GaussianBlur(5), m.RandomGrayscale(), m.GaussianBlur((3, 7), 1.5)], p=0.5)
    last = [m.RandomHorizontalFlip(), m.GaussianBlur(9), v1.ToTensor()]
    same_folder(root, [m.RandomResizedCrop(32), blurs, *last], strides=True)


def test_what_a_pil_image_says_beside_pixels_is_lost(root: Path) -> None:
    transform = v1.Compose([v1.CenterCrop(32), v1.GaussianBlur(5), v1.Lambda(lambda image: image.info)])
    theirs, ours = datasets.ImageFolder(root, transform), gofast.ImageFolder(root, transform)
    assert theirs[0][0] == ours[0][0] == {}


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_weights_of_many_are_those_of_each(version: str) -> None:
    """Torch computes a kernel alone as it computes it among others."""
    one = (f1 if version == "v1" else f2)._get_gaussian_kernel1d
    torch.manual_seed(1)
    for size in (1, 3, 5, 9, 17, 23, 63):
        for count in (1, 7, 256):
            sigma = torch.empty(count).uniform_(0.05, 6)
            each = [one(size, s, torch.float32, torch.device("cpu")) for s in sigma.tolist()]
            assert torch.equal(gaussian.weights(size, sigma, version), torch.stack(each))


@pytest.mark.parametrize("rng", ["torch", "stateless"])
def test_records_have_torchs_weights(root: Path, rng: Any) -> None:
    transform = v1.Compose([v1.CenterCrop(32), v1.RandomApply([v1.GaussianBlur((7, 3))]), v1.ToTensor()])
    view = gofast.ImageFolder(root, transform, rng=rng)._here().view
    assert view is not None
    torch.manual_seed(3)
    indices = array("q", [i % 5 for i in range(40)])
    records = torch.tensor(view.new_draws(None)(indices), dtype=torch.int32).view(40, -1)
    blurred = records[records[:, 0] == 1]
    assert 5 < len(blurred) < 35 and not records[records[:, 0] == 0].any()
    numbers = blurred.view(torch.float32)
    for row in numbers:
        for start, size in ((2, 7), (2 + 63, 3)):
            kernel = f1._get_gaussian_kernel1d(size, row[1].item(), torch.float32, torch.device("cpu"))
            assert torch.equal(row[start : start + size], kernel)


@pytest.mark.parametrize(
    ("steps", "reason"),
    [
        ([v2.CenterCrop((9, 4)), v1.GaussianBlur((9, 3))], "torchvision raises"),
        ([v2.CenterCrop((4, 9)), v2.GaussianBlur((3, 9))], "torchvision raises"),
        ([v1.CenterCrop(90), v2.GaussianBlur(65)], "unusual kernel_size"),
        ([v1.CenterCrop(9), v2.GaussianBlur(3, 1e-9)], "unusual sigma"),
        ([v1.Grayscale(), v2.CenterCrop(9), v1.GaussianBlur(3)], "blurs a picture of one channel"),
        ([v1.Resize(9), v1.GaussianBlur(3)], "blurs pictures whose sizes differ"),
        ([v1.CenterCrop(9), v1.ToTensor(), v1.GaussianBlur(3)], "blurs a tensor"),
    ],
)
def test_what_stays_in_python(steps: list[Any], reason: str) -> None:
    stays_in_python(steps, reason)


CHAIN = [v1.CenterCrop(16), v1.GaussianBlur(3), v1.ToTensor()]


def test_another_convolution_stays_in_python(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compile(v1.Compose(CHAIN)).native
    with torch.autocast("cpu"):
        stays_in_python(CHAIN, "torch convolves in torch.bfloat16 here")
    assert compile(v1.Compose(CHAIN)).native
    convolve, make = torch.nn.functional.conv2d, f1._get_gaussian_kernel2d

    def turned(x: torch.Tensor, weight: torch.Tensor, groups: int) -> torch.Tensor:
        return convolve(x.mT.contiguous(), weight.mT.contiguous(), groups=groups).mT

    for place, name, other, why in (
        (torch.nn.functional, "conv2d", turned, "in another order"),
        (f1, "_get_gaussian_kernel2d", lambda *a, **k: make(*a, **k) * (1 + 2**-23), "other weights"),
    ):
        with monkeypatch.context() as patch:
            forget_answers(patch)
            patch.setattr(place, name, other)
            stays_in_python(CHAIN, why)
