"""Counts that the core's threads add to, in memory that Python can read without entering the core."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from typing import TypedDict

import numpy as np


class TallyLayout(TypedDict):
    """How a tally lies in memory: stripes of counters."""

    names: list[str]  # of the counters that are used, by their place in a stripe
    stripes: int
    each: int  # counters of a stripe


class Tally:
    """A tally of one's own, for as long as tickets that count in it may be under way.

    Attributes:
        address: its place.
    """

    def __init__(self, layout: TallyLayout) -> None:
        self._layout = layout
        room = np.zeros(layout["stripes"] * layout["each"] + 7, np.int64)
        start = -room.ctypes.data % 64 // 8  # a stripe begins with a cache line
        self._memory = room[start : start + layout["stripes"] * layout["each"]]
        self.address = self._memory.ctypes.data

    def read(self) -> dict[str, int]:
        """What was counted so far, by name."""
        return read(self._layout, [self.address])


def read(layout: TallyLayout, addresses: Iterable[int]) -> dict[str, int]:
    """The sum of tallies, by the counters' names. Threads may go on counting meanwhile."""
    total = np.zeros(len(layout["names"]), np.int64)
    for address in addresses:
        memory = (ctypes.c_int64 * (layout["stripes"] * layout["each"])).from_address(address)
        total += np.frombuffer(memoryview(memory), np.int64).reshape(-1, layout["each"]).sum(0)[: len(total)]
    return dict(zip(layout["names"], total.tolist(), strict=True))


def stages(counted: Mapping[str, int]) -> dict[str, float]:
    """Seconds of each stage that is known. Of pictures, the parts of those that were measured tell of all."""
    known = {name: counted[f"stage:{name}"] / 1e9 for name in MEASURED if counted.get(f"stage:{name}", 0) > 0}
    parts = {name: ticks for name, ticks in counted.items() if name.startswith("part:") and ticks > 0}
    whole, all_ticks = counted.get("stage:picture", 0) / 1e9, sum(parts.values())
    return known | {name.removeprefix("part:"): whole * ticks / all_ticks for name, ticks in parts.items()}


def busy(counted: Mapping[str, int]) -> float:
    """Seconds of work of all threads together."""
    return sum(ns for name, ns in counted.items() if name.startswith("stage:")) / 1e9


MEASURED: Sequence[str] = ("read", "header", "gather")
