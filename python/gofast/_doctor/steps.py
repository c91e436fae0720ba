"""A training step, looked at while it runs: is its work Python's own, and do torch's threads only wait?"""

from __future__ import annotations

import dis
import os
import statistics
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from .stages import is_library, is_own
from .watcher_thread import WatcherThread

_JUMPS = 0.1  # of the looks at Python's own work, those that meet a loop's jump or a call's start, at least
_LEAST = 20  # looks of which something can be said


@dataclass
class Looks:
    """What the looks at a step have found.

    Attributes:
        all: looks.
        own: of them, those whose innermost call is the user's code, or the standard library for it.
        jumps: of these, those between two instructions of a loop, or at a function's start. Where a line only
            calls C code, which is most of a step with whole tensors, a look meets that call.
        lines: how often the user's lines were met.
    """

    all: int = 0
    own: int = 0
    jumps: int = 0
    lines: Counter[str] = field(default_factory=Counter)

    @property
    def share(self) -> float:
        """The part of the step that is Python's own work; 0 where that is not sure."""
        if self.all < _LEAST or self.jumps < _JUMPS * self.own:
            return 0.0
        return self.own / self.all

    @property
    def hot(self) -> str:
        """The line that was met most often."""
        return next((line for line, _ in self.lines.most_common(1)), "")

    def look(self, frame: FrameType | None) -> None:
        """Notes what is seen now."""
        self.all += 1
        inner = frame
        while frame is not None and not is_own(frame.f_code):
            if is_library(frame.f_code):  # torch's, or another package's
                return
            frame = frame.f_back
        if frame is None or inner is None:
            return
        name = dis.opname[inner.f_code.co_code[inner.f_lasti]] if inner.f_lasti >= 0 else "RESUME"
        self.own += 1
        self.jumps += "JUMP" in name or name in ("RESUME", "FOR_ITER")
        code = frame.f_code
        self.lines[f"{os.path.basename(code.co_filename)}:{frame.f_lineno} in {code.co_name}"] += 1


class Steps(WatcherThread):
    """Looks at the steps that are called through it.

    Attributes:
        on: whether a step runs.
        seen: what was found.
    """

    def __init__(self) -> None:
        super().__init__()
        self.seen, self.on = Looks(), False

    def at(self, step: Callable[[Any], object]) -> Callable[[Any], None]:
        """The step, looked at."""

        def call(batch: Any) -> None:
            self.on = True
            try:
                step(batch)
            finally:
                self.on = False

        return call

    def look(self, frame: FrameType | None) -> None:
        """Notes what is seen now, where a step runs."""
        if self.on:
            self.seen.look(frame)


@dataclass
class Threads:
    """Steps with the threads that torch has, and the same with one. Times are seconds a step, the median.

    Attributes:
        count: torch's threads.
        step, alone: how long a step takes, and with one thread.
        cpu, alone_cpu: processor time of this process meanwhile.
        steps: how many were measured of each, the fewer.
    """

    count: int
    step: float
    alone: float
    cpu: float
    alone_cpu: float
    steps: int

    @classmethod
    def of(cls, count: int, many: list[tuple[float, float]], one: list[tuple[float, float]]) -> Threads:
        """From the times of steps: how long each took, and its processor time."""
        (step, cpu), (alone, alone_cpu) = (
            [statistics.median(times) for times in zip(*steps, strict=True)] for steps in (many, one)
        )
        return cls(count, step, alone, cpu, alone_cpu, min(len(many), len(one)))

    @property
    def spin(self) -> bool:
        """The work is the same with one thread: processor time beyond that is spent waiting for others."""
        return self.step > 1.5 * self.alone and self.cpu > 2 * self.alone_cpu

    def gain(self, wait: float) -> float:
        """How many times as fast the loop is with one thread.

        Args:
            wait: seconds that it waits for a batch.
        """
        return (wait + self.step) / max(wait + self.alone, 1e-9)


@dataclass
class SeenSteps:
    """What a script's own steps have shown.

    Attributes:
        looks: at them.
        threads: with several threads of torch's, and with one; None if that was not tried.
    """

    looks: Looks = field(default_factory=Looks)
    threads: Threads | None = None


def is_threaded(cpu: float, own: float) -> bool:
    """Whether other threads than the loop's own took part in steps, by the processor times of both."""
    return cpu > 1.3 * own and cpu > 0.0
