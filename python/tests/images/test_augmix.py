"""AugMix: to the last bit as torchvision makes it, of PIL images and of uint8 tensors."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

from beside_torchvision import forget_answers, same_folder, stays_in_python, tensor
from gofast._plan import arithmetic
from image_data import save_folder
from picture_chains import check_loaders, scene

pytestmark = pytest.mark.usefixtures("one_thread")

SIZES = [(64, 48), (65, 40), (30, 97), (128, 128), (9, 3), (200, 150)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of odd sizes; flat and grey ones too."""
    pictures = [scene(width, height, seed) for seed, (width, height) in enumerate(SIZES)]
    pictures += [scene(50, 60, 9).convert("L"), Image.new("RGB", (20, 20), (255, 0, 128))]
    return save_folder(tmp_path_factory.mktemp("pictures"), pictures)


@pytest.mark.parametrize("m", [v1, v2], ids=["v1", "v2"])
@pytest.mark.parametrize("all_ops", [True, False])
def test_every_operation_at_every_magnitude(folder: Path, m: Any, all_ops: bool) -> None:
    """One chain of eight operations, mixed with the picture: 1,024 operations, of 220 that there are."""
    for seed, size in enumerate([(48, 32), (32, 73)]):
        augment = m.AugMix(10, 1, 8, alpha=9.0, all_ops=all_ops)
        same_folder(folder, [m.Resize(size), augment, m.PILToTensor()], seed, rounds=8)


@pytest.mark.parametrize("m", [v1, v2], ids=["v1", "v2"])
def test_chains(folder: Path, m: Any) -> None:
    d = random.Random(1 if m is v1 else 2)
    seen = [InterpolationMode.NEAREST, InterpolationMode.BILINEAR]
    for seed in range(24):
        even, odd = (8 * d.randint(1, 11), 8 * d.randint(1, 11)), (d.randint(1, 90), 17)
        size = d.choice([(1, 1), (2, 5), (3, 3), (1, 40), even, odd])
        augment = m.AugMix(
            d.randint(1, 10),
            d.randint(1, 3),
            d.randint(-1, 4),
            d.choice([0.1, 0.7, 1.0, 30.0]),
            d.random() < 0.7,
            d.choice(seen),
        )
        chain = [m.Resize(size), m.RandomHorizontalFlip()]
        if seed % 3 == 1:
            chain += [augment, tensor(m)]
        elif seed % 3 == 2 and 1 not in size:
            chain += [tensor(m), augment]
        else:
            chain += [augment]
        # v2's contrast of the last few pixels is left to torch.
        same_folder(folder, chain, seed, native=None if m is v2 else True)


def test_a_common_recipe(folder: Path) -> None:
    for m in (v1, v2):
        sized, flat = (
            m.RandomResizedCrop(224),
            [m.ToTensor()] if m is v1 else [v2.ToImage(), v2.ToDtype(torch.float32, True)],
        )
        last = [m.Normalize([0.4], [0.2]), m.RandomErasing()]
        same_folder(folder, [sized, m.RandomHorizontalFlip(), m.AugMix(), *flat, *last], 3)
    tensors = [v2.ToImage(), v2.Resize((40, 50)), v2.CenterCrop(32), v2.AugMix(), v2.RandomVerticalFlip()]
    same_folder(folder, tensors, 4)


@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("workers", [0, 1, 3])
def test_loaders(folder: Path, workers: int) -> None:
    chain = v2.Compose([v2.RandomResizedCrop(32), v2.AugMix(), v2.ToImage()])
    check_loaders(folder, chain, workers)


