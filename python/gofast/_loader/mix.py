"""A stream that takes samples of several parts by weight: any position of it is found at once."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import accumulate
from math import lcm
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .. import errors
from .._core.permutation import Permutation, generator, shuffle

if TYPE_CHECKING:
    import numpy.typing as npt

_BLOCK = 1024  # samples of a block, at least: in each, parts have their weights up to one sample
_LEAST = 1_000_000  # a weight is at least so manieth of all: each part stands twice in a block


class Beginning(NamedTuple):
    """Where a mix begins: behind so many samples of the stream, of which the parts gave so many each."""

    position: int
    taken: list[int]


class Mix:
    """Samples of parts in blocks: the weights say how many of each, and where they stand is shuffled.

    Each part gives its samples in passes, each a permutation of its own. So none of them comes again before
    all have come, whatever the weights are.

    Args:
        sizes: samples of the parts.
        weights: of the parts; those of 0 give nothing.
        shuffle: whether a pass is permuted. Where parts stand in a block always is.
    """

    def __init__(
        self, sizes: Sequence[int], weights: Sequence[float], seed: int, shuffle: bool, begin: Beginning
    ) -> None:
        exact = [Fraction(weight) for weight in weights]
        whole = lcm(*(weight.denominator for weight in exact))
        self._weights = [int(weight * whole) for weight in exact]
        self._sum = sum(self._weights)
        least = min(weight for weight in self._weights if weight)
        if least * _LEAST < self._sum:
            raise errors.OptionError(f"weights={list(weights)}: one is less than a millionth of all")
        self._block = max(_BLOCK, -(-2 * self._sum // least))
        self._ends = [0, *accumulate(self._weights)]
        self._sizes, self._offsets = list(sizes), [0, *accumulate(sizes)]
        self._seed, self._shuffle, self.begin = seed % 2**64, shuffle, begin
        self._latest: tuple[int, npt.NDArray[np.int64], npt.NDArray[np.int64]] | None = None
        self._passes: dict[int, tuple[int, Permutation]] = {}

    def _before(self, block: int) -> list[int]:
        """What the parts have given before a block, since the mix began."""
        bounds = [
            (2 * block * self._block * end + self._sum) // (2 * self._sum) for end in self._ends
        ]  # rounded, so that parts get what lies between
        return [bounds[i + 1] - bounds[i] for i in range(len(self._sizes))]

    def _places(self, block: int) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """The part of each place of a block, and which of its samples it is, counted from the first pass."""
        if self._latest is None or self._latest[0] != block:
            before, after = self._before(block), self._before(block + 1)
            counts = np.subtract(after, before)
            parts = np.repeat(np.arange(len(counts)), counts)
            shuffle(parts, generator(self._seed, self.begin.position, block, 1))
            numbers = np.empty_like(parts)
            for part, (first, count) in enumerate(zip(before, counts.tolist(), strict=True)):
                numbers[parts == part] = np.arange(count) + (self.begin.taken[part] + first)
            self._latest = block, parts, numbers
        return self._latest[1:]

    def taken(self, position: int) -> list[int]:
        """What each part has given before a position of the stream."""
        block, place = divmod(self._since(position), self._block)
        counts = np.bincount(self._places(block)[0][:place], minlength=len(self._sizes)).tolist()
        before = self._before(block)
        return [sum(three) for three in zip(self.begin.taken, before, counts, strict=True)]

    def _since(self, position: int) -> int:
        if position < self.begin.position:
            raise errors.OptionError(
                f"the weights hold from sample {self.begin.position} on: {position} lies before that"
            )
        return position - self.begin.position

    def at(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The indices of samples, in the parts one behind the other, at positions of the stream."""
        if len(positions):
            self._since(int(positions.min()))
        blocks, places = np.divmod(positions - self.begin.position, self._block)
        found = np.empty_like(positions)
        for block in np.unique(blocks).tolist():
            here = blocks == block
            parts, numbers = (values[places[here]] for values in self._places(block))
            found[here] = self._indices(parts, numbers)
        return found

    def _indices(self, parts: npt.NDArray[np.int64], numbers: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        found = np.empty_like(parts)
        for part in np.unique(parts).tolist():
            passes, within = np.divmod(numbers, self._sizes[part])
            for number in np.unique(passes[parts == part]).tolist():
                here = (parts == part) & (passes == number)
                found[here] = self._pass(part, number, within[here]) + self._offsets[part]
        return found

    def _pass(self, part: int, number: int, places: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The samples of a part that stand at these places of one of its passes."""
        if not self._shuffle:
            return places
        known = self._passes.get(part)
        if known is None or known[0] != number:
            known = self._passes[part] = number, Permutation(self._sizes[part], self._seed, number, 2 + part)
        return known[1].at(places)
