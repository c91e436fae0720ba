"""What other people's code has to reach, its text and page table; report.py has what all benchmarks share."""

from __future__ import annotations

import statistics
import textwrap

from benchmarks import figures, report
from benchmarks.figures import Ratio
from benchmarks.report import Stored
from benchmarks.strangers import ROWS

PACKAGES = ("torch", "torchvision", "pillow", "timm", "lightly", "datasets", "pycocotools")
WORKERS = (0, 2)
PLAIN, UNMODIFIED, SWAPPED = "python", "python -m gofast", "swapped"


def sides(way: str) -> tuple[str, ...]:
    """The code run in one of these ways, with each number of workers."""
    return tuple(f"{way}, {workers} workers" for workers in WORKERS)


PROMISED = tuple(
    Ratio(f"{name}, {UNMODIFIED}", name, sides(PLAIN), row.least, row.aim, ours=sides(UNMODIFIED))
    for name, row in ROWS.items()
)


def amount(_: str, value: float) -> str:
    """Pictures a second."""
    return f"{1 / value:,.0f} img/s"


def times(plain: list[float], ours: list[float]) -> str:
    """How many times faster, with the rounds' extremes: an interval of 94 % for the median of five."""
    low, middle, high = figures.paired(plain, ours)
    return f"{middle:.1f}" if low == high else f"{middle:.1f} ({low:.1f} to {high:.1f})"


def remarks(stored: Stored) -> list[str]:
    """What was not equal, and what could not be measured."""
    return [
        *(f"NOT EQUAL: {where}: {how}" for where, how in stored["different"].items()),
        *(f"not measured: {what}: {reason}" for what, reason in stored["missing"].items()),
    ]


def what(stored: Stored) -> str:
    """The data."""
    return report.pictures(stored["data"])


def row(stored: Stored, name: str) -> str:
    """A case's line of the page."""
    measured = stored["sections"].get(name, {})
    plain = [side for side in sides(PLAIN) if side in measured]
    if not plain:
        reasons = [why for where, why in stored["missing"].items() if f"{where},".startswith(f"{name},")]
        return f"| {ROWS[name].about} | | not measured: {(reasons or ['not asked for'])[0]} | | |"
    best = min(plain, key=lambda side: float(measured[side]["median"]))
    speed = f"{amount('', measured[best]['median'])}, {best.removeprefix(f'{PLAIN}, ')}"
    cells = [
        " / ".join(
            times(measured[best]["values"], measured[s]["values"]) for s in sides(way) if s in measured
        )
        for way in (UNMODIFIED, SWAPPED)
    ]
    equal = "no" if any(where.startswith(f"{name},") for where in stored["different"]) else "yes"
    return f"| {ROWS[name].about} | {equal} | {speed} | {cells[0]} | {cells[1]} |"


def summary(stored: Stored) -> str:
    """README's paragraph: what is usual, what is best and worst, and what is slower."""
    speed: dict[str, dict[str, float]] = {}  # case -> workers -> times as fast as plain torch at its best
    for name, measured in stored["sections"].items():
        best = min(float(measured[side]["median"]) for side in sides(PLAIN) if side in measured)
        ours = zip(WORKERS, sides(UNMODIFIED), strict=True)
        speed[name] = {f"{n} workers": best / float(measured[s]["median"]) for n, s in ours if s in measured}
    better = [max(cells.values()) for cells in speed.values()]
    alone = [cells["0 workers"] for cells in speed.values()]
    slow = [
        (ratio, f"`{name}` with {workers} ({ratio:.2f})")
        for name, cells in speed.items()
        for workers, ratio in cells.items()
        if ratio < 1
    ]
    text = (
        f"{len(speed)} pipelines, written after public training code or taken from its packages, ran "
        "unmodified under `python -m gofast` with 0 and with 2 workers, on two cores. The better of the two "
        f"is {min(better):.1f} to {max(better):.0f} times as fast as torch's better, "
        f"{statistics.median(better):.1f} at the median; with 0 workers alone {statistics.median(alone):.1f} "
        f"at the median. Slower than torch's better: {len(slow)} of {sum(map(len, speed.values()))} runs"
        f"{', '.join(['', *(case for _, case in sorted(slow))])}."
    )
    return textwrap.fill(text, 120, break_long_words=False, break_on_hyphens=False)


def table(stored: Stored) -> list[str]:
    """The page's lines: a case a line."""
    return [
        "| whose code | equal | plain, at its best | times faster, 0 / 2 workers: unmodified | swapped |",
        "|---|---|---|---|---|",
        *(row(stored, name) for name in ROWS),
        "",
        "Equal: the first batches, byte for byte, and the generators' states after them. Times faster: the "
        "median of the rounds (and their extremes), against plain torch at its best number of workers.",
    ]


STRANGERS = report.Benchmark("strangers", amount, table, what, PACKAGES, PROMISED, remarks, summary=summary)
