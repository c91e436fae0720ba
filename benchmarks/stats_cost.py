"""What statistics cost: two checkouts in turns, one of which may have none.

    python -m benchmarks.stats_cost ../old . --rounds 9

Each round runs an epoch of every case in each of two processes, one a checkout, which both live all the
time. What counts is processor time, which others on the machine disturb less than the clock: of all threads
for pictures, of the loop's thread for rows, where the engine's threads look for work half of their time. That
thread makes half of the rows. The figure is the median of the rounds' ratios, with the 95 % interval of its
bootstrap.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROWS = 60_000


def cases(data: Path | None) -> dict[str, Iterable[Any]]:
    """An epoch of each case."""
    import numpy as np
    from torchvision import transforms as T

    import gofast

    features = np.random.default_rng(0).integers(0, 256, (ROWS, 784), np.uint8)
    features.flags.writeable = False
    writable = np.zeros((ROWS // 10, 16), np.float32)
    rows = gofast.ArrayDataset(features, np.arange(ROWS), scale="unit")
    made: dict[str, Any] = {
        f"table, batch {size}": gofast.DataLoader(rows, size, shuffle=True) for size in (16, 512)
    }
    made["rows on the spot, batch 16"] = gofast.DataLoader(
        gofast.ArrayDataset(writable, np.arange(len(writable))), 16, shuffle=True
    )
    if data is not None:
        normalize = T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])
        train = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), T.ToTensor(), normalize])
        small = T.Compose([T.RandomCrop(32), T.ToTensor()])
        for name, transform in {"photographs": train, "photographs, crop 32": small}.items():
            made[name] = gofast.DataLoader(gofast.ImageFolder(data, transform), 64, shuffle=True)
    return made


def serve(data: Path | None) -> None:
    """Runs the case and the seed that each line names, and answers with its seconds."""
    import torch

    all_cases = cases(data)
    for loader in all_cases.values():
        for _ in loader:  # memory has its pages, files are in the page cache
            pass
    print(json.dumps(list(all_cases)), flush=True)
    for line in sys.stdin:
        name, seed = json.loads(line)
        loader, times = all_cases[name], []
        clock = time.process_time if name.startswith("photo") else time.thread_time
        for _ in range(2 if name.startswith("photo") else 15):
            torch.manual_seed(seed)  # the same order, and the same crops
            began = clock()
            for _batch in loader:
                pass
            times.append(clock() - began)
        print(min(times), flush=True)


def start(checkout: Path, data: Path | None) -> subprocess.Popen[str]:
    script = Path(__file__).resolve()
    arguments = [sys.executable, str(script), "--serve", *(["--data", str(data)] if data else [])]
    environment = {**os.environ, "PYTHONPATH": str(checkout.resolve() / "python")}
    return subprocess.Popen(
        arguments, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )


def interval(values: list[float]) -> tuple[float, float]:
    """The 95 % interval of the median, by bootstrap."""
    draw = random.Random(0)
    medians = sorted(statistics.median(draw.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[-51]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("old", nargs="?", type=Path)
    parser.add_argument("new", nargs="?", type=Path, default=Path())
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--data", type=Path, help="a folder of photographs, one folder a class")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.serve:
        serve(asked.data)
        return
    if asked.old is None:
        parser.error("give the checkout to compare with")
    both = [start(checkout, asked.data) for checkout in (asked.old, asked.new)]
    names = [json.loads(process.stdout.readline()) for process in both if process.stdout].pop()
    seconds: dict[str, list[tuple[float, ...]]] = {name: [] for name in names}
    for number in range(asked.rounds):
        for name in names:
            order = both if number % 2 else both[::-1]
            took = {}
            for process in order:
                assert process.stdin is not None and process.stdout is not None
                print(json.dumps([name, number]), file=process.stdin, flush=True)
                took[process.pid] = float(process.stdout.readline())
            seconds[name].append(tuple(took[process.pid] for process in both))
    for process in both:
        process.communicate("")
    print(f"{'case':<28}{'old ms':>10}{'new ms':>10}{'cost':>9}   95 % interval")
    for name, pairs in seconds.items():
        ratios = [new / old for old, new in pairs]
        low, high = interval(ratios)
        old, new = (statistics.median(side) * 1e3 for side in zip(*pairs, strict=True))
        print(
            f"{name:<28}{old:>10.1f}{new:>10.1f}{statistics.median(ratios) - 1:>+9.2%}"
            f"   {low - 1:+.2%} to {high - 1:+.2%}"
        )


if __name__ == "__main__":
    main()
