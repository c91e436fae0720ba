"""What other people's code has to reach, its text and page table; report.py has what all benchmarks share."""

from __future__ import annotations

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


STRANGERS = report.Benchmark("strangers", amount, table, what, PACKAGES, PROMISED, remarks)
