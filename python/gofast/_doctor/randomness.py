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
        owners: a loader: generators of torch, numpy and `random` that are attributes of it, of its samplers
            or of its dataset are kept too.
    """
    own = {id(found): found for owner in owners for found in generators.owned(owner)}.values()
    before = [generators.state_of(found) for found in own]
    states = generators.Generators.now()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for found, state in zip(own, before, strict=True):
            generators.put_state(found, state)
        states.put()
        if devices is not None:
            torch.cuda.set_rng_state_all(devices)
