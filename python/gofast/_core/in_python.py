"""What was left to Python in this process, and its cost: explain and `python -m gofast` name it."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_T = TypeVar("_T")
_MOST = 20  # reasons; a transform that is made anew for each sample may give a new one each time

seconds: dict[str, float] = {}  # by what it is, and why


class _Now(threading.local):
    inside = False
    picture = False


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


class Spent:
    """Processor time of this process, in ns, by what it went into.

    Attributes:
        wanted: whether somebody will ask: two looks at this clock take 2 % of a picture's opening.
        pictures: opening and making pictures, and the native part of a Compose, wherever.
        samples: the batches of loaders without workers, where others' code makes the samples.
        pictures_of_samples: of these, what went into pictures.
    """

    wanted = False
    pictures = 0
    samples = 0
    pictures_of_samples = 0

    @classmethod
    @contextlib.contextmanager
    def batch(cls) -> Iterator[None]:
        """The time within is that of a batch whose samples others' code makes."""
        own, pictures = time.thread_time_ns(), cls.pictures
        yield
        cls.samples += time.thread_time_ns() - own
        cls.pictures_of_samples += cls.pictures - pictures

    @classmethod
    def picture(cls, function: Callable[..., _T]) -> Callable[..., _T]:
        """The function, whose time is that of pictures; within another such, nothing is added."""

        @functools.wraps(function)
        def call(*given: Any, **named: Any) -> _T:
            if not cls.wanted or _now.picture:
                return function(*given, **named)
            _now.picture, began = True, time.thread_time_ns()
            try:
                return function(*given, **named)
            finally:
                cls.pictures += time.thread_time_ns() - began
                _now.picture = False

        return call
