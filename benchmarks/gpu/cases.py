"""What is measured: each a function of the number of rounds, whose peers take turns in every round."""

from __future__ import annotations

import functools
import math
import os
import pathlib
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
import torchvision
from torchvision.models import resnet50
from torchvision.transforms import v2

import gofast
from benchmarks import data, strangers
from benchmarks.compare_cases import photographs
from benchmarks.strangers.files import Files

ROWS, SIDE, BATCH = 2048, 224, 256  # of pictures: a batch of float32 has 154 MB; 64 of them 38.5 MB
DIGITS = 60_000
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
CORES = len(os.sched_getaffinity(0))
THREADS = [n for n in (1, 2, 4, 8, 16) if n <= CORES]
# Those that need no package beside torch and torchvision.
STRANGERS = (
    "classification",
    "classification v2",
    "mae",
    "dino",
    "segmentation",
    "pets",
    "ten crops",
    "preset",
)


@dataclass(frozen=True)
class Section:
    """What was measured of one thing.

    Attributes:
        peers: the values of each, one a round.
    """

    title: str
    unit: str
    peers: dict[str, list[float]]


def seconds(work: Callable[[], object]) -> float:
    """How long some work takes, with what it leaves to the GPU."""
    on_gpu = torch.cuda.is_available()
    if on_gpu:
        torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    if on_gpu:
        torch.cuda.synchronize()
    return time.perf_counter() - start


def in_turns(rounds: int, amount: float, works: Mapping[str, Callable[[], object]]) -> dict[str, list[float]]:
    """How much of an amount each work does in a second, in every round. A round before warms up."""
    for work in works.values():
        work()
    rates: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(rounds):
        for name, work in works.items():
            rates[name].append(amount / seconds(work))
    return rates


def exhaust(batches: Iterable[Any]) -> None:
    for _ in batches:
        pass


def to_gpu(batches: Iterable[Any]) -> None:
    """As everybody writes it."""
    for batch in batches:
        for values in batch.values() if isinstance(batch, dict) else batch:
            values.to("cuda", non_blocking=True)


def torchs(dataset: Any, batch: int, workers: int, **options: Any) -> Any:
    """torch's own loader, as it is quickest: workers that stay, and its thread that pins."""
    return torch.utils.data.DataLoader(
        dataset,
        batch,
        num_workers=workers,
        persistent_workers=True,
        pin_memory=torch.cuda.is_available(),
        **options,
    )


def table(rows: int, shape: tuple[int, ...], **numbers: Any) -> gofast.TableDataset:
    """Bytes of pictures as a table: what is measured is their way, not their decoding."""
    values = np.random.default_rng(0).integers(0, 256, (rows, math.prod(shape)), np.uint8)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "table.npz"
        np.savez(path, features=values, label=np.arange(rows) % 10)
        return gofast.TableDataset(path, shape=shape, **numbers)


def pictures() -> tuple[Any, Any]:
    """Photographs for training, once by gofast, once as torchvision opens and transforms them."""
    numbers = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    transform = v2.Compose([v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip(), *numbers])
    return gofast.ImageFolder(photographs(), transform), torchvision.datasets.ImageFolder(
        photographs(), transform
    )


def some(dataset: Any, count: int) -> torch.utils.data.Sampler[int]:
    """So many samples, however few the dataset has."""
    return torch.utils.data.RandomSampler(dataset, replacement=True, num_samples=count)


