"""The positions of an epoch that one of several ranks gets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from .order import Even, run

if TYPE_CHECKING:
    import numpy.typing as npt

Uneven = Literal["pad", "drop", "exact"]

_EVEN: dict[Uneven, Even | None] = {"pad": "pad", "drop": "drop", "exact": None}


class Share(NamedTuple):
    """What one rank gets of the positions from `start` on, in steps of ``world * batch`` samples.

    Attributes:
        samples: of the epoch, for all ranks.
        start: the first position.
        rank, world: which one, and of how many.
        uneven: see Sampler.
        batch: of each step, the rank gets a slice of so many positions; None: every world-th position.
        front: padding repeats the positions from here on.
    """

    samples: int
    start: int
    rank: int
    world: int
    uneven: Uneven
    batch: int | None
    front: int = 0

    @property
    def size(self) -> int:
        """How many positions it gets."""
        steps, last = self._parts()
        return steps * (self.batch or 1) + len(last)

    def _parts(self) -> tuple[int, range]:
        """How many whole steps there are, and what the rank gets of the positions behind them."""
        steps, rest = divmod(max(self.samples - self.start, 0), self.world * (self.batch or 1))
        if self.uneven != "exact" or self.batch is not None:
            return steps, run(rest, self.rank, self.world, _EVEN[self.uneven])
        return steps, range(self.rank, rest)[:1]

    def positions(self, first: int, stop: int) -> npt.NDArray[np.int64]:
        """Some of them, by their number from 0 on."""
        batch = self.batch or 1
        numbers = np.arange(first, stop)
        steps, last = self._parts()
        if self.batch is None:
            found = numbers * self.world + (self.start + self.rank)
        else:
            step, behind = np.divmod(numbers, batch)
            found = step * (self.world * batch) + behind + (self.start + self.rank * batch)
            if stop > steps * batch:  # of the last, smaller step
                tail = self.start + steps * self.world * batch + last.start
                found[max(steps * batch - first, 0) :] = (
                    tail + numbers[numbers >= steps * batch] - steps * batch
                )
        if len(found) and found[-1] >= self.samples:  # padding
            over = found >= self.samples
            found[over] = self.front + (found[over] - self.samples) % (self.samples - self.front)
        return found

    def position(self, taken: int) -> int:
        """Where all ranks stand when this one has had so many: the first position that nobody has had."""
        if taken and taken >= self.size:
            return self.samples
        batch = self.batch or 1
        return min(self.start + taken // batch * batch * self.world, self.samples)
