"""Two checkouts side by side: the speed of what people do, as a ratio with its interval.

    python benchmarks/compare.py ../base [--cases tables,simclr] [--processes 5] [--seconds 20]
    python benchmarks/compare.py --doctor     what the doctor's looking costs the loop that it looks at

Processes of the same code differ, by up to 5 %: memory lies elsewhere in each. So each side has several, each
with its side's native module. All take turns, and the side that begins changes from round to round: what else
the machine does meets both. The intervals of 95 % are over processes. A ratio above 1 says that this checkout
is faster. The exit status is 1 if an interval is wholly below 0.98. All cases take about five minutes.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import itertools
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
LEAST, MOST = 5, 101  # rounds
SLOWER = 0.98
# Student's quantiles for 95 %, by the number of processes a side.
STUDENT = {2: 4.30, 3: 2.78, 4: 2.45, 5: 2.31, 6: 2.23, 7: 2.18, 8: 2.14, 9: 2.12, 10: 2.10}
ROWS = 60_000

# ---------------------------------------------------------------- one side


def table_file(folder: Path) -> Path:
    """A CSV of the shape of MNIST, a tenth as long."""
    path = folder / "table.csv"
    if not path.exists():
        cells = np.random.default_rng(0).integers(0, 256, (ROWS // 10, 785))
        cells[:, 0] %= 10
        header = ",".join(["label", *(f"p{i}" for i in range(784))])
        np.savetxt(path, cells, "%d", ",", header=header, comments="")
    return path


def photographs() -> Path:
    """Real photographs, or those of the examples."""
    real = Path(os.environ.get("GOFAST_TEST_DATA", "nowhere")) / "imagenet-500"
    return real if real.is_dir() else ROOT / "examples" / "data" / "photos"


def epochs(loader: Any, samples: int) -> Callable[[], int]:
    """What one turn does: epochs until so many samples have come."""

    def turn() -> int:
        seen = 0
        while seen < samples:
            for batch in loader:
                seen += len(batch[0] if isinstance(batch, (list, tuple)) else next(iter(batch.values())))
        return seen

    return turn


def table_case(folder: Path, ours: bool, batch_size: int, workers: int = 0) -> Callable[[], int]:
    """Shuffled batches of a table."""
    from torch.utils.data import DataLoader

    import gofast

    dataset = gofast.TableDataset(table_file(folder), label="label", shape=(1, 28, 28))
    kind = gofast.DataLoader if ours else DataLoader
    loader = kind(dataset, batch_size, shuffle=True, num_workers=workers, persistent_workers=workers > 0)
    return epochs(loader, 5 * ROWS if batch_size > 16 and ours else ROWS)


def csv_case(folder: Path) -> Callable[[], int]:
    """Opening a CSV."""
    import gofast

    path = table_file(folder)

    def turn() -> int:
        return len(gofast.TableDataset(path, label="label", shape=(1, 28, 28)))

    return turn


def transforms(name: str) -> Any:
    """Pipelines of torchvision."""
    from torchvision import transforms as t

    from benchmarks.peers.recipes.torchvision_ import END, crop, simclr

    if name == "simclr":
        return simclr()
    if name == "val":
        return t.Compose([t.Resize(256), t.CenterCrop(224), *END])
    return crop(224, *END) if name == "train" else crop(224, t.RandAugment(), *END)


def collate(rows: list[Any]) -> Any:
    """A function of the user's, which draws."""
    import torch

    batch = torch.utils.data.default_collate(rows)
    return [batch[0] * torch.rand(()), batch[1]]


def picture_case(name: str, collated: bool = False) -> Callable[[], int]:
    """Batches of pictures."""
    import gofast

    dataset = gofast.ImageFolder(photographs(), transforms(name))
    loader = gofast.DataLoader(
        dataset, 50, shuffle=True, num_workers=2, collate_fn=collate if collated else None
    )
    return epochs(loader, 200)


def late_case() -> Callable[[], int]:
    """Pictures that are opened in a dataset of the user's."""
    import gofast
    from benchmarks.peers.recipes.own_code import Pictures

    dataset = Pictures(str(photographs()), transforms("train"), gofast.open)
    return epochs(gofast.DataLoader(dataset, 50, shuffle=True), 200)


def looped(batches: int = 300) -> Any:
    """A loader of samples that take 20 us of a processor, and a loop over it."""
    import torch
    from torch.utils.data import DataLoader, Dataset

    class Samples(Dataset[Any]):
        x = torch.rand(64)

        def __len__(self) -> int:
            return 16 * batches

        def __getitem__(self, index: int) -> Any:
            end = time.thread_time() + 20e-6
            while time.thread_time() < end:
                pass
            return self.x

    return DataLoader(Samples(), 16)


