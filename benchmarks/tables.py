"""Measures tables through gofast and its peers: `python -m benchmarks.tables`, or `make bench-tables`.

Rounds are interleaved (A B C, A B C, ...), so that a machine that slows down slows all of them down. Every
peer's numbers are compared with the reference before it is timed. Epochs run in one long-lived process a
peer; file openings, memory and imports are measured in a fresh process a round.
"""

from __future__ import annotations

import argparse
import contextlib
import shutil
import statistics
from collections.abc import Callable

from benchmarks import data, run, tables_report
from benchmarks.client import Client, once
from benchmarks.peers.epochs import EPOCHS, FRESH, OWN, PERSISTENT, PLAIN
from benchmarks.peers.openers import OPENERS

MODES = {512: (PLAIN, OWN, FRESH, PERSISTENT), 16: (PLAIN, OWN)}


class TablesRun(run.Run):
    """One run over tables."""

    def __init__(self, options: argparse.Namespace, files: data.Files) -> None:
        super().__init__(tables_report.TABLES, options, 2 if options.quick else options.rounds)
        self.files = files

    def open_files(self, file_format: str) -> None:
        """File to tensors (gofast: to the first batch), each time in a fresh process."""
        path, sample = getattr(self.files, file_format), getattr(self.files, f"sample_{file_format}")
        names = self.asked(list(OPENERS[file_format]))
        for number in range(self.rounds):
            for name in names:
                reference = self.files.reference if number == 0 else None
                what = {"file_format": file_format, "peer": name, "reference": reference}
                answer = once("open", path=path, sample=sample, **what)
                self.add(file_format, name, answer["seconds"])
                self.say(f"{file_format} {number + 1}/{self.rounds}: {name} {answer['seconds']:.3f} s")

    def cache(self) -> None:
        """The second open through cache=, in a fresh process that has not loaded the engine."""
        if not self.asked(["gofast"]):
            return
        path = data.CACHE / "digits.cache"
        shutil.rmtree(path, ignore_errors=True)
        once("reopen", path=self.files.csv, cache=str(path))
        for _ in range(self.rounds):
            answer = once("reopen", path=self.files.csv, cache=str(path))
            self.add("cache", "gofast", answer["seconds"])
            self.add("cache", "gofast, first batch", answer["first batch"])
        self.say(f"cache: opened in {statistics.median(self.measured['cache']['gofast']) * 1e3:.1f} ms")

    def epochs(self) -> None:
        """All loaders of all peers, one process a peer, in turn."""
        with contextlib.ExitStack() as stack:
            clients = {name: stack.enter_context(Client()) for name in self.asked(list(EPOCHS))}
            for name, client in clients.items():
                client.ask("prepare", peer=name, path=self.files.parquet)
            plan = [
                (batch, mode, name)
                for batch, modes in MODES.items()
                for mode in modes
                for name in clients
                if mode in EPOCHS[name].modes
            ]
            for batch, mode, name in plan:
                clients[name].ask("check", mode=mode, batch=batch, reference=self.files.reference)
            self.say(f"epochs: {len(plan)} loaders give the reference's batches")
            rounds = 3 * self.rounds  # an epoch is short beside a process that imports torch
            for batch, mode, name in self.in_turn(plan, "epochs", rounds):
                section = f"epoch {batch} {mode}"
                times = self.measured.get(section, {}).get(name, [])
                if EPOCHS[name].scaled and len(times) >= min(3, self.rounds):
                    continue
                answer = clients[name].ask("epoch", mode=mode, batch=batch, rows=self.files.rows)
                self.add(section, name, answer["seconds"])

    def memory(self) -> None:
        """Peak resident memory from CSV to the end of an epoch, for gofast and for the vectorised Dataset."""
        for _ in range(min(self.rounds, 3)):
            for name in self.asked(["vectorised", "gofast"]):
                answer = once("memory", peer=name, path=self.files.csv)
                self.add("memory", name, answer["bytes"])
                self.add("memory", f"{name}, at the end", answer["at the end"])
                self.say(f"memory: {name} {answer['bytes'] / 1e6:.0f} MB at the peak")

    def imports(self) -> None:
        """`import gofast` and its classes after `import torch`, with byte code there, as pip leaves it."""
        if not self.asked(["gofast"]):
            return
        once("imports")
        for _ in range(self.rounds):
            self.add("import", "gofast", once("imports")["seconds"])


STEPS: dict[str, Callable[[TablesRun], None]] = {
    "csv": lambda run: run.open_files("csv"),
    "parquet": lambda run: run.open_files("parquet"),
    "cache": TablesRun.cache,
    "epochs": TablesRun.epochs,
    "memory": TablesRun.memory,
    "import": TablesRun.imports,
}


def main() -> None:
    """Measures, then writes the JSON, the plot and the page's table."""
    parser = run.parser("tables", __doc__, 7, f"sections of {','.join(STEPS)}", STEPS)
    peers = {*EPOCHS, *OPENERS["csv"], *OPENERS["parquet"]}
    parser.add_argument("--peers", type=run.words(peers), help=f"only these of {', '.join(sorted(peers))}")
    parser.add_argument("--csv", help="a CSV file: label, pixel0 .. pixel783")
    parser.add_argument("--parquet", help="the same table as a Parquet file")
    options = parser.parse_args()
    files = data.prepare(options.csv, options.parquet, 10_000 if options.quick else 60_000)
    tables = TablesRun(options, files)
    for section in tables.only or STEPS:
        STEPS[section](tables)
    sizes = {f"{kind} bytes": files.size(kind) for kind in ("csv", "parquet")}
    tables.finish({"name": files.name, "rows": files.rows, **sizes})


if __name__ == "__main__":
    main()
