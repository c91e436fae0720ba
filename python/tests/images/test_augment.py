"""AutoAugment's family, rotations, affine transforms and tones: to the last bit as torchvision makes them."""

from __future__ import annotations

import random
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
from image_data import save_folder  # noqa: E402
from picture_chains import any_affine, scene  # noqa: E402

pytestmark = pytest.mark.usefixtures("quietly")

SEEN = (InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC)
SIZES = [(1, 1), (1, 9), (9, 1), (2, 2), (64, 64), (65, 40), (30, 97), (128, 128)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of odd sizes; flat, grey and of two colours too."""
    pictures = [scene(width, height, seed) for seed, (width, height) in enumerate(SIZES)]
    noise = np.random.default_rng(0).integers(0, 2, (16, 16, 3), np.uint8)
    pictures += [
        scene(50, 60, 9).convert("L"),
        Image.new("RGB", (20, 20), (255, 0, 128)),
        Image.fromarray(noise),
    ]
    return save_folder(tmp_path_factory.mktemp("pictures"), pictures)


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
    return d.choice(
        (None, 0, d.randint(0, 255), [d.randint(0, 255) for _ in range(3)], (9,), (1.5, 2, 254.9))
    )


def sized(d: random.Random, m: Any) -> Any:
    return d.choice((m.Resize((d.randint(1, 90), d.randint(1, 90))), m.CenterCrop(d.randint(2, 80))))


def tensor(m: Any) -> Any:
    return m.PILToTensor() if m is v1 else m.ToImage()


@pytest.mark.parametrize("m", [v1, v2])
def test_augmentations(folder: Path, m: Any) -> None:
    d = random.Random(1)
    for round in range(9):
        seen, colour = d.choice(SEEN), fill(d)
        policy = list(AutoAugmentPolicy)[round % 3]
        same(folder, [m.TrivialAugmentWide(d.choice((31, 2, 7)), seen, colour), tensor(m)], 1000 * round)
        for augment in (
            m.RandAugment(d.randint(0, 3), d.randint(0, 30), 31, seen, colour),
            m.AutoAugment(policy, seen, colour),
        ):
            same(
                folder,
                [
                    sized(d, m),
                    augment,
                    d.choice((m.RandomHorizontalFlip(), m.RandomCrop(3, pad_if_needed=True))),
                    tensor(m),
                ],
                round,
            )


# The names of torchvision's functions of one operation, of v1 and v2.
APPLY = {v1: "_apply_op", v2: "_apply_image_or_video_transform"}


@pytest.mark.parametrize("m", [v1, v2])
@pytest.mark.parametrize("seen", SEEN)
def test_every_operation_at_every_magnitude(folder: Path, m: Any, seen: InterpolationMode) -> None:
    """By policies of one operation at a time, in turn over the pictures."""
    bins = 10
    augment = m.AutoAugment(interpolation=seen, fill=(7, 130, 255))
    space = (
        m.RandAugment()._augmentation_space(bins, (64, 64)) if m is v1 else m.AutoAugment._AUGMENTATION_SPACE
    )
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


def test_rotations_and_affine_transforms(folder: Path) -> None:
    d = random.Random(2)
    quarters = [(angle, angle) for angle in (0, 90, 180, 270, -90)]
    for round in range(20):
        m, seen, colour = d.choice((v1, v2)), d.choice(SEEN), fill(d)
        center = d.choice((None, None, (d.randint(-5, 60), d.uniform(0, 40))))
        degrees = quarters[round % 5] if round % 2 else d.choice((30, (-400, 400)))
        rotation = m.RandomRotation(degrees, seen, d.random() < 0.5, center, colour)
        behind = d.choice(([], [m.RandomCrop(5, pad_if_needed=True)], [m.Resize(20)]))
        same(folder, [rotation, *behind, tensor(m)], 100 * round)
        affine = any_affine(m, d, seen, colour, center)
        same(folder, [affine, *behind, tensor(m)], 100 * round)


@pytest.mark.parametrize("m", [v1, v2])
def test_tones(folder: Path, m: Any) -> None:
    d = random.Random(3)
    for round in range(8):
        p = d.choice((0.0, 0.5, 1.0, d.random()))
        tones = [
            m.RandomAdjustSharpness(d.uniform(-1, 3), p),
            m.RandomAutocontrast(p),
            m.RandomEqualize(p),
            m.RandomInvert(p),
            m.RandomPosterize(1 + round, p),
        ]
        same(folder, [*d.sample(tones, 3), tensor(m)], 100 * round)


def test_pictures_of_one_channel(folder: Path) -> None:
    for round, m in enumerate((v1, v2)):
        chain = [
            m.Grayscale(1),
            m.RandomRotation(40, fill=7, expand=True),
            m.Resize((30, 40)),
            m.RandAugment(3, 20, fill=(200,)),
        ]
        chain += [m.TrivialAugmentWide(interpolation=InterpolationMode.BILINEAR), m.AutoAugment(), tensor(m)]
        for again in range(4):
            same(folder, chain, 1000 * round + 100 * again)


def test_what_a_picture_says_of_itself(folder: Path) -> None:
    """Python goes on with a PIL image, whose info some operations lose."""
    for round in range(8):
        chain = [
            v2.Resize((20, 24)),
            v2.TrivialAugmentWide(),
            v2.RandomAdjustSharpness(2.0),
            v1.RandomRotation(5),
        ]
        same(folder, chain, 100 * round)


def test_inside_of_random_apply(folder: Path) -> None:
    for round in range(3):
        inner = [v1.RandomRotation(90), v2.TrivialAugmentWide(), v2.RandomAffine(5, (0.1, 0.1))]
        chain = [
            v1.Resize((30, 30)),
            v1.RandomApply([*inner, v1.RandAugment()], 0.6),
            v1.RandomCrop(20),
            v1.ToTensor(),
        ]
        same(folder, chain, 100 * round)


def test_draws_of_workers(folder: Path) -> None:
    """What forked workers draw and make."""
    chain = v2.Compose([v2.RandomResizedCrop(20), v2.TrivialAugmentWide(), v2.RandAugment(), v1.ToTensor()])
    batches = []
    for kind, loader in (
        (torchvision.datasets.ImageFolder, torch.utils.data.DataLoader),
        (gofast.ImageFolder, gofast.DataLoader),
    ):
        torch.manual_seed(5)
        batches.append([pixels for pixels, _ in loader(kind(folder, chain), 3, shuffle=True, num_workers=2)])
    assert all(torch.equal(a, b) for a, b in zip(*batches, strict=True))


def test_two_versions_round_their_matrices_differently(folder: Path) -> None:
    """A shear alone shows it: its rows lie on whole pixels."""
    made = []
    for m in (v1, v2):
        shear = m.RandomAffine(0, shear=(-20, 20), interpolation=InterpolationMode.BICUBIC)
        same(folder, [shear, tensor(m)], 0)
        torch.manual_seed(6)
        made.append(np.asarray(shear(scene(30, 97, 6))))
    assert not np.array_equal(*made)
