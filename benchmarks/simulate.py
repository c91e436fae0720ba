"""Many ranks on many hosts: how fast a training gets its pictures, by simulation from measured unit costs.

    make bench-scale ARGS="--hosts 128 --latency 2"     one job; --help has all options
    make bench-scale ARGS="--plan"                      the table of docs/scale.md
    make bench-scale ARGS="--check"                     beside 1, 2, 4 and 8 processes of this machine
    make bench-scale ARGS="--costs"                     the unit costs

The simulation goes step by step. A rank's threads make one batch after the other, at most `ahead` of them
before they are taken. The files of a host's ranks come over its one link, in the order in which they are
asked for. A thread waits for the store when it opens a file, not for the bytes: these are asked for 16 files
ahead. A step begins when every rank has its batch (the gradients' all-reduce), and the loop waits for it. So
long, a rank has one thread less than its cores, as the engine has: the loop's own thread helps only while it
waits for a batch.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

Times = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Job:
    """A training. The comments are the command line's help."""

    hosts: int = 1  # hosts
    ranks: int = 8  # ranks on each host
    batch: int = 256  # pictures in a rank's batch
    cores: float = 96.0  # cores of a host for its ranks' loaders
    cost: float = 1.0  # ms of a core for a picture
    serial: float = 3.0  # ms of the loop's own thread for a batch, of that: draws, headers, the hand-over
    size: float = 110.0  # kB of a picture's file
    opens: float = 4.0  # round trips to the store that a thread waits for, for a picture
    latency: float = 0.0  # ms of a round trip; 0: the page cache
    bandwidth: float = 100.0  # GB/s of a host's link to the store
    spread: float = 0.0  # stragglers: sigma of the lognormal factor of each batch's time
    slow: float = 1.0  # so many times longer takes everything on one rank
    ahead: int = 4  # batches that are made before they are taken
    step: float = 0.0  # ms of the GPU for a step
    start: float = 0.0  # s until a rank's loader begins: imports, the index
    steps: int = 400  # steps that are simulated
    seed: int = 0  # seed of the stragglers

    @property
    def work(self) -> float:
        """Seconds of threads for a batch: they compute, and wait for the store.

        With two cores and more, the loop's own thread has one for itself. With less, what it does takes time
        from the others.
        """
        own = self.serial if self.cores / self.ranks >= 2 else 0
        return (self.batch * (self.cost + self.opens * self.latency) - own) / 1000


@dataclass(frozen=True)
class Prediction:
    """What a job gets.

    Attributes:
        rate: pictures a second, of all ranks.
        wait: seconds that a step waits for the slowest rank's batch, on average.
        waiting: the share of the time that this is.
        first: seconds until the first step begins.
        read: bytes a second of a host.
    """

    rate: float
    wait: float
    waiting: float
    first: float
    read: float


def simulate(job: Job) -> Prediction:
    """What the job gets. The first quarter of its steps fills the queues and is not counted."""
    random = np.random.default_rng(job.seed)
    shape = job.hosts, job.ranks
    cores = job.cores / job.ranks
    threads = cores if cores < 1 else max(1.0, cores - 1)  # while the loop's own thread is in its step
    slow = np.ones(shape)
    slow[0, 0] = job.slow
    ready = np.full(shape, job.start)  # when the last batch was made
    link = np.full(job.hosts, job.start)  # when the link has brought all that was asked for
    transfer = job.batch * job.size * 1e3 / (job.bandwidth * 1e9)
    taken, waits = np.zeros(job.steps), np.zeros(job.steps)
    asks = job.start  # when the loops ask for the next batch, all at once
    for k in range(job.steps):
        begin = ready if k < job.ahead else np.maximum(ready, taken[k - job.ahead])
        factor = slow * np.exp(random.normal(-(job.spread**2) / 2, job.spread, shape))
        helps = asks + job.serial / 1000
        link, arrival = transferred(link, begin, transfer)
        ready = np.maximum(worked(begin, helps, job.work * factor, threads, cores), arrival)
        taken[k] = max(float(ready.max()), helps)
        waits[k] = taken[k] - asks
        asks = taken[k] + job.step / 1000
    first = job.steps // 4
    seconds = float(taken[-1] - taken[first]) / (job.steps - 1 - first)
    rate, wait = job.hosts * job.ranks * job.batch / seconds, float(waits[first + 1 :].mean())
    return Prediction(rate, wait, wait / seconds, float(taken[0]), rate / job.hosts * job.size * 1e3)


