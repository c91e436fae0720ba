"""The arithmetic of the image benchmark: what a crop needs, which peer a ratio takes, what is refused."""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import (
    client,
    data,
    figures,
    images,
    images_child,
    images_data,
    images_report,
    process,
    report,
    serve,
)
from benchmarks.images_child import compare, size, warmed
from benchmarks.peers.images import BARE, OWN, PEERS, PIL
from benchmarks.peers.images.region import central


@pytest.mark.parametrize(
    ("size", "box"),
    [
        ((256, 256), (15, 15, 227, 227)),  # nothing is resized: the crop, and the filter's reach on each side
        ((512, 256), (143, 15, 227, 227)),
        ((100, 200), (5, 55, 90, 90)),  # enlarged
        ((1, 1), (0, 0, 1, 1)),
    ],
)
def test_central(size: tuple[int, int], box: tuple[int, int, int, int]) -> None:
    assert central(*size) == box


def test_central_lies_within() -> None:
    for width in range(1, 700, 13):
        for height in range(1, 700, 17):
            x, y, wide, high = central(width, height)
            assert x >= 0 and y >= 0 and wide > 0 and high > 0
            assert x + wide <= width and y + high <= height


def test_ratios_take_the_best_workers() -> None:
    two, bare = f"{OWN}, 2 threads", f"{BARE}, 2 threads"
    measured = {
        "train": {
            f"{PIL}, 0 workers": [0.004],
            f"{PIL}, 2 workers": [0.002],
            two: [0.0005, 0.0004, 0.0006],
            bare: [0.00048],
        }
    }
    rows = {
        (row["what"], row["against"]): row for row in figures.table(measured, {}, images_report.RATIOS, ())
    }
    what = "train, gofast.DataLoader, 2 threads"
    assert rows[what, f"{PIL}, 2 workers"]["value"] == pytest.approx(4)
    assert rows[what, f"{PIL}, 2 workers"]["reached"] == "aim"
    assert rows[what, bare]["value"] == pytest.approx(0.96)
    assert rows[what, bare]["reached"] == "least"
    assert len(rows) == 2


def test_ratios_name_peers_that_exist() -> None:
    for ratio in images_report.RATIOS:
        assert {ratio.ours, *ratio.against} <= set(PEERS)


