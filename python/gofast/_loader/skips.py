"""Steps of an epoch whose batches are neither made nor handed out."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Any

from .. import errors
from .._core.arguments import several, whole

_FAR = 1 << 62  # no epoch has so many steps
_NONE = False, _FAR


class Skips:
    """Some steps, as ranges in their order.

    Args:
        ranges: (first, behind the last); they may overlap.
    """

    def __init__(self, ranges: Iterable[Sequence[int]] = ()) -> None:
        self._edges: list[int] = []  # where ranges begin and end, in turns
        for first, stop in sorted(map(tuple, ranges)):
            if self._edges and first <= self._edges[-1]:
                self._edges[-1] = max(self._edges[-1], stop)
            elif first < stop:
                self._edges += first, stop

    @classmethod
    def of(cls, steps: Any) -> Skips:
        """The steps that a user gives.

        Raises:
            OptionError: they are no whole numbers from 0 on.
        """
        if isinstance(steps, range) and steps.step == 1 and steps.start >= 0:
            return cls([(steps.start, steps.stop)])
        try:
            numbers = [whole(0)("steps", step) for step in several(steps)]
        except TypeError:
            raise errors.OptionError(f"steps={steps!r}: give a range, or a list of steps") from None
        return cls((number, number + 1) for number in numbers)

    def __bool__(self) -> bool:
        return bool(self._edges)

    def ranges(self) -> list[list[int]]:
        """As plain data, which makes them again."""
        return [self._edges[i : i + 2] for i in range(0, len(self._edges), 2)]

    def run(self, step: int) -> tuple[bool, int]:
        """Whether a step is one of them, and of how many steps from there on that is true."""
        if not self._edges:
            return _NONE
        edge = bisect_right(self._edges, step)
        return edge % 2 == 1, (self._edges[edge] if edge < len(self._edges) else _FAR) - step

    def count(self, first: int, stop: int) -> int:
        """How many of them lie between these."""
        return sum(max(min(b, stop) - max(a, first), 0) for a, b in self.ranges())

    def without(self, steps: int) -> Skips:
        """The same, counted from this step on."""
        if not steps or not self._edges:
            return self
        return Skips((max(a - steps, 0), max(b - steps, 0)) for a, b in self.ranges())


NO_SKIPS = Skips()
