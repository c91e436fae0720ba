"""What every benchmark's run keeps."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from typing import Any, TypeVar

from tqdm import tqdm

from benchmarks import figures

Step = TypeVar("Step")


class Run:
    """What was asked for and what was measured so far.

    Args:
        rounds: how often everything is measured.
        wanted: only these peers; None: all.
    """

    def __init__(self, rounds: int, wanted: set[str] | None) -> None:
        self.rounds = rounds
        self.wanted = wanted
        self.measured: figures.Measured = {}
        self.growths: dict[str, dict[str, Any]] = {}
        self.started = time.monotonic()
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
