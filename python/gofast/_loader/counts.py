"""What a loader, or this process, has done so far: for `DataLoader.stats` and `engine_stats`.

What happens for every batch is counted by the core (`_core/tally`). Here is what happens once an epoch, when
a batch goes another way, or where torch's machinery takes its time anyway.
"""

from __future__ import annotations

import os
import re
import sys
import threading
import time
import weakref
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Protocol

import torch

from .. import errors
from .._core import engine
from .._core.reason import Reason, Reasons
from .._core.reason import process as of_process
from .._core.tally import Tally, busy, stages

_MOST_ERRORS = 100  # classes that are told apart


class NamedCounters:
    """Numbers by name, which threads add to: each to its own, since a lock could be left locked by Ctrl-C."""

    def __init__(self) -> None:
        self._by_thread: dict[int, Counter[str]] = {}

    def add(self, name: str, n: int) -> None:
        """Adds to one of them."""
        self.mine()[name] += n

    def mine(self) -> Counter[str]:
        """Those of this thread, for nobody else to add to."""
        mine = self._by_thread.get(threading.get_ident())
        if mine is None:
            mine = self._by_thread.setdefault(threading.get_ident(), Counter())
        return mine

    def read(self) -> Counter[str]:
        """All of them."""
        total: Counter[str] = Counter()
        for mine in list(self._by_thread.values()):
            total.update(mine.copy())
        return total


class Keeps(Protocol):
    """What keeps pictures, as it is counted."""

    @property
    def uses(self) -> tuple[int, int]:
        """How often a record was used, and written, by all processes."""


class EpochCounts:
    """One run of an iterator. It ends once: when that says so, or is dropped.

    Args:
        keeps: what torch's machinery takes pictures from, in this process or in workers.
    """

    def __init__(self, counts: Counts, keeps: Sequence[Keeps] = ()) -> None:
        self._counts = counts
        self._keeps = [(one, one.uses) for one in keeps]
        self.began = time.perf_counter_ns()

    def counted(self) -> Counter[str]:
        """What is counted of it so far."""
        counted = Counter(ns=time.perf_counter_ns() - self.began)
        for one, (used, written) in self._keeps:
            now = one.uses
            counted.update(cache_hits=now[0] - used, cache_writes=now[1] - written)
        return counted

    @property
    def runs(self) -> bool:
        """Whether it is not over."""
        return id(self) in self._counts._running

    def end(self) -> None:
        """The epoch is over. May be called again."""
        self._counts.ended(self)

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not over() and hasattr(self, "began"):
            self.end()


