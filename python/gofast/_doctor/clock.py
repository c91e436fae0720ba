"""A clock with one hand for each stage of a sample: what runs inside another stage stops that one's hand."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from os import pread  # by its name here: hooks puts a timed one into os


class Stage:
    """Seconds of one stage.

    Attributes:
        wall: in all.
        cpu: on a processor.
        delay: of waiting for a processor that other threads had.
    """

    __slots__ = ("cpu", "delay", "wall")

    def __init__(self) -> None:
        self.wall = self.cpu = self.delay = 0.0


class Clock:
    """Times the stages of one thread. Whoever calls from another thread is not timed.

    Attributes:
        stages: by name, since the last `start`.
        switches: how often a hand was stopped and another started; each costs about 6 us.
    """

    def __init__(self) -> None:
        self.stages: dict[str, Stage] = {}
        self.switches = 0
        self._stack: list[str] = []
        self._owner = 0
        self._mark = (0.0, 0.0, 0.0)
        self._file = -1
        self._pid = 0

    def start(self) -> None:
        """Begins anew, in the calling thread."""
        self.stages, self.switches, self._stack = {}, 0, []
        if self._pid != os.getpid():  # a forked worker's file is its parent's
            self._pid, self._file = os.getpid(), _schedstat()
        self._owner = threading.get_ident()

    def stop(self) -> None:
        """From here on, nothing is timed."""
        self._owner = 0

    @property
    def runs(self) -> bool:
        """Whether this thread is being timed."""
        return self._owner == threading.get_ident()

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """The time of what is done within this context is this stage's."""
        if not self.runs:
            yield
            return
        self._turn()
        self._stack.append(name)
        try:
            yield
        finally:
            self._turn()
            self._stack.pop()

    def ran(self) -> float:
        """Seconds that pass, but for those in which this thread waits for a processor."""
        now, _, delay = self._now()
        return now - delay

    def _turn(self) -> None:
        now = self._now()
        if self._stack:
            stage = self.stages.setdefault(self._stack[-1], Stage())
            stage.wall += now[0] - self._mark[0]
            stage.cpu += now[1] - self._mark[1]
            stage.delay += now[2] - self._mark[2]
        self._mark = now
        self.switches += 1

    def _now(self) -> tuple[float, float, float]:
        """All three, of one moment: a thread that lost its processor between two readings reads again.

        Without that, on a busy machine, time slices went to the wrong stage (2 cores, load 30, 2026-11).
        """
        delay = self.waited()
        for _ in range(4):
            now, cpu = time.perf_counter(), time.thread_time()
            before, delay = delay, self.waited()
            if before == delay:
                break
        return now, cpu, delay

    def waited(self) -> float:
        """Seconds that this thread has waited for a processor; 0 where the kernel does not tell."""
        if self._file < 0:
            return 0.0
        try:
            return int(pread(self._file, 96, 0).split()[1]) / 1e9
        except (OSError, ValueError, IndexError):
            return 0.0


def _schedstat() -> int:
    try:
        return os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return -1
