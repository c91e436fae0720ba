"""What the kernel says of a process and its workers, from /proc: processor time, waiting, memory, reads."""

from __future__ import annotations

import os
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field

_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Process:
    """One process, from its birth to the last look at it.

    Attributes:
        life: seconds.
        threads: for each thread, nanoseconds on a processor and of waiting for one.
        rss, pss: bytes, the most that was seen.
        ended: processor seconds of its children that have ended.
        read: bytes that came from storage.
        states: how often its main thread was seen in each state ("R", "S", "D").
    """

    life: float = 0.0
    threads: dict[int, tuple[int, int]] = field(default_factory=dict)
    rss: int = 0
    pss: int = 0
    ended: float = 0.0
    read: int = 0
    states: Counter[str] = field(default_factory=Counter)

    @property
    def cpu(self) -> float:
        """Seconds on a processor, of all threads."""
        return sum(cpu for cpu, _ in self.threads.values()) / 1e9

    @property
    def delay(self) -> float:
        """Seconds in which a thread could have run, but no processor was free."""
        return sum(delay for _, delay in self.threads.values()) / 1e9

    @property
    def running(self) -> float:
        """How many of its threads computed or would have, on average: those that sleep do not count."""
        return (self.cpu + self.delay) / max(self.life, 1e-9)

    def look(self, pid: int) -> None:
        """Reads /proc. Raises OSError once the process is gone."""
        stat = _read(f"{pid}/stat").rpartition(")")[2].split()
        self.life = max(time.clock_gettime(time.CLOCK_BOOTTIME) - int(stat[19]) / _TICKS, 1e-9)
        self.ended = (int(stat[13]) + int(stat[14])) / _TICKS
        self.states[stat[0]] += 1
        self.rss = max(self.rss, int(stat[21]) * os.sysconf("SC_PAGESIZE"))
        for task in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError, ValueError):  # the thread has ended, or this kernel does not tell
                cpu, delay, _ = map(int, _read(f"{pid}/task/{task}/schedstat").split())
                self.threads[int(task)] = cpu, delay
        with suppress(OSError, IndexError):  # a hardened kernel does not tell
            self.read = int(_read(f"{pid}/io").split("\nread_bytes:")[1].split()[0])
        if self.states.total() % 8 == 4:  # its own share of memory takes the kernel a millisecond or more
            with suppress(OSError, IndexError):
                self.pss = max(
                    self.pss, int(_read(f"{pid}/smaps_rollup").split("\nPss:")[1].split()[0]) << 10
                )


class Watcher:
    """Looks at a process that was just started, and at its children, now and then.

    Attributes:
        main: the process itself.
        workers: its children, with theirs, by process number.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.main = Process()
        self.workers: dict[int, Process] = {}
        self._begin = time.monotonic(), machine_busy()

    def others(self) -> float:
        """How many processors other programs kept busy since then, on average."""
        seconds, busy = time.monotonic() - self._begin[0], machine_busy() - self._begin[1]
        # Workers of short epochs may never have been seen: they are in what the main process has waited for.
        own = self.main.cpu + max(sum(worker.cpu for worker in self.workers.values()), self.main.ended)
        return max(busy - own, 0.0) / max(seconds, 1e-9)

    def read(self) -> int:
        """Bytes that came from storage."""
        return self.main.read + sum(worker.read for worker in self.workers.values())

    def look(self) -> None:
        """Looks once. 0.1 ms for each process."""
        with suppress(OSError):
            self.main.look(self._pid)
        for pid in descendants(self._pid):
            with suppress(OSError):
                self.workers.setdefault(pid, Process()).look(pid)


def machine_busy() -> float:
    """Seconds that this machine's processors have been busy, all programs together; 0 if unknown.

    What a hypervisor took away counts too: it was not to be had here.
    """
    try:
        ticks = [int(text) for text in _read("stat").split("\n", 1)[0].split()[1:]]
    except (OSError, ValueError):
        return 0.0
    return (sum(ticks[:3]) + sum(ticks[5:8])) / _TICKS


def descendants(pid: int) -> set[int]:
    """The processes that a process has started, and theirs."""
    found: set[int] = set()
    with suppress(OSError):  # it has ended
        for task in os.listdir(f"/proc/{pid}/task"):
            for child in map(int, _read(f"{pid}/task/{task}/children").split()):
                found |= {child} | descendants(child)
    return found


def _read(name: str) -> str:
    with open(f"/proc/{name}") as file:
        return file.read()
