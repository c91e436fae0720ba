"""Other people's code gives the same batches with gofast as without it, and what the benchmark says of it."""

from __future__ import annotations

import json
import random
import signal
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, TensorDataset

import gofast
from benchmarks import data, report, strangers
from benchmarks.strangers import __main__ as runner
from benchmarks.strangers.files import Files
from benchmarks.strangers_check import different, first
from benchmarks.strangers_report import STRANGERS

PHOTOS = Path(__file__).parents[1] / "examples" / "data" / "photos"


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """Some photographs of each class."""
    folder = tmp_path_factory.mktemp("strangers") / "photos"
    for path in sorted(PHOTOS.glob("*/*0[03].jpg")):
        link = folder / path.parent.name / path.name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    return Files(str(folder))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", strangers.ROWS)
def test_batches_are_equal(files: Files, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("GOFAST_TEST_DATA", raising=False)
    try:
        case = strangers.case(name)
        theirs = {workers: first(case.loader, files, workers) for workers in (0, 2)}
    except ImportError as error:  # stands beside the development environment
        pytest.skip(str(error))
    for workers in theirs:
        with gofast.install():
            assert different(first(case.loader, files, workers), theirs[workers]) == "", f"{workers} workers"
    if case.swapped is not None:
        assert different(first(case.swapped, files, 0), theirs[0]) == "", "swapped"


def test_generators_are_looked_at(files: Files) -> None:
    def loader(draw: Any, files: Files, workers: int) -> Any:
        draw()
        return DataLoader(TensorDataset(torch.arange(8.0)), batch_size=4)

    theirs = first(partial(loader, int), files, 0)
    for draw, said in ((random.random, "Python's generator"), (partial(torch.rand, 1), "torch's generator")):
        assert said in different(first(partial(loader, draw), files, 0), theirs)


def test_what_was_measured_survives_a_case_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def measure(self: runner.StrangersRun, section: str, sides: list[str], folder: str) -> None:
        if section == "mae":
            raise KeyboardInterrupt
        for side in sides:
            self.add(section, side, 0.001 if side.startswith("python,") else 0.0001)
        self.opened(section, sides[0], {"different": "" if section == "mnist" else "3 of 4 values"})

    def case(name: str) -> Any:
        if name == "timm":
            raise ImportError("No module named 'timm'")
        return strangers.case(name)

    monkeypatch.setattr(runner.StrangersRun, "measure", measure)
    monkeypatch.setattr(runner, "case", case)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(data, "CACHE", tmp_path / "cache")
    output = tmp_path / "r.json"
    only = "timm,mnist,pets,mae,dino"
    monkeypatch.setattr("sys.argv", ["", "--folder", str(PHOTOS), "--only", only, "--output", str(output)])
    with pytest.raises(KeyboardInterrupt):
        runner.main()
    stored = json.loads(output.read_text())
    assert list(stored["sections"]) == ["mnist", "pets"] and stored["missing"] == {
        "timm": "No module named 'timm'"
    }
    lines = {
        line.split("|")[1].strip(): line
        for line in report.block(stored, STRANGERS, "r.json").splitlines()
        if "|" in line
    }
    rows = strangers.ROWS
    assert lines[rows["mnist"].about].endswith("| yes | 1,000 img/s, 0 workers | 10.0 / 10.0 | 10.0 / 10.0 |")
    assert "| no | 1,000 img/s" in lines[rows["pets"].about]
    assert "not measured: No module named 'timm'" in lines[rows["timm"].about]
    assert "NOT EQUAL: pets" in capsys.readouterr().out
