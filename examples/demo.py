"""The demo: one training script on real digits, before and after gofast. `make demo` runs it.

Before is the classic: a Dataset that reads the table with pandas and takes one row at a time. After is the
same script with one line changed. Model, seed, order and numbers are the same, so the losses are the same to
the last bit; what changes is the time spent on waiting for batches.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
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


@dataclass
class Result:
    """What one training run took, in seconds, and the losses it saw."""

    name: str
    open: float = 0.0
    loading: float = 0.0
    training: float = 0.0
    losses: list[float] = field(default_factory=list)

    @property
    def epoch(self) -> float:
        return (self.loading + self.training) / EPOCHS


def train_step(model: nn.Module, optimizer: torch.optim.Optimizer, batch: Batch) -> tuple[float, int]:
    """One optimiser step; returns the loss and how many digits were named correctly."""
    logits = model(batch["image"])
    loss = nn.functional.cross_entropy(logits, batch["label"])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.item(), int((logits.argmax(1) == batch["label"]).sum())


def train(pipeline: Pipeline) -> Result:
    """Trains a fresh model from the same seed; splits the time into waiting for batches and training."""
    result = Result(pipeline.name)
    started = time.perf_counter()
    dataset = pipeline.open()
    result.open = time.perf_counter() - started
    torch.manual_seed(SEED)
    model = small_cnn()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loader = pipeline.loader(dataset)
    for epoch in range(EPOCHS):
        loading, training, correct = 0.0, 0.0, 0
        mark = time.perf_counter()
        for batch in loader:
            arrived = time.perf_counter()
            loading += arrived - mark
            loss, hits = train_step(model, optimizer, batch)
            result.losses.append(loss)
            correct += hits
            mark = time.perf_counter()
            training += mark - arrived
        loading += time.perf_counter() - mark
        result.loading += loading
        result.training += training
        print(
            f"  {pipeline.name:<42} epoch {epoch + 1}/{EPOCHS}  {loading + training:6.2f} s  "
            f"loss {result.losses[-1]:.4f}  right {correct / len(dataset):.1%}",
            flush=True,
        )
    return result


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


def warm_up() -> None:
    """Has torch load its convolution code before the first clock starts."""
    model = small_cnn()
    batch = {"image": torch.zeros(BATCH, 1, 28, 28), "label": torch.zeros(BATCH, dtype=torch.int64)}
    train_step(model, torch.optim.Adam(model.parameters()), batch)


def report(results: list[Result], batches: int) -> None:
    """The table, and whether the promise of equal numbers held."""
    base = results[0]
    print(f"\n{'':<42} {'open':>8} {'epoch':>8} {'loading':>9} {'training':>9} {'loading':>9}")
    print(f"{'':<42} {'ms':>8} {'s':>8} {'s/epoch':>9} {'s/epoch':>9} {'speed-up':>9}")
    for result in results:
        loading, training = result.loading / EPOCHS, result.training / EPOCHS
        print(
            f"{result.name:<42} {result.open * 1e3:>8.1f} {result.epoch:>8.2f} {loading:>9.3f} "
            f"{training:>9.3f} {base.loading / result.loading:>8.1f}x"
        )
    best = min(results, key=lambda result: result.epoch)
    print("\nwhere the time went:")
    for label, result in (("before", base), ("after", best)):
        share = result.loading / (result.loading + result.training)
        name = result.name.split(":")[1].strip()
        print(f"  {label:<6} waiting for batches {share:6.1%}, training {1 - share:6.1%}   ({name})")
    faster = base.epoch / best.epoch
    print(f"\nan epoch takes {base.epoch:.2f} s before and {best.epoch:.2f} s after: {faster:.1f}x")
    print(f"all {batches} batches of an epoch are equal, byte for byte, before and after")
    different = [result.name for result in results if result.losses != base.losses]
    if different:
        raise SystemExit("the losses differ from the first pipeline's in: " + ", ".join(different))
    print(f"all {len(base.losses)} losses are equal, to the last bit, in every pipeline")


def main() -> None:
    ways = pipelines(str(DIGITS))
    rows = len(ways[0].open())
    print(
        f"{rows} digits, {PARAMETERS} parameters, batch {BATCH}, {EPOCHS} epochs, torch {torch.__version__}"
    )
    warm_up()
    batches = same_batches(ways[0], ways[2])
    same_batches(ways[2], ways[4])
    report([train(way) for way in ways], batches)


if __name__ == "__main__":
    main()
