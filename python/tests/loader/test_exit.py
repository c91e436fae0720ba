"""How things end: interpreter exit, Ctrl-C, killed workers, held batches."""

from __future__ import annotations

import gc
import os
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader

import fresh
import gofast
from killing import kill_worker

ROWS = 4_000
X = np.arange(ROWS * 64, dtype=np.uint8).reshape(ROWS, 64)
Y = np.arange(ROWS)

PRELUDE = """
import os, signal, sys, threading, time
import numpy as np, torch, gofast
from torch.utils.data import DataLoader, Subset
x = np.zeros((20_000, 784), np.uint8)
ds = gofast.ArrayDataset(x, np.arange(20_000), scale="unit")
"""


def run(script: str, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    return fresh.run(["-c", PRELUDE + script], timeout=timeout)


@pytest.mark.parametrize(
    "script",
    [
        "it = iter(gofast.DataLoader(ds, batch_size=512, shuffle=True)); held = [next(it), next(it)]",
        "held = [next(iter(gofast.DataLoader(ds, batch_size=16))) for _ in range(5)]",
        "held = [b for b in DataLoader(ds, batch_size=2048)]",
        "it = iter(DataLoader(ds, batch_size=512, num_workers=2)); held = next(it)",
        # What another module keeps goes when ours have lost their names.
        "os.keep = iter(gofast.DataLoader(ds, 16, num_workers=2)); next(os.keep)",
        "os.keep = iter(gofast.DataLoader(ds, 16, num_workers=2, collate_fn=len)); next(os.keep)",
        "os.keep = iter(gofast.DataLoader(Subset(ds, [1, 2]), None)); next(os.keep)",
        "from gofast._core import descriptors; "
        "os.keep = descriptors.OwnedDescriptors(os.open(os.devnull, os.O_RDONLY))",
    ],
)
def test_interpreter_exit_is_clean(script: str) -> None:
    """Batches are held and tickets are in flight when the interpreter ends."""
    done = run(script)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    "loader", ["gofast.DataLoader(ds, batch_size=16)", "DataLoader(ds, batch_size=2048)"]
)
def test_ctrl_c_stops_an_epoch(loader: str) -> None:
    done = run(
        f"""
loader = {loader}
def interrupt():
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    while True:
        for batch in loader: pass
except KeyboardInterrupt:
    print("stopped")
print(sum(len(b[1]) for b in loader))
"""
    )
    assert done.stdout.split() == ["stopped", "20000"], done.stderr


def test_ctrl_c_stops_opening_a_file(tmp_path: Path) -> None:
    """Told from one that is noticed at the end by the processor time: other work does not count."""
    big = tmp_path / "big.csv"
    row = ",".join(f"0.{i}25" for i in range(100)) + "\n"
    big.write_text(row * 300_000)
    done = run(
        f"""
def table():
    return gofast.TableDataset({str(big)!r}, header=False, label=None)
table()
start = time.process_time()
table()
whole = time.process_time() - start
start = time.process_time()
def interrupt():
    while time.process_time() - start < whole / 5:
        time.sleep(0.001)
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    table()
    print("was read before the signal came")
except KeyboardInterrupt:
    print(time.process_time() - start < 0.8 * whole)
print(len(gofast.DataLoader(ds, batch_size=2_000)))
"""
    )
    assert done.stdout.split() == ["True", "10"], done.stdout + done.stderr


def kill_a_worker() -> None:
    loader = DataLoader(gofast.ArrayDataset(X, Y), batch_size=8, num_workers=2)
    iterator = iter(loader)
    held = [next(iterator)[0] for _ in range(3)]
    workers = [w.pid for w in iterator._workers]
    try:
        with pytest.raises(RuntimeError, match="worker"):
            kill_worker(iterator)
            while True:
                next(iterator)
    finally:
        del iterator
    for pid in workers:  # no orphan
        deadline = time.monotonic() + 10
        while os.path.exists(f"/proc/{pid}") and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not os.path.exists(f"/proc/{pid}")
    assert np.array_equal(torch.cat(held), X[:24])
    del held
    assert "gofast-ring" not in Path("/proc/self/maps").read_text()
    again = DataLoader(gofast.ArrayDataset(X, Y), batch_size=8, num_workers=2)
    assert sum(len(y) for _, y in again) == ROWS


def test_killed_worker_is_torchs_own_error() -> None:
    kill_a_worker()  # torch's own descriptors are made here
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        kill_a_worker()
    gc.collect()
    assert len(os.listdir("/proc/self/fd")) < before + 3  # a leak adds one each time, at least


@pytest.mark.parametrize("make", [gofast.DataLoader, DataLoader])
def test_epochs_leak_nothing(make: type[DataLoader[object]]) -> None:
    ds = gofast.ArrayDataset(X[:1000], Y[:1000], scale="unit")

    def now() -> tuple[int, int, int]:
        rss = int(Path("/proc/self/statm").read_text().split()[1]) * 4096
        return rss, len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task"))

    def epochs(count: int) -> None:
        for _ in range(count):
            for _ in make(ds, batch_size=64, shuffle=True):
                pass

    epochs(50)
    gc.collect()
    before = now()
    epochs(200)
    after = now()
    assert after[1] <= before[1] and after[2] <= before[2]  # fewer, when an earlier test's are gone
    assert after[0] - before[0] < 2 << 20  # a leaked batch of 16 kB an epoch would be 3 MB
