"""The frame of the benchmarks of pictures: the sides of a section make the same batches, in processes of
their own, in turn (A B C, A B C, ...), so that a machine that slows down slows all of them down. What a side
gives is checked, by images_check.py or strangers_check.py, before it is timed.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
from typing import Any

from benchmarks import data, report, run
from benchmarks.client import Client

MODULE = "benchmarks.sides_child"


class SidesRun(run.Run):
    """One run over pictures.

    Args:
        quick_turn: seconds of a turn, at least, with --quick.
    """

    with_cpu = False  # processor time is kept too

    def __init__(self, benchmark: report.Benchmark, options: argparse.Namespace, quick_turn: float) -> None:
        super().__init__(benchmark, options, 1 if options.quick else options.rounds)
        self.source, self.quick = options.folder, options.quick
        self.turn = quick_turn if options.quick else 2.0

    def folder(self, pictures: int, every: int = 1) -> data.Folder:
        """A folder of at least so many pictures; with --quick each n-th, once."""
        if self.quick:
            return data.photographs(self.source, 1, every)
        return data.photographs(self.source, pictures)

    def python(self, side: str) -> str:
        """A side's interpreter; ImportError if it is not to be had here."""
        return sys.executable

    def process(self, side: str) -> str:
        """The process that a side runs in."""
        return side

    def named(self, section: str, side: str) -> str:
        """What a side is called where it is missing."""
        return f"{section}, {side}"

    def needed(self, side: str) -> bool:
        """Whether the run ends where this side fails."""
        return False

    def opened(self, section: str, side: str, answer: dict[str, Any]) -> None:
        """Keeps what a side's check found."""

    def measure(self, section: str, sides: list[str], folder: str) -> None:
        """A section of the result."""
        with contextlib.ExitStack() as stack:
            clients: dict[str, Client] = {}
            for side in self.asked(sides):
                try:
                    if self.process(side) not in clients:
                        client = stack.enter_context(Client(MODULE, self.python(side)))
                        clients[self.process(side)] = client
                except ImportError as error:
                    self.is_missing(self.named(section, side), str(error))

            def ask(name: str, command: str, **arguments: Any) -> dict[str, Any] | None:
                if (client := clients.get(self.process(name))) is None:  # it failed, or is not to be had
                    return None
                called = self.named(section, name)
                answer = self.ask(client, called, command, self.needed(name), side=name, **arguments)
                if answer is None:
                    del clients[self.process(name)]
                return answer

            what = {"benchmark": self.benchmark.name, "section": section, "folder": folder}
            for side in self.asked(sides):
                if (answer := ask(side, "open", **what)) is not None:
                    self.opened(section, side, answer)
                    self.say(f"{section}, {side}: checked")
            for side in self.in_turn([s for s in self.asked(sides) if self.process(s) in clients], section):
                if (answer := ask(side, "turn", seconds=self.turn)) is not None:
                    self.add(section, side, answer["seconds"])
                    if self.with_cpu:
                        self.add(report.cpu(section), side, answer["cpu"])
