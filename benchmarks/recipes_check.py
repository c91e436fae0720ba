"""What a side of a recipe gives, before it is timed: the batches that the recipe gives without gofast."""

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
from benchmarks.serve import passed

CHECKED_BATCHES = 2
SEED = 7


def opened(recipe: str, name: str, folder: str) -> tuple[Iterable[Any], dict[str, Any]]:
    """A side's batches, and what of it runs in Python."""
    warnings.filterwarnings("ignore", message="This DataLoader will create")
    side = recipes.recipe(recipe).sides[name]
    if side.reference is None and name.endswith(" 0 workers"):
        torch.set_num_threads(1)  # torch's own threads are in the way of one that works
    batches = side.open(folder)
    if side.reference is not None:
        theirs = first(side.reference(folder))
        gc.collect()  # its workers
        difference = different(first(side.open(folder)), theirs)
        gc.collect()
        if difference:
            raise ValueError(f"{recipe}, {name}: other batches than without gofast: {difference}")
    if not hasattr(batches, "turn"):
        passed(batches)
    return batches, {"python": side.about(folder) if side.about is not None else []}


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
