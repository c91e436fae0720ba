"""AutoAugment's family, rotations, affine transforms and tones: to the last bit as torchvision makes them.

Of PIL images, by Pillow's arithmetic, and of uint8 tensors, by torch's.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import AutoAugmentPolicy, InterpolationMode, v2

from beside_torchvision import same_folder, tensor
from image_data import save_folder
from picture_chains import any_affine, check_loaders, scene

pytestmark = pytest.mark.usefixtures("quietly")

BOTH = pytest.mark.parametrize("m", [v1, v2], ids=["v1", "v2"])
KINDS = pytest.mark.parametrize("kind", ["pil", "tensor"])
_FILTERS = [InterpolationMode.NEAREST, InterpolationMode.BILINEAR, InterpolationMode.BICUBIC]
SEEN = {"pil": _FILTERS, "tensor": _FILTERS[:2]}
FILES = [(1, 1), (1, 9), (9, 1), (64, 64), (65, 40), (30, 97), (128, 128), (9, 3)]
# Of height and width: in the first, torch's kernels leave no pixels over.
EVEN = [(32, 32), (64, 33), (1, 32), (96, 1), (2, 16), (48, 50), (32, 8)]
ODD = [(1, 1), (2, 2), (3, 3), (1, 9), (7, 1), (31, 17), (50, 67)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Pictures of odd sizes; flat, grey and of two colours too."""
    pictures = [scene(width, height, seed) for seed, (width, height) in enumerate(FILES)]
    noise = np.random.default_rng(0).integers(0, 2, (16, 16, 3), np.uint8)
    flat = Image.new("RGB", (20, 20), (255, 0, 128))
    pictures += [scene(50, 60, 9).convert("L"), flat, Image.fromarray(noise)]
    return save_folder(tmp_path_factory.mktemp("pictures"), pictures)


def of(kind: str, m: Any, before: list[Any], *steps: Any) -> list[Any]:
    """The steps on PIL images, or on tensors."""
    return [*before, *steps, tensor(m)] if kind == "pil" else [*before, tensor(m), *steps]


def fill(d: random.Random, kind: str) -> Any:
    odd = [None, (1.5, 2, 254.9)] if kind == "pil" else [(255, 0.0, 7)]
    return d.choice([*odd, 0, d.randint(0, 255), [d.randint(0, 255) for _ in range(3)], (9,)])


@BOTH
@KINDS
def test_augmentations(folder: Path, m: Any, kind: str) -> None:
    d = random.Random(1)
    for turn, size in enumerate(EVEN):
        seen, colour = d.choice(SEEN[kind]), d.choice((None, fill(d, kind)))
        policy, bins = list(AutoAugmentPolicy)[turn % 3], d.choice((31, 2, 7))
        trivial = m.TrivialAugmentWide(bins, seen, colour)
        for augment in (
            trivial,
            m.RandAugment(d.randint(0, 3), d.randint(0, 30), 31, seen, colour),
            m.AutoAugment(policy, seen, colour),
        ):
            before = [] if kind == "pil" and augment is trivial else [m.Resize(size)]
            behind = d.choice(([], [m.RandomVerticalFlip()], [m.RandomHorizontalFlip()]))
            same_folder(folder, of(kind, m, before, augment, *behind), 1000 * turn, rounds=2)


@pytest.mark.daily(3)
@BOTH
@KINDS
@pytest.mark.parametrize("colour", [None, (7, 130, 255)])
def test_every_operation_at_every_magnitude(folder: Path, m: Any, kind: str, colour: Any) -> None:
    """By policies of one operation at a time, in turn over the pictures."""
    bins = 10
    for seen in SEEN[kind]:
        augment = m.AutoAugment(interpolation=seen, fill=colour)
        names = (
            m.RandAugment()._augmentation_space(bins, (64, 64)) if m is v1 else augment._AUGMENTATION_SPACE
        )
        for name in dict.fromkeys((*names, "Invert")):
            at = range(bins) if name not in ("AutoContrast", "Equalize", "Invert") else [None]
            policies = [((name, 1.0, magnitude), ("Equalize", 0.0, None)) for magnitude in at]
            setattr(augment, "policies" if m is v1 else "_policies", policies)
            if name != "Identity":
                same_folder(folder, of(kind, m, [m.Resize((64, 33))], augment), 77, rounds=2)


