"""Numbers with their units, for people."""

from __future__ import annotations


def size(count: float) -> str:
    """Bytes: "12.3 MB"."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"


def duration(seconds: float) -> str:
    """A time, with two or three digits that count: "1.3 ms"."""
    value = seconds * 1e3
    if value < 1:
        return f"{value * 1e3:.0f} us"
    return f"{value:.1f} ms" if value < 10 else f"{value:.0f} ms" if value < 10_000 else f"{seconds:.1f} s"


def many(count: int, what: str) -> str:
    """A number of things: "1 file", "2 files"."""
    return f"{count} {what}{'s' * (count != 1)}"
