"""What the kernel says of a process and its workers, from /proc: processor time, waiting, memory, reads."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

_PROC = Path("/proc")


@dataclass
class Seen:
    """One process, as it was first and last seen.

    Attributes:
        first, last: when, in seconds of `time.perf_counter`.
        threads: for each thread, nanoseconds on a processor and of waiting for one, since it was first seen.
        rss, pss: bytes, the most that was seen.
        read: bytes that came from storage since it was first seen.
        faults: page faults that waited for storage.
        looks: how often it was looked at.
        states: how often its main thread was seen in each state ("R", "S", "D").
    """

    first: float
    last: float = 0.0
    threads: dict[int, tuple[int, int]] = field(default_factory=dict)
    rss: int = 0
    pss: int = 0
    read: int = 0
    faults: int = 0
    states: dict[str, int] = field(default_factory=dict)
    looks: int = 0
    _before: dict[str, int] = field(default_factory=dict)
    _starts: dict[int, tuple[int, int]] = field(default_factory=dict)

    @property
    def cpu(self) -> float:
        """Seconds on a processor, of all threads."""
        return sum(cpu for cpu, _ in self.threads.values()) / 1e9

    @property
    def delay(self) -> float:
        """Seconds in which a thread could have run, but no processor was free."""
        return sum(delay for _, delay in self.threads.values()) / 1e9

    @property
    def life(self) -> float:
        """Seconds between the first look and the last."""
        return max(self.last - self.first, 1e-9)

    @property
    def running(self) -> float:
        """How many of its threads computed or would have, on average: those that sleep do not count."""
        return (self.cpu + self.delay) / self.life

    def look(self, pid: int) -> None:
        """Reads /proc. Raises OSError once the process is gone."""
        folder = _PROC / str(pid)
        stat = (folder / "stat").read_text().rpartition(")")[2].split()
        self.last = time.perf_counter()
        self.states[stat[0]] = self.states.get(stat[0], 0) + 1
        self.faults = int(stat[9]) - self._before.setdefault("faults", int(stat[9]))
        self.rss = max(self.rss, int(stat[21]) * os.sysconf("SC_PAGESIZE"))
        for task in os.listdir(folder / "task"):
            try:
                cpu, delay, _ = map(int, (folder / "task" / task / "schedstat").read_text().split())
            except (OSError, ValueError):
                continue  # the thread has ended, or this kernel does not tell
            start = self._starts.setdefault(int(task), (cpu, delay) if not self.looks else (0, 0))
            self.threads[int(task)] = cpu - start[0], delay - start[1]
        self.looks += 1
        try:
            for line in (folder / "io").read_text().splitlines():
                if line.startswith("read_bytes:"):
                    read = int(line.split()[1])
                    self.read = read - self._before.setdefault("read", read)
        except OSError:
            pass  # a hardened kernel does not tell

    def weigh(self, pid: int) -> None:
        """Reads the memory that is this process's own share. It takes the kernel a millisecond or more."""
        try:
            for line in (_PROC / str(pid) / "smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    self.pss = max(self.pss, int(line.split()[1]) * 1024)
        except OSError:
            pass


class Watcher:
    """Looks at a process and its children now and then.

    Attributes:
        main: the process itself.
        workers: its children, with theirs, by process number.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.main = Seen(time.perf_counter())
        self.workers: dict[int, Seen] = {}
        self._known = set(descendants(pid))  # they were there before; a loader did not start them
        self._looks = 0

    def look(self) -> None:
        """Looks once. 0.1 ms for each process."""
        try:
            self.main.look(self._pid)
        except OSError:
            return
        for pid in descendants(self._pid) - self._known:
            seen = self.workers.setdefault(pid, Seen(time.perf_counter()))
            try:
                seen.look(pid)
            except OSError:
                continue
            if self._looks % 8 == 3:
                seen.weigh(pid)
        self._looks += 1


class Watching:
    """A thread that looks five times a second, while its `with` statement lasts."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher, self._over = watcher, threading.Event()
        self._thread = threading.Thread(target=self._run, name="gofast-doctor", daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self._watcher

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(0.2):
            self._watcher.look()


def descendants(pid: int) -> set[int]:
    """The processes that a process has started, and theirs."""
    found: set[int] = set()
    try:
        for task in os.listdir(_PROC / str(pid) / "task"):
            children = (_PROC / str(pid) / "task" / task / "children").read_text().split()
            for child in map(int, children):
                found |= {child} | descendants(child)
    except OSError:
        pass  # it has ended
    return found
