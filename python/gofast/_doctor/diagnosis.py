"""One examination, in order: watch the loop, take the loader apart, judge, try what may help."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils.data import DataLoader

from .._core import generators
from .._core.machine import Machine
from .._core.temporary_folder import temporary_folder
from .._core.units import duration
from .._loader.ranks import ranks_here
from ..errors import OptionError
from . import isolation
from .anatomy import take_apart
from .facts import Facts
from .isolation import LATE, RefusalError, limit_of
from .loaders import is_iterable, is_native, like, needs_device, starting, workers
from .report import DoctorReport
from .rules import judge
from .scope import Scope
from .steps import SeenSteps, Steps, Threads, is_threaded
from .training_loop import ReplayedStep, Run, Simulated, Step, TimeUp, consume, limited
from .trials import Trials
from .variants import OneThread
from .verdicts import Finding, Remedy, Verdict

_MINUTE = 60.0
_COMPARING = 0.5  # seconds
_BUSY = 0.25  # of all processors that other programs keep busy, from which it is said
_FORKED = (
    "workers ask for several threads (torch.set_num_threads), and had one here: this process has computed "
    "with several, which do not survive a fork, so such a worker would wait for ever, in training too. Start "
    'the workers before you compute, or with multiprocessing_context="spawn"'
)
_SHARES = 0.25, 0.3, 0.45  # of the time: the loop, taking apart, trials


def diagnose(
    loader: Any,
    step: Step | None,
    seconds: float,
    machine: Machine | None = None,
    rounds: int = 3,
    *,
    budget: float | None = None,
    scope: Scope | None = None,
    seen: SeenSteps | None = None,
) -> DoctorReport:
    """Examines a loader, for `gofast.doctor`.

    Args:
        machine: for tests, another machine than this one.
        rounds: how often each change is tried; 0: never, and verdicts that need a trial are not given.
        budget: seconds after which it ends with what is known; None: six times `seconds`, a minute at least.
        scope: the names of the place where the loader is used; None: those of the caller.
        seen: what a script's own steps have shown; None: they are looked at here.
    """
    _check(loader, step, seconds)
    machine = machine or Machine()
    scope = scope or Scope.around(sys._getframe(1), loader)
    with _ends_by(budget_of(seconds) if budget is None else budget):
        return _diagnosed(loader, step, seconds, machine, rounds, scope, seen or SeenSteps())


def budget_of(seconds: float) -> float:
    """Seconds after which an examination is over: a minute by default."""
    return max(6 * seconds, _MINUTE)


@contextmanager
def _ends_by(budget: float) -> Iterator[None]:
    before, isolation.until = isolation.until, time.monotonic() + budget
    try:
        yield
    finally:
        isolation.until = before


def _diagnosed(
    loader: Any,
    step: Step | None,
    seconds: float,
    machine: Machine,
    rounds: int,
    scope: Scope,
    seen: SeenSteps,
) -> DoctorReport:
    watching, apart_for, trying = (share * seconds for share in _SHARES)
    begin = time.monotonic()
    with temporary_folder("gofast-doctor-") as folder, _kept(loader):
        facts = Facts(
            loader,
            workers(loader),
            is_native(loader),
            machine.cores(),
            machine.memory(),
            step is None or isinstance(step, Simulated),
            folder,
            threads=seen.threads,
            python=seen.looks,
            names=scope,
            comparing=max(seconds / 20, _COMPARING),
        )
        finding, remedies = Finding(Verdict.FAILED), list[Remedy]()
        trials: Trials | None = None
        still = torch.get_num_threads() > 1 and isolation.forks_stand_still()
        isolation.asked = os.path.join(folder, "threads") if still else ""
        try:
            _make_batches_smaller(facts, seconds / 8)
            _watch_the_loop(facts, step, watching)
            # A busy machine starts workers late; how late, the loop has shown.
            start = max([starting(loader), *facts.run.starts[:1]])
            if facts.run.once:
                facts.error = "it gave its batches once, and has no second epoch to take apart"
            elif facts.run.batches and not facts.error:
                _say_how_busy(facts, take_apart(facts, apart_for, start))
            trials = Trials(facts, trying, start, rounds)
            finding = judge(facts, trials.attempt)
            remedies = trials.all_of(finding.code)
        except KeyboardInterrupt:
            if facts.flat is None:
                raise
            facts.notes.append("stopped by Ctrl-C: this is what was known by then")
            if finding.code is Verdict.FAILED:
                finding = judge(facts, lambda key: None)
            remedies = [*trials.known.values()] if trials else []
        if os.path.exists(isolation.asked):
            facts.notes.append(_FORKED)
    _say_how_long(facts, seconds, time.monotonic() - begin)
    _say_whose(facts)
    return DoctorReport.of(facts, finding, remedies)


def _say_whose(facts: Facts) -> None:
    """The others' loops are theirs to measure: to ask them here would wait for a rank that has no doctor."""
    ranks, rank = ranks_here()
    if ranks > 1:
        facts.notes.append(
            f"this is rank {rank} of {ranks}: loader.stats(ranks=True), which every rank calls behind an "
            "epoch, names the one that waits longest"
        )


