"""The page's figures are those of the results in the repository, and a difference is noticed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from benchmarks import environments, publish, report


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("tables", "| naive |", "| slow |"),
        ("images", "photographs", "pictures"),
        ("images", "images-", "image-"),
        ("tables", "times faster", "times"),
    ],
)
def test_a_changed_page_is_stale(tmp_path: Path, name: str, old: str, new: str) -> None:
    page = tmp_path / "benchmarks.md"
    start, end = publish.markers(name)
    head, block, tail = publish.blocks(publish.PAGE, name)
    assert old in block
    page.write_text(f"{head}{start}\n{block.replace(old, new)}\n{end}{tail}")
    (only,) = publish.stale(page)
    assert only.startswith(f"{name}: ") and "benchmarks.publish" in only


def test_a_result_that_is_missing_or_one_too_many_is_stale(tmp_path: Path) -> None:
    results = tmp_path / "results"
    shutil.copytree(report.RESULTS, results)
    assert publish.stale(results=results) == []
    (result,) = results.glob("images-*.json")
    plot, other = result.with_suffix(".svg"), results / "images-another-machine-abc.json"
    shutil.copy(result, other)
    (only,) = publish.stale(results=results)
    assert only.startswith("images: ") and other.name in only
    other.unlink()
    plot.unlink()
    (only,) = publish.stale(results=results)
    assert "the plot of" in only
    result.unlink()
    (only,) = publish.stale(results=results)
    assert "names no result" in only


def test_publishing_again_mends_a_page(tmp_path: Path) -> None:
    pytest.importorskip("benchmarks.plot")
    _, block, _ = publish.blocks(publish.PAGE, "images")
    page, readme = tmp_path / "benchmarks.md", tmp_path / "README.md"
    page.write_text(publish.PAGE.read_text(encoding="utf-8").replace(block, "another table"))
    readme.write_text(publish.README.read_text(encoding="utf-8"))
    assert len(publish.stale(page)) == 1
    result = shutil.copy(report.RESULTS / (publish.named(block, "images") or ""), tmp_path)
    publish.publish(Path(result), page, readme)
    assert page.read_text(encoding="utf-8") == publish.PAGE.read_text(encoding="utf-8")


def test_the_plots_are_those_of_the_results(tmp_path: Path) -> None:
    plot = pytest.importorskip("benchmarks.plot")
    for name, benchmark in publish.BENCHMARKS.items():
        if benchmark.plot is None:
            continue
        result = report.RESULTS / (publish.named(publish.blocks(publish.PAGE, name)[1], name) or "")
        plot.write(json.loads(result.read_text(encoding="utf-8")), tmp_path / "plot.svg", benchmark.plot)
        assert (tmp_path / "plot.svg").read_text() == result.with_suffix(".svg").read_text(), result.name


def test_what_is_not_installed_is_named(tmp_path: Path) -> None:
    home = tmp_path / ".venv-bench-ffcv"
    with pytest.raises(ImportError, match=r"make \.venv-bench-ffcv/\.stamp"):
        environments.python("ffcv_", tmp_path)
    (home / "bin").mkdir(parents=True)
    (home / "bin" / "python").touch()
    (home / environments.REASONS).write_text("ffcv==1.0.2: error: no opencv: see make bench-system\n")
    assert environments.python("ffcv_", tmp_path) == str(home / "bin" / "python")
    assert environments.not_installed(tmp_path) == {"ffcv==1.0.2": "error: no opencv: see make bench-system"}
