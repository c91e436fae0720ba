"""Two checkouts side by side: the speed of what people do, as a ratio with its interval.

    python -m benchmarks.compare ../base [--cases tables,simclr] [--processes 5] [--seconds 25]
    python -m benchmarks.compare --doctor    what the doctor's looking costs the loop that it looks at

Processes of the same code differ, by up to 5 %: memory lies elsewhere in each. So each side has several, each
with its side's native module. All take turns, and the side that begins changes from round to round: what else
the machine does meets both. The intervals of 95 % are over processes. A ratio above 1 says that this checkout
is faster. The exit status is 1 if an interval is wholly below 0.98. All cases take about five minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.client import ROOT, Client
from benchmarks.compare_cases import CASES, DOCTOR, PLAIN

LEAST, MOST = 5, 101  # rounds
SLOWER = 0.98
# Student's quantiles for 95 %, by the number of processes a side.
STUDENT = {2: 4.30, 3: 2.78, 4: 2.45, 5: 2.31, 6: 2.23, 7: 2.18, 8: 2.14, 9: 2.12, 10: 2.10}


Sides = list[tuple[Client, Client]]  # one of this checkout, one of the base


def rounds(sides: Sides, cases: tuple[str, str], folder: str, seconds: float) -> Iterator[list[float]]:
    """The seconds of all processes, this checkout's first, round by round; each side has its case."""
    begun = time.monotonic()
    for case, processes in zip(cases, zip(*sides, strict=True), strict=True):
        for process in processes:
            process.ask("prepare", case=case, folder=folder)
            for _ in range(2):
                process.ask("turn")  # warm
    for n in itertools.count():
        if n >= LEAST and (n == MOST or time.monotonic() - begun > seconds):
            return
        order = [process for pair in sides for process in (pair if n % 2 else pair[::-1])]
        took = {process: process.ask("turn")["seconds"] for process in order}
        yield [took[process] for side in zip(*sides, strict=True) for process in side]


def interval(times: list[list[float]]) -> tuple[float, float, float]:
    """How many times as fast this checkout is, and its ends with 95 %: a process is one value, the median of
    its turns, each against what the round took everyone."""
    logs = np.log(times)
    values = np.median(logs - np.median(logs, axis=1, keepdims=True), axis=0)
    this, base = np.split(values, 2)
    middle = base.mean() - this.mean()
    reach = STUDENT[len(this)] * np.sqrt((this.var(ddof=1) + base.var(ddof=1)) / len(this))
    low, ratio, high = np.exp([middle - reach, middle, middle + reach]).tolist()
    return low, ratio, high


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("base", type=Path, nargs="?", help="the other checkout, built, with a .venv")
    parser.add_argument("--cases", default="", help=f"beginnings, with commas, of: {', '.join(CASES)}")
    parser.add_argument("--processes", type=int, default=5, choices=STUDENT, help="of each side (now 5)")
    parser.add_argument("--seconds", type=float, default=25, help="of a case (now 25)")
    parser.add_argument("--doctor", action="store_true", help="against a plain loop of this checkout instead")
    options = parser.parse_args()
    if (options.base is None) != options.doctor:
        parser.error("give a base, or --doctor")
    names = [name for name in CASES if name.startswith(tuple(options.cases.split(",")))]
    against = dict(zip(names, names, strict=True))
    if options.doctor:
        against = dict.fromkeys(DOCTOR, PLAIN)
    if not against:
        parser.error(f"no case begins with {options.cases}")
    slower = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:

        def started(tree: Path) -> Client:
            environment = {"PYTHONPATH": str(tree / "python"), "OMP_WAIT_POLICY": "passive"}
            python = str(tree / ".venv/bin/python")
            return stack.enter_context(Client("benchmarks.compare_cases", python, **environment))

        base = (options.base or ROOT).resolve()
        sides: Sides = [(started(ROOT), started(base)) for _ in range(options.processes)]
        for name, other in against.items():
            times = list(rounds(sides, (name, other), folder, options.seconds))
            low, ratio, high = interval(times)
            print(f"{name:20} {ratio:6.3f}  [{low:.3f}, {high:.3f}]  {len(times)} rounds", flush=True)
            slower += [name] * (high < SLOWER)
    print(f"slower: {', '.join(slower)}" if slower else "nothing is slower")
    return bool(slower)


if __name__ == "__main__":
    sys.exit(main())
