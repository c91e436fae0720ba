"""From measured values to the figures that the project promises: medians, ratios, limits."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

# Section -> peer -> values in seconds or bytes, one a round.
Measured = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class Ratio:
    """A peer of ours in a section, or the fastest of some, against the fastest of some others, there or in
    another section: how many times faster it has to be."""

    what: str
    section: str
    against: tuple[str, ...]
    least: float
    aim: float
    elsewhere: str | None = None
    ours: str | tuple[str, ...] = "gofast"

    def row(self, measured: Measured) -> dict[str, Any] | None:
        """The figure, if both sides were measured."""
        there = measured.get(self.section, {})
        theirs = measured.get(self.elsewhere, {}) if self.elsewhere else there
        names = (self.ours,) if isinstance(self.ours, str) else self.ours
        found = [statistics.median(there[peer]) for peer in names if peer in there]
        others = {peer: statistics.median(theirs[peer]) for peer in self.against if peer in theirs}
        if not found or not others:
            return None
        best = min(others, key=lambda peer: others[peer])
        ours = min(found)
        value = others[best] / ours
        reached = "aim" if value >= self.aim else "least" if value >= self.least else "missed"
        return {
            "gofast": ours,
            "against": best,
            "other": others[best],
            "value": value,
            "unit": "x",
            "reached": reached,
        }


@dataclass(frozen=True)
class Limit:
    """A value of gofast's own that must stay below a limit."""

    what: str
    section: str
    unit: str
    least: float
    aim: float

    def row(self, measured: Measured) -> dict[str, Any] | None:
        """The figure, if it was measured."""
        if "gofast" not in measured.get(self.section, {}):
            return None
        scale = {"ms": 1e3, "MB": 1e-6}[self.unit]
        value = statistics.median(measured[self.section]["gofast"]) * scale
        found = "aim" if value <= self.aim else "least" if value <= self.least else "missed"
        return {"value": value, "unit": self.unit, "reached": found}


def spread(values: list[float]) -> tuple[float, float]:
    """The quartiles (the extremes where there are fewer than four values)."""
    if len(values) < 4:
        return min(values), max(values)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def paired(theirs: list[float], ours: list[float]) -> tuple[float, float, float]:
    """How many times faster ours were, round by round: the least, the median and the most."""
    ratios = [other / own for other, own in zip(theirs, ours, strict=False)]  # one may have ended early
    return min(ratios), statistics.median(ratios), max(ratios)


def table(measured: Measured, promised: tuple[Ratio | Limit, ...]) -> list[dict[str, Any]]:
    """Every figure whose values were measured."""
    return [
        {"what": one.what, "section": one.section, "least": one.least, "aim": one.aim, **row}
        for one in promised
        if (row := one.row(measured)) is not None
    ]
