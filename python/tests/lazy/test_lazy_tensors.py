"""A Compose that makes uint8 tensors of lazy images, and then crops them: torch's values, in its order."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
import torch
from torchvision import datasets
from torchvision.transforms import InterpolationMode, v2

import gofast
from gofast._images import compose_calls
from image_data import photograph, save_folder
from same import difference
from test_lazy import pillows
from test_lazy_composes import outcome

SIZES = [(1, 1), (1, 40), (40, 1), (2, 32), (32, 32), (32, 50), (61, 32), (33, 90), (90, 61), (120, 80)]
SIDES = [(32, 32), (32, 32), (64, 32), (24, 40), (1, 9), (8, 1)]
BILINEAR = InterpolationMode.BILINEAR


def cut(r: random.Random) -> list[Any]:
    """To one size, in a way that torch may lay out as its pictures were, or again."""
    size = r.choice(SIDES)
    return r.choice(
        [
            [v2.RandomResizedCrop(size, r.choice([(0.08, 1.0), (0.9, 1.0)]), antialias=True)],
            [v2.RandomResizedCrop(size, interpolation=InterpolationMode.BICUBIC)],
            [v2.Resize(min(size)), v2.CenterCrop(size)],
            [v2.Resize(48), v2.CenterCrop(size)],
            [v2.Resize(size)],
            [v2.Resize(40), v2.RandomCrop(32)],
            [v2.CenterCrop(size)],
            [v2.Pad(r.choice([0, 3, (0, 2)])), v2.CenterCrop(size)],
            [v2.RandomCrop(size, r.choice([None, 0, 4, (0, 30)]), pad_if_needed=r.random() < 0.7)],
            [v2.RandomResizedCrop(40), v2.CenterCrop(size)],
            [v2.CenterCrop(40), v2.RandomResizedCrop(size)],
            [v2.CenterCrop((32, 40)), v2.Resize(size)],
        ]
    )


def changed(r: random.Random) -> Any:
    return r.choice(
        [
            v2.RandomHorizontalFlip(),
            v2.RandomVerticalFlip(),
            v2.TrivialAugmentWide(interpolation=BILINEAR),
            v2.RandAugment(),
            v2.AutoAugment(),
            v2.AugMix(),
            v2.ColorJitter(0.4, 0.4, 0.4),
            v2.ColorJitter(0.4, 0.4, 0.4, 0.1),
            v2.RandomApply([v2.ColorJitter(0.4, 0, 0.2, 0.1)], p=0.6),
            v2.RandomApply([v2.RandomCrop(24, pad_if_needed=True)], p=0.5),
            v2.RandomChoice([v2.RandomGrayscale(0.5), v2.RandomEqualize()]),
            v2.RandomOrder([v2.RandomGrayscale(0.5), v2.RandomHorizontalFlip()]),
            v2.RandomGrayscale(0.5),
            v2.Grayscale(3),
            v2.GaussianBlur(5, (0.1, 2.0)),
            v2.RandomEqualize(),
            v2.RandomSolarize(128),
            v2.RandomAutocontrast(),
            v2.RandomAdjustSharpness(1.7),
            v2.RandomAffine(9, fill=3),
            v2.RandomRotation(20),
            v2.CenterCrop(20),
            v2.Resize((30, 32)),
            v2.RandomErasing(0.5),
        ]
    )


def chain(seed: int) -> Any:
    r = random.Random(seed)
    members = [r.choice([v2.PILToTensor, v2.ToImage])()]
    members += cut(r) if r.random() < 0.9 else [changed(r)]
    members += [changed(r) for _ in range(r.choice([0, 1, 1, 2, 3]))]
    if r.random() < 0.8:
        members += [v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.4] * 3, [0.3] * 3)]
        members += [v2.RandomErasing(0.4), v2.ToPureTensor()][: r.randrange(3)]
    if r.random() < 0.3:
        members.append(v2.Lambda(lambda x: x + torch.rand(1)))
    return v2.Compose(members)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    root = tmp_path_factory.mktemp("tensors")
    for i, size in enumerate(SIZES):
        photograph(i, *size).save(root / f"{i}.{'jpg' if i % 3 else 'png'}")
    return sorted(root.iterdir())


def search(files: list[Path], seeds: range) -> None:
    for seed in seeds:
        compose = chain(seed)
        for path in random.Random(seed).sample(files, 4):
            lazy, plain = (
                outcome(compose, opened(path).convert("RGB"), seed) for opened in (gofast.open, pillows)
            )
            assert lazy == plain, (seed, path, compose)


def test_chains_equal_torchvisions(files: list[Path]) -> None:
    native = compose_calls.counts["native"]
    search(files, range(150))
    assert compose_calls.counts["native"] > native + 150


def test_a_folder_hands_late_pictures_to_its_compose(tmp_path: Path) -> None:
    """Where the last of its transforms is somebody's own."""
    root = save_folder(tmp_path, [photograph(i, 90 + i, 61) for i in range(8)])
    crop = [v2.ToImage(), v2.RandomResizedCrop(32), v2.ToDtype(torch.float32, scale=True)]
    compose = v2.Compose([*crop, v2.Normalize([0.4], [0.3]), v2.Lambda(lambda x: x + torch.rand(1))])
    native, made = compose_calls.counts["native"], []
    for folder in (gofast.ImageFolder, datasets.ImageFolder):
        torch.manual_seed(3)
        samples = [folder(root, compose)[i][0] for i in range(8)]
        made.append([samples, [sample.stride() for sample in samples], torch.get_rng_state()])
    assert difference(*made) == ""
    assert compose_calls.counts["native"] == native + 8


@pytest.mark.soak
def test_many_chains_equal_torchvisions(files: list[Path]) -> None:
    search(files, range(150, 20_000))
