"""Permutations that follow from a key: of any size, without memory, and any place at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from . import engine
from .memory import address_of

if TYPE_CHECKING:
    import numpy.typing as npt

_SHORT = 1 << 16  # up to so many numbers, a shuffled list of them is as soon: half a megabyte
_ROUNDS = 8  # GF_ROUNDS


def shuffle(values: npt.NDArray[np.int64], generator: np.random.Generator) -> None:
    """What the own shuffle of a new generator does."""
    numbers: Any = generator.bit_generator.state["state"]
    halves = [half for name in ("state", "inc") for half in divmod(numbers[name], 2**64)]
    state = np.array(halves, np.uint64)
    engine.capsule().shuffle(address_of(values), len(values), address_of(state))


def generator(*words: int) -> np.random.Generator:
    """A new one, whose numbers follow from these."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))


class Permutation:
    """A permutation of 0..n-1.

    Args:
        words: those that it follows from, none negative.
    """

    def __init__(self, n: int, *words: int) -> None:
        self._n = n
        self._short: npt.NDArray[np.int64] | None = None
        if n <= _SHORT:
            self._short = np.arange(n)
            shuffle(self._short, generator(*words))
        else:
            self._key = np.random.SeedSequence(words).generate_state(_ROUNDS, np.uint64)

    def at(self, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """What stands at these places; they may be overwritten."""
        if self._short is not None:
            return self._short[places]
        places = np.ascontiguousarray(places)
        engine.capsule().permute(address_of(places), len(places), self._n, address_of(self._key))
        return places
