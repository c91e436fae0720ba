"""Runs a script until a DataLoader of its has given some batches."""

from __future__ import annotations

import gc
import os
import runpy
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from torch.utils.data import DataLoader

from .. import errors
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
        self.steps: dict[int, list[float]] = {}  # the seconds between a batch and the question for the next

    def watch(self, iterate: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
        """The same method, watched."""

        def __iter__(loader: Any) -> Iterator[Any]:
            return self._loop(loader, iterate(loader))

        return __iter__

    def _loop(self, loader: Any, batches: Iterator[Any]) -> Iterator[Any]:
        self.loaders.setdefault(id(loader), loader)
        steps = self.steps.setdefault(id(loader), [])
        for batch in batches:
            given = time.perf_counter()
            yield batch
            steps.append(time.perf_counter() - given)
            if len(steps) >= _BATCHES:
                raise _Enough


def loader_of(script: str, arguments: Sequence[str]) -> tuple[Callable[[Any], object], Any]:
    """Runs a script with its arguments until a loop over a DataLoader has had some batches.

    Returns:
        A step that takes as long as the script's own took, and the loader with the most batches.

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
        runpy.run_path(script, run_name="__main__")
    except _Enough:
        pass
    except SystemExit as end:
        if end.code not in (None, 0) and not seen.loaders:
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
    seconds = statistics.median(steps) if steps else 0.0
    output.note(f"{script}: a step takes {seconds * 1e3:.1f} ms; measuring its loader with steps as long")
    return lambda batch: time.sleep(seconds), seen.loaders[most]
