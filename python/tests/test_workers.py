"""torch's DataLoader with worker processes: every start method, whatever the engine of the parent does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import worker_cases

SCRIPT = Path(worker_cases.__file__)
ALL = [case.__name__ for case in worker_cases.CASES]


def run(tmp_path: Path, method: str, engine: str, names: list[str], preload: str = "") -> None:
    environment = {**os.environ, "WORKER_CASES_FOLDER": str(tmp_path), "WORKER_CASES_PRELOAD": preload}
    ignore = "ignore:This process:DeprecationWarning"  # of CPython 3.12 at every fork beside threads
    command = [sys.executable, "-W", ignore, str(SCRIPT), method, engine, *names]
    process = subprocess.Popen(
        command,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = process.communicate(timeout=90)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        out, err = process.communicate()
        pytest.fail(f"hangs: {out}{err}")
    assert process.returncode == 0, out + err
    assert err == ""
    assert out == f"{len(names)} cases\n"
    assert is_gone(process.pid), "a process is left"


def is_gone(group: int) -> bool:
    """Whether a process group comes to its end: the fork server outlives its parent by a moment."""
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize("engine", ["unused", "loaded", "busy"])
def test_fork(tmp_path: Path, engine: str) -> None:
    run(tmp_path, "fork", engine, ALL)


@pytest.mark.parametrize("engine", ["unused", "busy"])
def test_forkserver(tmp_path: Path, engine: str) -> None:
    """With the cases' imports in the fork server: that changes only how long a worker takes to start."""
    run(tmp_path, "forkserver", engine, ALL, preload="torch torchvision")


def test_forkserver_with_us_in_it(tmp_path: Path) -> None:
    names = ["epochs", "own_collate", "opened_in_worker", "forked_in_worker", "pictures"]
    run(tmp_path, "forkserver", "loaded", names, preload="torchvision gofast worker_cases_preload")


@pytest.mark.parametrize(
    "engine, names",
    [
        ("unused", ["break_and_again"]),
        ("loaded", ["opened_in_worker", "pictures"]),
        ("busy", ["table_is_handed_over"]),
    ],
)
def test_spawn(tmp_path: Path, engine: str, names: list[str]) -> None:
    run(tmp_path, "spawn", engine, names)


def test_first_thing_that_a_process_does(tmp_path: Path) -> None:
    """Later cases find the engine loaded: tickets of workers are received with its help."""
    names = ["from_a_thread", "opened_in_worker", "forked_in_worker", "table_is_handed_over", "pictures"]
    run(tmp_path, "fork", "first", names)
