"""Puts every generator back that a measurement in this process may draw from."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

from .._core import generators

_KINDS = (torch.Generator, np.random.Generator, np.random.RandomState, random.Random)


@contextmanager
def kept(*owners: Any) -> Iterator[None]:
    """Gives torch, `random`, `numpy.random` and the owners' generators their states back at the end.

    Args:
        owners: a loader: generators of torch, numpy and `random` that are attributes of it, of its samplers
            or of its dataset are kept too.
    """
    own = {id(found): found for owner in owners for found in _generators(owner)}.values()
    before = [_state(found) for found in own]
    states = generators.States.now()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for found, state in zip(own, before, strict=True):
            _put(found, state)
        states.put(generators.NumpyState.now(None))
        if devices is not None:
            torch.cuda.set_rng_state_all(devices)


def _generators(owner: Any, depth: int = 3) -> list[Any]:
    """Those of a loader, its samplers and its dataset, however they are nested."""
    own = vars(owner) if hasattr(owner, "__dict__") else {}
    names = ("sampler", "batch_sampler", "dataset") if depth else ()
    inner = [own[name] for name in names if own.get(name) is not None]
    return [
        *(value for value in own.values() if isinstance(value, _KINDS)),
        *(found for part in inner for found in _generators(part, depth - 1)),
    ]


def _state(generator: Any) -> Any:
    if isinstance(generator, np.random.Generator):
        return generator.bit_generator.state
    return generator.getstate() if isinstance(generator, random.Random) else generator.get_state()


def _put(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.Generator):
        generator.bit_generator.state = state
    elif isinstance(generator, random.Random):
        generator.setstate(state)
    else:
        generator.set_state(state)
