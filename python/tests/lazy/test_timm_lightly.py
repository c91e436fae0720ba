"""Transforms of timm and lightly, with the packages themselves: samples that wait, beside those made at once.

`make test-integrations` has both.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import default_collate

import gofast
from gofast._images.lazy_samples import LazySample
from same import difference

pytestmark = [
    pytest.mark.usefixtures("samples_wait"),
    pytest.mark.filterwarnings("ignore:The given NumPy array is not writable"),
]

N, SIDE = 8, 48
RANDOM = {
    "auto_augment": [
        "rand-m9-mstd0.5-inc1",
        "rand-m7-n3-t3a",
        "rand-m5-mstd101-tweights",
        "augmix-m5-w4-d2",
        "augmix-m3-b1",
        "v0-mstd0.5",
        "original",
        "3a",
        None,
    ],
    "re_prob": [0.0, 0.5, 1.0],
    "re_mode": ["pixel", "rand", "const"],
    "re_count": [1, 3],
    "vflip": [0.0, 0.5],
    "color_jitter": [0.4, (0.3, 0.3, 0.3, 0.1), None],
    "color_jitter_prob": [None, 0.5],
    "grayscale_prob": [0.0, 0.3],
    "gaussian_blur_prob": [0.0, 0.3],
    "interpolation": ["random", "bicubic", "bilinear"],
    "train_crop_mode": ["rrc", "rrc", "rkrc", "rkrr"],
    "use_prefetcher": [False, False, True],
}


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder, numbers = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for i in range(N):
        small = Image.fromarray(numbers.integers(0, 256, (9, 7, 3), np.uint8))
        small.resize((90 + 5 * i, 130 - 7 * i), Image.Resampling.BICUBIC).save(folder / f"{i}.jpg")
    return sorted(folder.iterdir())


def seeded(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)


def states() -> list[Any]:
    return [torch.get_rng_state(), random.getstate(), list(np.random.get_state())]


def rows_of(transform: Callable[[Any], Any], files: list[Path], seed: int, ours: bool) -> list[Any]:
    seeded(seed)
    rows: list[Any] = []
    for i, path in enumerate(files):
        image = (gofast.open if ours else Image.open)(path).convert("RGB")
        try:
            rows.append((transform(image), i))
        except Exception as error:
            rows.append((type(error), str(error)))
    return [*rows, states()]


def compare(transform: Any, files: list[Path], seed: int, collates: list[Callable[[Any], Any]]) -> int:
    """How many samples waited."""
    for collate in collates:
        both = [rows_of(transform, files, seed, ours) for ours in (True, False)]
        waited = sum(isinstance(row[0], LazySample) for row in both[0])
        good = all(isinstance(row[0], (torch.Tensor, list)) for row in both[1][:-1])
        if good:
            batches = []
            for rows in both:
                seeded(seed)
                batches.append([collate(rows[:-1]), states()])
            assert difference(*batches) == "", (seed, transform)
        assert difference(*both) == "", (seed, transform)
    return waited


@pytest.mark.parametrize("block", range(4))
def test_timms_transforms(block: int, files: list[Path]) -> None:
    data = pytest.importorskip("timm.data")
    loader = pytest.importorskip("timm.data.loader")
    mix = partial(data.Mixup, mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=N)
    fast = data.FastCollateMixup(mixup_alpha=0.8, cutmix_alpha=1.0, num_classes=N, mode="pair")

    def mixed(rows: Any) -> Any:
        return mix(mode=random.choice(["batch", "elem", "pair"]))(*default_collate(rows))

    waited = 0
    for seed in range(block * 40, block * 40 + 40):
        r = random.Random(seed)
        options = {name: r.choice(values) for name, values in RANDOM.items()}
        transform = data.create_transform((3, SIDE, SIDE), is_training=True, **options)
        collates = [loader.fast_collate, fast] if options["use_prefetcher"] else [default_collate, mixed]
        waited += compare(transform, files, seed, collates)
    assert waited > 100


def test_timms_evaluation(files: list[Path]) -> None:
    data = pytest.importorskip("timm.data")
    for crop_mode in ("center", "squash", "border"):
        transform = data.create_transform((3, SIDE, SIDE), crop_mode=crop_mode)
        compare(transform, files, 0, [default_collate])


@pytest.mark.parametrize("name", ["SimCLR", "MoCoV2", "BYOL", "DINO", "SwaV", "MAE", "VICReg", "SimSiam"])
def test_lightlys_transforms(name: str, files: list[Path]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        transforms = pytest.importorskip("lightly.transforms")
    sizes = {} if name in ("DINO", "SwaV", "BYOL") else {"input_size": SIDE}
    transform = getattr(transforms, f"{name}Transform")(**sizes)
    for seed in range(6):
        compare(transform, files, seed, [default_collate])
    assert all(isinstance(view, LazySample) for view in rows_of(transform, files, 0, True)[0][0])
