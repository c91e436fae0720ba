"""What this machine allows the process: processors and memory, control groups of both versions included."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_UNLIMITED = 1 << 60  # bytes from which version 1 means no limit


@dataclass(frozen=True)
class MemoryUse:
    """Bytes that this process may use, and how many of them are free.

    Attributes:
        limit: of the control group or the machine, whichever has less free.
        free: what can be had at once: pages of files that are only kept for later count as free.
        source: "control group" or "machine".
    """

    limit: int
    free: int
    source: str


@dataclass(frozen=True)
class Machine:
    """Reads /proc and /sys below a root. A test plants files under a root of its own."""

    root: Path = Path("/")

    def quota(self) -> float | None:
        """Processors that the control groups allow, all together; None without a limit."""
        return min(filter(None, map(_quota, self._groups("cpu"))), default=None)

    def cores(self) -> int:
        """Processors that this process may use, at least 1: its affinity and the groups' quota."""
        return max(1, round(min(len(os.sched_getaffinity(0)), self.quota() or float("inf"))))

    def memory_limit(self) -> int | None:
        """Bytes that the control groups allow; None without a limit."""
        return min((known.limit for known in self._limited()), default=None)

    def memory(self) -> MemoryUse | None:
        """The tighter of machine and control groups; None where neither can be read."""
        return min((*self._whole(), *self._limited()), key=lambda known: known.free, default=None)

    def _whole(self) -> Iterator[MemoryUse]:
        lines = _fields(self.root / "proc/meminfo")
        if "MemTotal" in lines and "MemAvailable" in lines:
            yield MemoryUse(lines["MemTotal"] * 1024, lines["MemAvailable"] * 1024, "machine")

    def _limited(self) -> Iterator[MemoryUse]:
        return filter(None, map(_memory, self._groups("memory")))

    def _groups(self, controller: str) -> list[Path]:
        """The folders of this process's control groups that have this controller, with those above them.

        In a container, the group of /proc/self/cgroup may be the host's name for what is mounted at the top.
        """
        top = self.root / "sys/fs/cgroup"
        found = [top, top / controller]
        try:
            lines = (self.root / "proc/self/cgroup").read_text().splitlines()
        except OSError:
            lines = []
        for line in lines:
            _, names, path = [*line.split(":", 2), "", ""][:3]
            if names and controller not in names.split(","):
                continue
            folder = (top / names if names else top) / path.lstrip("/")
            found += [at for at in (folder, *folder.parents) if top in at.parents]
        return list(dict.fromkeys(found))


def _quota(folder: Path) -> float | None:
    try:
        quota, period = (folder / "cpu.max").read_text().split()
    except (OSError, ValueError):
        quota, period = (str(_number(folder / f"cpu.cfs_{name}_us")) for name in ("quota", "period"))
    # Version 2 says "max" where there is no quota, and version 1 says -1.
    return int(quota) / int(period) if quota.isdecimal() and int(quota) and period.isdecimal() else None


def _memory(folder: Path) -> MemoryUse | None:
    for names in (
        ("memory.max", "memory.current", ""),
        ("memory.limit_in_bytes", "memory.usage_in_bytes", "total_"),
    ):
        limit, used = _number(folder / names[0]), _number(folder / names[1])
        if limit is not None and used is not None and limit < _UNLIMITED:
            pages = _fields(folder / "memory.stat")
            # Those in use lately, too: a data set that is read again and again fills the group with them.
            files = sum(pages.get(f"{names[2]}{kind}_file", 0) for kind in ("inactive", "active"))
            return MemoryUse(limit, max(limit - used + min(files, used), 0), "control group")
    return None


def _number(path: Path) -> int | None:
    try:
        return int(path.read_text())
    except (OSError, ValueError):
        return None


def _fields(path: Path) -> dict[str, int]:
    """The lines "name value" of a file."""
    found = {}
    try:
        for line in path.read_text().splitlines():
            name, _, value = line.replace(":", " ").partition(" ")
            if value.split():
                found[name] = int(value.split()[0])
    except (OSError, ValueError):
        pass
    return found
