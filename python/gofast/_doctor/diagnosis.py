"""One examination, in order: watch the loop, take the loader apart, judge, try what may help."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils.data import DataLoader

from .._core.machine import Machine
from .._core.units import duration
from ..errors import OptionError
from .anatomy import take_apart
from .apart import LATE, RefusalError, Send, apart, limit_of
from .consume import Run, Simulated, StandIn, Step, TimeUp, consume, limited, nothing
from .facts import Facts
from .loaders import like, needs_device, starting, workers
from .randomness import kept
from .remedies import FITTING, SIZE, Offers
from .report import DoctorReport
from .rules import judge
from .trials import Build, compare
from .verdicts import Finding, Remedy, Verdict

_BUSY = 0.25  # of all processors that other programs keep busy, from which it is said
_SHARES = 0.25, 0.3, 0.45  # of the time: the loop, taking apart, trials


def diagnose(
    loader: Any, step: Step | None, seconds: float, machine: Machine | None = None, rounds: int = 3
) -> DoctorReport:
    """Examines a loader, for `gofast.doctor`.

    Args:
        machine: for tests, another machine than this one.
        rounds: how often each change is tried; 0: never, and verdicts that need a trial are not given.
    """
    _check(loader, step, seconds)
    machine = machine or Machine()
    facts = Facts(loader, machine.cores(), machine.memory(), step is None, Run())
    finding, remedies = Finding(Verdict.FAILED), list[Remedy]()
    trials: _Trials | None = None
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="gofast-doctor-") as folder, kept(loader):
        try:
            _watch_the_loop(facts, step, _SHARES[0] * seconds)
            if facts.run.batches and not facts.run.once and not facts.error:
                facts.anatomy, outcome = take_apart(loader, _SHARES[1] * seconds)
                facts.notes += facts.anatomy.notes
                _say_how_busy(facts, facts.anatomy.others)
                if outcome.error is not None:
                    facts.error = facts.error or outcome.error
                    if not facts.anatomy.run.waits:
                        facts.anatomy = None
            elif facts.run.once:
                facts.error = "it gave its batches once, and has no second epoch to take apart"
            trials = _Trials(facts, folder, _SHARES[2] * seconds, rounds)
            finding = judge(facts, trials.attempt)
            remedies = trials.all_of(finding.code)
        except KeyboardInterrupt:
            if facts.anatomy is None:
                raise
            facts.notes.append("stopped by Ctrl-C: this is what was known by then")
            if finding.code is Verdict.FAILED:
                finding = judge(facts, lambda key: None)
            remedies = list(trials.known.values()) if trials else []
    _say_how_long(facts, seconds, time.monotonic() - begin)
    return DoctorReport.of(facts, finding, remedies)


def _say_how_busy(facts: Facts, others: float) -> None:
    there = os.cpu_count() or 1
    if others > _BUSY * there:
        facts.notes.append(
            f"the machine is busy: other programs kept {others:.1f} of {there} processors. Waits, and steps "
            "that compute, take longer than they would alone: measure again when it is quiet"
        )


def _say_how_long(facts: Facts, seconds: float, took: float) -> None:
    if took > 2 * seconds + 5 and facts.run.starts:
        facts.notes.append(
            f"this took {took:.0f} s instead of {seconds:g}. The first batch came "
            f"{duration(facts.run.starts[0])} after the start, which is no part of the rates, and each of "
            "several measurements starts them again"
        )


def _check(loader: Any, step: Any, seconds: Any) -> None:
    if not hasattr(loader, "__iter__"):
        raise TypeError(
            f"doctor takes a DataLoader or another iterable of batches, not {type(loader).__name__}"
        )
    if hasattr(loader, "__next__"):
        raise TypeError(
            f"{type(loader).__name__} is an iterator: it gives its batches once, and measuring would use "
            "them up. Give what it was made from: the loader, or an object whose __iter__ starts again"
        )
    if step is not None and not callable(step):
        raise TypeError(f"step is called with each batch; {type(step).__name__} is not callable")
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or not 0.5 <= seconds <= 3600:
        raise OptionError(f"seconds={seconds!r}: give a number from 0.5 to 3600")


def _watch_the_loop(facts: Facts, step: Step | None, seconds: float) -> None:
    """The loop as it is: with the user's step in this process, which may have a GPU; else in a child."""
    loader = facts.loader
    if torch.cuda.is_initialized() and needs_device(loader):  # type: ignore[no-untyped-call]
        facts.notes.append(
            "CUDA is in use here, and forked processes cannot use it: there, batches stay in ordinary memory"
        )
    if step is None:
        outcome = apart(lambda send: _simulated(loader, seconds, send), seconds + starting(loader))
        facts.run = outcome.last or Run()
        facts.error = outcome.error or ""
        facts.notes.append(
            "the step was simulated: a wait as long as a fast GPU may take for such a batch (2 GB/s of it, "
            "1 ms at least). Give step= for a verdict about your own"
        )
        return
    if not workers(loader) and isinstance(loader, DataLoader):
        facts.notes.append(
            "with step= and without workers, samples were made in this process: a dataset that "
            "keeps something from sample to sample has seen some more"
        )
    limit = limit_of(seconds + starting(loader))
    if workers(loader) and threading.current_thread() is not threading.main_thread():
        loader = like(loader, timeout=limit)  # only the main thread can be stopped from outside
    try:
        with limited(limit):
            facts.run = consume(
                like(loader), _named(step), seconds, each=lambda run: setattr(facts, "run", run)
            )
    except TimeUp:
        facts.error = f"the loop was stopped after {limit:.0f} s: {LATE}"
    except RefusalError as error:
        facts.error = str(error)
    except Exception as error:
        facts.error = f"{type(error).__name__}: {error}"


