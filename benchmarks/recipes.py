"""Measures what people train with, a recipe a line: `python -m benchmarks.recipes`, or `make bench-recipes`.

One process a side; rounds are interleaved (A B C, A B C, ...), so that a machine that slows down slows
everybody down. What gofast gives is compared with what the recipe gives without it before it is timed.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from pathlib import Path

from benchmarks import images_data, process, publish, recipes_report
from benchmarks.client import Client, PeerFailed
from benchmarks.peers.recipes import MODULES
from benchmarks.run import Run

MODULE = "benchmarks.recipes_child"
TURN, QUICK_TURN = 2.0, 0.1  # seconds at least
ROUNDS = int(os.environ.get("ROUNDS", "3"))


class RecipesRun(Run):
    """One run over recipes."""

    def __init__(self, source: str | None, rounds: int, quick: bool) -> None:
        super().__init__(rounds, None)
        self.source, self.quick = source, quick
        self.python: dict[str, list[str]] = {}
        self.missing: dict[str, str] = {}

    def folder(self, pictures: int) -> images_data.Folder:
        """A folder of at least so many pictures."""
        if self.quick:
            return images_data.prepare(self.source, 1, every=5)
        return images_data.prepare(self.source, pictures)

    def recipe(self, name: str) -> None:
        """All sides of a recipe, one process each, in turn."""
        with contextlib.ExitStack() as stack:
            clients: dict[str, Client] = {}
            asked = stack.enter_context(Client(MODULE))
            known = asked.ask("sides", recipe=name)
            if "missing" in known:
                self._is_missing(name, known["missing"])
                return
            folder = self.folder(known["pictures"])
            others = [stack.enter_context(Client(MODULE, waits=False)) for _ in known["sides"][1:]]
            for side, client in zip(known["sides"], [asked, *others], strict=True):  # all import meanwhile
                try:
                    answer = client.ask("open", recipe=name, side=side, folder=folder.path)
                except PeerFailed as error:  # its traceback is on standard error; the other recipes go on
                    answer = {"missing": str(error)}
                if "missing" in answer:
                    self._is_missing(f"{name}, {side}", answer["missing"])
                    self.missing.setdefault(name, answer["missing"])
                    client.kill()
                    continue
                if answer["python"]:
                    self.python[f"{name}, {side}"] = answer["python"]
                clients[side] = client
                self.say(f"{name}, {side}: checked")
            for side in self.in_turn(list(clients), name):
                if side not in clients:
                    continue
                try:
                    answer = clients[side].ask("turn", seconds=QUICK_TURN if self.quick else TURN)
                except PeerFailed as error:
                    self._is_missing(f"{name}, {side}", str(error))
                    del clients[side]
                    continue
                self.add(name, side, answer["seconds"])

    def _is_missing(self, what: str, reason: str) -> None:
        self.missing[what] = reason
        self.say(f"{what} is not measured: {reason}")


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.recipes", description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"default: ROUNDS, or 3 (now {ROUNDS})")
    parser.add_argument("--quick", action="store_true", help="1 round, few pictures: a check, no measurement")
    names = ",".join(MODULES)
    parser.add_argument("--only", type=lambda text: text.split(","), help=f"recipes of: {names}")
    parser.add_argument("--folder", help="<class>/<picture> (default: imagenet-500 under GOFAST_TEST_DATA)")
    parser.add_argument("--output", type=Path, help="where the JSON goes; no README table then")
    return parser.parse_args()


def main() -> None:
    """Measures, then writes the JSON and README's table."""
    options = arguments()
    wrong = set(options.only or ()) - set(MODULES)
    if wrong:
        raise SystemExit(f"unknown: {', '.join(sorted(wrong))}; see --help")
    partial = bool(options.quick or options.only)
    if options.output is None and not partial:
        publish.blocks(publish.README, recipes_report.RECIPES.name)  # before minutes of measuring
    run = RecipesRun(options.folder, 1 if options.quick else options.rounds, options.quick)
    neighbours = process.Neighbours()
    for name in options.only or MODULES:
        run.recipe(name)
    result = recipes_report.result(
        run.measured, run.folder(1), run.python, run.missing, run.rounds, neighbours.share()
    )
    publish.finish(recipes_report.RECIPES, result, partial, options.output)


if __name__ == "__main__":
    main()
