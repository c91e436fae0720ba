"""45 loaders with a planted fault, or with none: does the doctor say so, and is the right remedy the first?

    python doctor_score.py FOLDER [NAME ...]

A process of its own: workers can have several threads only if nothing used OpenMP before the fork.
"""

from __future__ import annotations

import csv
import io
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset
from torchvision import datasets
from torchvision import transforms as T
from torchvision.io import decode_image

import gofast
import planted
from gofast._core.machine import Machine
from gofast._doctor.diagnosis import diagnose

SECONDS = 3.0
STILL = T.Compose([T.Resize(64), T.CenterCrop(64), T.ToTensor()])
DRAWN = T.Compose([T.RandomResizedCrop(64), T.RandomHorizontalFlip(), T.ToTensor()])


def burn(seconds: float) -> None:
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        sum(range(200))


class Made(Dataset[Any]):
    """Samples from a function of the index; `keep` is what the dataset has."""

    def __init__(self, make: Callable[[Any, int], Any], keep: Any = None, length: int = planted.LONG) -> None:
        self.held, self.length = (make, keep), length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> Any:
        make, keep = self.held
        return make(keep, index)


class Photos(Dataset[Any]):
    def __init__(self, folder: Path, transform: Any) -> None:
        self.files, self.transform = sorted(folder.glob("photos/*/*.jpg")) * 50, transform

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> Any:
        return self.transform(Image.open(self.files[index]).convert("RGB"))


class Rows(planted.Numbers):
    """Samples that wait in a method of such a name, or compute in it."""

    def read_rows(self) -> None:
        time.sleep(0.004)

    def __getitem__(self, index: int) -> Any:
        self.read_rows()
        return torch.zeros(8)


class Augments(planted.Numbers):
    def augment(self) -> None:
        burn(0.003)

    def __getitem__(self, index: int) -> Any:
        self.augment()
        return torch.rand(8)


class Throttled(planted.Numbers):
    def __getitem__(self, index: int) -> Any:
        with planted.Throttled(__file__) as file:
            return len(file.read(100))


class Caching(planted.Numbers):
    def __init__(self, length: int) -> None:
        super().__init__(0.0, length)
        self.kept: dict[int, Any] = {}

    def __getitem__(self, index: int) -> Any:
        if index not in self.kept:
            burn(0.003)
            self.kept[index] = torch.zeros(8)
        return self.kept[index]


