"""An unmodified script: run by python, and by python -m gofast."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from benchmarks.peers.recipes.contract import THEIR_WORKERS, Recipe, Side, workers

SCRIPT = "benchmarks/peers/recipes/unmodified.py"
EPOCHS = 3  # the first is not timed, and is enough to be compared


class Script:
    """A script that says how long its epochs took, and what it saw. It is run again for every epoch here."""

    def __init__(self, folder: str, count: int, by_gofast: bool) -> None:
        self.command = [sys.executable, *["-m", "gofast"] * by_gofast, SCRIPT, folder, str(count)]

    def run(self, epochs: int = EPOCHS) -> dict[str, Any]:
        """What it said."""
        command = [*self.command, str(epochs)]
        done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=280)
        said: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
        said["stderr"] = done.stderr.splitlines()
        return said

    def turn(self) -> dict[str, Any]:
        """Seconds for a picture, by its own clock."""
        said = self.run()
        return {"seconds": said["seconds"] / said["pictures"]}

    def __iter__(self) -> Iterator[Any]:
        """Its first batches' digests."""
        return iter(self.run(1)["digests"])


def side(count: int, by_gofast: bool) -> Side:
    """The script with so many workers."""
    if not by_gofast:
        return Side(lambda folder: Script(folder, count, False))

    def about(folder: str) -> list[str]:
        return [line for line in Script(folder, count, True).run(1)["stderr"] if line.strip()]

    return Side(
        lambda folder: Script(folder, count, True), lambda folder: Script(folder, count, False), about
    )


THEIRS = {f"python, {workers(n)}": side(n, False) for n in THEIR_WORKERS}
OURS = {f"python -m gofast, {workers(n)}": side(n, True) for n in (0, 2)}
RECIPES = {"script": Recipe({**THEIRS, **OURS})}
