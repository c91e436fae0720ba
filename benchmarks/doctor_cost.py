"""What gofast.doctor's measuring costs the loop that it measures.

    python -m benchmarks.doctor_cost [--rounds 9]

Loops over the same loader take turns: one plain, one that is timed as the doctor times a loop (each batch and
step), one whose stack is looked at. All three are looked at from outside, as the doctor does. Each round
gives a ratio of processor times, which other programs on the machine hardly change; the median of the
rounds is the cost.
"""

from __future__ import annotations

import argparse
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset

from gofast._doctor.apart import Send, apart
from gofast._doctor.consume import consume, nothing
from gofast._doctor.stacks import Stacks

SECONDS = 1.0  # of a loop, about
Loop = Callable[[Any, int], None]


class Samples(Dataset[Any]):
    """Samples that take some microseconds of a processor, besides torch's own."""

    def __init__(self, work: int) -> None:
        self.work, self.x = work, torch.rand(64, 64)

    def __len__(self) -> int:
        return 1 << 24

    def __getitem__(self, index: int) -> Any:
        end = time.thread_time() + self.work / 1e6
        while time.thread_time() < end:
            pass
        return self.x[0]


def plain(loader: Any) -> Loop:
    def run(loader: Any, batches: int) -> None:
        for batch in itertools.islice(loader, batches):
            nothing(batch)

    return run


def observed(loader: Any) -> Loop:
    def run(loader: Any, batches: int) -> None:
        consume(loader, nothing, 0.0, least=batches - 1, most=60)

    return run


def looked_at(loader: Any) -> Loop:
    def run(loader: Any, batches: int) -> None:
        with Stacks(loader.dataset):
            consume(loader, nothing, 0.0, least=batches - 1, most=60)

    return run


def cost(make: Callable[[Any], Loop], loader: Any, batches: int) -> float:
    """Processor seconds of a loop, in a process of its own."""

    def work(send: Send) -> None:
        loop = make(loader)
        begin = time.process_time()
        loop(loader, batches)
        send(time.process_time() - begin)

    outcome = apart(work, 60)
    if outcome.error is not None:
        raise RuntimeError(outcome.error)
    return float(outcome.last)


def main() -> None:
    about = __doc__ or ""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    print(f"{'sample':>10} {'loop as it is':>16} {'taken apart':>16}   processor time, against a plain loop")
    for work in (0, 20, 200, 1000):
        loader = DataLoader(Samples(work), 16)
        batches = int(SECONDS / (16 * (work + 6) / 1e6))
        ratios: dict[str, list[float]] = {"observed": [], "looked_at": []}
        for _ in range(rounds):
            base = cost(plain, loader, batches)
            ratios["observed"].append(cost(observed, loader, batches) / base)
            ratios["looked_at"].append(cost(looked_at, loader, batches) / base)
        found = [f"{(statistics.median(each) - 1) * 100:+15.1f}%" for each in ratios.values()]
        print(f"{work:>7} us {found[0]} {found[1]}", flush=True)


if __name__ == "__main__":
    main()
