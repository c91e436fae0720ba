"""What the demos share: training a small model through several pipelines, in turn, and telling the times."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

SEED, EPOCHS = 0, 3
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
torch.backends.cudnn.deterministic = True  # losses are compared to the last bit


@dataclass(frozen=True)
class Pipeline:
    """One way to get the batches.

    Attributes:
        name: for the table.
        open: makes the dataset.
        loader: iterates it.
        before: it is what the script had before gofast.
        equals: the pipeline, by its place in the table, whose losses this one must repeat to the last bit.
    """

    name: str
    open: Callable[[], Any]
    loader: Callable[[Any], Iterable[Any]]
    before: bool = False
    equals: int = 0


def pictures_and_labels(batch: Any) -> tuple[Tensor, Tensor]:
    """The two parts of a batch, which is a dict or a pair."""
    pictures, labels = batch.values() if isinstance(batch, dict) else batch
    return pictures, labels


class Training:
    """One training run: its model, its loader, the losses it saw and the seconds of every epoch."""

    def __init__(self, pipeline: Pipeline, model: Callable[[], nn.Module]) -> None:
        self.pipeline = pipeline
        self.name = f"{'before' if pipeline.before else 'after':<6}  {pipeline.name}"
        started = time.perf_counter()
        self.dataset = pipeline.open()
        self.opened = time.perf_counter() - started
        self.loader = pipeline.loader(self.dataset)
        torch.manual_seed(SEED)
        self.model = model().to(DEVICE)
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

    @property
    def whole(self) -> float:
        """Seconds of an epoch of training, with its waiting."""
        return self.loading + self.training

    def epoch(self, number: int) -> None:
        """Trains one epoch; splits its time into waiting for batches and training."""
        torch.manual_seed(SEED + number)
        loading, training, correct, samples = 0.0, 0.0, 0, 0
        mark = time.perf_counter()
        for batch in self.loader:
            arrived = time.perf_counter()
            loading += arrived - mark
            pictures, labels = pictures_and_labels(batch)
            correct += self.step(pictures, labels)
            samples += len(labels)
            mark = time.perf_counter()
            training += mark - arrived
        loading += time.perf_counter() - mark
        self.loadings.append(loading)
        self.trainings.append(training)
        print(
            f"  epoch {number}/{EPOCHS}  {self.name:<42} {loading + training:6.2f} s  "
            f"loss {self.losses[-1]:.4f}  right {correct / samples:.1%}",
            flush=True,
        )

    def step(self, pictures: Tensor, labels: Tensor) -> int:
        """One optimiser step; keeps the loss and returns how many pictures were named correctly."""
        pictures, labels = pictures.to(DEVICE), labels.to(DEVICE)  # as they are, if they arrived there
        logits = self.model(pictures)
        loss = nn.functional.cross_entropy(logits, labels)
        self.optimizer.zero_grad()
        torch.autograd.backward(loss)
        self.optimizer.step()
        self.losses.append(loss.item())
        return int((logits.argmax(1) == labels).sum())


def same_batches(first: Pipeline, second: Pipeline) -> int:
    """Compares one epoch of both, value by value; returns the number of batches or stops the demo."""
    epochs = []
    for pipeline in (first, second):
        torch.manual_seed(SEED)
        epochs.append([pictures_and_labels(batch) for batch in pipeline.loader(pipeline.open())])
    for number, pair in enumerate(zip(*epochs, strict=True)):
        for ours, theirs in zip(*pair, strict=True):
            if ours.dtype != theirs.dtype or not torch.equal(ours.cpu(), theirs.cpu()):
                raise SystemExit(f"batch {number} differs between {first.name!r} and {second.name!r}")
    return len(epochs[0])


def train(ways: list[Pipeline], model: Callable[[], nn.Module]) -> list[Training]:
    """Trains all of them, in turn, so that a machine that slows down slows every pipeline down."""
    runs = [Training(way, model) for way in ways]
    # torch loads its convolution code at the first step: not at the first pipeline's cost.
    Training(ways[-1], model).step(*pictures_and_labels(next(iter(runs[-1].loader))))
    for number in range(1, EPOCHS + 1):
        for run in runs:
            run.epoch(number)
    return runs


def report(runs: list[Training], batches: int) -> None:
    """The table, and whether the promise of equal numbers held."""
    print(f"\n{'':<42} {'open':>8} {'epoch':>8} {'training':>9} {'waiting':>9}")
    print(f"{'medians':<42} {'ms':>8} {'s':>8} {'s/epoch':>9} {'s/epoch':>9}")
    for run in runs:
        print(
            f"{run.name:<42} {run.opened * 1e3:>8.1f} {run.whole:>8.2f} "
            f"{run.training:>9.3f} {run.loading:>9.3f}"
        )
    best, ours = min((run for run in runs if run.pipeline.before), key=lambda run: run.whole), runs[-1]
    print("\nan epoch of training, and how much of it waits for batches:")
    for run in dict.fromkeys((runs[0], best, ours)):
        print(f"  {run.name:<42} {run.whole:7.2f} s, {run.loading / run.whole:5.1%} of it")
    print(
        f"{ours.pipeline.name} trains {runs[0].whole / ours.whole:.1f} times as fast as the first, and "
        f"{best.whole / ours.whole:.1f} times as fast as the best before."
    )
    if DEVICE.type == "cpu":
        print(
            "Here training takes back a part of what is won: it uses the same cores. On a GPU it would not."
        )
    print(f"all {batches} batches of an epoch are equal, byte for byte, before and after")
    different = [run.name for run in runs if run.losses != runs[run.pipeline.equals].losses]
    if different:
        raise SystemExit("the losses differ from those before in: " + ", ".join(different))
