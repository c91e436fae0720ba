"""The tables' JSON and page table; report.py has what all benchmarks share."""

from __future__ import annotations

from benchmarks import report
from benchmarks.figures import Limit, Ratio
from benchmarks.report import Stored, duration, median

PACKAGES = ("torch", "numpy", "pandas", "pyarrow", "polars")
PLOT = report.Plot(
    "seconds to the first batch and per epoch, of gofast and its peers",
    {
        "CSV file to tensors (gofast: to the first batch)": {"csv": ""},
        "Parquet file to tensors (gofast: to the first batch)": {"parquet": ""},
        "epoch, batch 512": {"epoch 512 plain": "", "epoch 512 own loader": " (own loader)"},
        "epoch, batch 16": {"epoch 16 plain": "", "epoch 16 own loader": " (own loader)"},
        "epoch, batch 512, two fresh workers": {"epoch 512 2 fresh workers": ""},
        "epoch, batch 512, two persistent workers": {"epoch 512 2 persistent workers": ""},
    },
    logarithmic=True,
)


PROMISED: tuple[Ratio | Limit, ...] = (
    Ratio("CSV file to first batch", "csv", ("polars uint8 schema",), 4, 6),
    Ratio("Parquet file to first batch", "parquet", ("pandas", "pyarrow", "polars"), 3, 5),
    Ratio("epoch, batch 512, torch's DataLoader", "epoch 512 plain", ("vectorised",), 8, 12),
    Ratio("epoch, batch 512, gofast.DataLoader", "epoch 512 own loader", ("indexing",), 2.5, 4),
    Ratio(
        "epoch, batch 16, gofast.DataLoader", "epoch 16 own loader", ("vectorised",), 3.5, 5, "epoch 16 plain"
    ),
    Ratio("epoch, batch 512, 2 fresh workers", "epoch 512 2 fresh workers", ("vectorised",), 3, 4),
    Ratio("epoch, batch 512, 2 persistent workers", "epoch 512 2 persistent workers", ("vectorised",), 6, 12),
    Limit("second open through cache=", "cache", "ms", 10, 3),
    Limit("peak memory above import torch, CSV to end of epoch", "memory", "MB", 180, 110),
    Limit("import gofast above import torch", "import", "ms", 30, 10),
)


def amount(section: str, value: float) -> str:
    """A value of a section in its unit."""
    return f"{value / 1e6:.0f} MB" if section == "memory" else duration(value)


def baseline(stored: Stored, section: str) -> float | None:
    """What the naive script takes for the same: pandas; one iloc a row, with torch's plain loader where
    gofast has its own; for memory the vectorised Dataset."""
    name = {"csv": "pandas", "parquet": "pandas", "memory": "vectorised"}.get(section, "naive")
    return median(stored, section.replace("own loader", "plain"), name)


def what(stored: Stored) -> str:
    """The data."""
    table = stored["data"]
    return (
        f"{table['rows']:,} rows of {table['name']} ({table['csv bytes'] / 1e6:.1f} MB CSV, "
        f"{table['parquet bytes'] / 1e6:.1f} MB Parquet)"
    )


def roof(stored: Stored) -> list[str]:
    """How near an epoch comes to copying its bytes."""
    section = "epoch 512 own loader"
    copied, ours = median(stored, section, "memcpy"), median(stored, section, "gofast")
    if copied is None or ours is None:
        return []
    return [
        f"The roof of an epoch: memcpy of its float32 rows, in order, into one buffer takes "
        f"{duration(copied)}; gofast.DataLoader, shuffled, batch 512, {duration(ours)}."
    ]


def table(stored: Stored) -> list[str]:
    """The page's lines: what was promised, then the roof."""
    lines = ["| what | naive | the peer to beat | gofast | times faster |", "|---|---|---|---|---|"]
    for row in stored["figures"]:
        section = row["section"]
        first = baseline(stored, section)
        before = amount(section, first) if first is not None else ""
        if row.get("unit") == "x":
            beaten = f"{duration(row['other'])} ({row['against']})"
            lines.append(
                f"| {row['what']} | {before} | {beaten} | {duration(row['gofast'])} | {row['value']:.1f} |"
            )
        elif "unit" in row:  # older results have rows of another kind
            lines.append(f"| {row['what']} | {before} | | {row['value']:.3g} {row['unit']} | |")
    return [
        *lines,
        "",
        "naive: pandas with inferred types; `iloc` a row (every tenth row timed, and scaled); for memory",
        "the vectorised Dataset.",
        *roof(stored),
    ]


TABLES = report.Benchmark("tables", amount, table, what, PACKAGES, PROMISED, plot=PLOT)
