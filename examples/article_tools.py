"""What the article and the guides measure with: times of epochs, a comparison of batches, a table with bars.

Progress and results are plain text, so that a script, a notebook and a log show the same.
"""

from __future__ import annotations

import argparse
import math
import os
import shlex
import statistics
import sys
import textwrap
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

DATA = Path(__file__).resolve().parent / "data"
DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
CHECKED = 8  # batches that are kept and compared
WIDTH, BAR = 112, 36  # characters


def options() -> argparse.Namespace:
    """The command line; in a notebook, which has none, the words of the environment variable ARTICLE."""
    parser = argparse.ArgumentParser(
        prog="article.py", description="From a naive Dataset to gofast, step by step, each measured."
    )
    own = "a Parquet file with a label column, and pixels in the others (default: 3,000 digits)"
    parser.add_argument("--table", default=str(DATA / "digits.parquet"), help=own)
    parser.add_argument("--label", default="label", help="its label column (default: label)")
    parser.add_argument("--shape", type=shape, default="1,28,28", help="of its pictures (default: 1,28,28)")
    parser.add_argument("--pictures", default=str(DATA / "photos"), help="a folder of <class>/<picture>")
    parser.add_argument("--passes", type=int, default=4, help="each picture so often an epoch (default 4)")
    parser.add_argument("--batch", type=int, default=64, help="default: 64")
    parser.add_argument("--workers", type=int, default=2, help="of DataLoaders and the Pool (default: 2)")
    parser.add_argument("--epochs", type=int, default=3, help="timed, after one to warm up (default: 3)")
    notebook = sys.argv[0].endswith("kernel_launcher.py")
    chosen = parser.parse_args(shlex.split(os.environ.get("ARTICLE", "")) if notebook else None)
    if min(chosen.passes, chosen.batch, chosen.workers, chosen.epochs) < 1:
        parser.error("--passes, --batch, --workers and --epochs are 1 or more")
    for path in (chosen.table, chosen.pictures):
        if not Path(path).exists():
            parser.error(f"{path}: not found")
    return chosen


def shape(text: str) -> tuple[int, ...]:
    """`1,28,28` as numbers."""
    return tuple(int(side) for side in text.split(","))


@dataclass(frozen=True)
class Result:
    """One way, measured: the seconds that it takes to open, and those of an epoch."""

    name: str
    opened: float
    epoch: float
    batches: str  # how they compare with those of the first way


