"""Measures what people train with, a recipe a line: `python -m benchmarks.recipes`, or `make bench-recipes`.

What gofast gives is compared with what the recipe gives without it before it is timed.
"""

from __future__ import annotations

import argparse
import os
from typing import Any

from benchmarks import run, sides
from benchmarks.peers.recipes import MODULES, recipe
from benchmarks.recipes_report import RECIPES

QUICK_TURN = 0.1
ROUNDS = int(os.environ.get("ROUNDS", "3"))


class RecipesRun(sides.SidesRun):
    """One run over recipes."""

    def __init__(self, options: argparse.Namespace) -> None:
        super().__init__(RECIPES, options, QUICK_TURN)
        self.in_python: dict[str, list[str]] = {}

    def opened(self, section: str, side: str, answer: dict[str, Any]) -> None:
        if answer["python"]:
            self.in_python[self.named(section, side)] = answer["python"]


def main() -> None:
    """Measures, then writes the JSON and the page's table."""
    parser = run.parser("recipes", __doc__, ROUNDS, f"recipes of: {','.join(MODULES)}", MODULES)
    parser.add_argument("--folder", help="<class>/<picture> (default: imagenet-500 under GOFAST_TEST_DATA)")
    recipes = RecipesRun(parser.parse_args())
    for name in recipes.only or MODULES:
        try:
            found = recipe(name)
        except ImportError as error:
            recipes.is_missing(name, str(error))
            continue
        recipes.measure(name, list(found.sides), recipes.folder(found.pictures, every=5).path)
    folder = recipes.folder(1, every=5)
    recipes.finish(
        {"name": folder.name, "pictures": folder.pictures, "bytes a picture": folder.bytes},
        **{"unit": "seconds a picture", "in Python": recipes.in_python, "missing": recipes.missing},
    )


if __name__ == "__main__":
    main()
