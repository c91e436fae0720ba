"""Readings of this process from /proc: resident memory, its peak, descriptors, threads."""

from __future__ import annotations

import os
from pathlib import Path


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise ValueError(f"/proc/self/status has no {field}")


def resident() -> int:
    """Bytes in memory now, shared pages (a table's memfd) included."""
    return _status("VmRSS") * 1024


def peak() -> int:
    """The most bytes in memory since forget_peak."""
    return _status("VmHWM") * 1024


def forget_peak() -> None:
    """Starts the peak anew at the present value."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def descriptors() -> int:
    """Open file descriptors, without the one that lists them."""
    return len(os.listdir("/proc/self/fd")) - 1


def threads() -> int:
    """Threads of this process."""
    return _status("Threads")
