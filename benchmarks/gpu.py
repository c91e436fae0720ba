"""The GPU path's figures, on a machine with a GPU: `make bench-gpu`.

Each line is a ratio of two things that are measured in turns, in this run; the median of the rounds stands.
"""

from __future__ import annotations

import argparse
import math
import os
import pathlib
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import torch
from torchvision.models import resnet50
from torchvision.transforms import v2

import gofast
from benchmarks.compare_cases import photographs

ROWS, SIDE, BATCH = 2048, 224, 256  # of pictures: a batch of float32 has 154 MB; 64 of them 38.5 MB
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def seconds(work: Callable[[], object]) -> float:
    """How long some work takes, with what it leaves to the GPU."""
    torch.cuda.synchronize()
    start = time.perf_counter()
    work()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def in_turns(rounds: int, *works: Callable[[], object]) -> list[float]:
    """The median of each."""
    for work in works:
        work()
    taken = [[seconds(work) for work in works] for _ in range(rounds)]
    return [statistics.median(times) for times in zip(*taken, strict=True)]


def exhaust(batches: Iterable[Any]) -> None:
    for _ in batches:
        pass


def table(folder: pathlib.Path, rows: int, shape: tuple[int, ...], **numbers: Any) -> gofast.TableDataset:
    """Bytes of pictures as a table: what is measured is their way, not their decoding."""
    path = folder / f"{rows}.npz"
    values = np.random.default_rng(0).integers(0, 256, (rows, math.prod(shape)), np.uint8)
    np.savez(path, features=values, label=np.arange(rows) % 10)
    return gofast.TableDataset(path, shape=shape, **numbers)


def copy_rate(rounds: int) -> tuple[float, float]:
    """Bytes a second of our copies of float32 batches of 38.5 MB, and of a bare loop over pinned memory."""
    batch = 64
    values = torch.rand(ROWS // 4, 3, SIDE, SIDE)
    loader = gofast.DataLoader(
        gofast.ArrayDataset(values, torch.arange(len(values))), batch, num_workers=8, device="cuda"
    )
    source = torch.empty(batch, 3, SIDE, SIDE).pin_memory()
    target = torch.empty_like(source, device="cuda")

    def bare() -> None:
        for _ in range(len(values) // batch):
            target.copy_(source, non_blocking=True)

    _, taken = in_turns(rounds, lambda: exhaust(loader), bare)
    return gofast.engine_stats()["devices"]["cuda:0"]["rate"], len(values) * values[0].nbytes / taken


def wire(rounds: int, folder: pathlib.Path) -> tuple[float, float]:
    """Seconds an epoch of float32 pictures: by uint8 and a kernel; the same floats, pinned, by torch."""
    pictures = table(folder, ROWS, (3, SIDE, SIDE), mean=MEAN, std=STD)
    ours = gofast.DataLoader(pictures, BATCH, num_workers=8, device="cuda", resident=False)
    pinned = [batch["image"].pin_memory() for batch in gofast.DataLoader(pictures, BATCH)]

    def copies() -> None:
        for batch in pinned:
            batch.to("cuda", non_blocking=True)

    taken = in_turns(rounds, lambda: exhaust(ours), copies)
    return taken[0], taken[1]


def resident(rounds: int, folder: pathlib.Path) -> tuple[float, float, float]:
    """Seconds a shuffled epoch of 60,000 x 784: resident, by hand, and torch's loader with two workers."""
    digits = table(folder, 60_000, (1, 28, 28))
    ours = gofast.DataLoader(digits, 512, shuffle=True, device="cuda", resident=True)
    everything = next(iter(gofast.DataLoader(digits, 60_000)))
    images, labels = everything["image"].cuda(), everything["label"].cuda()

    def by_hand() -> None:
        order = torch.randperm(60_000, device="cuda")
        for start in range(0, 60_000, 512):
            chosen = order[start : start + 512]
            _ = images[chosen], labels[chosen]

    vectorised = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(everything["image"], everything["label"]),
        512, shuffle=True, num_workers=2, pin_memory=True, persistent_workers=True,
    )  # fmt: skip

    def by_workers() -> None:
        for image, label in vectorised:
            image.to("cuda", non_blocking=True), label.to("cuda", non_blocking=True)

    taken = in_turns(rounds, lambda: exhaust(ours), by_hand)
    return taken[0], taken[1], in_turns(max(rounds // 3, 1), by_workers)[0]


def training(rounds: int) -> tuple[float, float]:
    """Seconds a step of ResNet-50 (bfloat16, channels_last, 256 photographs), and of it the wait for data."""
    numbers = [v2.ToImage(), v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    transform = v2.Compose([v2.RandomResizedCrop(SIDE), v2.RandomHorizontalFlip(), *numbers])
    folder = gofast.ImageFolder(photographs(), transform, dtype=torch.bfloat16, channels_last=True)
    sampler = torch.utils.data.RandomSampler(folder, replacement=True, num_samples=10 * BATCH)
    loader = gofast.DataLoader(folder, BATCH, sampler=sampler, num_workers=os.cpu_count() or 1, device="cuda")
    model = resnet50().cuda().to(memory_format=torch.channels_last).bfloat16()
    optimizer = torch.optim.SGD(model.parameters(), 0.01)
    waits: list[float] = []

    def epoch() -> None:
        batches, waited = iter(loader), 0.0
        while True:
            asked = time.perf_counter()
            batch = next(batches, None)
            waited += time.perf_counter() - asked
            if batch is None:
                break
            loss = torch.nn.functional.cross_entropy(model(batch[0]), batch[1] % 1000)
            optimizer.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimizer.step()
        waits.append(waited)

    (taken,) = in_turns(rounds, epoch)
    return taken / len(loader), statistics.median(waits[1:]) / len(loader)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    rounds = parser.parse_args().rounds
    if not torch.cuda.is_available():
        sys.exit("there is no GPU here: make test-python runs the GPU path on a stand-in for the driver")
    print(f"{torch.cuda.get_device_name()}, {os.cpu_count()} processors, torch {torch.__version__}")
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rate, bare = copy_rate(rounds)
        print(f"copies of 38.5 MB: {rate / 1e9:.1f} GB/s; a bare loop {bare / 1e9:.1f}: {rate / bare:.1%}")
        ours, torchs = wire(rounds, folder)
        print(
            f"float32 by uint8 and a kernel: {ours * 1e3:.1f} ms; "
            f"pinned floats by torch {torchs * 1e3:.1f}: {torchs / ours:.2f}x"
        )
        ours, by_hand, by_workers = resident(rounds, folder)
        print(f"resident: {ours * 1e3:.2f} ms an epoch; X[perm] {by_hand * 1e3:.2f}: {by_hand / ours:.2f}x; "
              f"torch's loader {by_workers * 1e3:.0f}: {by_workers / ours:.0f}x")  # fmt: skip
    step, wait = training(3)
    print(
        f"ResNet-50: {step * 1e3:.1f} ms a step, of which {wait * 1e3:.2f} wait for data: {wait / step:.2%}"
    )


if __name__ == "__main__":
    main()
