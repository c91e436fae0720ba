"""The demo: one training script on real digits, before and after gofast. `make demo` runs it.

Before is the classic: a Dataset that reads the table with pandas and takes one row at a time. After is the
same script with one line changed. Model, seed, order and numbers are the same, so the losses are the same to
the last bit; what changes is the time spent on waiting for batches.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

import gofast

DIGITS = Path(__file__).resolve().parent / "data" / "digits.parquet"
SEED, EPOCHS, BATCH = 0, 3, 64
PARAMETERS = 206_922

Batch = dict[str, Tensor]


class Classic(Dataset[Batch]):
    """What most scripts have: pandas in memory, one `iloc` a sample."""

    def __init__(self, path: str) -> None:
        self.frame = pd.read_parquet(path)

    def __len__(self) -> int:
        return len(self.frame)

    def __getitem__(self, index: int) -> Batch:
        row = self.frame.iloc[index]
        label = int(row["label"]) if "label" in row else -1
        pixels = row.drop("label", errors="ignore").to_numpy(dtype="float32").reshape(1, 28, 28)
        return {"image": torch.from_numpy(pixels) / 255, "label": torch.tensor(label)}


def small_cnn() -> nn.Module:
    """Two convolutions and two dense layers: 206,922 parameters."""
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 7 * 7, 128),
        nn.ReLU(),
        nn.Linear(128, 10),
    )
    count = sum(parameter.numel() for parameter in model.parameters())
    assert count == PARAMETERS, f"the model has {count} parameters, expected {PARAMETERS}"
    return model


@dataclass(frozen=True)
class Pipeline:
    """One way to get the batches: a name, how to open the table and how to iterate it."""

    name: str
    open: Callable[[], Any]
    loader: Callable[[Any], Iterable[Batch]]


class Training:
    """One training run: its model, its loader, the losses it saw and the seconds of every epoch."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.name = pipeline.name
        started = time.perf_counter()
        self.dataset = pipeline.open()
        self.opened = time.perf_counter() - started
        self.loader = pipeline.loader(self.dataset)
        torch.manual_seed(SEED)
        self.model = small_cnn()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=1e-3)
        self.losses: list[float] = []
        self.loadings: list[float] = []
        self.trainings: list[float] = []

    @property
    def loading(self) -> float:
        """Seconds an epoch waited for batches: the median of all epochs."""
        return statistics.median(self.loadings)

    @property
    def training(self) -> float:
        """Seconds an epoch trained: the median of all epochs."""
        return statistics.median(self.trainings)

    def epoch(self, number: int) -> None:
        """Trains one epoch; splits its time into waiting for batches and training."""
        torch.manual_seed(SEED + number)
        loading, training, correct = 0.0, 0.0, 0
        mark = time.perf_counter()
        for batch in self.loader:
            arrived = time.perf_counter()
            loading += arrived - mark
            correct += self.step(batch)
            mark = time.perf_counter()
            training += mark - arrived
        loading += time.perf_counter() - mark
        self.loadings.append(loading)
        self.trainings.append(training)
        print(
            f"  epoch {number}/{EPOCHS}  {self.name:<42} {loading + training:6.2f} s  "
            f"loss {self.losses[-1]:.4f}  right {correct / len(self.dataset):.1%}",
            flush=True,
        )

    def step(self, batch: Batch) -> int:
        """One optimiser step; keeps the loss and returns how many digits were named correctly."""
        logits = self.model(batch["image"])
        loss = nn.functional.cross_entropy(logits, batch["label"])
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss.item())
        return int((logits.argmax(1) == batch["label"]).sum())


def plain_loader(workers: int) -> Callable[[Any], Iterable[Batch]]:
    """torch's own DataLoader, as the script had it."""
    return lambda dataset: DataLoader(dataset, batch_size=BATCH, shuffle=True, num_workers=workers)


def pipelines(path: str) -> list[Pipeline]:
    """The baseline first; the rest in the order of the table."""

    def classic() -> Any:
        return Classic(path)

    def table() -> Any:
        return gofast.TableDataset(path, shape=(1, 28, 28))

    return [
        Pipeline("before: pandas Dataset, DataLoader", classic, plain_loader(0)),
        Pipeline("before: the same, num_workers=2", classic, plain_loader(2)),
        Pipeline("after:  TableDataset, DataLoader", table, plain_loader(0)),
        Pipeline("after:  the same, num_workers=2", table, plain_loader(2)),
        Pipeline(
            "after:  TableDataset, gofast.DataLoader",
            table,
            lambda dataset: gofast.DataLoader(dataset, batch_size=BATCH, shuffle=True),
        ),
    ]


def same_batches(first: Pipeline, second: Pipeline) -> int:
    """Compares one epoch of both, value by value; returns the number of batches or stops the demo."""
    epochs = []
    for pipeline in (first, second):
        torch.manual_seed(SEED)
        epochs.append(list(pipeline.loader(pipeline.open())))
    for number, (ours, theirs) in enumerate(zip(*epochs, strict=True)):
        for key in ("image", "label"):
            if ours[key].dtype != theirs[key].dtype or not torch.equal(ours[key], theirs[key]):
                raise SystemExit(
                    f"batch {number} differs in {key!r} between {first.name!r} and {second.name!r}"
                )
    return len(epochs[0])


def report(runs: list[Training], batches: int) -> None:
    """The table, and whether the promise of equal numbers held."""
    base = runs[0]
    print(f"\n{'':<42} {'open':>8} {'epoch':>8} {'loading':>9} {'training':>9} {'loading':>9}")
    print(f"{'medians':<42} {'ms':>8} {'s':>8} {'s/epoch':>9} {'s/epoch':>9} {'speed-up':>9}")
    for run in runs:
        print(
            f"{run.name:<42} {run.opened * 1e3:>8.1f} {run.loading + run.training:>8.2f} {run.loading:>9.3f} "
            f"{run.training:>9.3f} {base.loading / run.loading:>8.1f}x"
        )
    best = min(runs, key=lambda run: run.loading + run.training)
    print("\nwhere the time went:")
    for label, run in (("before", base), ("after", best)):
        share = run.loading / (run.loading + run.training)
        name = run.name.split(":")[1].strip()
        print(f"  {label:<6} waiting for batches {share:6.1%}, training {1 - share:6.1%}   ({name})")
    before, after = (run.loading + run.training for run in (base, best))
    print(f"\nan epoch takes {before:.2f} s before and {after:.2f} s after: {before / after:.1f}x")
    print(f"all {batches} batches of an epoch are equal, byte for byte, before and after")
    different = [run.name for run in runs if run.losses != base.losses]
    if different:
        raise SystemExit("the losses differ from the first pipeline's in: " + ", ".join(different))
    print(f"all {len(base.losses)} losses are equal, to the last bit, in every pipeline")


def main() -> None:
    ways = pipelines(str(DIGITS))
    print(f"{PARAMETERS} parameters, batch {BATCH}, {EPOCHS} epochs, torch {torch.__version__}", flush=True)
    batches = same_batches(ways[0], ways[2])
    same_batches(ways[2], ways[4])
    runs = [Training(way) for way in ways]
    # torch loads its convolution code at the first step: not at the first pipeline's cost.
    Training(ways[2]).step(next(iter(runs[2].loader)))
    # In turn, so that a machine that slows down slows every pipeline down.
    for number in range(1, EPOCHS + 1):
        for run in runs:
            run.epoch(number)
    report(runs, batches)


if __name__ == "__main__":
    main()