def worked(begin: Times, helps: float, work: Times, threads: float, cores: float) -> Times:
    """When batches are made: by the threads alone until the loop's own helps, and then by all cores."""
    alone = np.clip((helps - begin) * threads, 0, work)
    late = np.maximum(begin, helps) + (work - alone) / max(cores, threads)
    return np.where(alone < work, late, begin + work / threads)


def transferred(link: Times, begin: Times, transfer: float) -> tuple[Times, Times]:
    """When each link is free again, and when each rank's files have come: first asked, first served."""
    order = np.argsort(begin, axis=1)
    arrival, hosts = np.empty_like(begin), np.arange(len(begin))
    for place in range(begin.shape[1]):
        rank = order[:, place]
        link = np.maximum(link, begin[hosts, rank]) + transfer
        arrival[hosts, rank] = link
    return link, arrival


# 128 hosts of 8 GPUs and 96 cores. A step of 256 pictures takes a GPU 100 ms: it trains on 2,560 a second.
PLAN = Job(hosts=128, step=100, start=3)
STORES: dict[str, dict[str, Any]] = {
    "page cache": {},
    "local disk, 0.1 ms, 3 GB/s": {"latency": 0.1, "bandwidth": 3.0},
    "file server, 1 ms, 3 GB/s": {"latency": 1.0, "bandwidth": 3.0},
    "the same, sizes known": {"latency": 1.0, "bandwidth": 3.0, "opens": 2.0},
    "file server, 1 ms, 1 GB/s": {"latency": 1.0, "bandwidth": 1.0},
    "file server, 5 ms, 3 GB/s": {"latency": 5.0, "bandwidth": 3.0},
}
TROUBLES: dict[str, dict[str, Any]] = {
    "4 cores a rank": {},
    "batches differ, sigma 0.25": {"spread": 0.25},
    "the same, 1 batch ahead": {"spread": 0.25, "ahead": 1},
    "the same, 8 batches ahead": {"spread": 0.25, "ahead": 8},
    "one rank of 1,024 needs twice as long": {"slow": 2.0},
    "file server, 1 ms, 3 GB/s": STORES["file server, 1 ms, 3 GB/s"],
    "the same, sizes known": STORES["the same, sizes known"],
}
HEAD = " | pictures/s | a step waits, ms | share | first step, s | a host reads, GB/s |"


def row(name: str, found: Prediction) -> None:
    """Prints a row of a table."""
    numbers = f"{found.wait * 1e3:.1f} | {found.waiting:.0%} | {found.first:.1f} | {found.read / 1e9:.2f}"
    print(f"| {name} | {found.rate:,.0f} | {numbers} |")


def comments() -> dict[str, str]:
    """What Job's fields are: the comments beside them."""
    with open(__file__, encoding="utf-8") as text:
        lines = [line.partition("  # ") for line in text]
    return {code.split(":")[0].strip(): said.strip() for code, _, said in lines if said}


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    said = comments()
    for field in fields(Job):
        about, default = f"{said[field.name]} (now {field.default})", field.default
        parser.add_argument(f"--{field.name}", type=type(default), default=default, help=about)
    parser.add_argument("--plan", action="store_true", help="1,024 ranks on 128 hosts")
    parser.add_argument("--check", action="store_true", help="beside real processes")
    parser.add_argument("--costs", action="store_true", help="what docs/scale.md computes with")
    parser.add_argument("--files", type=int, default=130_000, help="of the folder of --costs (now 130,000)")
    parser.add_argument("--rounds", type=int, default=3, help="of --check and --costs (now 3)")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    job = Job(**{field.name: getattr(asked, field.name) for field in fields(Job)})
    if asked.check or asked.costs or asked.child:
        from benchmarks import simulate_check, simulate_costs

        if asked.child:
            kind, arguments = asked.child
            (simulate_check if kind == "check" else simulate_costs).child(arguments)
        elif asked.check:
            simulate_check.main(asked.rounds)
        else:
            simulate_costs.main(asked.files, asked.rounds)
        return
    print(("| 128 hosts of 8 ranks" if asked.plan else "| job") + HEAD + "\n|---|---|---|---|---|---|")
    if not asked.plan:
        row(f"{job.hosts} hosts of {job.ranks} ranks", simulate(job))
        return
    for name, changes in STORES.items():
        row(name, simulate(replace(PLAN, **changes)))
    for name, changes in TROUBLES.items():
        row(name, simulate(replace(PLAN, cores=32, **changes)))


if __name__ == "__main__":
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # of the children's torch: the ranks share cores
    main()
