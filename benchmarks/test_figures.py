"""The arithmetic behind the figures: ratios take the right peers, intervals know of processes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import compare, figures, images_report, publish, tables_report
from benchmarks.peers import images
from benchmarks.peers.images import BARE, OWN, PIL


def test_ratios_and_limits() -> None:
    two = f"{OWN}, 2 threads"
    measured = {
        "parquet": {"pandas": [0.9, 0.35, 0.35], "polars": [0.4, 0.4, 0.4], "gofast": [0.1, 0.1, 0.5]},
        "epoch 16 plain": {"vectorised": [0.2]},
        "epoch 16 own loader": {"indexing": [0.01], "gofast": [0.1]},
        "import": {"gofast": [0.02]},
        "train": {
            f"{PIL}, 0 workers": [0.004],
            f"{PIL}, 2 workers": [0.002],
            two: [0.0005, 0.0004, 0.0006],
            f"{BARE}, 2 threads": [0.00048],
        },
    }
    rows = figures.table(measured, (*tables_report.PROMISED, *images_report.PROMISED))
    assert [(row["section"], row.get("against"), row["value"], row["reached"]) for row in rows] == [
        ("parquet", "pandas", pytest.approx(3.5), "least"),
        ("epoch 16 own loader", "vectorised", pytest.approx(2.0), "missed"),
        ("import", None, pytest.approx(20.0), "least"),
        ("train", f"{BARE}, 2 threads", pytest.approx(0.96), "least"),
        ("train", f"{PIL}, 2 workers", pytest.approx(4), "aim"),
    ]


def test_ratios_name_sides_that_exist() -> None:
    for ratio in images_report.PROMISED:
        assert {ratio.ours, *ratio.against} <= images.PEERS.keys()


def test_a_page_without_markers(tmp_path: Path) -> None:
    page = tmp_path / "benchmarks.md"
    start, end = publish.markers("tables")
    page.write_text(f"a {end} b {start} c")
    with pytest.raises(SystemExit, match="needs one"):
        publish.blocks(page, "tables")


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
