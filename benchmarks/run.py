"""The frame of every benchmark: its command line, what it keeps, its peers' processes, its result."""

from __future__ import annotations

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from tqdm import tqdm

from benchmarks import figures, process, publish, report
from benchmarks.client import Client, PeerFailed

Step = TypeVar("Step")


def words(known: Iterable[str], between: str = ",") -> Callable[[str], list[str]]:
    """Reads some of the known names; argparse tells of others."""

    def read(text: str) -> list[str]:
        found = text.split(between)
        if wrong := set(found) - set(known):
            raise argparse.ArgumentTypeError(f"there is no {', '.join(sorted(wrong))}")
        return found

    return read


def parser(
    name: str, about: str | None, rounds: int, only: str, known: Iterable[str]
) -> argparse.ArgumentParser:
    """The options that all benchmarks have.

    Args:
        rounds: the default.
        only: what --only takes, in words.
        known: what --only takes.
    """
    made = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}", description=about)
    made.add_argument("--rounds", type=int, default=rounds, help=f"how often all is measured (now {rounds})")
    made.add_argument("--quick", action="store_true", help="few rounds of little: a check, no measurement")
    made.add_argument("--only", type=words(known), help=only)
    made.add_argument("--output", type=Path, help="where the JSON goes; no plot and no page table then")
    return made


class Run:
    """What was asked for and what was measured so far.

    Args:
        benchmark: how its result is told.
        options: of `parser`; of --peers, too, where a benchmark has it.
        rounds: how often everything is measured.

    Attributes:
        only, wanted: these sections and these peers; None: all.
        missing: what is not measured, and why.
    """

    def __init__(self, benchmark: report.Benchmark, options: argparse.Namespace, rounds: int) -> None:
        self.benchmark, self.rounds, self.output = benchmark, rounds, options.output
        self.only: list[str] | None = options.only
        self.wanted: list[str] | None = getattr(options, "peers", None)
        self.partial = bool(options.quick or options.only or self.wanted)
        self.measured: figures.Measured = {}
        self.missing: dict[str, str] = {}
        self.started, self.neighbours = time.monotonic(), process.Neighbours()
        if self.output is None and not self.partial:
            publish.blocks(publish.PAGE, benchmark.name)  # fails before minutes of measuring
        # The clients, in sessions of their own, end with this process: on SIGTERM too, as on Ctrl-C.
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))

    def say(self, text: str) -> None:
        """Progress on standard error, with the time since the start."""
        tqdm.write(f"[{time.monotonic() - self.started:6.1f} s] {text}", file=sys.stderr)
        sys.stderr.flush()

    def in_turn(self, plan: list[Step], what: str = "", rounds: int | None = None) -> Iterator[Step]:
        """Every step of the plan, once a round; a progress bar on a terminal, and a line a round."""
        rounds = rounds or self.rounds
        with tqdm(total=rounds * len(plan), desc=what or None, unit="turn", disable=None, leave=False) as bar:
            for number in range(rounds):
                for step in plan:
                    yield step
                    bar.update()
                self.say(f"{what}: round {number + 1}/{rounds}" if what else f"round {number + 1}/{rounds}")

    def asked(self, names: list[str]) -> list[str]:
        """The peers of names that this run is to measure."""
        return [name for name in names if self.wanted is None or name in self.wanted]

    def add(self, section: str, peer: str, value: float) -> None:
        """Keeps one value."""
        self.measured.setdefault(section, {}).setdefault(peer, []).append(value)

    def ask(
        self, client: Client, name: str, command: str, needed: bool = False, **arguments: Any
    ) -> dict[str, Any] | None:
        """A peer's answer. None for one that cannot go on, which is missing from there on: it says so, or
        its process ends (its traceback is on standard error). One that is needed ends the run."""
        try:
            answer = client.ask(command, **arguments)
        except PeerFailed as error:
            if needed:
                raise
            answer = {"missing": str(error)}
        if "missing" not in answer:
            return answer
        self.is_missing(name, answer["missing"])
        client.kill()  # whatever it has running is in the others' way
        return None

    def is_missing(self, name: str, reason: str) -> None:
        """Keeps why a peer is not measured."""
        self.missing[name] = reason
        self.say(f"{name} is not measured: {reason}")

    def finish(self, about: dict[str, Any], **more: Any) -> None:
        """Keeps and shows the result; a whole one goes into docs/benchmarks.md.

        Args:
            about: the data.
            more: a benchmark's own keys of the JSON.
        """
        made = self.benchmark
        result = {
            **report.frame(made.packages, about, self.rounds, self.neighbours.share()),
            "sections": report.sections(self.measured),
            **more,
            "figures": figures.table(self.measured, made.promised),
        }
        publish.finish(made, result, self.partial, self.output)
