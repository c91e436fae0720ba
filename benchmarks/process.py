"""Readings from /proc: memory and processors of this process, and what others do meanwhile."""

from __future__ import annotations

import os
import resource
import threading
import time
from pathlib import Path


def status(field: str) -> int:
    """Bytes of this process: VmRSS is what is in memory now, shared pages (a table's memfd) included, VmHWM
    the most that was since forget_peak."""
    text = Path("/proc/self/status").read_text(encoding="ascii")
    return 1024 * int(text.partition(f"{field}:")[2].split()[0])


def forget_peak() -> None:
    """Starts the peak again at the present value."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def descendants() -> list[int]:
    """This process and those that it, or they, have started and that live."""
    found, looked = [os.getpid()], 0
    while looked < len(found):
        try:
            for task in Path(f"/proc/{found[looked]}/task").iterdir():
                found += map(int, (task / "children").read_text(encoding="ascii").split())
        except OSError:  # it has ended meanwhile
            pass
        looked += 1
    return found


def private() -> int:
    """Bytes of this process and its descendants that no file backs: their heaps, and shared memory. What
    several of them share counts once, and a mapped file, like one that is read, is the page cache's."""
    total = 0
    for pid in descendants():
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
    return 1024 * total


class Peak:
    """The most private memory while its block runs, above what it was when this was made."""

    def __init__(self) -> None:
        self.before, self.most = private(), 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    @property
    def above(self) -> int:
        """The peak in bytes, without what was there before."""
        return max(0, self.most - self.before)

    def _watch(self) -> None:
        ended = False
        while not ended:
            ended = self._ended.wait(0.02)
            self.most = max(self.most, private())

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()


def processor_seconds() -> float:
    """Seconds of processors that this process, its children that ended and those that live have used."""
    own, ended = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    seconds = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
    for pid in descendants()[1:]:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except OSError:
            continue
        ticks = sum(map(int, fields[11:15]))  # its own, and of those it waited for
        seconds += ticks / os.sysconf("SC_CLK_TCK")
    return seconds


class Neighbours:
    """How much of the machine's processors others used since this was made. On a shared machine a time says
    little: torch's threads wait for each other, and slow down far more than the share that is taken."""

    def __init__(self) -> None:
        self.started = time.monotonic()
        self.before = self._others()

    @staticmethod
    def _others() -> float:
        """Seconds of all processors that went to neither this process nor its ended children."""
        fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
        user, nice, system, _, _, irq, soft, steal = (int(field) for field in fields[:8])
        busy = (user + nice + system + irq + soft + steal) / os.sysconf("SC_CLK_TCK")
        ours = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        return busy - sum(usage.ru_utime + usage.ru_stime for usage in ours)

    def share(self) -> float:
        """0 to 1 of all processors. Call it when the children have ended."""
        seconds = (time.monotonic() - self.started) * (os.cpu_count() or 1)
        return max(0.0, (self._others() - self.before) / seconds)
