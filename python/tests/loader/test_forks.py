"""os.fork beside a busy engine: a child works with what it inherits or a private copy, and never hangs."""

from __future__ import annotations

from pathlib import Path

import pytest

import fork_cases
import fresh


def run(folder: Path, case: str, count: int, timeout: int = 110) -> str:
    done = fresh.run([fork_cases.__file__, case, folder, count], timeout=timeout)
    assert (done.returncode, done.stdout) == (0, "done\n"), done.stdout + done.stderr
    return done.stderr


@pytest.mark.parametrize("count", [6, pytest.param(40, marks=pytest.mark.full)])
def test_children_of_a_busy_parent(count: int, tmp_path: Path) -> None:
    assert run(tmp_path, "many", count) == ""


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_thousand_children_of_a_busy_parent(tmp_path: Path) -> None:
    assert run(tmp_path, "many", 1000, timeout=1100) == ""


@pytest.mark.parametrize("count", [2, pytest.param(5, marks=pytest.mark.full)])
def test_children_of_children(count: int, tmp_path: Path) -> None:
    assert run(tmp_path, "chain", count) == ""


@pytest.mark.parametrize("times", [4, pytest.param(25, marks=pytest.mark.full)])
def test_fork_while_another_thread_loads_the_engine(times: int, tmp_path: Path) -> None:
    assert run(tmp_path, "while_loading", times) == ""


def test_statistics_of_a_child(tmp_path: Path) -> None:
    assert run(tmp_path, "counted", 1) == ""


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.full)])
def test_iterators_of_the_parent(count: int, tmp_path: Path) -> None:
    assert run(tmp_path, "iterators", count) == ""


def test_joined_datasets_of_the_parent(tmp_path: Path) -> None:
    assert run(tmp_path, "joined", 3) == ""


def test_fault_in_a_child_ends_it(tmp_path: Path) -> None:
    said = run(tmp_path, "crash", 3)
    assert "fault" in said.lower()  # torch's handler or Python's says so


_IMPORTING = """
import os, signal, sys, threading, time, warnings
import torch
import gofast

warnings.simplefilter("ignore", DeprecationWarning)
begun = threading.Event()

class Slow:
    def find_spec(self, name, *_):
        if name == "gofast.loader":  # its lock is held now
            begun.set()
            time.sleep(0.5)

sys.meta_path.insert(0, Slow())
thread = threading.Thread(target=lambda: gofast.DataLoader)
thread.start()
begun.wait(20)
pid = os.fork()
if not pid:
    signal.alarm(20)
    assert gofast.DataLoader
    os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
thread.join()
"""


def test_fork_while_another_thread_imports() -> None:
    """gofast's classes are imported late: a child must not wait for a thread that it does not have."""
    done = fresh.run(["-c", _IMPORTING])
    assert (done.returncode, done.stdout) == (0, "7\n"), done.stdout + done.stderr