def copies(rounds: int) -> list[Section]:
    """float32 that is ready, against a bare loop over pinned memory: the bus's own speed."""
    batch, values = 64, torch.rand(ROWS // 4, 3, SIDE, SIDE)
    ours = gofast.DataLoader(
        gofast.ArrayDataset(values, torch.arange(len(values))), batch, num_workers=8, device="cuda"
    )
    source = torch.empty(batch, 3, SIDE, SIDE).pin_memory()
    target = torch.empty_like(source, device="cuda")

    def bare() -> None:
        for _ in range(len(values) // batch):
            target.copy_(source, non_blocking=True)

    rates = in_turns(
        rounds, values.nbytes / 1e9, {"gofast": lambda: exhaust(ours), "a bare loop of copies": bare}
    )
    rates["gofast's copies alone"] = [gofast.engine_stats()["devices"]["cuda:0"]["rate"] / 1e9]
    return [Section("Copies of 38.5 MB", "GB/s", rates)]


def wire(rounds: int) -> list[Section]:
    """float32 pictures of stored bytes: by uint8 and a kernel; the same floats, pinned already, by torch."""
    stored = table(ROWS, (3, SIDE, SIDE), mean=MEAN, std=STD)
    ours = gofast.DataLoader(stored, BATCH, num_workers=8, device="cuda", resident=False)
    pinned = [batch["image"].pin_memory() for batch in gofast.DataLoader(stored, BATCH)]
    works = {"gofast": lambda: exhaust(ours), "torch, of pinned floats": lambda: to_gpu([pinned])}
    return [Section("float32 pictures of stored bytes", "pictures/s", in_turns(rounds, ROWS, works))]


def resident(rounds: int) -> list[Section]:
    """Shuffled epochs of 60,000 x 784: resident, by hand, and torch's loader with two workers."""
    digits = table(DIGITS, (1, 28, 28))
    ours = gofast.DataLoader(digits, 512, shuffle=True, device="cuda", resident=True)
    everything = next(iter(gofast.DataLoader(digits, DIGITS)))
    images, labels = everything["image"].cuda(), everything["label"].cuda()

    def by_hand() -> None:
        order = torch.randperm(DIGITS, device="cuda")
        for start in range(0, DIGITS, 512):
            chosen = order[start : start + 512]
            _ = images[chosen], labels[chosen]

    plain = torchs(
        torch.utils.data.TensorDataset(everything["image"], everything["label"]), 512, 2, shuffle=True
    )
    rates = in_turns(rounds, DIGITS, {"gofast, resident": lambda: exhaust(ours), "X[perm] by hand": by_hand})
    rates |= in_turns(1, DIGITS, {"torch, 2 workers, pinned": lambda: to_gpu(plain)})
    return [Section("Shuffled digits, 60,000 x 784", "rows/s", rates)]


def arriving(rounds: int) -> list[Section]:
    """Photographs that arrive on the GPU, against torch's workers and its thread that pins."""
    ours, theirs = pictures()
    count = 8 * BATCH
    mine = gofast.DataLoader(ours, BATCH, sampler=some(ours, count), num_workers=CORES, device="cuda")
    plain = torchs(theirs, BATCH, CORES, sampler=some(theirs, count))
    moved = torchs(theirs, BATCH, CORES, sampler=some(theirs, count))
    works = {
        "gofast": lambda: exhaust(mine),
        f"torch, {CORES} workers, pinned": lambda: to_gpu(plain),
        "the same, gofast.prefetch": lambda: exhaust(gofast.prefetch(moved, "cuda")),
    }
    return [Section("Photographs to the GPU", "pictures/s", in_turns(rounds, count, works))]


def training(rounds: int) -> list[Section]:
    """ResNet-50 in bfloat16, channels_last: steps, and the share of them that is a wait for data."""
    ours, theirs = pictures()
    count = 6 * BATCH
    mine = gofast.DataLoader(ours, BATCH, sampler=some(ours, count), num_workers=CORES, device="cuda")
    plain = torchs(theirs, BATCH, CORES, sampler=some(theirs, count))
    model = resnet50().cuda().to(memory_format=torch.channels_last).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    shares: dict[str, list[float]] = {}

    def epoch(name: str, loader: Any) -> None:
        batches, waited, begun = iter(loader), 0.0, time.perf_counter()
        while True:
            asked = time.perf_counter()
            batch = next(batches, None)
            waited += time.perf_counter() - asked
            if batch is None:
                break
            images, labels = (values.to("cuda", non_blocking=True) for values in batch)
            images = images.to(torch.bfloat16, memory_format=torch.channels_last)
            loss = torch.nn.functional.cross_entropy(model(images), labels % 1000)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        torch.cuda.synchronize()
        shares.setdefault(name, []).append(100 * waited / (time.perf_counter() - begun))

    loaders = {"gofast": mine, f"torch, {CORES} workers, pinned": plain}
    works = {name: lambda name=name, loader=loader: epoch(name, loader) for name, loader in loaders.items()}
    rates = in_turns(min(rounds, 3), count, works)
    waits = {name: values[1:] for name, values in shares.items()}
    return [
        Section("ResNet-50, trained", "pictures/s", rates),
        Section("of which it waits for data", "% of the time", waits),
    ]


def threads(rounds: int) -> Iterator[Section]:
    """Photographs for training on the CPU alone, by so many threads, and by as many workers of torch's."""
    ours, theirs = pictures()
    for n in THREADS:
        count = 128 * n
        mine = gofast.DataLoader(ours, 64, sampler=some(ours, count), num_workers=n)
        chosen = some(theirs, count)
        plain = torch.utils.data.DataLoader(
            theirs, 64, sampler=chosen, num_workers=n, persistent_workers=True
        )
        works = {"gofast": lambda: exhaust(mine), "torch": lambda: exhaust(plain)}  # noqa: B023
        title = f"Photographs on the CPU, threads or workers: {n}"
        yield Section(title, "pictures/s", in_turns(min(rounds, 3), count, works))


def unmodified(rounds: int) -> Iterator[Section]:
    """Other people's code under `gofast.install()` without workers, and plain with as many as may be best."""
    files = Files(data.photographs(str(photographs()), 250 * CORES).path)
    for name in STRANGERS:
        loader = strangers.case(name).loader

        def ours(loader: Any = loader) -> None:
            with gofast.install():
                exhaust(loader(files, 0))

        def plain(workers: int, loader: Any = loader) -> None:
            exhaust(loader(files, workers))

        counts = sorted({max(1, CORES // 2), CORES})
        works = {"unmodified, 0 workers": ours} | {
            f"torch, {n} workers": functools.partial(plain, n) for n in counts
        }
        title = f"Other people's code: {strangers.ROWS[name].about}"
        yield Section(title, "pictures/s", in_turns(min(rounds, 2), len(files.pictures), works))


@dataclass(frozen=True)
class Case:
    """A case by its name."""

    measure: Callable[[int], Iterable[Section]]
    on_gpu: bool = True


CASES = {
    "copies": Case(copies),
    "wire": Case(wire),
    "resident": Case(resident),
    "arriving": Case(arriving),
    "training": Case(training),
    "threads": Case(threads, on_gpu=False),
    "strangers": Case(unmodified, on_gpu=False),
}
