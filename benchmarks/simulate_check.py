"""The simulation beside 1, 2, 4 and 8 ranks of this machine, which load photographs and wait for each other.

What a picture costs, how much batches differ, and what a start costs are measured in the run of one rank.
How many cores other processes left is measured in each run. Nothing else is fitted. A step is a sleep, during
which cores load, as they do while a GPU computes. Marks are off: a picture costs the same whenever it comes.
"""

from __future__ import annotations

import itertools
import json
import math
import os
import socket
import statistics
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, replace
from typing import Any

from benchmarks import environments, process
from benchmarks.simulate import Job, simulate
from benchmarks.turns import photographs

RANKS = (1, 2, 4, 8)
BATCH, AHEAD = 16, 4  # two workers of two batches each
SECONDS = 7.0  # of a phase
STEPS = (0.0, 0.7, 1.4)  # the loop's own step, in times that a step's pictures take
CORES = os.cpu_count() or 1


@dataclass
class Phase:
    """What a rank measured in its later three quarters.

    Attributes:
        seconds: of a step and what it waits for.
        wait: seconds that a step waits for all ranks' batches.
        processor: seconds of processors for a step.
        others: the share of the machine's processors that went to other processes, other ranks among them.
        serial: seconds that the loop's own thread computes for a batch that is there.
        periods: seconds of processors for each step.
    """

    seconds: float
    wait: float
    processor: float
    others: float
    serial: float
    periods: list[float]


def rank(steps: list[float], counts: list[int], begun: float) -> dict[str, Any]:
    """One rank: the first batch, then phases of so many steps of so many seconds."""
    import torch.distributed as dist
    from torch.utils.data import Subset
    from torchvision import transforms as T

    import gofast

    dist.init_process_group("gloo")
    numbers = [T.ToTensor(), T.Normalize([0.485, 0.456, 0.406], [0.229, 0.224, 0.225])]
    change = T.Compose([T.RandomResizedCrop(224), T.RandomHorizontalFlip(), *numbers])
    folder = gofast.ImageFolder(photographs(), change)
    repeated = Subset(folder, [*range(len(folder))] * 100)
    sampler = gofast.Sampler(repeated, "auto", "auto")
    batches = iter(gofast.DataLoader(repeated, BATCH, sampler=sampler, num_workers=2))
    next(batches)
    first, start = time.time() - begun, process.processor_seconds()
    phases = [asdict(phase(batches, *each, dist.barrier)) for each in zip(steps, counts, strict=True)]
    dist.destroy_process_group()
    return {"first": first, "start": start, "phases": phases}


def phase(batches: Any, step: float, count: int, barrier: Any) -> Phase:
    """So many steps; the first quarter fills the queues, and makes them as full as they stay."""
    waits, begins, processors, serial = [], [], [], []
    for number in range(count):
        if number == count // 4:
            neighbours, used = process.Neighbours(), time.process_time()
        asks, own = time.perf_counter(), time.thread_time()
        next(batches)
        serial.append(time.thread_time() - own)
        processors.append(time.process_time())
        barrier()
        begins.append(time.perf_counter())
        waits.append(begins[-1] - asks)
        time.sleep(step)
    first, later = count // 4, count - count // 4
    return Phase(
        seconds=(begins[-1] - begins[first]) / (later - 1),
        wait=statistics.mean(waits[first:]),
        processor=(time.process_time() - used) / later,
        others=neighbours.share(),
        serial=statistics.quantiles(serial[first:])[0],  # a batch that is not there is helped with
        periods=[after - before for before, after in itertools.pairwise(processors[first:])],
    )