def _simulated(loader: Any, seconds: float, send: Send) -> None:
    send(consume(like(loader), Simulated(), seconds))


def _named(step: Step) -> Step:
    """The step, whose errors are not taken for the loader's."""

    def call(batch: Any) -> None:
        try:
            step(batch)
        except Exception as error:
            raise RefusalError(f"the step raised {type(error).__name__}: {error}") from error

    return call


class _Trials:
    """Tries changes, and remembers what came of each.

    Attributes:
        known: the remedies that were tried, by key.
    """

    def __init__(self, facts: Facts, folder: str, seconds: float, rounds: int) -> None:
        self._facts, self._folder, self._seconds, self._rounds = facts, folder, seconds, rounds
        self.known: dict[str, Remedy] = {}

    def _step(self) -> Step:
        run = self._facts.run
        busy = run.busy / max(len(run.steps), 1)
        return Simulated() if self._facts.simulated else StandIn(run.step, busy)

    def attempt(self, key: str) -> float | None:
        """The gain of one change; None if it cannot be tried."""
        if key not in self.known and self._rounds:
            self._try((key,), self._seconds / 3)
        return self.known[key].gain if key in self.known else None

    def all_of(self, code: Verdict) -> list[Remedy]:
        """All changes that may help against this, the greatest gain first."""
        if not self._rounds:
            return []
        keys = FITTING.get(code, ())
        self._try([key for key in keys if key not in self.known], self._seconds)
        found = [self.known[key] for key in keys if key in self.known]
        return sorted(found, key=lambda remedy: -(remedy.gain or 0.0))

    def _try(self, keys: Sequence[str], seconds: float) -> None:
        offers = Offers(self._facts, self._folder, self._seconds / 8)
        tried: list[tuple[Remedy, Build]] = []
        for remedy, build in filter(None, map(offers.of, keys)):
            self.known[remedy.key] = remedy
            if build is not None:
                tried.append((remedy, build))
        # The step of a larger batch would take longer, by an unknown time.
        step = nothing if keys == (SIZE,) else self._step()
        for remedy in compare(self._facts.loader, tried, step, seconds, self._rounds):
            self.known[remedy.key] = remedy
