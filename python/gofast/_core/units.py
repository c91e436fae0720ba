"""Numbers with their units, for people, and from them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .. import errors

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}
_UNITS |= {"kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30, "tib": 1 << 40}


def bytes_of(name: str, value: Any) -> int:
    """The bytes of an option: a number, or a text such as "1GB".

    Raises:
        OptionError: it is neither.
    """
    if isinstance(value, str):
        found = re.fullmatch(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*([a-zA-Z]*)\s*", value)
        if found and found[2].lower() in _UNITS:
            return int(float(found[1]) * _UNITS[found[2].lower()])
    elif isinstance(value, int) and not isinstance(value, bool):
        return value
    raise errors.OptionError(f'{name}={value!r}: give bytes, such as "1GB" or 10**9')


def size(count: float) -> str:
    """Bytes: "12.3 MB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if count < 1000:
            return f"{count:.0f} B" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.1f} TB"


def exact(count: int) -> str:
    """The same with the number itself, which a limit may be set to: "12.3 MB (12345678 bytes)"."""
    return f"{count} bytes" if count < 1000 else f"{size(count)} ({count} bytes)"


def duration(seconds: float) -> str:
    """A time, with two or three digits that count: "1.3 ms"."""
    value = seconds * 1e3
    if value < 1:
        return f"{value * 1e3:.0f} us"
    return f"{value:.1f} ms" if value < 10 else f"{value:.0f} ms" if value < 10_000 else f"{seconds:.1f} s"


def many(count: int, what: str) -> str:
    """A number of things: "1 file", "2 files"."""
    return f"{count} {what}{'s' * (count != 1)}"


def aligned(table: Sequence[Sequence[str]]) -> list[str]:
    """The lines of a table, whose columns stand below each other."""
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return ["  ".join(map(str.ljust, line, widths)).rstrip() for line in table]