def _make_batches_smaller(facts: Facts, most: float) -> None:
    """Where a batch would take longer than `most` seconds, smaller ones say the same of its samples."""
    loader = facts.loader
    if not isinstance(loader, DataLoader) or is_iterable(loader) or facts.native:
        return
    before = loader.batch_size or 1
    if before == 1:
        return
    took = isolation.apart(lambda: _sample(loader.dataset), 0.0).value or 0.0
    size = max(int(most / took), 1) if took else before
    if size < before:
        facts.loader = like(loader, batch_size=size)
        facts.notes.append(
            f"a sample takes {duration(took)}: batches of {size} were measured instead of {before}"
        )


def _sample(dataset: Any) -> float:
    """Seconds of a sample: of two, the quicker, since the first may open a file or import something."""
    times = []
    for index in (0, len(dataset) // 2):
        begin = time.perf_counter()
        dataset[index]
        times.append(time.perf_counter() - begin)
    return min(times)


@contextmanager
def _kept(loader: Any) -> Iterator[None]:
    """Gives torch, `random`, `numpy.random` and the loader's own generators their states back at the end."""
    own = [(found, generators.state_of(found)) for found in generators.owned(loader)]
    states = generators.Generators.now()
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None  # type: ignore[no-untyped-call]
    try:
        yield
    finally:
        for found, state in own:
            generators.put_state(found, state)
        states.put()
        if devices is not None:
            torch.cuda.set_rng_state_all(devices)


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
    if not hasattr(loader, "__iter__") or isinstance(loader, (str, bytes)):
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
    if step is None or isinstance(step, (Simulated, ReplayedStep)):
        run, planned, standing = Run(), seconds + starting(loader), step or Simulated()
        outcome = isolation.apart(lambda: consume(like(loader), standing, seconds, run=run), planned, run)
        facts.run, facts.error = outcome.value or Run(), outcome.error
        facts.read = outcome.watcher.read()
        if facts.simulated:
            facts.notes.append(
                "the step was simulated: a wait as long as a fast GPU may take for such a batch (2 GB/s of "
                "it, 1 ms at least)" + "; step= measures your own" * (step is None)
            )
        return
    if not workers(loader) and isinstance(loader, DataLoader):
        facts.notes.append(
            "with step= and without workers, samples were made in this process: a dataset that "
            "keeps something from sample to sample has seen some more"
        )
    if workers(loader) and isolation.asked:
        loader = like(loader, worker_init_fn=OneThread(loader.worker_init_fn))
    limit = limit_of(seconds + starting(loader))
    if workers(loader) and threading.current_thread() is not threading.main_thread():
        loader = like(loader, timeout=limit)  # only the main thread can be stopped from outside
    try:
        with limited(limit):
            with Steps() as looking:
                consume(like(loader), looking.at(_named(step)), seconds, run=facts.run)
            facts.python = looking.seen
            _try_one_thread(facts, loader, _named(step), seconds)
    except TimeUp:
        facts.error = f"the loop was stopped after {limit:.0f} s: {LATE}"
    except Exception as error:
        facts.error = str(error) if isinstance(error, RefusalError) else f"{type(error).__name__}: {error}"


def _try_one_thread(facts: Facts, loader: Any, step: Step, seconds: float) -> None:
    """Some steps with one thread of torch's, where several took part in them."""
    run, count = facts.run, torch.get_num_threads()
    if count == 1 or not run.steps or not is_threaded(sum(run.each), run.busy):
        return
    torch.set_num_threads(1)
    try:
        alone = consume(like(loader), step, seconds / 4)
    finally:
        torch.set_num_threads(count)
    many, one = ([*zip(each.steps, each.each, strict=True)] for each in (run, alone))
    if one:
        facts.threads = Threads.of(count, many, one)


def _named(step: Step) -> Step:
    """The step, whose errors are not taken for the loader's."""

    def call(batch: Any) -> None:
        try:
            step(batch)
        except Exception as error:
            raise RefusalError(f"the step raised {type(error).__name__}: {error}") from error

    return call
