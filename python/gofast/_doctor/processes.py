"""What the kernel says of a process and its workers, from /proc: processor time, waiting, memory, reads."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

_PROC = Path("/proc")


@dataclass
class Seen:
    """One process, from its birth to the last look at it.

    Attributes:
        life: seconds.
        threads: for each thread, nanoseconds on a processor and of waiting for one.
        rss, pss: bytes, the most that was seen.
        ended: processor seconds of its children that have ended.
        read: bytes that came from storage.
        states: how often its main thread was seen in each state ("R", "S", "D").
        looks: how often it was looked at.
    """

    life: float = 0.0
    threads: dict[int, tuple[int, int]] = field(default_factory=dict)
    rss: int = 0
    pss: int = 0
    ended: float = 0.0
    read: int = 0
    states: dict[str, int] = field(default_factory=dict)
    looks: int = 0

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
        folder = _PROC / str(pid)
        stat = (folder / "stat").read_text().rpartition(")")[2].split()
        born = int(stat[19]) / os.sysconf("SC_CLK_TCK")
        self.life = max(time.clock_gettime(time.CLOCK_BOOTTIME) - born, 1e-9)
        self.ended = (int(stat[13]) + int(stat[14])) / os.sysconf("SC_CLK_TCK")
        self.states[stat[0]] = self.states.get(stat[0], 0) + 1
        self.rss = max(self.rss, int(stat[21]) * os.sysconf("SC_PAGESIZE"))
        for task in os.listdir(folder / "task"):
            try:
                cpu, delay, _ = map(int, (folder / "task" / task / "schedstat").read_text().split())
            except (OSError, ValueError):
                continue  # the thread has ended, or this kernel does not tell
            self.threads[int(task)] = cpu, delay
        self.looks += 1
        try:
            for line in (folder / "io").read_text().splitlines():
                if line.startswith("read_bytes:"):
                    self.read = int(line.split()[1])
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
    """Looks at a process that was just started, and at its children, now and then.

    Attributes:
        main: the process itself.
        workers: its children, with theirs, by process number.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self.main = Seen()
        self.workers: dict[int, Seen] = {}
        self._looks = 0
        self._begin = time.monotonic(), machine_busy()

    def others(self) -> float:
        """How many processors other programs kept busy since then, on average."""
        seconds, busy = time.monotonic() - self._begin[0], machine_busy() - self._begin[1]
        # Workers of short epochs may never have been seen: they are in what the main process has waited for.
        own = self.main.cpu + max(sum(worker.cpu for worker in self.workers.values()), self.main.ended)
        return max(busy - own, 0.0) / max(seconds, 1e-9)

    def look(self) -> None:
        """Looks once. 0.1 ms for each process."""
        try:
            self.main.look(self._pid)
        except OSError:
            return
        for pid in descendants(self._pid):
            seen = self.workers.setdefault(pid, Seen())
            try:
                seen.look(pid)
            except OSError:
                continue
            if self._looks % 8 == 3:
                seen.weigh(pid)
        self._looks += 1


def machine_busy() -> float:
    """Seconds that this machine's processors have been busy, all programs together; 0 if unknown.

    What a hypervisor took away counts too: it was not to be had here.
    """
    try:
        fields = (_PROC / "stat").read_text().split("\n", 1)[0].split()[1:]
        ticks = [int(field) for field in fields]
    except (OSError, ValueError):
        return 0.0
    return (sum(ticks[:3]) + sum(ticks[5:8])) / os.sysconf("SC_CLK_TCK")


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