class Counts:
    """Counts of one loader, or of this process. Threads may share it.

    Attributes:
        spans: of a trace: (thread, what, start, nanoseconds) of what this process's threads did elsewhere.
    """

    def __init__(self, reasons: Reasons | None = None) -> None:
        self._tallies: list[Tally] = []  # the first counts: threads that come at once may add one each
        self.spans: deque[tuple[int, str, int, int]] | None = None
        self.numbers = NamedCounters()  # beside those of the tally, by the same names
        self.reasons, self.errors = Reasons() if reasons is None else reasons, NamedCounters()
        # By their ids. No WeakSet: another thread may begin an epoch while this one looks at all of them.
        self._running: dict[int, weakref.ref[EpochCounts]] = {}
        self._before: dict[str, Counter[str]] = {}  # all of this when the last epoch began

    @property
    def tally(self) -> Tally | None:
        """What the core counts for a loader; None before its first batch by the engine."""
        return self._tallies[0] if self._tallies else None

    @property
    def address(self) -> int:
        """That of the tally, made now if there is none."""
        # No lock: Ctrl-C or a fork could leave it locked. No tally is ever replaced, since the core may write
        # to it as long as this lives.
        if not self._tallies:
            self._tallies.append(Tally(engine.layout()))
        return self._tallies[0].address

    def begin(self, keeps: Sequence[Keeps] = ()) -> EpochCounts:
        """An epoch begins; see EpochCounts."""
        self._before = self._read()
        self.add(epochs=1)
        epoch = EpochCounts(self, keeps)
        self._running[id(epoch)] = weakref.ref(epoch)
        return epoch

    def ended(self, epoch: EpochCounts) -> None:
        """An epoch is over. The first to say so counts it."""
        if self._running.pop(id(epoch), None) is not None:
            counted = epoch.counted()
            for name, n in counted.items():
                self.numbers.add(name, n)
            process.numbers.add("ns", counted["ns"])

    def add(self, *, everywhere: bool = True, **numbers: int) -> None:
        """Adds to counters, ``batches=1``: to those of the process too, unless everywhere is False."""
        for counts in {self, process} if everywhere else {self}:
            mine = counts.numbers.mine()
            for name, n in numbers.items():
                mine[name] += n

    def fetched(self, fetch: Callable[[], Any], samples: int) -> Any:
        """The batch that torch's own code fetches, counted."""
        with counted_by(self):
            batch = fetch()
        self.handed_over(batch, samples)
        return batch

    def handed_over(self, batch: Any, samples: int) -> None:
        """Counts a batch of torch's own code, whose datasets have counted nothing under `counted_by`."""
        self.add(batches=1, samples=samples, bytes=bytes_of(batch, samples))

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Counts the time of random draws, with the headers that are read for them."""
        began, _ = time.perf_counter_ns(), self.address
        try:
            with counted_by(self):
                yield
        finally:
            ns = time.perf_counter_ns() - began
            self.add(draw_ns=ns)
            self.span("draw", began, ns)

    def waited(self, began: int) -> None:
        """Counts that this thread has waited for a batch since then, by perf_counter_ns."""
        ns = time.perf_counter_ns() - began
        self.add(waits=1, wait_ns=ns)
        self.span("wait", began, ns)

    def span(self, what: str, start: int, ns: int) -> None:
        """Something that this thread did, for a trace that may be under way."""
        if self.spans is not None:
            self.spans.append((threading.get_native_id(), what, start, ns))

    def fallback(self, text: str, step: str = "") -> None:
        """Something was left to Python or torch; see Reason."""
        reason = Reason(re.sub(r"\d+", "N", text), step, "fallback")
        for counts in {self, process}:
            counts.reasons.note(reason)

    def error(self, error: BaseException) -> None:
        """Something could not be read or made. An error is counted once, however often it passes."""
        if not getattr(error, "_gofast_counted", False):
            with suppress(Exception):  # some are frozen
                error._gofast_counted = True  # type: ignore[attr-defined]
            for counts in {self, process}:
                _note(counts.errors, kind_of(error))

    def _read(self) -> dict[str, Counter[str]]:
        counted = self.with_tally({} if self.tally is None else self.tally.read())
        for known in list(self._running.values()):
            if epoch := known():
                counted.update(epoch.counted())
        return {
            "counted": counted,
            "fallbacks": self.reasons.numbers("fallback"),
            "errors": self.errors.read(),
        }

    def with_tally(self, tally: Mapping[str, int]) -> Counter[str]:
        """Numbers that a tally has counted, and those beside it."""
        return self.numbers.read() + Counter(tally)

    def told(self, threads: int) -> dict[str, Any]:
        """All of it, and of the last epoch.

        Args:
            threads: those that work for the loader.
        """
        now, before = self._read(), self._before
        epoch = {name: _less(now[name], before[name]) for name in now} if before else now
        return {**_told(now, threads), "epoch": _told(epoch, threads)}


def _note(noted: NamedCounters, what: str) -> None:
    known = noted.read()
    noted.add(what if what in known or len(known) < _MOST_ERRORS else "others", 1)


def _less(now: Counter[str], before: Counter[str]) -> Counter[str]:
    return Counter({name: n - before[name] for name, n in now.items()})


def _told(read: Mapping[str, Counter[str]], threads: int) -> dict[str, Any]:
    counted, seconds = read["counted"], read["counted"]["ns"] / 1e9
    return {
        "epochs": counted["epochs"],
        "seconds": seconds,
        **amounts(counted),
        "threads": threads,
        "occupancy": occupancy(counted, seconds, threads),
        "fallbacks": {reason: n for reason, n in read["fallbacks"].items() if n},
        "errors": {kind: n for kind, n in read["errors"].items() if n},
    }


def amounts(counted: Mapping[str, int]) -> dict[str, Any]:
    """What was counted, by the names that users see."""
    n = Counter(counted)
    return {
        "batches": n["batches"],
        "samples": n["samples"],
        "bytes": n["bytes"],
        "made": n["filled"],
        "guessed": n["guessed"],
        "misguessed": n["misguessed"],
        "padding": 1 - n["filled_places"] / n["places"] if n["places"] else 0.0,
        "file_bytes": n["file_bytes"],
        "marked": n["marked"],
        "cache_hits": n["cache_hits"],
        "cache_writes": n["cache_writes"],
        "waits": n["waits"],
        "wait_seconds": n["wait_ns"] / 1e9,
        "draw_seconds": n["draw_ns"] / 1e9,
        "busy_seconds": busy(counted),
        "stages": stages(counted),
    }


def occupancy(counted: Mapping[str, int], seconds: float, threads: int) -> float:
    """The part of their time that threads were busy, from 0 to 1."""
    return min(1.0, busy(counted) / (seconds * threads)) if seconds > 0 and threads > 0 else 0.0


def kind_of(error: BaseException) -> str:
    """The name of an error's class, or of gofast's own class below it."""
    ours = [kind.__name__ for kind in type(error).__mro__ if kind.__name__ in errors.__all__]
    return ours[0] if ours else type(error).__name__


process = Counts(of_process)  # what no tally has counted, of all loaders of this process
_here = threading.local()


class counted_by:
    """What this thread notes meanwhile is noted for a loader too, and what datasets hand out is not counted.

    A class, since a user's exceptions pass through: contextlib sets their traceback, which fails for a
    frozen dataclass.
    """

    def __init__(self, counts: Counts | None) -> None:
        self._counts = counts

    def __enter__(self) -> None:
        self._before = getattr(_here, "counts", None)
        _here.counts = self._counts

    def __exit__(self, *_: object) -> None:
        _here.counts = self._before


def here() -> Counts:
    """Who counts what this thread does: a loader, or only the process."""
    return getattr(_here, "counts", None) or process


def tally_here() -> int:
    """The address of the tally of the loader that counts what this thread does; 0 without."""
    counts = here()
    return 0 if counts.tally is None else counts.address


_MOST_LOOKED_AT = 8  # values of a list: it may have all tokens of a text


def bytes_of(batch: Any, samples: int, depth: int = 4) -> int:
    """Bytes of the features in a batch that somebody else has made: of the first value that has tensors.

    Args:
        samples: a list of so many is one of samples, or of their tensors, and all of them count.
    """
    if isinstance(batch, torch.Tensor):
        return batch.nbytes if batch.layout is torch.strided else 0
    values = list(batch.values()) if isinstance(batch, dict) else batch
    if not depth or not isinstance(values, (list, tuple)) or not values:
        return 0
    first = values[0]
    stacked = first.shape[:1] == (samples,) if isinstance(first, torch.Tensor) else values is not batch
    if (
        len(values) == samples > 1
        and not stacked
        and (isinstance(batch, list) or isinstance(first, torch.Tensor))
    ):
        return sum(bytes_of(value, 1, depth - 1) for value in values)
    found = (bytes_of(value, samples, depth - 1) for value in values[:_MOST_LOOKED_AT])
    return next(filter(None, found), 0)


def rows_of(batch: Any, unknown: int) -> int:
    """The length of the first tensor or list of a batch that somebody else has made."""
    if isinstance(batch, torch.Tensor):
        return len(batch) if batch.dim() else unknown
    if isinstance(batch, dict):
        return rows_of(next(iter(batch.values()), None), unknown)
    if not isinstance(batch, (list, tuple)) or not batch:
        return unknown
    nested = isinstance(batch[0], (dict, list, tuple, torch.Tensor))
    return rows_of(batch[0], unknown) if nested else len(batch)


def _after_fork_in_child() -> None:
    global process
    of_process.clear()
    process = Counts(of_process)


os.register_at_fork(after_in_child=_after_fork_in_child)
