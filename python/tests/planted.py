"""Loaders with one planted fault each, and what the doctor must call it. Delays are far beyond noise."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler

LONG = 1 << 16  # samples of an epoch that no test reaches the end of


class Numbers(Dataset[Any]):
    """Samples of a few numbers, and `cost` seconds of sleep for each that `slow` picks."""

    def __init__(self, cost: float = 0.0, length: int = LONG, width: int = 16) -> None:
        self.cost, self.length, self.width = cost, length, width

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        if self.cost:
            time.sleep(self.cost)
        return torch.full((self.width,), float(index))


class Photos(Dataset[Any]):
    """One large JPEG, decoded again and again and cut to a corner."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "large.jpg")
        noise = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
        Image.fromarray(noise).resize((1200, 900)).save(self.path, quality=95)

    def __len__(self) -> int:
        return LONG

    def __getitem__(self, index: int) -> Any:
        with Image.open(self.path) as picture:
            corner = picture.crop((0, 0, 32, 32))
        return torch.from_numpy(np.asarray(corner).copy())


class SlowAugment:
    def __call__(self, sample: torch.Tensor) -> torch.Tensor:
        time.sleep(0.01)
        return sample


class Augmented(Numbers):
    def __init__(self) -> None:
        super().__init__()
        self.transform = SlowAugment()

    def __getitem__(self, index: int) -> Any:
        return self.transform(super().__getitem__(index))


class SlowOrder(Sampler[int]):
    def __iter__(self) -> Iterator[int]:
        for index in range(LONG):
            time.sleep(0.005)
            yield index

    def __len__(self) -> int:
        return LONG


class Stream(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        while True:
            time.sleep(0.005)
            yield torch.zeros(16)


class Words(Numbers):
    """Objects that cost nothing to make, and much to pickle."""

    made: ClassVar = [{"id": i, "tags": [f"tag {i} {j}" for j in range(10)]} for i in range(2000)]

    def __getitem__(self, index: int) -> Any:
        return self.made


def as_list(samples: list[Any]) -> Any:
    return samples


def quick_step(batch: Any) -> None:
    time.sleep(0.002)


def machine(root: Path, used: int) -> Path:
    """The files of a machine that has memory, and whose control group uses so many of its 2048 MB."""
    group = root / "sys/fs/cgroup"
    (root / "proc/self").mkdir(parents=True)
    group.mkdir(parents=True)
    (root / "proc/self/cgroup").write_text("0::/\n")
    (root / "proc/meminfo").write_text("MemTotal: 64000000 kB\nMemAvailable: 60000000 kB\n")
    (group / "memory.max").write_text(f"{2048 << 20}\n")
    (group / "memory.current").write_text(f"{used << 20}\n")
    (group / "memory.stat").write_text(f"anon {1900 << 20}\ninactive_file {10 << 20}\n")
    return root


SLOW = {"spawned workers"}  # which are full

Plant = tuple[Callable[[Path], Any], Callable[[Any], Any] | None, str]

# A few whole looks; test_doctor_rules.py has the verdicts, on recorded facts.
PLANTS: dict[str, Plant] = {
    "slow decode in workers": (lambda f: DataLoader(Photos(f), 4, num_workers=2), None, "slow_decode"),
    "slow transform": (lambda f: DataLoader(Augmented(), 8), quick_step, "slow_transform"),
    "heavy pickling": (
        lambda f: DataLoader(Words(), 16, collate_fn=as_list, num_workers=2),
        quick_step,
        "heavy_pickling",
    ),
    "slow sampler": (lambda f: DataLoader(Numbers(), 8, sampler=SlowOrder()), quick_step, "slow_sampler"),
    "generator": (lambda f: DataLoader(Stream(), 8), quick_step, "generator_bound"),
    "spawned workers": (
        lambda f: DataLoader(Augmented(), 8, num_workers=1, multiprocessing_context="spawn"),
        quick_step,
        "slow_transform",
    ),
}
