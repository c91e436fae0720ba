"""Processor time, by what it went into: what `python -m gofast` says at its end."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

_T = TypeVar("_T")


class _InPicture(threading.local):
    picture = False


_now = _InPicture()


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
