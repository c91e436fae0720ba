"""Traces: what Perfetto reads, whatever becomes of the loop."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import TensorDataset
from torchvision import transforms as T

import gofast
from gofast import errors
from gofast._core import process_operations

VAL = T.Compose([T.Resize(40), T.CenterCrop(32), T.ToTensor()])
ROUNDING = 0.002  # of two microseconds with three digits


def read(path: Path) -> tuple[Counter[str], dict[int, str]]:
    """Counts of events by name and phase, and the threads' names, of a trace that is well made."""
    trace = json.loads(path.read_text())
    assert isinstance(trace["otherData"]["dropped_events"], int)
    events = trace["traceEvents"]
    threads = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    timed = [e for e in events if e["ph"] != "M"]
    assert [e["ts"] for e in timed] == sorted(e["ts"] for e in timed)
    assert all(e["ts"] >= 0 and e["pid"] == os.getpid() for e in timed)
    open_spans: dict[int, list[float]] = {}
    for e in timed:
        if e["ph"] != "X":
            continue
        ends = open_spans.setdefault(e["tid"], [])
        assert e["tid"] in threads
        while ends and ends[-1] <= e["ts"] + ROUNDING:
            ends.pop()
        assert not ends or e["ts"] + e["dur"] <= ends[-1] + ROUNDING, e
        ends.append(e["ts"] + e["dur"])
    begun = {e["id"]: e["ts"] for e in timed if e["ph"] == "b"}
    ended = {e["id"]: e["ts"] for e in timed if e["ph"] == "e"}
    assert begun.keys() == ended.keys()
    assert all(begun[ticket] <= ended[ticket] for ticket in begun)
    return Counter(f"{e['name']} {e['ph']}" for e in timed), threads


def rows(count: int = 1000) -> gofast.ArrayDataset:
    features = np.zeros((count, 64), np.uint8)
    features.flags.writeable = False
    return gofast.ArrayDataset(features, np.arange(count))


def test_pictures(folder: Path, tmp_path: Path) -> None:
    ours = gofast.ImageFolder(folder, VAL)
    loader = gofast.DataLoader(ours, 4)
    path = tmp_path / "trace.json"
    epochs = 10  # of one, the loop's thread may make all pictures on a busy machine
    with loader.trace(path) as trace:
        for _ in range(epochs):
            for _ in loader:
                pass
    names, threads = read(path)
    assert names["read X"] >= names["picture X"] == epochs * len(ours)
    assert names["job X"] >= epochs * len(ours)
    assert names["ticket b"] == names["ticket e"] > 0
    assert trace.events == sum(names.values())
    assert trace.dropped == 0
    assert any(name.startswith("engine thread") for name in threads.values())
    assert os.listdir(tmp_path) == ["trace.json"]


def test_rows_and_a_small_ring(tmp_path: Path) -> None:
    loader = gofast.DataLoader(rows(), 10, num_workers=2)
    path = tmp_path / "trace.json"
    trace = loader.trace(str(path), events=4).start()
    list(loader)
    assert not path.exists()
    trace.stop()
    trace.stop()  # nothing more
    names, _ = read(path)
    assert trace.dropped > 0
    assert names["job X"] > 0
    with trace:  # again, over the same file
        list(loader)
    read(path)


class Wrong(Exception):
    pass


@pytest.mark.parametrize("how", ["error", "interrupt"])
def test_a_loop_that_is_left(tmp_path: Path, how: str) -> None:
    loader = gofast.DataLoader(rows(), 10, num_workers=2)
    path = tmp_path / "trace.json"
    kind: Any = Wrong if how == "error" else KeyboardInterrupt
    with pytest.raises(kind), loader.trace(path):
        for k, _ in enumerate(loader):
            if k == 20 and how == "error":
                raise Wrong
            if k == 20:
                signal.raise_signal(signal.SIGINT)
    names, _ = read(path)
    assert names["job X"] > 0
    list(loader)


def test_one_at_a_time(tmp_path: Path) -> None:
    loader = gofast.DataLoader(rows(), 10)
    with loader.trace(tmp_path / "a.json"):
        with pytest.raises(errors.OptionError, match="there is a trace in this process already"):
            gofast.DataLoader(rows(), 10).trace(tmp_path / "b.json").start()
        with pytest.raises(errors.GofastError):
            loader.trace(tmp_path / "a.json").start()
        loader.trace(tmp_path / "b.json").stop()  # was never begun: takes nothing from the one under way
        assert loader._counts.spans is not None
        list(loader)
    read(tmp_path / "a.json")
    assert os.listdir(tmp_path) == ["a.json"]


def test_what_makes_no_sense(tmp_path: Path) -> None:
    loader = gofast.DataLoader(rows(), 10)
    for events in (0, -1, True, 1.5, "many"):
        with pytest.raises(errors.OptionError, match="events="):
            loader.trace(tmp_path / "trace.json", events=events)  # type: ignore[arg-type]
    with pytest.raises(errors.OptionError, match="events a thread"):
        loader.trace(tmp_path / "trace.json", events=1 << 40).start()
    with pytest.raises(errors.ReadError, match="is the folder there"):
        loader.trace(tmp_path / "none" / "trace.json").start()
    assert os.listdir(tmp_path) == []
    with loader.trace(tmp_path / "trace.json"):
        pass
    assert not sum(read(tmp_path / "trace.json")[0].values())


def test_torchs_machinery(tmp_path: Path) -> None:
    loader: Any = gofast.DataLoader(TensorDataset(torch.zeros(25, 3)), 10)
    path = tmp_path / "trace.json"
    with loader.trace(path):
        list(loader)
    names, threads = read(path)
    assert names == {"wait X": 3}
    assert threads == {threading.get_native_id(): "main thread"} or len(threads) == 1


def test_a_forked_child_leaves_the_trace_alone(tmp_path: Path) -> None:
    loader = gofast.DataLoader(rows(), 10)
    path = tmp_path / "trace.json"
    with loader.trace(path):
        list(loader)
        pid = os.fork()
        if not pid:
            try:
                loader.trace(path)._counts.told(1)
                trace = loader.trace(path)
                trace._pid = os.getppid()
                trace.stop()
            finally:
                os._exit(0 if not path.exists() else 1)
        assert os.waitpid(pid, 0)[1] == 0
        list(loader)
    read(path)


def test_ctrl_c_in_stop_may_stop_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loader = gofast.DataLoader(gofast.ArrayDataset(torch.zeros(100, 8)), 10)
    trace = loader.trace(tmp_path / "trace.json").start()
    list(loader)
    own = process_operations.stop_trace

    def interrupted(config: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(process_operations, "stop_trace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        trace.stop()
    monkeypatch.setattr(process_operations, "stop_trace", own)
    trace.stop()
    assert trace.events > 0 and json.loads((tmp_path / "trace.json").read_text())
    with loader.trace(tmp_path / "next.json"):
        list(loader)
