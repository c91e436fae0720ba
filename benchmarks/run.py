"""What every benchmark's run keeps."""

from __future__ import annotations

import sys
import time
from typing import Any

from benchmarks import figures


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

    def say(self, text: str) -> None:
        """Progress on standard error, with the time since the start."""
        print(f"[{time.monotonic() - self.started:6.1f} s] {text}", file=sys.stderr, flush=True)

    def asked(self, names: list[str]) -> list[str]:
        """The peers of names that this run is to measure."""
        return [name for name in names if self.wanted is None or name in self.wanted]

    def add(self, section: str, peer: str, value: float) -> None:
        """Keeps one value."""
        self.measured.setdefault(section, {}).setdefault(peer, []).append(value)
