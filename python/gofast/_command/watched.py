"""Runs a script until a DataLoader of its has given some batches."""

from __future__ import annotations

import gc
import os
import runpy
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from torch.utils.data import DataLoader

from .. import errors
from .._core.units import duration
from .._doctor import opened
from .._doctor.consume import StandIn
from ..loader import DataLoader as OwnLoader
from . import output

_BATCHES = 8  # of one loop, then its loader is the one to measure
_WARM = 2  # of these, steps that do not count: the first ones compile, allocate and tune


class _Enough(BaseException):
    """Ends the script. No Exception, so that a script that catches all of these ends, too."""


class _Watch:
    """What was seen of the loaders that the script iterates over."""

    def __init__(self) -> None:
        self.loaders: dict[int, Any] = {}  # by id, in the order of their first loops
        # Seconds between a batch and the question for the next, and of them on a processor.
        self.steps: dict[int, list[tuple[float, float]]] = {}
        self.main = sys.modules["__main__"]  # the script, as soon as it iterates over a loader

    def watch(self, iterate: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
        """The same method, watched."""

        def __iter__(loader: Any) -> Iterator[Any]:
            return self._loop(loader, iterate(loader))

        return __iter__

    def _loop(self, loader: Any, batches: Iterator[Any]) -> Iterator[Any]:
        self.loaders.setdefault(id(loader), loader)
        self.main = sys.modules["__main__"]
        steps = self.steps.setdefault(id(loader), [])
        for batch in batches:
            given, cpu = time.perf_counter(), time.thread_time()
            yield batch
            steps.append((time.perf_counter() - given, time.thread_time() - cpu))
            if len(steps) >= _BATCHES:
                raise _Enough


@dataclass
class Found:
    """What a script has.

    Attributes:
        step: takes as long as the script's own took.
        loader: the one with the most batches.
        main: the script as a module, in which its classes are.
    """

    step: StandIn
    loader: Any
    main: ModuleType

    @contextmanager
    def as_main(self) -> Iterator[None]:
        """The script is __main__: workers that are not forked look there for the classes of their dataset."""
        before = sys.modules["__main__"]
        sys.modules["__main__"] = self.main
        try:
            yield
        finally:
            sys.modules["__main__"] = before


def loader_of(script: str, arguments: Sequence[str]) -> Found:
    """Runs a script with its arguments until a loop over a DataLoader has had some batches.

    Raises:
        NotFoundError: there is no such script.
        OptionError: the script ended without a loop over a DataLoader.
    """
    if not os.path.isfile(script):
        raise errors.NotFoundError(f"{script}: no such script")
    seen = _Watch()
    originals = [
        (kind, vars(kind)["__iter__"]) for kind in (DataLoader, OwnLoader) if "__iter__" in vars(kind)
    ]
    before = sys.argv, sys.path[:]
    try:
        for kind, iterate in originals:
            kind.__iter__ = seen.watch(iterate)  # type: ignore[method-assign, assignment]
        sys.argv = [script, *arguments]
        sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
        with opened.noted(opened.by_script):
            runpy.run_path(script, run_name="__main__")
    except _Enough:
        pass
    except SystemExit as end:
        if end.code not in (None, 0) and not seen.loaders:
            if isinstance(end.code, int):  # a text is printed in any case
                output.note(f"{script} ended with status {end.code}, without a loop over a DataLoader")
            raise
    finally:
        for kind, iterate in originals:
            kind.__iter__ = iterate  # type: ignore[method-assign]
        sys.argv, sys.path[:] = before
        gc.collect()  # the loop's worker processes end with it
    if not seen.loaders:
        raise errors.OptionError(f"{script} ended without a loop over a torch.utils.data.DataLoader")
    most = max(seen.loaders, key=lambda which: len(seen.steps[which]))
    steps = seen.steps[most][_WARM:] or seen.steps[most]
    seconds, busy = (statistics.median(times) for times in zip(*steps or [(0.0, 0.0)], strict=True))
    loader = seen.loaders[most]
    one = "its loader" if len(seen.loaders) == 1 else f"one of its {len(seen.loaders)} loaders"
    output.note(
        f"{script}: measuring {one}, of {type(getattr(loader, 'dataset', None)).__name__}; a step takes "
        f"{duration(seconds)}, and a stand-in takes as long"
    )
    return Found(StandIn(seconds, busy), loader, seen.main)
