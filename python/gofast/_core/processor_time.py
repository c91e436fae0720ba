"""Processor time, by what it went into: what `python -m gofast` says at its end."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from . import engine

_T = TypeVar("_T")


class _InPicture(threading.local):
    picture = False
    spent = 0  # ns of this thread's on pictures


_now = _InPicture()


class Spent:
    """Processor time of this process, in ns, by what it went into.

    Attributes:
        wanted: whether somebody will ask: two looks at this clock take 2 % of a picture's opening.
        pictures: opening and making pictures, and the native part of a Compose, wherever.
        samples: the batches of loaders without workers, where others' code makes the samples: this thread's
            time, and that of the engine's threads meanwhile.
        pictures_of_samples: of these, what went into pictures.
    """

    wanted = False
    pictures = 0
    samples = 0
    pictures_of_samples = 0

    @classmethod
    @contextlib.contextmanager
    def batch(cls) -> Iterator[None]:
        """The time within is that of a batch whose samples others' code makes, with the engine's threads.

        They count by the clock. No more is theirs than processors gave to other threads than this one.
        """
        own, others, helped, pictures = time.thread_time_ns(), _others(), engine.crew_busy(), cls.pictures
        yield
        helped = min(engine.crew_busy() - helped, _others() - others)
        cls.samples += time.thread_time_ns() - own + helped
        cls.pictures_of_samples += cls.pictures - pictures + helped

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
                took = time.thread_time_ns() - began
                cls.pictures += took
                _now.spent += took
                _now.picture = False

        return call

    @classmethod
    def outside_pictures(cls) -> int:
        """This thread's time so far that went into anything else; 0 where nobody will ask."""
        return time.thread_time_ns() - _now.spent if cls.wanted else 0


def _others() -> int:
    """The time of this process's other threads."""
    return time.process_time_ns() - time.thread_time_ns()
