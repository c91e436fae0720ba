"""The kit's runner: what it says of parts that pass, fail, hang and end, and that what is done is kept."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

from benchmarks.gpu import kit_run, page
from benchmarks.gpu.kit_run import ALWAYS, NO_GPU, NOT_FINISHED, WITH_GPU, Part

TESTS = """
import os, time
import pytest
import torch

def test_passes(): pass
@pytest.mark.skip
def test_is_skipped(): pass
def test_ends_the_process(): os._exit(1)
def test_behind_it(): pass
"""
FAILS = "def test_fails(): assert 1 == 2"


def checks(folder: Path, code: str, seconds: float = 60) -> Part:
    path = folder / "test_something.py"
    path.write_text(code, encoding="utf-8")
    words = ("-c", "/dev/null", "-p", "benchmarks.gpu.watched", "-p", "no:cacheprovider", str(path))
    quickly = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # its start counts
    return Part("tests", seconds, kit_run.pytest(*words), ALWAYS, True, quickly)


def outcomes(folder: Path) -> dict[str, str]:
    lines = map(json.loads, (folder / "tests.jsonl").read_text(encoding="utf-8").splitlines())
    return {line["test"].rpartition("::")[2]: line["outcome"] for line in lines}


@pytest.mark.full
def test_behind_a_test_that_ends_the_process_the_others_run(tmp_path: Path) -> None:
    done = kit_run.do(checks(tmp_path, TESTS + FAILS), tmp_path, 60)
    assert done["became"] == "failed"
    assert outcomes(tmp_path) == {
        "test_passes": "passed",
        "test_is_skipped": "skipped",
        "test_ends_the_process": "begun",
        "test_behind_it": "passed",
        "test_fails": "failed",
    }
    fails, ends = done["bad"]
    assert "assert 1 == 2" in fails["why"] and ends["test"].endswith("test_ends_the_process")


@pytest.mark.full
def test_what_was_done_before_the_time_was_up_is_kept(tmp_path: Path) -> None:
    done = kit_run.do(checks(tmp_path, TESTS.replace("os._exit(1)", "time.sleep(90)"), 15), tmp_path, 60)
    assert done["became"] == "not finished" and done["seconds"] < 60
    assert outcomes(tmp_path)["test_passes"] == "passed"


def part(name: str, code: str, where: str = ALWAYS, seconds: float = 30) -> Part:
    return Part(name, seconds, (sys.executable, "-c", code), where)


@pytest.mark.parametrize(
    ("parts", "became", "status"),
    [
        ([part("one", ""), part("two", "", WITH_GPU)], ["done", "skipped: no GPU"], NO_GPU),
        ([part("one", "1/0"), part("two", "")], ["failed", "done"], kit_run.FAILED),
        (
            [part("one", "import time; time.sleep(60)", seconds=1), part("two", "")],
            ["not finished", "done"],
            NOT_FINISHED,
        ),
    ],
)
def test_the_status_says_what_happened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: list[Part], became: list[str], status: int
) -> None:
    monkeypatch.setattr(kit_run, "PARTS", parts)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(sys, "argv", ["run", str(tmp_path)])
    assert kit_run.main() == status
    summary = json.loads((tmp_path / "summary.json").read_text(encoding="utf-8"))
    assert [part["became"] for part in summary["parts"]] == became
    said = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert all(f"{part.name}: {what}" in said for part, what in zip(parts, became, strict=True))


def test_figures_are_drawn(tmp_path: Path) -> None:
    section = {"title": "Copies", "unit": "GB/s", "peers": {"gofast": [1.0, 3.0, 2.0], "torch": [1.0]}}
    (tmp_path / "copies.json").write_text(json.dumps([section]), encoding="utf-8")
    (tmp_path / "engine").mkdir()
    runs = {"runs": [{"threads": 2, "samples_per_second": 1234.5}]}
    (tmp_path / "engine" / "report.json").write_text(json.dumps(runs), encoding="utf-8")
    parts = [{"part": "copies", "became": "done", "seconds": 1}]
    drawn = page.page({"machine": {"gpu": "H100 <x>"}, "parts": parts}, tmp_path)
    assert "2 GB/s" in drawn and "1,234 pictures/s" in drawn and "H100 &lt;x&gt;" in drawn
