"""Sides of cases that take turns, each in a process of its own in each round: warm.py and storage.py.

A figure is the median over rounds of a process's median later epoch; a ratio is to the case's first side. The
first epoch includes opening.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from benchmarks import environments

Epoch = Callable[[], Iterator[Any]]
Cases = Mapping[str, Sequence[str]]  # a case's sides


def photographs() -> str:
    """The folder of pictures, a class in each of its folders."""
    return os.path.join(os.environ["GOFAST_TEST_DATA"], "imagenet-500")


def environment(side: str) -> dict[str, str]:
    """What only this side's process has in its environment."""
    return {"GOFAST_MARKS": "0"} if side == "no marks" else {}


def measure(module: str, case: str, side: str, place: str) -> list[float]:
    """Seconds of each epoch of a side, in a process of its own."""
    python = environments.python({"tf.data": "tfdata", "FFCV raw": "ffcv_"}.get(side, ""))
    command = [python, "-m", module, "--child", case, side, place]
    ended = subprocess.run(
        command,
        cwd=environments.ROOT,
        env={**os.environ, **environment(side)},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    took: list[float] = json.loads(ended.stdout.splitlines()[-1])
    return took


def timed(open: Callable[[], Epoch], epochs: int) -> list[float]:
    """Seconds of each epoch."""
    took, begun = [], time.perf_counter()
    epoch = open()
    for _ in range(epochs):
        for _ in epoch():
            pass
        ended = time.perf_counter()
        took.append(ended - begun)
        begun = ended
    return took


def compare(case: str, sides: Sequence[str], rounds: int, module: str, place: str) -> None:
    """Prints a row for each side. `place` is the case's file, or empty for a new folder each time."""
    first: dict[str, list[float]] = {side: [] for side in sides}
    later: dict[str, list[float]] = {side: [] for side in sides}
    missing: dict[str, str] = {}
    for _, side in itertools.product(range(rounds), sides):
        if side in missing:
            continue
        with tempfile.TemporaryDirectory(dir=environments.MADE.parent) as folder:
            try:
                took = measure(module, case, side, place or folder)
            except (ImportError, subprocess.CalledProcessError) as error:
                missing[side] = str(error)
                continue
        first[side].append(took[0])
        later[side].append(statistics.median(took[1:]))
    base = statistics.median(later[sides[0]] or [math.nan])
    for side in sides:
        if side in missing:
            print(f"| {case} | {side} | not measured | {missing[side]} | |", flush=True)
            continue
        median = statistics.median(later[side])
        begun = statistics.median(first[side])
        print(f"| {case} | {side} | {begun:.3f} | {median:.3f} | {base / median:.1f} |", flush=True)


def main(
    module: str,
    about: str | None,
    cases: Cases,
    child: Callable[[str, str, str], list[float]],
    make: Callable[[str, int], str] = lambda case, rows: "",
) -> None:
    """Runs the cases that the command line asks for, or, as a child, one side of one."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", default=",".join(cases), help="cases, by commas")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=3_000_000, help="of tables")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(child(*asked.child)))
        return
    environments.MADE.mkdir(parents=True, exist_ok=True)
    print(
        "| case | side | first epoch, s | later, s | times as fast |\n|---|---|---|---|---|", file=sys.stdout
    )
    for case in asked.only.split(","):
        compare(case, cases[case], asked.rounds, module, make(case, asked.rows))