class Comparison:
    """Some ways to get the same batches.

    Args:
        title: what is compared.
        samples: what an epoch is made of, in the plural.
        epochs: timed ones; their median counts.
    """

    def __init__(self, title: str, samples: str, epochs: int) -> None:
        self.title, self.samples, self.epochs = title, samples, epochs
        self.results: list[Result] = []
        self.absent: list[tuple[str, str]] = []
        self.reference: list[tuple[Tensor, Tensor]] = []
        self.count = 0

    def add(self, name: str, why: str, open_loader: Callable[[], Iterable[Any]]) -> Result:
        """Explains a way, opens it, compares its batches with the first way's, and times its epochs."""
        print(f"{len(self.results) + 1}. {name}\n{textwrap.indent(paragraph(why), '   ')}", flush=True)
        started = time.perf_counter()
        loader = open_loader()
        opened = time.perf_counter() - started
        torch.manual_seed(0)
        self.count, batches = passed(loader, CHECKED)
        if not self.results:
            self.reference = batches
        seconds = statistics.median(timed(loader) for _ in range(self.epochs))
        if hasattr(loader, "close"):
            loader.close()
        result = Result(name, opened, seconds, compared(batches, self.reference))
        self.results.append(result)
        print(f"   {duration(seconds)} an epoch, {self.count / seconds:,.0f} {self.samples}/s\n", flush=True)
        return result

    def missing(self, name: str, reason: str) -> None:
        """Says why a way is not measured."""
        self.absent.append((name, reason))
        print(f"-  {name}: not measured: {reason}\n")

    def text(self) -> str:
        """The table, with a bar for each way: as long as its epoch, on a logarithmic scale."""
        first, best = self.results[0], min(self.results, key=lambda result: result.epoch)
        longest = max(result.epoch for result in self.results)
        names = max(len(result.name) for result in self.results)
        head = f"{'':<{names}} {'open':>9} {'epoch':>9} {'faster':>9}  {'batches':<12} epoch, logarithmic"
        lines = [f"{self.title}, an epoch of {self.count:,} {self.samples}, on {machine()}", "", head]
        lines += [
            f"{result.name:<{names}} {duration(result.opened):>9} {duration(result.epoch):>9} "
            f"{first.epoch / result.epoch:>8,.1f}x  {result.batches:<12} {bar(result.epoch, longest)}"
            for result in self.results
        ]
        lines += [f"{name}: not measured: {reason}" for name, reason in self.absent]
        theirs = min(
            (result for result in self.results if not result.name.startswith("gofast")),
            key=lambda result: result.epoch,
        )
        said = (
            f"From {duration(first.epoch)} to {duration(best.epoch)} an epoch: {best.name} is "
            f"{first.epoch / best.epoch:,.1f} times as fast as {first.name}"
        )
        if theirs not in (first, best):
            said += (
                f", and {theirs.epoch / best.epoch:,.1f} times as fast as {theirs.name}, the best before it"
            )
        return "\n".join([*lines, "", textwrap.fill(said + ".", WIDTH)])

    def show(self) -> None:
        """Prints the table."""
        print(self.text() + "\n", flush=True)

    def show_equal(self) -> None:
        """Prints the table, and ends the program if a way gave other batches than the first."""
        self.show()
        if different := [result.name for result in self.results if result.batches != "equal"]:
            raise SystemExit("other batches than the first way's: " + ", ".join(different))


def passed(loader: Iterable[Any], kept: int = 0) -> tuple[int, list[tuple[Tensor, Tensor]]]:
    """One epoch, to the device if there is one: how many samples it has, and its first batches, copied."""
    count = 0
    batches: list[tuple[Tensor, Tensor]] = []
    for images, labels in loader:
        there = images.to(DEVICE, non_blocking=True), labels.to(DEVICE, non_blocking=True)
        count += len(images)
        if len(batches) < kept:
            batches.append((there[0].cpu().clone(), there[1].cpu().clone()))
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()
    return count, batches


def timed(loader: Iterable[Any]) -> float:
    """The seconds of an epoch."""
    started = time.perf_counter()
    passed(loader)
    return time.perf_counter() - started


def compared(batches: list[tuple[Tensor, Tensor]], wanted: list[tuple[Tensor, Tensor]]) -> str:
    """Whether batches are the same. Raises ValueError if they are not even of the same samples."""
    if len(batches) != len(wanted):
        raise ValueError(f"{len(batches)} batches instead of {len(wanted)}")
    off = 0.0
    for ours, theirs in zip(batches, wanted, strict=True):
        if ours[0].shape != theirs[0].shape or not torch.equal(ours[1], theirs[1]):
            raise ValueError("these are not the batches of the first way: other samples, or another order")
        off = max(off, float((ours[0] - theirs[0]).abs().mean()))
    return "equal" if off == 0 else f"off by {off:.2g}"


def machine() -> str:
    """What it was measured on."""
    where = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "no GPU"
    return f"{len(os.sched_getaffinity(0))} processors, {where}"


def bar(seconds: float, longest: float, shortest: float = 1e-4) -> str:
    """A bar for a time between a tenth of a millisecond and the longest."""
    share = math.log(max(seconds, shortest) / shortest) / math.log(max(longest, 2 * shortest) / shortest)
    return "█" * max(1, round(BAR * share))


def paragraph(text: str) -> str:
    """Text that is indented in the source, set again."""
    return textwrap.fill(" ".join(text.split()), WIDTH - 3)


def duration(seconds: float) -> str:
    """Three figures with their unit."""
    return f"{seconds:.3g} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"
