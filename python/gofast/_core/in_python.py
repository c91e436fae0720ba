"""What was left to Python in this process, and its cost: explain and `python -m gofast` name it."""

from __future__ import annotations

import threading
import time

_MOST = 20  # reasons; a transform that is made anew for each sample may give a new one each time

seconds: dict[str, float] = {}  # by what it is, and why


class _Now(threading.local):
    inside = False


_now = _Now()


class timed:
    """Counts the time within as that of a reason; within another, nothing.

    Args:
        why: what is left to Python, and why.
    """

    __slots__ = ("_began", "_why")

    def __init__(self, why: str) -> None:
        self._why = why

    def __enter__(self) -> None:
        self._began = 0.0 if _now.inside else time.perf_counter()
        _now.inside = True

    def __exit__(self, *raised: object) -> None:
        if self._began:
            _now.inside = False
            if self._why in seconds or len(seconds) < _MOST:
                seconds[self._why] = seconds.get(self._why, 0.0) + time.perf_counter() - self._began


def most(costs: dict[str, float]) -> list[tuple[str, float]]:
    """The three reasons that cost most, of those that cost a tenth of a second and more."""
    costly = [(why, took) for why, took in costs.items() if took >= 0.1]
    return sorted(costly, key=lambda cost: -cost[1])[:3]
