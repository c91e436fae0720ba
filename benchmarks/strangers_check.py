"""What a side gives, before it is timed: the batches that the code gives without gofast."""

from __future__ import annotations

import itertools
import random
import sys
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch

from benchmarks import strangers
from benchmarks.serve import passed
from benchmarks.strangers.contract import Loader, gofast
from benchmarks.strangers.files import Files
from benchmarks.strangers_report import PLAIN, UNMODIFIED

CHECKED_BATCHES = 2
SEED = 7


def opened(name: str, side: str, folder: str) -> tuple[Iterable[Any], dict[str, Any]]:
    """A side's batches, and how its first ones differ from those without gofast."""
    warnings.simplefilter("ignore")
    way, _, workers = side.partition(", ")
    case, files, count = strangers.case(name), Files(folder), int(workers.split()[0])
    loader, difference = case.loader, ""
    if way != PLAIN:
        if "gofast" in sys.modules:  # of the side before, in this process
            gofast().uninstall()
        theirs = first(loader, files, count)
        if way == UNMODIFIED:
            gofast().install()
        else:
            assert case.swapped is not None
            loader = case.swapped
        difference = different(first(loader, files, count), theirs)
    batches = loader(files, count)
    passed(batches)
    return batches, {"different": difference}


def first(loader: Loader, files: Files, workers: int) -> dict[str, Any]:
    """The first batches after the same seeds, and the generators' states after them."""
    torch.manual_seed(SEED)
    random.seed(SEED)
    np.random.seed(SEED)
    batches = iter(loader(files, workers))
    found = list(itertools.islice(batches, CHECKED_BATCHES))
    state: Any = np.random.get_state()
    return {
        "batches": found,
        "torch's generator": torch.get_rng_state(),
        "Python's generator": random.getstate(),
        "numpy's generator": [part.tolist() if isinstance(part, np.ndarray) else part for part in state],
    }


def different(ours: Any, theirs: Any) -> str:
    """In what two batches differ; empty where in nothing."""
    if type(ours) != type(theirs):  # noqa: E721 - a sample whose values wait has a type of its own, which is equal
        return f"{type(ours).__name__} instead of {type(theirs).__name__}"
    if isinstance(theirs, dict):
        if list(ours) != list(theirs):
            return f"keys {list(ours)} instead of {list(theirs)}"
        return next((f"{key}: {found}" for key in theirs if (found := different(ours[key], theirs[key]))), "")
    if isinstance(theirs, (list, tuple)):
        if len(ours) != len(theirs):
            return f"{len(ours)} parts instead of {len(theirs)}"
        return next(filter(None, map(different, ours, theirs)), "")
    if not isinstance(theirs, torch.Tensor):
        return "" if ours == theirs else f"{ours!r:.40} instead of {theirs!r:.40}"
    if (ours.dtype, ours.shape, ours.stride()) != (theirs.dtype, theirs.shape, theirs.stride()):
        return f"{ours.dtype} {tuple(ours.shape)} instead of {theirs.dtype} {tuple(theirs.shape)}, or strides"
    if ours.numpy().tobytes() == theirs.numpy().tobytes():
        return ""
    return f"{int((ours != theirs).sum())} of {theirs.numel()} values"
