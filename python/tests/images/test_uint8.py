"""Augmentations, colours and affine transforms of uint8 tensors: to the last bit as torch makes them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torchvision
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import InterpolationMode, v2

import gofast
from beside_torchvision import forget_answers, same_folder, stays_in_python, tensor
from gofast._loader.batch_source import BatchSource
from gofast._plan import arithmetic, hues
from gofast._plan.compile import compile
from image_data import save_folder
from picture_chains import scene

pytestmark = pytest.mark.usefixtures("quietly")

BOTH = pytest.mark.parametrize("m", [v1, v2], ids=["v1", "v2"])
SEEN = (InterpolationMode.NEAREST, InterpolationMode.BILINEAR)
# Of height and width: in the first, torch's kernels leave no pixels over.
EVEN = [(32, 32), (64, 33), (1, 32), (96, 1), (2, 16), (48, 50), (32, 8)]
ODD = [(1, 1), (2, 2), (3, 3), (1, 9), (7, 1), (31, 17), (50, 67)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of odd sizes; flat ones and noise too."""
    sizes = [(64, 48), (65, 40), (30, 97), (128, 128), (9, 3)]
    pictures = [scene(width, height, seed) for seed, (width, height) in enumerate(sizes)]
    noise = np.random.default_rng(0).integers(0, 256, (40, 40, 3), np.uint8)
    pictures += [Image.new("RGB", (20, 20), (255, 0, 128)), Image.fromarray(noise)]
    return save_folder(tmp_path_factory.mktemp("pictures"), pictures)


@BOTH
def test_without_a_known_size(folder: Path, m: Any) -> None:
    """What is done to whole bytes does not depend on torch's kernels."""
    chain = [tensor(m), m.RandomInvert(), m.RandomPosterize(3), m.RandomSolarize(99.5), m.RandomEqualize()]
    same_folder(folder, chain, 1)
    same_folder(folder, [m.Grayscale(), *chain], 2)


@BOTH
def test_grey(folder: Path, m: Any) -> None:
    for round, size in enumerate(ODD):
        to = [m.ConvertImageDtype(torch.float32), m.Normalize([0.4], [0.2])]
        same_folder(folder, [m.Resize(size), tensor(m), m.Grayscale(1)], round, strides=True)
        same_folder(folder, [m.Resize(size), tensor(m), m.Grayscale(1), *to], round)
        same_folder(folder, [m.Resize(size), tensor(m), m.Grayscale(3), m.RandomHorizontalFlip(), *to], round)


@BOTH
def test_jitter(folder: Path, m: Any) -> None:
    d = random.Random(4)
    for round, size in enumerate([*ODD, *EVEN]):
        for _ in range(2):
            contrast = d.choice((0, 0.9, (1.5, 4))) if m is v1 or size in EVEN else 0
            hue = d.choice((0, 0.1, 0.5, (0.5, 0.5), (-0.5, -0.4)))
            jitter = m.ColorJitter(
                d.choice((0, 0.4, 1.0, (2, 3))), contrast, d.choice((0, 0.4, 1.0, (1, 5))), hue
            )
            same_folder(folder, [m.Resize(size), tensor(m), jitter], round, strides=True, rounds=3)


def test_hues_of_all_colours(tmp_path: Path) -> None:
    """A picture of 2^18 colours, of all ranges."""
    (tmp_path / "class").mkdir()
    steps = np.arange(64, dtype=np.uint8) * 4 + np.arange(64, dtype=np.uint8) % 4
    red, green, blue = np.meshgrid(steps, steps, steps, indexing="ij")
    Image.fromarray(np.stack([red, green, blue], -1).reshape(512, 512, 3)).save(tmp_path / "class" / "a.png")
    for m in (v1, v2):
        for hue in ((0, 0), (-0.5, -0.5), 0.5, 0.1):
            same_folder(
                tmp_path, [m.CenterCrop(512), tensor(m), m.ColorJitter(hue=hue)], 1, strides=True, rounds=6
            )


def test_recipes(folder: Path) -> None:
    """torchvision's own with --backend tensor, and a common one for small pictures."""
    normal = [v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.4], [0.2])]
    for augment in (
        v2.TrivialAugmentWide(interpolation=SEEN[1]),
        v2.RandAugment(interpolation=SEEN[1]),
        v2.AutoAugment(interpolation=SEEN[1]),
    ):
        crop = v2.RandomResizedCrop(64, interpolation=SEEN[1], antialias=True)
        chain = [v2.PILToTensor(), crop, v2.RandomHorizontalFlip(), augment, *normal, v2.RandomErasing(0.5)]
        same_folder(folder, [*chain, v2.ToPureTensor()], 3, rounds=4)
        small = [v2.ToImage(), v2.Resize((32, 32)), v2.RandomCrop(32, padding=4), v2.RandomHorizontalFlip()]
        same_folder(folder, [*small, augment, *normal], 4, rounds=4)
        same_folder(folder, [*small, v2.RandomApply([augment], 0.5), v2.Resize((9, 9))], 5, rounds=4)


