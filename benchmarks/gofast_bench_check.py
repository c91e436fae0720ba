"""Whether `gofast-bench run` measures what a training script gets: against gofast.DataLoader, on equal work.

    python -m benchmarks.gofast_bench_check photos/train

Both run in processes of their own, in rounds that take turns, with Pillow's libjpeg. Exit status 1 where the
medians of their epochs lie further apart than --within. Where others use the machine, processor time says
more than seconds; it is printed beside them.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import TypedDict

from benchmarks.peers.images.contract import BATCH, KINDS, SHORT_SIDE, SIZE, TRAIN

ROOT = Path(__file__).resolve().parents[1]
WORDS = {
    TRAIN: f"randomresizedcrop={SIZE},hflip,normalize=imagenet",
    "val": f"resize={SHORT_SIDE},centercrop={SIZE},normalize=imagenet",
}


class Figures(TypedDict):
    """Of each epoch, without the first."""

    seconds: list[float]
    processor: list[float]  # seconds of all threads


def loader_epochs(folder: str, kind: str, threads: int, epochs: int) -> Figures:
    """What gofast.DataLoader takes, in this process."""
    from benchmarks.peers.images.gofast_ import own

    loader = own(threads)(folder, kind)
    figures: Figures = {"seconds": [], "processor": []}
    for _ in range(epochs + 1):
        start, used = time.perf_counter(), time.process_time()
        for _batch in loader:
            pass
        figures["seconds"].append(time.perf_counter() - start)
        figures["processor"].append(time.process_time() - used)
    return {"seconds": figures["seconds"][1:], "processor": figures["processor"][1:]}


def in_child(folder: str, kind: str, threads: int, epochs: int) -> Figures:
    """The same in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.gofast_bench_check", folder, "--child", kind]
    command += ["--threads", str(threads), "--epochs", str(epochs)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, cwd=ROOT)
    figures: Figures = json.loads(done.stdout)
    return figures


def bench_epochs(program: str, folder: str, kind: str, threads: int, epochs: int) -> Figures:
    """What gofast-bench takes; of the processor time it tells the median."""
    command = [program, "run", folder, "--transform", WORDS[kind], "--batch", str(BATCH), "--json"]
    command += ["--threads", str(threads), "--epochs", str(epochs)]
    command += ["--order", "shuffle" if kind == TRAIN else "sequential"]
    environment = os.environ | pillows_libjpeg()
    done = subprocess.run(
        command, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
    )
    report = json.loads(done.stdout)
    run = report["runs"][0]
    used = run["processor_seconds_per_sample"] * report["work"]["samples"]
    return {"seconds": run["seconds"], "processor": [used]}


def pillows_libjpeg() -> dict[str, str]:
    """What makes a Go program decode with the library of the Pillow here, as the extension does."""
    from gofast._core import codecs

    found = sorted(path for folder in codecs.folders() for path in Path(folder).glob("libjpeg-*.so.62*"))
    return {"GOFAST_LIBJPEG": str(found[-1])} if found else {}


def compared(program: str, options: argparse.Namespace, kind: str) -> float:
    """How many times faster gofast-bench was, and says so."""
    bench: Figures = {"seconds": [], "processor": []}
    loader: Figures = {"seconds": [], "processor": []}
    for _ in range(options.rounds):
        for made, to in (
            (bench_epochs(program, options.folder, kind, options.threads, options.epochs), bench),
            (in_child(options.folder, kind, options.threads, options.epochs), loader),
        ):
            to["seconds"] += made["seconds"]
            to["processor"] += made["processor"]
    print(f"{kind}, {options.threads} threads, milliseconds an epoch")
    for name, f in (("gofast-bench", bench), ("gofast.DataLoader", loader)):
        low, middle, high = (1e3 * v for v in (min(f["seconds"]), median(f["seconds"]), max(f["seconds"])))
        used = 1e3 * median(f["processor"])
        print(f"  {name:18} {middle:.1f} ({low:.1f} to {high:.1f}), processor {used:.1f}")
    ratio = median(loader["seconds"]) / median(bench["seconds"])
    used = median(loader["processor"]) / median(bench["processor"])
    print(f"  gofast-bench is {ratio:.3f} times as fast, by processor time {used:.3f}", flush=True)
    return ratio


def main() -> int:
    """Compares both kinds of epochs."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", help="pictures, a sub-folder for each class")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--epochs", type=int, default=7)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--within", type=float, default=0.03)
    parser.add_argument("--child", choices=KINDS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    options.folder = os.path.abspath(options.folder)
    if options.child:
        print(json.dumps(loader_epochs(options.folder, options.child, options.threads, options.epochs)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "gofast-bench")
        subprocess.run(["go", "build", "-o", program, "./benchmarks/gofast-bench"], check=True, cwd=ROOT)
        ratios = [compared(program, options, kind) for kind in KINDS]
    return int(any(abs(ratio - 1) > options.within for ratio in ratios))


if __name__ == "__main__":
    sys.exit(main())
