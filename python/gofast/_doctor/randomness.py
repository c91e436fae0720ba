"""Puts every generator back that a measurement in this process may draw from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from .._core import generators


@contextmanager
def kept(*owners: Any) -> Iterator[None]:
    """Gives torch, `random`, `numpy.random` and the owners' generators their states back at the end.

    Args:
        owners: a loader and its samplers: their attributes that are torch.Generators are kept too.
    """
    own = {id(found): found for owner in owners for found in _generators(owner)}.values()
    before = [found.get_state() for found in own]
    states = generators.States.now()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for found, state in zip(own, before, strict=True):
            found.set_state(state)
        states.put(generators.NumpyState.now(None))
        if devices is not None:
            torch.cuda.set_rng_state_all(devices)


def _generators(owner: Any, depth: int = 3) -> list[torch.Generator]:
    """A loader's own generator and those of its samplers, however they are nested."""
    if isinstance(owner, torch.Generator):
        return [owner]
    names = ("generator", "sampler", "batch_sampler", "dataset") if depth else ()
    inner = [vars(owner).get(name) for name in names] if hasattr(owner, "__dict__") else []
    return [found for part in inner if part is not None for found in _generators(part, depth - 1)]