def test_python_goes_on(folder: Path) -> None:
    """With what has torch's strides: an order that depends on draws stays with Python."""
    rest = v2.Lambda(lambda x: torch.tensor(x.stride()))
    for steps, kept in (
        ([v2.TrivialAugmentWide()], 2),
        ([v2.RandomGrayscale()], 2),
        ([v2.RandomRotation(5)], 2),
        ([v2.RandomAffine(5)], 3),
        ([v1.RandomRotation(5, fill=1)], 2),  # of a tv_tensors.Image
        ([v2.ColorJitter(0.3, 0, 0.3, 0.1)], 3),
        ([v2.RandomApply([v2.ColorJitter(hue=0.1)])], 2),
        ([v2.RandomAutocontrast()], 3),
        ([v2.RandomEqualize()], 2),
    ):
        chain = v2.Compose([v2.Resize((32, 32)), v2.ToImage(), *steps, rest])
        assert len(compile(chain, handed=True).native_part) == kept, steps
        same_folder(folder, [chain], native=False, rounds=2)


SIZED = v2.Resize((32, 32))
BYTES = [SIZED, v2.ToImage()]
FOREIGN = {
    "sizes": ([v2.ToImage(), v2.TrivialAugmentWide()], "sizes differ"),
    "grey": ([SIZED, v2.Grayscale(), v2.ToImage(), v2.TrivialAugmentWide()], "one channel"),
    "filter": ([*BYTES, v2.TrivialAugmentWide(interpolation=InterpolationMode.BICUBIC)], "unusual interp"),
    "exact": ([*BYTES, v2.RandAugment(interpolation=InterpolationMode.NEAREST_EXACT)], "unusual interp"),
    "fill": ([*BYTES, v2.RandomAffine(5, fill=0.5)], "unusual fill"),
    "fill of types": ([*BYTES, v2.RandomAffine(5, fill={torch.Tensor: 3, "others": 0})], "unusual fill"),
    "expand": ([*BYTES, v2.RandomRotation(5, expand=True)], "expands a tensor"),
    "odd": ([v2.Resize((30, 30)), v2.ToImage(), v2.ColorJitter(contrast=0.4)], "last few pixels"),
    "large": ([v1.Resize((257, 257)), v1.PILToTensor(), v1.AutoAugment()], "order of its sums"),
    "floats": ([*BYTES, v2.ToDtype(torch.float32, True), v2.ColorJitter(0.4)], "torch's own arithmetic"),
    "float tones": ([*BYTES, v2.ToDtype(torch.float32, True), v2.RandomInvert()], "torch's own arithmetic"),
    "erased": ([*BYTES, v2.RandomErasing(), v2.TrivialAugmentWide()], "torch's own arithmetic"),
    "factor": ([*BYTES, v2.RandomAdjustSharpness(-0.5)], "unusual sharpness_factor"),
    "in place": ([*BYTES, v2.RandomGrayscale(), v2.RandomErasing(inplace=True)], "erases in place"),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_what_stays_in_python(case: str) -> None:
    stays_in_python(*FOREIGN[case])


def test_threads_of_torchs(folder: Path) -> None:
    """Each thread of torch's takes a run of pixels, whose last ones v2's contrast rounds in another way."""
    for size, threads, native in (((224, 224), 1, True), ((224, 224), 4, True), ((224, 224), 5, False)):
        torch.set_num_threads(threads)
        chain = v2.Compose([v2.Resize(size), v2.ToImage(), v2.ColorJitter(contrast=0.4)])
        assert compile(chain).native is native
        assert compile(v2.Compose([v2.Resize(size), v2.AugMix()])).native is native
    assert compile(v1.Compose([v1.Resize((224, 224)), v1.PILToTensor(), v1.ColorJitter(0, 0.4)])).native
    for workers in (0, 1):
        batches = []
        for module, vision in ((torch.utils.data, torchvision.datasets), (gofast, gofast)):
            torch.manual_seed(5)
            loader = module.DataLoader(vision.ImageFolder(folder, chain), batch_size=3, num_workers=workers)
            batches.append([x.clone() for x, _ in loader])
        assert all(torch.equal(a, b) for a, b in zip(*batches, strict=True))
        assert isinstance(loader._native_view(), BatchSource) is (workers > 0)


def test_another_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where torch rounds otherwise, torchvision's own code makes the samples."""
    with monkeypatch.context() as patch:
        forget_answers(patch)
        patch.setattr(hues, "_turned", lambda *_: np.zeros(1))
        assert "hues round" in compile(v1.Compose([*BYTES, v2.ColorJitter(hue=0.1)])).report[-1].what
    transforms, contrast = v2.TrivialAugmentWide(), v2.ColorJitter(contrast=0.4)
    for kernel, steps in {
        "_multiplies": (transforms, v2.RandomAffine(5), v2.RandomRotation(5)),
        "_samples": (transforms, v2.RandomAffine(5), v2.RandomRotation(5)),
        "_means": (transforms, contrast),
        "_blends": (transforms, contrast),
        "_convolves": (transforms, v2.RandomAdjustSharpness(2)),
        "_adds": (transforms, v2.ColorJitter(0.4), v2.Grayscale(3), v2.RandomAutocontrast()),
    }.items():
        forget_answers(monkeypatch)
        with monkeypatch.context() as patch:
            patch.setattr(arithmetic, kernel, lambda *_: None)
            for step in steps:
                assert "in another way here" in compile(v1.Compose([*BYTES, step])).report[-1].what