SIZED = v2.Resize((32, 32))
FOREIGN = {
    "fill": ([SIZED, v2.AugMix(fill=1)], "unusual fill"),
    "fill of tensors": ([SIZED, v2.AugMix(fill={torch.Tensor: 3, "others": None})], "unusual fill"),
    "sizes": ([v2.AugMix()], "sizes differ"),
    "chains": ([SIZED, v2.AugMix(mixture_width=4)], "unusual mixture_width"),
    "depth": ([SIZED, v1.AugMix(chain_depth=9)], "unusual chain_depth"),
    "filter": ([SIZED, v2.AugMix(interpolation="bicubic")], "unusual interpolation"),
    "exact": ([SIZED, v2.AugMix(interpolation="nearest-exact")], "unusual interpolation"),
    "grey": ([SIZED, v2.Grayscale(), v2.AugMix(all_ops=False)], "one channel"),
    "large": ([v2.Resize((257, 257)), v1.AugMix()], "order of its sums"),
    "a row": ([v2.Resize((1, 9)), v2.ToImage(), v2.AugMix()], "one row or column"),
    "odd": ([v2.Resize((30, 30)), v2.AugMix()], "last few pixels"),
    "alpha": ([SIZED, v1.AugMix(alpha=0.0)], "unusual alpha"),
    "floats": ([SIZED, v2.ToImage(), v2.ToDtype(torch.float32, True), v2.AugMix()], "torch's own arithmetic"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_what_stays_in_python(case: str) -> None:
    stays_in_python(*FOREIGN[case])


def test_another_torch(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch rounds otherwise, torchvision's own code makes the samples."""
    chain = [v2.Resize((20, 24)), v2.AugMix(), v2.ToImage()]
    kernels = {
        "_multiplies": "matrices",
        "_samples": "samples",
        "_convolves": "convolutions",
        "_adds": "sums",
        "_means": "means",
    }
    for kernel, what in kernels.items():
        forget_answers(monkeypatch)
        with monkeypatch.context() as patch:
            patch.setattr(arithmetic, kernel, lambda *_: None)
            stays_in_python(chain, f"torch's {what}")
            if kernel == "_samples":
                same_folder(folder, chain, 1, native=False)
    forget_answers(monkeypatch)
    monkeypatch.setattr(arithmetic, "_DIRICHLET", ((1.0, [0.1, 0.2, 0.7]),))
    stays_in_python(chain, "Dirichlet")


def test_kernels_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked of torch sees a product that is rounded, and one that is not."""
    bytes_ = torch.randint(0, 256, (1, 40, 40, 3), dtype=torch.uint8).permute(0, 3, 1, 2)
    assert arithmetic._samples(bytes_, "bilinear") and arithmetic._adds(bytes_, "v2")
    assert arithmetic._multiplies((40, 40)) and arithmetic._convolves(bytes_)
    monkeypatch.setattr(arithmetic, "fused", lambda x, y, z: x * y + z)
    assert not arithmetic._samples(bytes_, "bilinear") and not arithmetic._adds(bytes_, "v2")
    bmm = torch.Tensor.bmm
    monkeypatch.setattr(torch.Tensor, "bmm", lambda a, b: bmm(a.double(), b.double()).float())
    assert arithmetic._multiplies((40, 40)) is None


@pytest.mark.parametrize("how", ["plain", "fused"])
@pytest.mark.parametrize(
    "step",
    [v2.AugMix(), v2.RandomAffine(20, (0.2, 0.2)), v2.RandomRotation(20, v2.InterpolationMode.BILINEAR)],
)
def test_both_ways_of_matrices(folder: Path, monkeypatch: pytest.MonkeyPatch, how: str, step: Any) -> None:
    """Processors differ in how they multiply matrices, so here torch is made to do it in both ways."""

    def multiplied(base: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        grid, (a, b, c) = base[0].numpy(), theta[0].numpy()
        x, y = grid[:, :1], grid[:, 1:2]
        made = arithmetic.fused(y, b, x * a) + c if how == "fused" else x * a + y * b + c
        return torch.from_numpy(made)[None]

    monkeypatch.setattr(torch.Tensor, "bmm", multiplied)
    forget_answers(monkeypatch)
    assert arithmetic.matrices((32, 40)) == how
    same_folder(folder, [v2.Resize((32, 40)), v2.PILToTensor(), step], 3, rounds=3)