def timed_case(looked_at: bool) -> Callable[[], int]:
    """A loop as the doctor runs it, which times each batch; its stack is looked at, or not."""
    from gofast._doctor.consume import consume, nothing
    from gofast._doctor.stacks import Stacks

    loader = looped()

    def turn() -> int:
        with Stacks(loader.dataset) if looked_at else contextlib.nullcontext():
            consume(loader, nothing, 0.0, least=len(loader) - 1, most=60)
        return len(loader)

    return turn


def plain_case() -> Callable[[], int]:
    """The same loop by itself."""
    loader = looped()
    return lambda: sum(1 for _ in loader)


CASES: dict[str, Callable[[Path], Callable[[], int]]] = {
    "tables 512": lambda folder: table_case(folder, True, 512),
    "tables 16": lambda folder: table_case(folder, True, 16),
    "tables torch's 512": lambda folder: table_case(folder, False, 512, 2),
    "csv open": csv_case,
    "images train": lambda folder: picture_case("train"),
    "images val": lambda folder: picture_case("val"),
    "simclr": lambda folder: picture_case("simclr"),
    "randaugment": lambda folder: picture_case("randaugment"),
    "gofast.open": lambda folder: late_case(),
    "collate": lambda folder: picture_case("train", collated=True),
}
PLAIN = "plain loop"
DOCTOR: dict[str, Callable[[Path], Callable[[], int]]] = {
    PLAIN: lambda folder: plain_case(),
    "timed loop": lambda folder: timed_case(False),
    "looked at": lambda folder: timed_case(True),
}


def serve(folder: Path) -> None:
    """Does what the other end of the pipe says: a case's name to prepare it, an empty line for a turn."""
    import warnings

    sys.path.append(str(ROOT))  # the benchmarks are this checkout's, gofast is each side's
    import torchvision  # noqa: F401 -- while other processes import it too

    import gofast  # noqa: F401

    warnings.simplefilter("ignore")
    turn: Callable[[], int] = int
    for line in sys.stdin:
        if name := line.strip():
            turn = int  # the last case's workers end
            gc.collect()
            turn = (CASES | DOCTOR)[name](folder)
        begun = time.perf_counter()
        turn()
        print(time.perf_counter() - begun, flush=True)


# ---------------------------------------------------------------- both


class Process:
    """One of a checkout's processes, with the same module from case to case."""

    def __init__(self, tree: Path, folder: Path) -> None:
        environment = {
            "PYTHONPATH": str(tree / "python"),
            "PYTHONSAFEPATH": "1",
            "OMP_WAIT_POLICY": "passive",
        }
        self._process = subprocess.Popen(
            [str(tree / ".venv/bin/python"), __file__, "--serve", str(folder)],
            env={**os.environ, **environment},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=folder,
        )

    def seconds(self, line: str = "") -> float:
        """What a turn took, of the case that the line names, or of the same again."""
        assert self._process.stdin is not None and self._process.stdout is not None
        print(line, file=self._process.stdin, flush=True)
        return float(self._process.stdout.readline() or sys.exit("a side has died"))

    def close(self) -> None:
        """Ends it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


Sides = list[tuple[Process, Process]]  # one of this checkout, one of the base


def rounds(sides: Sides, cases: tuple[str, str], seconds: float) -> Iterator[list[float]]:
    """The seconds of all processes, this checkout's first, round by round; each side has its case."""
    begun = time.monotonic()
    for case, processes in zip(cases, zip(*sides, strict=True), strict=True):
        for process in processes:
            process.seconds(case)
            process.seconds()  # once more, warm
    for n in itertools.count():
        if n >= LEAST and (n == MOST or time.monotonic() - begun > seconds):
            return
        took = {p: p.seconds() for pair in sides for p in (pair if n % 2 else pair[::-1])}
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
    trees = ROOT, (options.base or ROOT).resolve()
    slower = []
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        sides: Sides = [
            (Process(trees[0], Path(folder)), Process(trees[1], Path(folder)))
            for _ in range(options.processes)
        ]
        for process in itertools.chain(*sides):
            stack.callback(process.close)
        for name, other in against.items():
            times = list(rounds(sides, (name, other), options.seconds))
            low, ratio, high = interval(times)
            print(f"{name:20} {ratio:6.3f}  [{low:.3f}, {high:.3f}]  {len(times)} rounds", flush=True)
            slower += [name] * (high < SLOWER)
    print(f"slower: {', '.join(slower)}" if slower else "nothing is slower")
    return bool(slower)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--serve"]:
        serve(Path(sys.argv[2]))
    else:
        sys.exit(main())
