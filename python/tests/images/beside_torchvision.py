"""gofast's folders beside torchvision's: the same samples of a chain of transforms, and the same draws."""

from __future__ import annotations

import functools
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torchvision import datasets
from torchvision import transforms as v1

import gofast
from gofast._plan import arithmetic
from gofast._plan.compile import compile
from same import difference


def same_folder(
    root: Path,
    transforms: Sequence[Any],
    seed: int = 1,
    rounds: int = 1,
    native: bool | None = True,
    strides: bool = False,
    few: int | None = None,
) -> None:
    """Both datasets make the same of a folder's pictures, and leave the generators the same.

    Args:
        rounds: so many times of each picture.
        native: whether nothing is left to Python; None: either.
        strides: samples lie in memory alike too.
        few: only so many of the pictures.
    """
    chain = v1.Compose(transforms)
    plan = compile(chain)
    assert native is None or plan.native is native, plan.report
    theirs, ours = datasets.ImageFolder(root, chain), gofast.ImageFolder(root, chain)
    indices = random.Random(seed).sample(range(len(theirs)), few or len(theirs)) * rounds
    made = []
    for get in (lambda: [theirs[i] for i in indices], lambda: ours.__getitems__(indices)):
        torch.manual_seed(seed), random.seed(seed)
        torch.randn(1, dtype=torch.float64)  # of a pair, whose other number the generator keeps
        made.append([[sample for sample, _ in get()], torch.get_rng_state(), random.getstate()])
    assert not difference(made[1], made[0], strides), f"{difference(made[1], made[0], strides)}: {chain}"


def stays_in_python(transforms: Sequence[Any], reason: str) -> None:
    """One of them runs in Python, for this reason."""
    lines = compile(v1.Compose(transforms)).report
    assert any(not line.native and reason in line.what for line in lines), lines


def forget_answers(patch: pytest.MonkeyPatch) -> None:
    """What torch said of its arithmetic is asked again, and forgotten behind the test."""
    patch.setattr(arithmetic, "_answer", functools.cache(arithmetic._answer.__wrapped__))


def tensor(m: Any) -> Any:
    """What makes a uint8 tensor of a PIL image, of v1 or v2."""
    return m.PILToTensor() if m is v1 else m.ToImage()
