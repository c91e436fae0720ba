"""Measures what people train with, a recipe a line: `python -m benchmarks.recipes`, or `make bench-recipes`.

One process a side; rounds are interleaved (A B C, A B C, ...), so that a machine that slows down slows
everybody down. What gofast gives is compared with what the recipe gives without it before it is timed.
"""

from __future__ import annotations

import argparse
import contextlib
import os

from benchmarks import images_data, recipes_report, run
from benchmarks.client import Client
from benchmarks.peers.recipes import MODULES

MODULE = "benchmarks.recipes_child"
TURN, QUICK_TURN = 2.0, 0.1  # seconds at least
ROUNDS = int(os.environ.get("ROUNDS", "3"))


class RecipesRun(run.Run):
    """One run over recipes."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(recipes_report.RECIPES, options, 1 if options.quick else options.rounds)
        self.source, self.quick = options.folder, options.quick
        self.python: dict[str, list[str]] = {}

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
            known = self.ask(asked, name, "sides", recipe=name)
            if known is None:
                return
            folder = self.folder(known["pictures"])
            others = [stack.enter_context(Client(MODULE, waits=False)) for _ in known["sides"][1:]]
            for side, client in zip(known["sides"], [asked, *others], strict=True):  # all import meanwhile
                where = f"{name}, {side}"
                answer = self.ask(client, where, "open", recipe=name, side=side, folder=folder.path)
                if answer is None:
                    self.missing.setdefault(name, self.missing[where])
                    continue
                if answer["python"]:
                    self.python[where] = answer["python"]
                clients[side] = client
                self.say(f"{where}: checked")
            for side in self.in_turn(list(clients), name):
                if side not in clients:
                    continue
                seconds = QUICK_TURN if self.quick else TURN
                answer = self.ask(clients[side], f"{name}, {side}", "turn", seconds=seconds)
                if answer is None:
                    del clients[side]
                else:
                    self.add(name, side, answer["seconds"])


def main() -> None:
    """Measures, then writes the JSON and README's table."""
    parser = run.parser("recipes", __doc__, ROUNDS, f"recipes of: {','.join(MODULES)}")
    parser.add_argument("--folder", help="<class>/<picture> (default: imagenet-500 under GOFAST_TEST_DATA)")
    options = parser.parse_args()
    wrong = set(options.only or ()) - set(MODULES)
    if wrong:
        raise SystemExit(f"unknown: {', '.join(sorted(wrong))}; see --help")
    recipes = RecipesRun(options)
    for name in options.only or MODULES:
        recipes.recipe(name)
    about = recipes_report.about(recipes.folder(1))
    more = {"unit": "seconds a picture", "in Python": recipes.python, "missing": recipes.missing}
    recipes.finish(about, **more)


if __name__ == "__main__":
    main()
