"""The arithmetic behind the figures: a leak is seen, noise is not, ratios take the right peers."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from benchmarks import compare, figures, publish, tables_report


def readings(leak: int, descriptors: int = 0) -> list[list[int]]:
    noise = random.Random(0)
    return [
        [300_000_000 + noise.randrange(200_000) + leak * epoch, 20 + descriptors * (epoch // 100), 9]
        for epoch in range(200)
    ]


@pytest.mark.parametrize(
    ("leak", "descriptors", "expected"), [(0, 0, False), (100, 0, False), (8_192, 0, True), (0, 1, True)]
)
def test_growth(leak: int, descriptors: int, expected: bool) -> None:
    assert figures.grows(figures.growth(readings(leak, descriptors))) is expected


def test_ratios_and_limits() -> None:
    rows = {
        row["section"]: row
        for row in figures.table(
            {
                "parquet": {
                    "pandas": [0.9, 0.35, 0.35],
                    "polars": [0.4, 0.4, 0.4],
                    "gofast": [0.1, 0.1, 0.5],
                },
                "epoch 16 plain": {"vectorised": [0.2]},
                "epoch 16 own loader": {"indexing": [0.01], "gofast": [0.1]},
                "import": {"gofast": [0.02]},
            },
            {},
            tables_report.RATIOS,
            tables_report.LIMITS,
        )
    }
    assert rows["parquet"]["against"] == "pandas"
    assert rows["parquet"]["value"] == pytest.approx(3.5)
    assert rows["parquet"]["reached"] == "least"
    assert rows["epoch 16 own loader"]["value"] == pytest.approx(2.0)
    assert rows["epoch 16 own loader"]["reached"] == "missed"
    assert (rows["import"]["value"], rows["import"]["reached"]) == (pytest.approx(20.0), "least")


def test_readme_without_markers(tmp_path: Path) -> None:
    readme = tmp_path / "README.md"
    start, end = publish.markers("tables")
    readme.write_text(f"a {end} b {start} c")
    with pytest.raises(SystemExit, match="needs one"):
        publish.blocks(readme, "tables")


def test_an_interval_knows_what_differs_between_processes() -> None:
    random = np.random.default_rng(0)
    held, trials = 0, 400
    for _ in range(trials):
        processes = random.normal(0, 0.03, 10)  # memory lies elsewhere in each
        machine = random.normal(0, 0.1, (9, 1))  # in each round
        low, _, high = compare.interval(
            np.exp(processes + machine + random.normal(0, 0.01, (9, 10))).tolist()
        )
        held += low <= 1 <= high
    assert 0.92 < held / trials < 0.98
    slower = np.exp(random.normal([0.1] * 5 + [0.0] * 5, 0.01, (9, 10))).tolist()
    low, ratio, high = compare.interval(slower)
    assert low < ratio < high < compare.SLOWER and ratio == pytest.approx(np.exp(-0.1), abs=0.02)