@BOTH
@KINDS
def test_rotations_and_affine_transforms(folder: Path, m: Any, kind: str) -> None:
    d = random.Random(2)
    for turn, size in enumerate([*ODD, *EVEN]):
        seen, colour = d.choice(SEEN[kind]), fill(d, kind)
        center = d.choice((None, None, (d.randint(-5, 60), d.uniform(0, 40))))
        degrees = d.choice((30, (-400, 400), (0, 0), (720, 720)))
        before = [m.Resize(size)] if kind == "tensor" else []
        expand = kind == "pil" and d.random() < 0.5
        behind = d.choice(([], [m.RandomHorizontalFlip()], [m.RandomVerticalFlip()]))
        rotation = m.RandomRotation(degrees, seen, expand, center, colour)
        same_folder(folder, of(kind, m, before, rotation, *behind), 100 * turn)
        affine = any_affine(m, d, seen, colour, center)
        same_folder(folder, of(kind, m, before, affine, *behind), 100 * turn, strides=kind == "tensor")
    if kind == "tensor" and m is v2:
        for step in (m.RandomRotation(50, SEEN[kind][1], fill=None), m.RandomAffine(50, fill=None)):
            same_folder(folder, [m.Resize((31, 17)), m.ToImage(), step])


@BOTH
@KINDS
def test_turns_by_quarters(folder: Path, m: Any, kind: str) -> None:
    """v2 turns without sampling; TrivialAugmentWide's thirty-one magnitudes have 90 degrees."""
    for angle in (90.0, 45.0, 180.0, 270.0, -90.0):
        for size in ((32, 32), (32, 16)):
            turns = (
                m.RandomRotation((angle, angle), fill=3),
                m.RandomRotation((-angle, -angle), center=(3, 4)),
            )
            same_folder(folder, of(kind, m, [m.Resize(size)], *turns))
    steps = m.TrivialAugmentWide(), m.AutoAugment()
    same_folder(folder, of(kind, m, [m.Resize((16, 16))], *steps), 5, rounds=20)


@BOTH
@KINDS
def test_tones(folder: Path, m: Any, kind: str) -> None:
    d = random.Random(3)
    for turn, size in enumerate([*ODD, *EVEN]):
        p = d.choice((0.0, 0.5, 1.0, d.random()))
        tones = [
            m.RandomAdjustSharpness(d.choice((0, d.uniform(-1 if kind == "pil" else 0, 3))), p),
            m.RandomAutocontrast(p),
            m.RandomEqualize(p),
            m.RandomInvert(p),
            m.RandomPosterize(1 + turn % 8, p),
            m.RandomSolarize(d.choice((0, 255, d.uniform(0, 255))), p),
            m.RandomGrayscale(p),
        ]
        for tone in tones if kind == "tensor" else ():
            strides = not isinstance(tone, (m.RandomEqualize, m.RandomGrayscale))
            same_folder(folder, [m.Resize(size), tensor(m), tone], turn, strides=strides)
        same_folder(folder, of(kind, m, [m.Resize(size)], *d.sample(tones, 4)), 100 * turn)


@BOTH
@KINDS
def test_inside_of_random_apply(folder: Path, m: Any, kind: str) -> None:
    inner = [m.ColorJitter(0.4, 0.4, 0.4, 0.1), m.RandomGrayscale()]
    inner += [m.RandomAffine(5, (0.1, 0.1)), m.RandAugment(), m.RandomRotation(90)] if kind == "pil" else []
    for turn in range(3):
        steps = m.RandomApply(inner, 0.6), m.TrivialAugmentWide()
        same_folder(folder, of(kind, m, [m.Resize((32, 24))], *steps), turn, rounds=2)


@BOTH
@KINDS
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("workers", [0, 3])
def test_loaders(folder: Path, m: Any, kind: str, workers: int) -> None:
    steps = m.TrivialAugmentWide(), m.RandAugment(), m.ColorJitter(0.4, 0.4, 0.4), m.RandomAffine(9)
    check_loaders(folder, m.Compose(of(kind, m, [m.Resize((32, 40))], *steps)), workers)


def test_pictures_of_one_channel(folder: Path) -> None:
    for turn, m in enumerate((v1, v2)):
        turned = m.RandomRotation(40, fill=7, expand=True)
        chain = [m.Grayscale(1), turned, m.Resize((30, 40)), m.RandAugment(3, 20, fill=(200,))]
        chain += [m.TrivialAugmentWide(interpolation=InterpolationMode.BILINEAR), m.AutoAugment(), tensor(m)]
        same_folder(folder, chain, turn, rounds=4)


def test_what_a_picture_says_of_itself(folder: Path) -> None:
    """Python goes on with a PIL image, whose info some operations lose."""
    augment = [v2.TrivialAugmentWide(), v2.RandomAdjustSharpness(2.0), v1.RandomRotation(5)]
    same_folder(folder, [v2.Resize((20, 24)), *augment], rounds=8)


def test_two_versions_round_their_matrices_differently(folder: Path) -> None:
    """A shear alone shows it: its rows lie on whole pixels."""
    made = []
    for m in (v1, v2):
        shear = m.RandomAffine(0, shear=(-20, 20), interpolation=InterpolationMode.BICUBIC)
        same_folder(folder, [shear, tensor(m)], 0)
        torch.manual_seed(6)
        made.append(np.asarray(shear(scene(30, 97, 6))))
    assert not np.array_equal(*made)
