"""os.fork beside a busy engine: a child works with what it inherits or a private copy, and never hangs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import fork_cases


def run(folder: Path, case: str, count: int, timeout: int = 110) -> str:
    ignore = "ignore:This process:DeprecationWarning"  # of CPython 3.12 at every fork beside threads
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-W",
        ignore,
        fork_cases.__file__,
        case,
        str(folder),
        str(count),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr
    return done.stderr


def test_hundred_children_of_a_busy_parent(tmp_path: Path) -> None:
    assert run(tmp_path, "many", 100) == ""


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_thousand_children_of_a_busy_parent(tmp_path: Path) -> None:
    assert run(tmp_path, "many", 1000, timeout=1100) == ""


def test_children_of_children(tmp_path: Path) -> None:
    assert run(tmp_path, "chain", 5) == ""


def test_fork_while_another_thread_loads_the_engine(tmp_path: Path) -> None:
    assert run(tmp_path, "while_loading", 25) == ""


def test_iterators_of_the_parent(tmp_path: Path) -> None:
    assert run(tmp_path, "iterators", 3) == ""


def test_joined_datasets_of_the_parent(tmp_path: Path) -> None:
    assert run(tmp_path, "joined", 3) == ""


def test_fault_in_a_child_ends_it(tmp_path: Path) -> None:
    said = run(tmp_path, "crash", 3)
    assert "fault" in said.lower()  # torch's handler or Python's says so
