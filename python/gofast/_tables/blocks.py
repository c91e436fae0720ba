"""The order of a stream's rows: blocks permuted, several joined to a window, rows permuted in each window.

It is a function of (rows of the blocks, seed, epoch): any process finds the rows at any position by itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from .._core.permutation import generator, shuffle
from .._loader.order import Order, Pull

if TYPE_CHECKING:
    import numpy.typing as npt

USUAL = 64 << 20  # bytes of a window in the order of the files: a batch is there soon
_BLOCKS = 32  # of a window: the more, the better rows are mixed
_BLOCK = 256 << 10  # bytes of one, at least: reading less at a time is slow


def block_bytes(window: int) -> int:
    """The size of a block, of windows of so many bytes."""
    return max(min(window // _BLOCKS, USUAL), _BLOCK)


class BlockPermutation(NamedTuple):
    """What an epoch's order is a function of. No seed: rows come as they are in the files."""

    seed: int | None
    epoch: int


class WindowPlan(NamedTuple):
    """Blocks whose rows are in memory together.

    Attributes:
        number: from 0 on, in the epoch.
        blocks: their numbers in the files.
        rows: of all of them.
    """

    number: int
    blocks: list[int]
    rows: int


class Stretch(Pull):
    """Consecutive positions of one window: ``start <= position < stop``."""

    def __init__(self, window: WindowPlan, start: int, stop: int) -> None:
        super().__init__(None)
        self.window, self.start, self.stop = window, start, stop
        self.samples = stop - start


class BlockOrder(Order):
    """One epoch's order, which is pulled window after window.

    Args:
        rows: of each block.
        window: rows of a window; one block may have more.
        seed: None: rows come as they are in the files.
        epoch: from 0 on.
    """

    def __init__(self, rows: Sequence[int], window: int, seed: int | None, epoch: int) -> None:
        self._rows, self._most = rows, window
        self._permute(seed, epoch)

    def _permute(self, seed: int | None, epoch: int) -> None:
        self._seed, self._epoch = seed, epoch
        rows, count = self._rows, len(self._rows)
        order = range(count) if seed is None else self._random(-1).permutation(count).tolist()
        self.windows: list[WindowPlan] = []
        joined, total = list[int](), 0
        for block in order:
            if joined and total + rows[block] > self._most:
                self.windows.append(WindowPlan(len(self.windows), joined, total))
                joined, total = [], 0
            joined.append(block)
            total += rows[block]
        if total:
            self.windows.append(WindowPlan(len(self.windows), joined, total))
        self._starts = [*accumulate((window.rows for window in self.windows), initial=0)]
        self.samples = self._starts[-1]

    def _random(self, window: int) -> np.random.Generator:
        assert self._seed is not None
        return generator(self._seed % 2**64, self._epoch, window + 1)

    def rows(self, stretch: Stretch, places: npt.NDArray[np.int64] | None = None) -> torch.Tensor:
        """The rows of a window at these positions, int64.

        Args:
            places: where each row of the window lies, block after block; they are permuted. None: 0 is the
                first row of its first block.
        """
        if places is None:
            places = np.arange(stretch.window.rows)
        if self._seed is not None:
            shuffle(places, self._random(stretch.window.number))
        return torch.from_numpy(places)[stretch.start : stretch.stop]

    def part(self, position: int, most: int) -> Stretch:
        """See Order."""
        number = bisect_right(self._starts, position) - 1
        window, start = self.windows[number], position - self._starts[number]
        return Stretch(window, start, min(start + most, window.rows))

    def state(self) -> dict[str, Any]:
        """See Order."""
        return {"position": self.position, "seed": self._seed, "epoch": self._epoch}

    def load(self, state: dict[str, Any]) -> None:
        """See Order."""
        self._permute(state["seed"], state["epoch"])
        self.position = state["position"]
