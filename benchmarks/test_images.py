"""What the benchmarks of pictures check, what their processes do to each other, and what they tell."""

from __future__ import annotations

import argparse
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from benchmarks import (
    client,
    data,
    images,
    images_check,
    process,
    serve,
)
from benchmarks.images_check import compare, warmed
from benchmarks.peers.images import PEERS
from benchmarks.strangers_check import different


def test_compare() -> None:
    theirs = torch.zeros(2, 3, 4, 4), torch.tensor([1, 2])
    assert compare(theirs, theirs, True, "same") == 0
    near = torch.full((2, 3, 4, 4), 1e-6), theirs[1]
    assert compare(near, theirs, False, "near") == pytest.approx(1e-6)
    for other, exact, message in (
        (near, True, "not torchvision's pictures"),
        ((theirs[0] + 2 * images_check.NEAR, theirs[1]), False, "other work"),
        ((theirs[0] + float("nan"), theirs[1]), False, "other work"),
        ((theirs[0], torch.tensor([2, 1])), False, "labels"),
        ((theirs[0].half(), theirs[1]), False, "float16"),
    ):
        with pytest.raises(ValueError, match=message):
            compare(other, theirs, exact, "peer")


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        ([[torch.zeros(2, 3), torch.ones(2, 3)], torch.tensor([1, 2])], ""),
        ([[torch.zeros(2, 3), torch.zeros(2, 3)], torch.tensor([1, 2])], "6 of 6 values"),
        ([[torch.zeros(2, 3), torch.ones(2, 3)], torch.tensor([1.0, 2])], "float32"),
        ([[torch.zeros(2, 3)], torch.tensor([1, 2])], "1 parts instead of 2"),
        ([(torch.zeros(2, 3), torch.ones(2, 3)), torch.tensor([1, 2])], "tuple instead of list"),
    ],
)
def test_a_difference_between_batches_is_noticed(batch: Any, said: str) -> None:
    found = different(batch, [[torch.zeros(2, 3), torch.ones(2, 3)], torch.tensor([1, 2])])
    assert said in found if said else not found


def test_passed_counts_pictures() -> None:
    batches: list[Any] = [(torch.zeros(64, 1), None), ([torch.zeros(6, 1)] * 2, torch.zeros(3)), 5]
    assert serve.passed(batches) == 72


def test_processors_and_memory_of_this_process_are_seen() -> None:
    before, until = process.processor_seconds(), time.process_time() + 0.05
    with process.Peak() as peak:
        held = bytearray(b"x") * (256 << 20)
        deadline = time.monotonic() + 10
        while (peak.above < 200e6 and time.monotonic() < deadline) or time.process_time() < until:
            time.sleep(0.001)
    assert 200e6 < peak.above < 400e6 and len(held) == 256 << 20
    assert 0.04 < process.processor_seconds() - before < 10
    assert process.status("VmHWM") >= 256 << 20


_FAKES = """
import ctypes, os, subprocess, threading, time
from benchmarks.serve import serve

class Fakes:
    def open(self, **_):
        return {"difference": 0.0, "note": None, "bytes": 5}

    def turn(self, **_):
        return {"seconds": 1.0, "cpu": 1.0}

    def hang(self, **_):
        time.sleep(1000)

    def crash(self, **_):
        ctypes.string_at(0)

    def leave(self):
        threading.Thread(target=time.sleep, args=[1000]).start()
        return {"pid": subprocess.Popen(["sleep", "1000"]).pid}

    def idle(self):
        threading.Timer(0.2, os._exit, [3]).start()
        return {}

serve(Fakes())
"""


@pytest.fixture
def fakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fakes.py").write_text(_FAKES)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))


@pytest.mark.usefixtures("fakes")
def test_a_client_leaves_no_process_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "GOODBYE", 0.2)
    with client.Client("fakes") as one:
        stat = Path(f"/proc/{one.ask('leave')['pid']}/stat")
        assert stat.exists()
    assert one.process.returncode == -9
    deadline = time.monotonic() + 10
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.usefixtures("fakes")
@pytest.mark.parametrize(
    ("command", "reason"),
    [("hang", "hung: no answer to hang train in 0.5 s"), ("crash", "ended with SIGSEGV at crash train")],
)
def test_a_peer_that_hangs_or_crashes_is_named(
    monkeypatch: pytest.MonkeyPatch, command: str, reason: str
) -> None:
    with client.Client("fakes") as one:
        monkeypatch.setattr(client, "PATIENCE", 0.5)
        with pytest.raises(client.PeerFailed, match=reason):
            one.ask(command, section="train")


@pytest.mark.usefixtures("fakes")
def test_a_peer_that_ends_while_others_run_is_named() -> None:
    with client.Client("fakes") as one:
        one.ask("idle")
        one.process.wait(timeout=10)
        with pytest.raises(client.PeerFailed, match="ended with 3 before turn"):
            one.ask("turn", seconds=1)


class _Fake(client.Client):
    """A process that answers as a peer would, except for two that fail."""

    def __init__(self, module: str, python: str) -> None:
        super().__init__("fakes", python)

    def ask(self, command: str, **arguments: Any) -> dict[str, Any]:
        self.name = arguments.get("side", getattr(self, "name", ""))
        failing = {("datago", "open"): "hang", ("Grain, 2 threads", "turn"): "crash"}
        return super().ask(failing.get((self.name, command), command), **arguments)


@pytest.mark.usefixtures("fakes")
def test_the_others_go_on_without_one_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.sides.Client", _Fake)
    monkeypatch.setattr(client, "PATIENCE", 5)
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    wanted = ["datago", "Grain, 2 threads", "OpenCV, 2 workers"]
    options = argparse.Namespace(quick=False, only=None, output=None, peers=wanted, rounds=2, folder="photos")
    run = images.ImagesRun(options)
    run.measure("train", list(PEERS), "photos")
    assert run.measured["train"] == {"OpenCV, 2 workers": [1.0, 1.0]} == run.measured["train cpu"]
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
    monkeypatch.setattr(data, "CACHE", tmp_path / "cache")
    for name in ("a/x.jpg", "b/y.jpg"):
        file = tmp_path / "photos" / name
        file.parent.mkdir(parents=True)
        file.write_bytes(b"12")
    folder = data.photographs(str(tmp_path / "photos"), 5)
    assert (folder.pictures, folder.repeats, folder.bytes) == (2, 3, 2)
    links = sorted(Path(folder.path).glob("*/*"))
    assert len(links) == 6 and all(link.read_bytes() == b"12" for link in links)
    with pytest.raises(SystemExit, match="no <class>"):
        data.photographs(str(tmp_path / "photos" / "a"), 5)
