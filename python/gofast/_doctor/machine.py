"""What this machine allows the process: processors and memory, control groups included."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_V1 = {"limit": "memory.limit_in_bytes", "used": "memory.usage_in_bytes", "cache": "total_inactive_file"}
_V2 = {"limit": "memory.max", "used": "memory.current", "cache": "inactive_file"}


@dataclass(frozen=True)
class Memory:
    """Bytes that this process may use, and how many of them are free.

    Attributes:
        limit: of the control group or the machine, whichever has less free.
        free: what can be had at once: the page cache that nobody maps counts as free.
        source: "control group" or "machine".
    """

    limit: int
    free: int
    source: str


@dataclass(frozen=True)
class Machine:
    """Reads /proc and /sys below a root. A test plants files under a root of its own."""

    root: Path = Path("/")

    def cores(self) -> int:
        """Processors that this process may use, at least 1: its affinity and the group's quota."""
        cores = float(len(os.sched_getaffinity(0)))
        for folder in self._groups("cpu"):
            quota, period = self._quota(folder)
            if quota > 0 and period > 0:
                cores = min(cores, quota / period)
        return max(1, int(cores + 0.5))

    def memory(self) -> Memory | None:
        """The tighter of machine and control group; None where neither can be read."""
        found = [known for known in (self._whole(), *map(self._group, self._groups("memory"))) if known]
        return min(found, key=lambda known: known.free, default=None)

    def _whole(self) -> Memory | None:
        lines = _fields(self.root / "proc/meminfo")
        if "MemTotal" not in lines or "MemAvailable" not in lines:
            return None
        return Memory(lines["MemTotal"] * 1024, lines["MemAvailable"] * 1024, "machine")

    def _group(self, folder: Path) -> Memory | None:
        for names in (_V2, _V1):
            limit, used = _number(folder / names["limit"]), _number(folder / names["used"])
            if limit is None or used is None or limit >= 1 << 60:  # "max", or v1's way to say so
                continue
            cache = _fields(folder / "memory.stat").get(names["cache"], 0)
            return Memory(limit, max(limit - used + min(cache, used), 0), "control group")
        return None

    def _groups(self, controller: str) -> list[Path]:
        """The folders of this process's control groups, with those above them."""
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

    @staticmethod
    def _quota(folder: Path) -> tuple[float, float]:
        try:
            quota, period = (folder / "cpu.max").read_text().split()
            return (0.0, 0.0) if quota == "max" else (float(quota), float(period))
        except (OSError, ValueError):
            pass
        quotas = _number(folder / "cpu.cfs_quota_us"), _number(folder / "cpu.cfs_period_us")
        return float(quotas[0] or 0), float(quotas[1] or 0)


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