def test_compare() -> None:
    theirs = torch.zeros(2, 3, 4, 4), torch.tensor([1, 2])
    assert compare(theirs, theirs, True, "same") == 0
    near = torch.full((2, 3, 4, 4), 1e-6), theirs[1]
    assert compare(near, theirs, False, "near") == pytest.approx(1e-6)
    for other, exact, message in (
        (near, True, "not torchvision's pictures"),
        ((theirs[0] + 2 * images_child.NEAR, theirs[1]), False, "other work"),
        ((theirs[0] + float("nan"), theirs[1]), False, "other work"),
        ((theirs[0], torch.tensor([2, 1])), False, "labels"),
        ((theirs[0].half(), theirs[1]), False, "float16"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(other, theirs, exact, "peer")


def test_passed_counts_pictures() -> None:
    batches: list[Any] = [(torch.zeros(64, 1), None), (torch.zeros(3, 1), None), 5]
    assert serve.passed(batches, size) == 72


def test_processor_seconds_counts_this_process() -> None:
    before, until = process.processor_seconds(), time.process_time() + 0.05
    while time.process_time() < until:
        pass
    assert 0.04 < process.processor_seconds() - before < 10


ROOT = Path(__file__).parents[1]
_PEAK = """
import subprocess
import sys
import time
from benchmarks import process

with process.Peak() as peak:
    held = bytearray(b"x") * (64 << 20)
    deadline = time.monotonic() + 10
    while peak.above < 60e6 and time.monotonic() < deadline:
        time.sleep(0.01)
print(peak.above)
"""


def test_a_peak_of_memory_is_seen() -> None:
    """In a process of its own: here, what earlier tests left may be freed meanwhile."""
    told = subprocess.run(
        [sys.executable, "-c", _PEAK], cwd=ROOT, check=True, capture_output=True, text=True, timeout=60
    )
    assert 60e6 < int(told.stdout) < 200e6


def test_a_client_leaves_no_process_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "leaving.py").write_text(
        "import subprocess\n"
        "from benchmarks.serve import serve\n"
        "child = subprocess.Popen(['sleep', '1000'])\n"
        "serve({}, {'pid': lambda: {'pid': child.pid}})\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with client.Client("leaving") as one:
        stat = Path(f"/proc/{one.ask('pid')['pid']}/stat")
        assert stat.exists()
    deadline = time.monotonic() + 10
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)


_FAKES = """
import ctypes, os, sys, threading, time
from benchmarks.serve import serve

def hang(**_):
    time.sleep(1000)

def crash(**_):
    ctypes.string_at(0)

def idle(**_):
    threading.Timer(0.2, os._exit, [3]).start()
    return {}

serve({}, {"open": lambda peer, folder: {}, "check": hang, "turn": crash, "idle": idle})
"""


@pytest.mark.parametrize(
    ("command", "reason"),
    [("check", "hung: no answer to check train in 0.5 s"), ("turn", "ended with SIGSEGV at turn train")],
)
def test_a_peer_that_hangs_or_crashes_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, reason: str
) -> None:
    (tmp_path / "fakes.py").write_text(_FAKES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with client.Client("fakes") as one:
        monkeypatch.setattr(client, "PATIENCE", 0.5)
        with pytest.raises(client.PeerFailed, match=reason):
            one.ask(command, kind="train")


def test_a_peer_that_ends_while_others_run_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fakes.py").write_text(_FAKES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with client.Client("fakes") as one:
        one.ask("idle")
        one.process.wait(timeout=10)
        with pytest.raises(client.PeerFailed, match="ended with 3 before turn"):
            one.ask("turn", kind="train")


def test_a_peer_that_does_not_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "staying.py").write_text(
        "import threading, time\n"
        "from benchmarks.serve import serve\n"
        "threading.Thread(target=time.sleep, args=[1000]).start()\n"
        "serve({}, {})\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(client, "GOODBYE", 0.2)
    with client.Client("staying") as one:
        pass
    assert one.process.returncode == -9


class _Fake(client.Client):
    """A process that answers as a peer would, except for two that fail."""

    def __init__(self, module: str, python: str = sys.executable, waits: bool = True) -> None:
        super().__init__("fakes", python, waits)

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        self.name = arguments.get("peer", getattr(self, "name", ""))
        if self.name == "datago" or (command == "turn" and self.name.startswith("Grain")):
            return super().ask("check" if self.name == "datago" else command, kind=arguments.get("kind"))
        checked = {"difference": 0.0, "pictures": 1, "note": None, "bytes": 5}
        answers: dict[str, dict[str, Any]] = {"check": checked, "turn": {"seconds": 1.0, "cpu": 1.0}}
        return answers.get(command, {})


def test_the_others_go_on_without_one_that_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fakes.py").write_text(_FAKES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(images, "Client", _Fake)
    monkeypatch.setattr(client, "PATIENCE", 5)
    wanted = {"datago", "Grain, 2 threads", "OpenCV, 2 workers"}
    folder = images_data.Folder("photos", "", "", 1, 1, 1)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    options = argparse.Namespace(quick=False, only=None, output=None, peers=wanted, rounds=2)
    run = images.ImagesRun(options, folder)
    run.epochs(["train", "val"], search=False)
    assert run.measured["train"] == {"OpenCV, 2 workers": [1.0, 1.0]} == run.measured["val"]
    assert run.measured["memory"] == {"OpenCV, 2 workers": [5], "Grain, 2 threads": [5]}
    assert "hung" in run.missing["datago"] and "SIGSEGV" in run.missing["Grain, 2 threads"]


def test_every_batch_of_the_first_epoch_is_looked_at() -> None:
    good, bad = (torch.zeros(2, 3, 224, 224), None), (torch.zeros(2, 224, 224, 3), None)
    count, last = warmed([good, good], "peer")
    assert count == 4 and last is good[0]
    with pytest.raises(ValueError, match="peer: batches are"):
        warmed([good, bad], "peer")


def test_the_roofs_compile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bare = pytest.importorskip("benchmarks.peers.images.bare", exc_type=ImportError)
    monkeypatch.setattr(data, "CACHE", tmp_path)
    assert bare.library.__wrapped__().bare_fill


def test_folder_is_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images_data, "CACHE", tmp_path / "cache")
    for name in ("a/x.jpg", "b/y.jpg"):
        file = tmp_path / "photos" / name
        file.parent.mkdir(parents=True)
        file.write_bytes(b"12")
    folder = images_data.prepare(str(tmp_path / "photos"), 5)
    assert (folder.pictures, folder.repeats, folder.bytes) == (2, 3, 2)
    links = sorted(Path(folder.path).glob("*/*"))
    assert len(links) == 6 and all(link.read_bytes() == b"12" for link in links)
    with pytest.raises(SystemExit, match="no <class>"):
        images_data.prepare(str(tmp_path / "photos" / "a"), 5)


def test_readme_table() -> None:
    two = f"{OWN}, 2 threads"
    measured = {
        "train": {two: [0.0005], f"{PIL}, 2 workers": [0.002]},
        "train cpu": {two: [0.001], f"{PIL}, 2 workers": [0.004]},
        "memory": {two: [1e8]},
    }
    stored = {
        "machine": {"processor": "a processor", "cores": 2},
        "data": {"name": "photos", "pictures": 5, "repeats": 4, "bytes a picture": 110_000, "batch": 64},
        "versions": {"torch": "2.15.0+cpu"},
        "rounds": 3,
        "sections": report.sections(measured),
        "figures": figures.table(measured, {}, images_report.RATIOS, ()),
        "mean difference from torchvision": {f"{PIL}, 2 workers, val": 0.0, "OpenCV, 2 workers, val": 0.02},
        "not measured": {"ffcv==1.0.2": "no compiler"},
        "notes": {"FFCV raw": "reads another file"},
        "commit": "abc",
        "date": "2026-11-21",
    }
    text = report.readme_block(stored, images_report.IMAGES, "images-result.json")
    assert f"| {two} | 2,000 (1.00 ms) |  | 100 MB |  |" in text
    assert f"| {PIL}, 2 workers | 500 (4.00 ms) |  |  | 0 |" in text
    assert f"| train, gofast.DataLoader, 2 threads | {PIL}, 2 workers | 4.0 | 3 | 3.5 |" in text
    assert "Not measured: ffcv==1.0.2 (no compiler)." in text and "FFCV raw: reads another file." in text
    assert "torch 2.15.0." in text and "images-result.svg" in text
