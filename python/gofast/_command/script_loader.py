"""Runs a script until a DataLoader of its has given some batches."""

from __future__ import annotations

import gc
import os
import runpy
import shlex
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import FrameType, ModuleType
from typing import Any

import torch
from torch.utils.data import DataLoader

from .. import errors
from .._core.units import duration
from .._doctor import opened_files
from .._doctor.scope import Scope
from .._doctor.steps import SeenSteps, Steps, Threads, is_threaded
from .._doctor.training_loop import ReplayedStep, TimeUp, limited
from ..loader import DataLoader as OwnLoader
from . import output

_BATCHES = 8  # of one loop, then its loader is the one to measure
_WARM = 2  # of these, steps that do not count: the first ones compile, allocate and tune
_STEPPING, _WATCHING = 0.3, 3.0  # seconds of steps, or of the script's loops, after which these are enough

_Times = tuple[float, float, float]


class _Enough(BaseException):
    """Ends the script. No Exception, so that a script that catches all of these ends, too."""


def _are_threaded(steps: list[_Times]) -> bool:
    _, own, cpu = (sum(times) for times in zip(*steps, strict=True))
    return torch.get_num_threads() > 1 and is_threaded(cpu, own)


class _Watch:
    """What was seen of the loaders that the script iterates over."""

    def __init__(self, script: str, patience: float) -> None:
        self.loaders: dict[int, Any] = {}  # by id, in the order of their first loops
        # Seconds between a batch and the question for the next; processor time of this thread, of all.
        self.steps: dict[int, list[_Times]] = {}
        self.threaded: dict[int, list[_Times]] = {}  # where `steps` are those with one thread: those before
        self.scopes: dict[int, Scope] = {}
        self.main = sys.modules["__main__"]  # the script, as soon as it iterates over a loader
        self.looking = Steps()
        self.began = 0.0  # the first loop
        self._script, self._patience, self._limited = script, patience, False

    def watch(self, iterate: Callable[[Any], Iterator[Any]]) -> Callable[[Any], Iterator[Any]]:
        """The same method, watched."""

        def __iter__(loader: Any) -> Iterator[Any]:
            self._note(loader, sys._getframe(1))
            return self._loop(loader, iterate(loader))

        return __iter__

    def _note(self, loader: Any, frame: FrameType) -> None:
        """What is known of a loader before its first batch."""
        self.began = self.began or time.monotonic()
        self.main = sys.modules["__main__"]
        if id(loader) not in self.loaders:
            self.loaders[id(loader)] = loader
            self.scopes[id(loader)] = Scope.around(frame, loader, shlex.join([self._script, *sys.argv[1:]]))

    def _loop(self, loader: Any, batches: Iterator[Any]) -> Iterator[Any]:
        steps = self.steps.setdefault(id(loader), [])
        left = self.began + self._patience - time.monotonic()
        first, self._limited = not self._limited, True  # a loop inside it ends with it
        try:
            with limited(left) if first else nullcontext():
                for batch in batches:
                    given, own, cpu = time.perf_counter(), time.thread_time(), time.process_time()
                    self.looking.on = True
                    yield batch
                    self.looking.on = False
                    took = time.perf_counter() - given
                    steps.append((took, time.thread_time() - own, time.process_time() - cpu))
                    if self._is_enough(steps):
                        if id(loader) in self.threaded or not _are_threaded(steps):
                            raise _Enough
                        torch.set_num_threads(1)
                        self.threaded[id(loader)] = steps
                        steps = self.steps[id(loader)] = []
        finally:
            self.looking.on = False
            self._limited &= not first

    def _is_enough(self, steps: list[_Times]) -> bool:
        # Short steps are many, or the looks at them are too few.
        return len(steps) >= _BATCHES and (
            sum(took for took, *_ in steps) > _STEPPING or time.monotonic() - self.began > _WATCHING
        )


@dataclass
class ScriptLoader:
    """What a script has.

    Attributes:
        step: takes as long as the script's own took.
        loader: the one with the most batches.
        main: the script as a module, in which its classes are.
        scope: the names where it is used.
        seen: what was found of the steps.
        seconds: from the first loop until now.
    """

    step: ReplayedStep
    loader: Any
    main: ModuleType
    scope: Scope
    seen: SeenSteps
    seconds: float

    @contextmanager
    def as_main(self) -> Iterator[None]:
        """The script is __main__: workers that are not forked look there for the classes of their dataset."""
        before = sys.modules["__main__"]
        sys.modules["__main__"] = self.main
        try:
            yield
        finally:
            sys.modules["__main__"] = before


def loader_of(script: str, arguments: Sequence[str], patience: float = 15.0) -> ScriptLoader:
    """Runs a script with its arguments until a loop over a DataLoader has had some batches.

    Args:
        patience: seconds after the first loop's beginning, when it ends with what came by then.

    Raises:
        NotFoundError: there is no such script.
        OptionError: the script ended without a loop over a DataLoader.
    """
    if not os.path.isfile(script):
        raise errors.NotFoundError(f"{script}: no such script")
    seen, threads = _Watch(script, patience), torch.get_num_threads()
    originals = [
        (kind, vars(kind)["__iter__"]) for kind in (DataLoader, OwnLoader) if "__iter__" in vars(kind)
    ]
    before = sys.argv, sys.path[:]
    try:
        for kind, iterate in originals:
            kind.__iter__ = seen.watch(iterate)  # type: ignore[assignment, method-assign]
        sys.argv = [script, *arguments]
        sys.path.insert(0, os.path.dirname(os.path.realpath(script)))
        with opened_files.noted(opened_files.by_script), seen.looking:
            runpy.run_path(script, run_name="__main__")
    except (_Enough, TimeUp):
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
        torch.set_num_threads(threads)
        gc.collect()  # the loop's worker processes end with it
    if not seen.loaders:
        raise errors.OptionError(f"{script} ended without a loop over a torch.utils.data.DataLoader")
    most = max(seen.loaders, key=lambda which: len(seen.steps[which]) + len(seen.threaded.get(which, ())))
    several = seen.threaded.get(most)
    steps = several or seen.steps[most]
    steps = steps[_WARM:] or steps
    seconds, busy, _ = (statistics.median(times) for times in zip(*steps or [(0.0, 0.0, 0.0)], strict=True))
    known = None
    if several and (one := [(took, cpu) for took, _, cpu in seen.steps[most]]):
        known = Threads.of(threads, [(took, cpu) for took, _, cpu in steps], one)
    loader = seen.loaders[most]
    one_of = "its loader" if len(seen.loaders) == 1 else f"one of its {len(seen.loaders)} loaders"
    output.note(
        f"{script}: measuring {one_of}, of {type(getattr(loader, 'dataset', None)).__name__}; a step takes "
        f"{duration(seconds)}, and a stand-in takes as long"
    )
    took = time.monotonic() - seen.began
    looks = SeenSteps(seen.looking.seen, known)
    return ScriptLoader(ReplayedStep(seconds, busy), loader, seen.main, seen.scopes[most], looks, took)
