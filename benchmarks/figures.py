"""From measured values to the figures that the project promises: medians, ratios, limits."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import Any

import numpy as np

# Section -> peer -> values in seconds or bytes, one a round.
Measured = dict[str, dict[str, list[float]]]


@dataclass(frozen=True)
class Ratio:
    """A peer of ours in a section against the fastest of some others, there or in another section: how many
    times faster it has to be."""

    what: str
    section: str
    against: tuple[str, ...]
    least: float
    aim: float
    elsewhere: str | None = None
    ours: str = "gofast"


@dataclass(frozen=True)
class Limit:
    """A value of gofast's own that must stay below a limit."""

    what: str
    section: str
    unit: str
    least: float
    aim: float


SCALE = {"ms": 1e3, "MB": 1e-6}


def median(values: list[float]) -> float:
    """The middle value."""
    return statistics.median(values)


def spread(values: list[float]) -> tuple[float, float]:
    """The quartiles (the extremes where there are fewer than four values)."""
    if len(values) < 4:
        return min(values), max(values)
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return low, high


def growth(readings: list[list[int]]) -> dict[str, Any]:
    """The slope of memory with its standard error, and the change of descriptors and threads.

    Memory moves in steps (an allocator's, Go's collector's), so neighbouring readings are not independent:
    the line is laid through the means of 20 blocks."""
    rows = np.asarray(readings, dtype=np.float64)
    blocks = np.array_split(rows[:, 0], 20)
    means = np.array([block.mean() for block in blocks])
    epochs = (np.arange(len(blocks)) + 0.5) * len(rows) / len(blocks)
    slope, base = np.polyfit(epochs, means, 1)
    residuals = means - (slope * epochs + base)
    error = float(residuals.std(ddof=2) / (epochs.std() * len(epochs) ** 0.5))
    return {
        "bytes an epoch": float(slope),
        "standard error": error,
        "descriptors": int(rows[-1, 1] - rows[0, 1]),
        "threads": int(rows[-1, 2] - rows[0, 2]),
    }


def grows(result: dict[str, Any]) -> bool:
    """True when the growth is more than noise: over two standard errors and over one page an epoch."""
    slope = result["bytes an epoch"]
    leaks = slope > 2 * result["standard error"] and slope > 4096
    return bool(leaks or result["descriptors"] > 0 or result["threads"] > 0)


def reached(value: float, least: float, aim: float, more: bool) -> str:
    """The word for the report: aim, least or missed."""
    for bound, word in ((aim, "aim"), (least, "least")):
        if value >= bound if more else value <= bound:
            return word
    return "missed"


def table(
    measured: Measured,
    growths: dict[str, dict[str, Any]],
    ratios: tuple[Ratio, ...],
    limits: tuple[Limit, ...] = (),
) -> list[dict[str, Any]]:
    """Every figure whose values were measured."""
    rows: list[dict[str, Any]] = []
    for ratio in ratios:
        theirs = measured.get(ratio.elsewhere or ratio.section, {})
        others = {peer: median(theirs[peer]) for peer in ratio.against if peer in theirs}
        if ratio.ours not in measured.get(ratio.section, {}) or not others:
            continue
        best = min(others, key=lambda peer: others[peer])
        ours = median(measured[ratio.section][ratio.ours])
        value = others[best] / ours
        rows.append(
            {
                "what": ratio.what,
                "section": ratio.section,
                "gofast": ours,
                "against": best,
                "other": others[best],
                "value": value,
                "unit": "x",
                "least": ratio.least,
                "aim": ratio.aim,
                "reached": reached(value, ratio.least, ratio.aim, more=True),
            }
        )
    for limit in limits:
        if "gofast" not in measured.get(limit.section, {}):
            continue
        value = median(measured[limit.section]["gofast"]) * SCALE[limit.unit]
        rows.append(
            {
                "what": limit.what,
                "section": limit.section,
                "value": value,
                "unit": limit.unit,
                "least": limit.least,
                "aim": limit.aim,
                "reached": reached(value, limit.least, limit.aim, more=False),
            }
        )
    for mode, result in growths.items():
        word = "missed" if grows(result) else "aim"
        rows.append(
            {"what": f"growth over short epochs, {mode}", "section": "growth", **result, "reached": word}
        )
    return rows