class Computed(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        while True:
            burn(0.002)
            yield torch.zeros(8)


class Batches:
    def __iter__(self) -> Iterator[Any]:
        for _ in range(10000):
            time.sleep(0.01)
            yield torch.zeros(8, 8)


def slow_batches() -> Iterator[list[int]]:
    for start in range(0, 40000, 8):
        time.sleep(0.01)
        yield [*range(start, start + 8)]


class SlowBatches:
    __iter__ = staticmethod(slow_batches)


def digit(table: Any, index: int) -> Any:
    row = table.iloc[index]
    return torch.tensor(row.drop("label").values.astype("float32") / 255).view(1, 28, 28), int(row["label"])


def blas(_: Any, index: int) -> Any:
    one = np.full((300, 300), index % 7, np.float32)
    for _ in range(6):
        one = np.tanh(one @ one)
    return one[:8]


def burning(samples: list[Any]) -> Any:
    burn(0.001 * len(samples))
    return torch.stack(samples)


def of_lists(samples: list[Any]) -> Any:
    return torch.tensor([[float(number) for number in sample] for sample in samples])


def loops(path: Path) -> Any:
    with open(path) as file:
        return [*csv.reader(file)][1:]


def slow_lambda(picture: Any) -> Any:
    burn(0.004)
    return picture


def step(seconds: float) -> Callable[[Any], None]:
    return lambda batch: time.sleep(seconds)


def prepare(folder: Path) -> None:
    draw = np.random.default_rng(0)
    table = pd.DataFrame(draw.integers(0, 256, (2000, 784)), columns=[f"pixel{i}" for i in range(784)])
    table.insert(0, "label", draw.integers(0, 10, 2000))
    table.to_csv(folder / "digits.csv", index=False)
    table.to_parquet(folder / "digits.parquet")
    for at in range(64):
        path = folder / f"photos/{'ab'[at % 2]}/{at:02}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(draw.integers(0, 256, (5, 6, 3), np.uint8)).resize((600, 500)).save(path)
    file = io.BytesIO()
    Image.open(folder / "photos/a/00.jpg").save(file, "PNG")
    (folder / "one.png").write_bytes(file.getvalue())


QUICK, NONE = planted.quick_step, ""
PICTURES = "slow_decode slow_transform"  # Resize takes about as long as Pillow's decoding
W: dict[str, Any] = {"num_workers": 2}
Case = tuple[Callable[[Path], Any], Callable[[Any], Any] | None, str, str]
# For each: its loader, its step, the verdicts that are right, and the keys of remedies that may be the first.
CASES: dict[str, Case] = {
    # Before a case without workers computes in this process: OpenMP's threads do not survive a fork.
    "torch's threads": (
        lambda f: DataLoader(planted.Products(), 4, worker_init_fn=planted.many_threads, **W),
        QUICK,
        "oversubscribed_threads",
        "threads",
    ),
    "numpy's threads": (lambda f: DataLoader(Made(blas), 4, **W), QUICK, "oversubscribed_threads", "threads"),
    "pil": (lambda f: DataLoader(Photos(f, STILL), 8, shuffle=True), QUICK, PICTURES, "gofast"),
    "pil, drawn": (lambda f: DataLoader(Photos(f, DRAWN), 8, shuffle=True), None, "slow_decode", "gofast"),
    "pil, workers": (lambda f: DataLoader(Photos(f, STILL), 8, **W), QUICK, PICTURES, "gofast"),
    "ImageFolder": (
        lambda f: DataLoader(datasets.ImageFolder(f / "photos", DRAWN), 8, shuffle=True),
        QUICK,
        "slow_decode",
        "gofast",
    ),
    "png in memory": (
        lambda f: DataLoader(
            Made(lambda b, i: T.ToTensor()(Image.open(io.BytesIO(b))), (f / "one.png").read_bytes()), 4
        ),
        QUICK,
        "slow_decode",
        "gofast arrays num_workers",
    ),
    "decode_image": (
        lambda f: DataLoader(Made(lambda p, i: decode_image(p), str(f / "photos/a/00.jpg")), 8),
        QUICK,
        "slow_decode",
        "num_workers arrays",
    ),
    "large jpeg": (
        lambda f: DataLoader(planted.Photos(f), 4),
        QUICK,
        "slow_decode",
        "gofast num_workers arrays",
    ),
    "transform that sleeps": (
        lambda f: DataLoader(planted.Augmented(), 8),
        QUICK,
        "slow_transform",
        "num_workers arrays",
    ),
    "transform in workers": (
        lambda f: DataLoader(planted.Augmented(), 8, **W),
        None,
        "slow_transform",
        "num_workers arrays",
    ),
    "a method that augments": (lambda f: DataLoader(Augments(), 8), QUICK, "slow_transform", "num_workers"),
    "blur of tensors": (
        lambda f: DataLoader(Made(lambda t, i: t(torch.rand(3, 96, 96)), T.GaussianBlur(9)), 8),
        QUICK,
        "slow_transform",
        "num_workers",
    ),
    "gofast with a slow lambda": (
        lambda f: gofast.DataLoader(
            gofast.ImageFolder(f / "photos", T.Compose([*STILL.transforms, T.Lambda(slow_lambda)])), 8
        ),
        QUICK,
        "slow_transform",
        "num_workers arrays",
    ),
    "read_csv and iloc": (
        lambda f: DataLoader(Made(digit, pd.read_csv("digits.csv"), 2000), 64),
        QUICK,
        "slow_dataset",
        "gofast",
    ),
    "read_parquet and iloc, workers": (
        lambda f: DataLoader(Made(digit, pd.read_parquet("digits.parquet"), 2000), 64, shuffle=True, **W),
        QUICK,
        "slow_dataset",
        "gofast",
    ),
    "csv loops": (
        lambda f: DataLoader(
            Made(
                lambda t, i: (torch.tensor([float(v) for v in t[i][1:]]), int(t[i][0])),
                loops(Path("digits.csv")),
                2000,
            ),
            64,
        ),
        QUICK,
        "slow_dataset",
        "gofast",
    ),
    "loadtxt and a loop": (
        lambda f: DataLoader(
            Made(
                lambda t, i: (torch.tensor([v / 255 for v in t[i, 1:].tolist()]), int(t[i, 0])),
                np.loadtxt("digits.csv", delimiter=",", skiprows=1),
                2000,
            ),
            64,
        ),
        QUICK,
        "slow_dataset",
        "gofast",
    ),
    "computing, drawn": (
        lambda f: DataLoader(Made(lambda _, i: (burn(0.004), torch.rand(8))[1]), 8),
        QUICK,
        "slow_dataset",
        "num_workers",
    ),
    "waiting, drawn": (
        lambda f: DataLoader(Made(lambda _, i: (time.sleep(0.005), torch.rand(8))[1]), 8),
        QUICK,
        "slow_dataset",
        "num_workers",
    ),
    "json": (
        lambda f: DataLoader(Made(lambda t, i: torch.tensor(json.loads(t)), json.dumps([*range(3000)])), 16),
        QUICK,
        "slow_dataset",
        "arrays num_workers",
    ),
    "always the same": (
        lambda f: DataLoader(Made(lambda _, i: (burn(0.004), torch.zeros(8))[1]), 8),
        QUICK,
        "slow_dataset",
        "arrays",
    ),
    "short epochs of slow samples": (
        lambda f: DataLoader(planted.Numbers(0.06, length=16), 8, **W),
        QUICK,
        "slow_dataset",
        "num_workers arrays",
    ),
    "slow files": (
        lambda f: DataLoader(planted.SmallPhotos(f), 2),
        QUICK,
        "slow_storage",
        "num_workers gofast arrays",
    ),
    "a method that reads": (lambda f: DataLoader(Rows(), 8), QUICK, "slow_storage", "num_workers arrays"),
    "a method that reads, workers": (
        lambda f: DataLoader(Rows(), 8, **W),
        None,
        "slow_storage",
        "num_workers arrays",
    ),
    "an open file": (lambda f: DataLoader(Throttled(), 8), QUICK, "slow_storage", "num_workers arrays"),
    "collate that computes": (
        lambda f: DataLoader(planted.Numbers(), 16, collate_fn=burning),
        QUICK,
        "heavy_collate",
        "num_workers default_collate",
    ),
    "collate of lists": (
        lambda f: DataLoader(Made(lambda _, i: [i] * 500), 32, collate_fn=of_lists),
        QUICK,
        "heavy_collate",
        "num_workers default_collate",
    ),
    "float64": (
        lambda f: DataLoader(Made(lambda x, i: x, np.ones((3, 224, 224))), 64),
        None,
        "heavy_collate",
        "float32 num_workers",
    ),
    "objects from workers": (
        lambda f: DataLoader(planted.Words(), 32, collate_fn=planted.as_list, **W),
        QUICK,
        "heavy_pickling",
        "no_workers",
    ),
    "dicts of lists": (
        lambda f: DataLoader(Made(lambda _, i: {"a": [*range(2000)]}), 32, collate_fn=planted.as_list, **W),
        QUICK,
        "heavy_pickling",
        "no_workers",
    ),
    "slow order": (
        lambda f: DataLoader(planted.Numbers(), 8, sampler=planted.SlowOrder()),
        QUICK,
        "slow_sampler",
        "sampler",
    ),
    "slow batches of indices": (
        lambda f: DataLoader(planted.Numbers(), batch_sampler=SlowBatches(), **W),  # type: ignore[arg-type]
        QUICK,
        "slow_sampler",
        "sampler",
    ),
    "generator": (
        lambda f: DataLoader(planted.Stream(), 8),
        QUICK,
        "generator_bound",
        "num_workers map_style",
    ),
    "generator that computes": (
        lambda f: DataLoader(Computed(), 8, num_workers=1),
        QUICK,
        "generator_bound",
        "map_style num_workers",
    ),
    "any iterable": (lambda f: Batches(), QUICK, "generator_bound", "map_style"),
    "stragglers": (
        lambda f: DataLoader(planted.Straggling(), 16, **W),
        QUICK,
        "straggler",
        "num_workers in_order prefetch_factor slowest",
    ),
    "stragglers without workers": (
        lambda f: DataLoader(planted.Straggling(), 16),
        QUICK,
        "straggler",
        "num_workers",
    ),
    "single samples from workers": (
        lambda f: DataLoader(planted.Numbers(), 1, **W),
        None,
        "tiny_batches",
        "batch_size",
    ),
    "eight workers": (
        lambda f: DataLoader(planted.Computing(), 2, num_workers=8),
        QUICK,
        "too_many_workers",
        "fewer_workers",
    ),
    "short epochs": (
        lambda f: DataLoader(planted.Numbers(0.0, length=32), 8, **W),
        QUICK,
        "worker_start",
        "persistent_workers no_workers",
    ),
    "healthy: tensors": (
        lambda f: DataLoader(TensorDataset(torch.zeros(1 << 12, 16)), 16, shuffle=True),
        step(0.03),
        "healthy slow_step",
        NONE,
    ),
    "healthy: four workers": (
        lambda f: DataLoader(planted.Numbers(0.001), 16, num_workers=4),
        step(0.1),
        "healthy slow_step",
        NONE,
    ),
    "healthy: a cache that fills": (
        lambda f: DataLoader(Caching(64), 8, shuffle=True),
        QUICK,
        "healthy",
        NONE,
    ),
    "healthy: a large cache": (lambda f: DataLoader(Caching(50000), 8, shuffle=True), QUICK, "healthy", NONE),
    "healthy: gofast": (
        lambda f: gofast.DataLoader(gofast.ArrayDataset(torch.zeros(1 << 16, 64)), 64, shuffle=True),
        step(0.03),
        "healthy slow_step",
        NONE,
    ),
}


def main(folder: str, *names: str) -> int:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    warnings.simplefilter("ignore")
    home = Path(folder)
    prepare(home)
    os.chdir(home)
    roomy, right = Machine(planted.machine(home / "machine", used=500)), 0
    for name, (make, each, codes, keys) in CASES.items():
        if names and name not in names:
            continue
        report = diagnose(make(home), each, SECONDS, roomy)
        first = next((remedy.key for remedy in [*report.advised, *report.remedies]), "")
        good = report.code in codes.split() and (first in keys.split() or first == keys)
        right += good
        print(f"{'right' if good else 'WRONG'}  {name}: {report.code}, {first or 'no remedy'}", flush=True)
        if not good:
            print(f"wanted {codes}, {keys}\n{report}", file=sys.stderr, flush=True)
    print(f"{right} of {len(names or CASES)}")
    return right


if __name__ == "__main__":
    main(*sys.argv[1:])
