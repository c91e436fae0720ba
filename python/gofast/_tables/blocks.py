"""The order of a stream's rows: blocks permuted, several joined to a window, rows permuted in each window.

It is a function of (rows of the blocks, seed, epoch): any process finds the rows at any position by itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch

from .. import errors
from .._core import engine
from .._core.memory import address_of

if TYPE_CHECKING:
    import numpy.typing as npt

Even = Literal["drop", "pad", "error"]

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


class Stretch(NamedTuple):
    """Consecutive positions of one window: ``start <= position < stop``."""

    window: WindowPlan
    start: int
    stop: int


class BlockOrder:
    """One epoch's order.

    Args:
        rows: of each block.
        window: rows of a window; one block may have more.
        seed: None: rows come as they are in the files.
        epoch: from 0 on.
    """

    def __init__(self, rows: Sequence[int], window: int, seed: int | None, epoch: int) -> None:
        self._seed, self._epoch = seed, epoch
        count = len(rows)
        order = range(count) if seed is None else self._random(-1).permutation(count).tolist()
        self.windows: list[WindowPlan] = []
        joined, total = list[int](), 0
        for block in order:
            if joined and total + rows[block] > window:
                self.windows.append(WindowPlan(len(self.windows), joined, total))
                joined, total = [], 0
            joined.append(block)
            total += rows[block]
        if total:
            self.windows.append(WindowPlan(len(self.windows), joined, total))

    def _random(self, window: int) -> np.random.Generator:
        assert self._seed is not None
        words = [self._seed % 2**64, self._epoch, window + 1]
        return np.random.Generator(np.random.PCG64(np.random.SeedSequence(words)))

    def _shuffle(self, values: npt.NDArray[np.int64], window: int) -> None:
        """What the generator's own shuffle does."""
        numbers: Any = self._random(window).bit_generator.state["state"]
        halves = [half for name in ("state", "inc") for half in divmod(numbers[name], 2**64)]
        state = np.array(halves, np.uint64)
        engine.capsule().shuffle(address_of(values), len(values), address_of(state))

    def rows(self, stretch: Stretch, places: npt.NDArray[np.int64] | None = None) -> torch.Tensor:
        """The rows of a window at these positions, int64.

        Args:
            places: where each row of the window lies, block after block; they are permuted. None: 0 is the
                first row of its first block.
        """
        if places is None:
            places = np.arange(stretch.window.rows)
        if self._seed is not None:
            self._shuffle(places, stretch.window.number)
        return torch.from_numpy(places)[stretch.start : stretch.stop]

    def stretches(self, parts: Sequence[range]) -> Iterator[Stretch]:
        """What parts of the epoch's sequence are made of."""
        for part in parts:
            base = 0
            for window in self.windows:
                start, stop = max(part.start - base, 0), min(part.stop - base, window.rows)
                if start < stop:
                    yield Stretch(window, start, stop)
                base += window.rows


def share(rows: int, rank: int, world: int, even: Even) -> list[range]:
    """What one of several ranks gets of the epoch's sequence of samples: a run of it.

    Windows are decoded whole. `order.Slice` deals out the samples of each batch instead, as torch's
    DistributedSampler does, and each rank would have to decode all windows.

    Args:
        even: what becomes of the rows that cannot be dealt out evenly: "drop" leaves the last ones out,
            "pad" puts the epoch's first ones behind them, "error" is an error.

    Raises:
        OptionError: even="error", and the rows cannot be divided.
    """
    if rows % world and even == "error":
        raise errors.OptionError(
            f'{rows} rows cannot be divided among {world} ranks: even="drop" leaves some out, '
            'even="pad" repeats some'
        )
    each = -(-rows // world) if even == "pad" else rows // world
    parts, at, stop = list[range](), rank * each, (rank + 1) * each
    while at < stop:  # behind the last position comes the first one again
        start = at % rows
        parts.append(range(start, min(start + stop - at, rows)))
        at += len(parts[-1])
    return parts


def cut(parts: Sequence[range], worker: int, workers: int) -> list[range]:
    """What one of several workers gets of a rank's share: a run of it."""
    total = sum(map(len, parts))
    start, stop, base, found = total * worker // workers, total * (worker + 1) // workers, 0, list[range]()
    for part in parts:
        some = part[max(start - base, 0) : max(stop - base, 0)]
        if some:
            found.append(some)
        base += len(part)
    return found
