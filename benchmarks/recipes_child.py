"""The measuring process of the recipes' benchmark: one side of one recipe. See serve.py."""

from __future__ import annotations

import gc
import itertools
import random
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from benchmarks.peers import recipes
from benchmarks.peers.recipes.contract import Missing, Side
from benchmarks.peers.recipes.scripts import Script
from benchmarks.serve import passed, serve, turn

CHECKED_BATCHES = 2
SEED = 7


class Child:
    """The state between commands: the side's batches."""

    def __init__(self) -> None:
        self.side: Side | None = None
        self.folder, self.where = "", ""
        self.batches: Iterable[Any] = ()

    def sides(self, recipe: str) -> dict[str, Any]:
        """The names of a recipe's sides and the pictures of an epoch, or why it is not to be had here."""
        try:
            found = recipes.recipe(recipe)
        except ImportError as error:
            return {"missing": str(error)}
        return {"sides": list(found.sides), "pictures": found.pictures}

    def open(self, recipe: str, side: str, folder: str) -> dict[str, Any]:
        """Chooses a side, compares its first batches with the reference's, and runs one epoch to warm up.

        Returns:
            What of it runs in Python, or what is missing.
        """
        self.side, self.folder = recipes.recipe(recipe).sides[side], folder
        self.where = f"{recipe}, {side}"
        if self.side.reference is None and side.endswith(" 0 workers"):
            torch.set_num_threads(1)  # torch's own threads are in the way of one that works
        try:
            self.batches = self.side.open(folder)
        except Missing as missing:
            return {"missing": str(missing)}
        if self.side.reference is not None:
            self._compare(self.side.reference)
        if not isinstance(self.batches, Script):
            passed(self.batches, labels)
        return {"python": self.side.about(folder) if self.side.about is not None else []}

    def _compare(self, reference: Any) -> None:
        theirs = first(reference(self.folder))
        gc.collect()  # its workers
        assert self.side is not None
        ours = first(self.side.open(self.folder))
        gc.collect()
        difference = different(ours, theirs)
        if difference:
            raise ValueError(f"{self.where}: other batches than without gofast: {difference}")

    def turn(self, seconds: float) -> dict[str, Any]:
        """Whole epochs until that time has passed: seconds for a picture."""
        if isinstance(self.batches, Script):
            said = self.batches.run()
            return {"seconds": said["seconds"] / said["pictures"]}
        return turn(lambda: passed(self.batches, labels), seconds)


def labels(batch: Any) -> int:
    """The samples of a batch: of one picture there may be several."""
    return len(batch[-1])


def first(batches: Iterable[Any]) -> list[Any]:
    """The first batches after the same seeds."""
    torch.manual_seed(SEED)
    random.seed(SEED)
    np.random.seed(SEED)
    return list(itertools.islice(batches, CHECKED_BATCHES))


def different(ours: Any, theirs: Any) -> str:
    """In what two batches differ; empty where in nothing."""
    if type(ours) is not type(theirs):
        return f"{type(ours).__name__} instead of {type(theirs).__name__}"
    if isinstance(theirs, (list, tuple)):
        if len(ours) != len(theirs):
            return f"{len(ours)} parts instead of {len(theirs)}"
        return next(filter(None, map(different, ours, theirs)), "")
    if not isinstance(theirs, torch.Tensor):
        return "" if ours == theirs else f"{ours!r} instead of {theirs!r}"
    if (ours.dtype, ours.shape, ours.stride()) != (theirs.dtype, theirs.shape, theirs.stride()):
        return f"{ours.dtype} {tuple(ours.shape)} instead of {theirs.dtype} {tuple(theirs.shape)}, or strides"
    unequal = int((ours != theirs).sum())
    return f"{unequal} of {theirs.numel()} values" if unequal else ""


if __name__ == "__main__":
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    child = Child()
    serve({"torch": torch.__version__}, {name: getattr(child, name) for name in ("sides", "open", "turn")})