def run(ranks: int, steps: list[float], counts: list[int]) -> list[dict[str, Any]]:
    """What so many ranks measured, at once."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    world = {name: str(ranks) for name in ("WORLD_SIZE", "LOCAL_WORLD_SIZE")}
    settings = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "GOFAST_MARKS": "0", **world}
    asked = json.dumps([steps, counts, time.time()])
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.simulate", "--child", "check", asked],
            cwd=environments.ROOT,
            env={**os.environ, **settings, "RANK": str(number), "LOCAL_RANK": str(number)},
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(ranks)
    ]
    said = [one.communicate()[0] for one in started]
    if any(one.returncode for one in started):
        raise SystemExit("a rank failed")
    return [json.loads(text.splitlines()[-1]) for text in said]


def of_all(found: list[dict[str, Any]], number: int) -> tuple[Phase, float]:
    """The mean of the ranks' phase, and how many cores other processes left."""
    phases = [Phase(**one["phases"][number]) for one in found]
    names = ("seconds", "wait", "processor", "serial")
    means = {name: statistics.mean(getattr(one, name) for one in phases) for name in names}
    ranks = sum(one.processor / one.seconds for one in phases[1:]) / CORES
    others = max(0.0, phases[0].others - ranks)
    return Phase(**means, others=others, periods=phases[0].periods), CORES * (1 - others)


Rows = dict[tuple[int, float], list[tuple[float, ...]]]


def one_round(rows: Rows, starts: dict[int, list[tuple[float, float]]]) -> None:
    """Adds to each row what was measured and predicted once."""
    cost, serial, spread, start = 0.001, 0.0, 0.0, (0.0, 0.0)  # until the first run says it
    for ranks in RANKS:
        ideal = ranks * BATCH * cost / CORES
        steps = [share * ideal for share in STEPS]
        counts = [max(16, round(SECONDS / max(ideal, step))) for step in steps]
        found = run(ranks, steps, counts)
        phases = [of_all(found, number) for number in range(len(STEPS))]
        if ranks == 1:
            cost, serial = phases[0][0].processor / BATCH, phases[-1][0].serial
            spread = statistics.stdev(map(math.log, phases[0][0].periods))
            start = found[0]["first"], found[0]["start"]
        unit = Job(ranks=ranks, batch=BATCH, cost=cost * 1e3, serial=serial * 1e3, spread=spread, ahead=AHEAD)
        for share, step, (seen, cores) in zip(STEPS, steps, phases, strict=True):
            told = simulate(replace(unit, cores=cores, step=step * 1e3, steps=2000))
            rate, waiting = ranks * BATCH / seen.seconds, seen.wait / seen.seconds
            row = (
                step,
                cores,
                rate,
                told.rate,
                rate / told.rate,
                seen.wait,
                told.wait,
                waiting,
                told.waiting,
            )
            rows.setdefault((ranks, share), []).append(row)
        first = max(one["first"] for one in found)
        starts.setdefault(ranks, []).append((first, max(start[0], ranks * start[1] / phases[0][1])))
        told_costs = f"{cost * 1e3:.2f} ms a picture, {serial * 1e3:.1f} a batch, sigma {spread:.2f}"
        print(f"{ranks} ranks: {told_costs}", file=sys.stderr, flush=True)


def child(arguments: str) -> None:
    """Prints what one rank measured."""
    print(json.dumps(rank(*json.loads(arguments))))


def main(rounds: int) -> None:
    """Prints the medians over rounds."""
    rows: Rows = {}
    starts: dict[int, list[tuple[float, float]]] = {}
    for _ in range(rounds):
        one_round(rows, starts)
    print(
        "| ranks | step, ms | cores left | pictures/s | predicted | ratio | a step waits, ms | predicted "
        "| share of the time | predicted |\n|---|---|---|---|---|---|---|---|---|---|"
    )
    for (ranks, _), row in rows.items():
        step, cores, rate, told, ratio, wait, told_wait, *shares = map(
            statistics.median, zip(*row, strict=True)
        )
        waits = f"{wait * 1e3:.0f} | {told_wait * 1e3:.0f} | {shares[0]:.0%} | {shares[1]:.0%}"
        print(
            f"| {ranks} | {step * 1e3:.0f} | {cores:.1f} | {rate:.0f} | {told:.0f} | {ratio:.2f} | {waits} |"
        )
    print("\n| ranks | first batch, s, the slowest rank | predicted | ratio |\n|---|---|---|---|")
    for ranks, first in starts.items():
        seen, told = map(statistics.median, zip(*first, strict=True))
        print(f"| {ranks} | {seen:.1f} | {told:.1f} | {seen / told:.2f} |")
