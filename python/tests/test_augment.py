"""AutoAugment's family, rotations, affine transforms and tones: to the last bit as torchvision makes them."""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

torchvision = pytest.importorskip("torchvision")

from torchvision import transforms as v1  # noqa: E402
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode, v2  # noqa: E402

import gofast  # noqa: E402
from gofast._plan.compile import compile  # noqa: E402
from picture_chains import scene  # noqa: E402

SEEN = (InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
SIZES = [(1, 1), (1, 9), (9, 1), (2, 2), (64, 64), (65, 40), (30, 97), (128, 128)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of odd sizes; flat, grey and of two colours too."""
    root = tmp_path_factory.mktemp("pictures")
    (root / "class").mkdir()
    pictures = [scene(width, height, seed) for seed, (width, height) in enumerate(SIZES)]
    noise = np.random.default_rng(0).integers(0, 2, (16, 16, 3), np.uint8)
    pictures += [scene(50, 60, 9).convert("L"), Image.new("RGB", (20, 20), (255, 0, 128)), Image.fromarray(noise)]
    for i, picture in enumerate(pictures):
        picture.save(root / "class" / f"{i:02}.png", dpi=(72, 72))
    return root


@pytest.fixture(autouse=True)
def quietly() -> Iterator[None]:
    """Without threads of torch's for the small tensors here."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
    torch.set_num_threads(threads)


def same(folder: Path, transforms: list[Any], seed: int, whole: bool = True) -> None:
    """Both datasets make the same of a folder's pictures, and leave torch's generator the same."""
    chain = v1.Compose(transforms)
    plan = compile(chain)
    assert plan.native or not whole, plan.report
    theirs, ours = torchvision.datasets.ImageFolder(folder, chain), gofast.ImageFolder(folder, chain)
    for i in range(len(theirs)):
        torch.manual_seed(seed + i)
        want, _ = theirs[i]
        state = torch.get_rng_state()
        torch.manual_seed(seed + i)
        got, _ = ours[i]
        told = f"{theirs.samples[i][0]}, seed {seed + i}: {chain}"
        assert type(got) is type(want), told
        if isinstance(want, Image.Image):
            assert (got.mode, got.size, got.info) == (want.mode, want.size, want.info), told
            assert got.tobytes() == want.tobytes(), told
        else:
            assert got.shape == want.shape and torch.equal(got, want), told
        assert torch.equal(torch.get_rng_state(), state), told


def fill(d: random.Random) -> Any:
    return d.choice((None, 0, d.randint(0, 255), [d.randint(0, 255) for _ in range(3)], (9,), (1.5, 2, 254.9)))


def sized(d: random.Random, m: Any) -> Any:
    return d.choice((m.Resize((d.randint(1, 90), d.randint(1, 90))), m.CenterCrop(d.randint(2, 80))))


def tensor(m: Any) -> Any:
    return m.PILToTensor() if m is v1 else m.ToImage()


@pytest.mark.parametrize("m", [v1, v2])
def test_augmentations(folder: Path, m: Any) -> None:
    d = random.Random(1)
    for round in range(14):
        seen, colour = d.choice(SEEN), fill(d)
        policy = list(AutoAugmentPolicy)[round % 3]
        same(folder, [m.TrivialAugmentWide(d.choice((31, 2, 7)), seen, colour), tensor(m)], 1000 * round)
        for augment in (m.RandAugment(d.randint(0, 3), d.randint(0, 30), 31, seen, colour), m.AutoAugment(policy, seen, colour)):
            same(folder, [sized(d, m), augment, d.choice((m.RandomHorizontalFlip(), m.RandomCrop(3, pad_if_needed=True))), tensor(m)], round)


# The names of torchvision's functions of one operation, of v1 and v2.
APPLY = {v1: "_apply_op", v2: "_apply_image_or_video_transform"}


@pytest.mark.parametrize("m", [v1, v2])
@pytest.mark.parametrize("seen", SEEN)
def test_every_operation_at_every_magnitude(folder: Path, m: Any, seen: InterpolationMode) -> None:
    """By policies of one operation at a time, in turn over the pictures."""
    bins = 10
    augment = m.AutoAugment(interpolation=seen, fill=(7, 130, 255))
    space = m.RandAugment()._augmentation_space(bins, (64, 64)) if m is v1 else m.AutoAugment._AUGMENTATION_SPACE
    names = [*space, "Invert"] if "Invert" not in space else [*space]
    for name in names:
        ranged = name not in ("Identity", "AutoContrast", "Equalize", "Invert")
        policies = [((name, 1.0, at), ("Equalize", 0.0, None)) for at in (range(bins) if ranged else (None,))]
        if name == "Identity":
            continue
        if m is v1:
            augment.policies = policies
        else:
            augment._policies = policies
        same(folder, [m.Resize((48, 31)), augment, tensor(m)], 77)
