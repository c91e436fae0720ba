"""Loaders with one planted fault each, and what the doctor must call it. Delays are far beyond noise."""

from __future__ import annotations

import io
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


class Straggling(Numbers):
    def __getitem__(self, index: int) -> Any:
        time.sleep(0.2 if index % 32 == 13 else 0.001)
        return torch.zeros(self.width)


def _plain(path: str) -> Any:
    return open(path, "rb")


class Photos(Dataset[Any]):
    """One large JPEG, decoded again and again and cut to a corner."""

    def __init__(self, folder: Path, wrap: Callable[[str], Any] = _plain) -> None:
        self.path, self.wrap = str(folder / "large.jpg"), wrap
        noise = np.random.default_rng(0).integers(0, 256, (60, 80, 3), np.uint8)
        Image.fromarray(noise).resize((1200, 900)).save(self.path, quality=95)

    def __len__(self) -> int:
        return LONG

    def __getitem__(self, index: int) -> Any:
        with self.wrap(self.path) as file, Image.open(file) as picture:
            corner = picture.crop((0, 0, 32, 32))
        return torch.from_numpy(np.asarray(corner).copy())


class Throttled(io.FileIO):
    """A file from a storage that answers after 3 ms."""

    def readinto(self, buffer: Any) -> Any:
        time.sleep(0.003)
        return super().readinto(buffer)

    def read(self, size: Any = -1) -> Any:
        time.sleep(0.003)
        return super().read(size)


class SmallPhotos(Photos):
    def __init__(self, folder: Path) -> None:
        super().__init__(folder, Throttled)
        Image.new("RGB", (48, 48), (200, 30, 60)).save(self.path)


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


class Computing(Numbers):
    """Samples that keep a processor busy for a while."""

    def __getitem__(self, index: int) -> Any:
        end = time.thread_time() + 0.004
        while time.thread_time() < end:
            sum(range(200))
        return torch.zeros(self.width)


class Products(Numbers):
    """Samples that torch computes with as many threads as it may."""

    def __getitem__(self, index: int) -> Any:
        one = torch.full((96, 96), float(index % 7))
        for _ in range(30):
            one = (one @ one).tanh()
        return one


def many_threads(worker: int) -> None:
    torch.set_num_threads(8)


def quick_step(batch: Any) -> None:
    time.sleep(0.002)


def slow_step(batch: Any) -> None:
    time.sleep(0.1)


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


Plant = tuple[Callable[[Path], Any], Callable[[Any], Any] | None, str]

# One of each kind of measuring; test_doctor_rules.py has the verdicts, on recorded facts.
PLANTS: dict[str, Plant] = {
    "slow decode in workers": (lambda f: DataLoader(Photos(f), 4, num_workers=2), None, "slow_decode"),
    "slow transform": (lambda f: DataLoader(Augmented(), 8), quick_step, "slow_transform"),
    "slow storage": (lambda f: DataLoader(SmallPhotos(f), 2), quick_step, "slow_storage"),
    "too many workers": (lambda f: DataLoader(Computing(), 2, num_workers=8), quick_step, "too_many_workers"),
    "tiny batches": (lambda f: DataLoader(Numbers(), 1, num_workers=2), None, "tiny_batches"),
    "heavy pickling": (
        lambda f: DataLoader(Words(), 16, collate_fn=as_list, num_workers=2),
        quick_step,
        "heavy_pickling",
    ),
    "straggler": (lambda f: DataLoader(Straggling(), 16, num_workers=2), quick_step, "straggler"),
    "slow sampler": (lambda f: DataLoader(Numbers(), 8, sampler=SlowOrder()), quick_step, "slow_sampler"),
    "generator": (lambda f: DataLoader(Stream(), 8), quick_step, "generator_bound"),
    "slow samples of short epochs": (
        lambda f: DataLoader(Numbers(0.08, length=16), 8, num_workers=2),
        quick_step,
        "slow_dataset",
    ),
    "spawned workers": (
        lambda f: DataLoader(Augmented(), 8, num_workers=1, multiprocessing_context="spawn"),
        quick_step,
        "slow_transform",
    ),
}
