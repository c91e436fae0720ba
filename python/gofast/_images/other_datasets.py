"""Other people's datasets, whose own code makes the rows: pictures that it opens are lazy images."""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from contextlib import AbstractContextManager
from typing import Any

from .._loader.classes import leaves
from .._loader.native_dataset import FORGETFUL, SURROUNDINGS, is_native

# By module and name: `datasets` is not imported for this, and a script may have a module of that name.
_CLASSES = {("datasets.arrow_dataset", "Dataset"), ("datasets.iterable_dataset", "IterableDataset")}
_SECONDS = "SLEEP_TIME_ON_THREADS_SHUTDOWN"


def is_theirs(dataset: object) -> bool:
    """Whether it is one of the package `datasets`."""
    return any((kind.__module__, kind.__name__) in _CLASSES for kind in type(dataset).__mro__)


def surrounded(dataset: object) -> AbstractContextManager[None] | None:
    """What the code of such a dataset runs in: None where it opens no pictures by Pillow."""
    parts = [*leaves(dataset)]
    if any(map(is_theirs, parts)):
        return _SleeplessOpening()
    # A script that knows Pillow has imported it: datasets of numbers pay nothing.
    return _Opening() if "PIL.Image" in sys.modules and not all(map(is_native, parts)) else None


def forgets(dataset: object) -> bool:
    """Whether it is a shuffled stream of `datasets`, whose state is without what the buffer holds."""
    if not is_theirs(dataset) or not hasattr(dataset, "_ex_iterable"):
        return False
    parts: list[Any] = [dataset._ex_iterable]
    for part in parts:
        if (inner := getattr(part, "ex_iterable", None)) is not None:
            parts.append(inner)
        parts += getattr(part, "ex_iterables", ())
    return any("Shuffled" in type(part).__name__ for part in parts)


class _Opening:
    """Meanwhile, what this thread opens by Pillow is lazy."""

    def __enter__(self) -> None:
        from .opening import LazyOpening

        LazyOpening().__enter__()

    def __exit__(self, *_: object) -> None:
        from .opening import LazyOpening

        LazyOpening().__exit__()


class _SleeplessOpening(_Opening):
    """And the code of `datasets` does not sleep."""

    def __enter__(self) -> None:
        super().__enter__()
        _later.begin()

    def __exit__(self, *_: object) -> None:
        _later.end()
        super().__exit__()


class _Later:
    """Stands for the seconds that `datasets` sleeps where a pass over shuffled Parquet files ends.

    It sleeps 5 s lest the process end while Arrow's threads do (apache/arrow#45214). Here the end of the
    process waits for what is left of them, and training goes on meanwhile.
    """

    def __init__(self) -> None:
        self.due, self._inside, self._lock = 0.0, 0, threading.Lock()
        self._seconds: Any = None

    def begin(self) -> None:
        """Their code runs."""
        config = sys.modules.get("datasets.config")
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._seconds = getattr(config, _SECONDS, None)
                if self._seconds:
                    setattr(config, _SECONDS, self)

    def end(self) -> None:
        """It returns."""
        with self._lock:
            self._inside -= 1
            if self._inside == 0 and self._seconds:
                setattr(sys.modules["datasets.config"], _SECONDS, self._seconds)

    def forked(self) -> None:
        """This is a child: other threads of its parent may have had the lock, and were within."""
        self._lock = threading.Lock()

    def __index__(self) -> int:
        """What `time.sleep` asks for."""
        self.due = time.monotonic() + self._seconds
        return 0

    def wait(self) -> None:
        """The process ends."""
        time.sleep(max(0.0, self.due - time.monotonic()))


_later = _Later()
atexit.register(_later.wait)
os.register_at_fork(after_in_child=_later.forked)
SURROUNDINGS.append(surrounded)
FORGETFUL.append(forgets)
