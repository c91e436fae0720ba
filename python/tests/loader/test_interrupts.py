"""Ctrl-C while the command imports its modules. Before the first line of gofast, Python shows a traceback."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import gofast

ENDED = (-signal.SIGINT, 130)

# As pip writes it.
SCRIPT = """import sys
from gofast._command.main import main
if __name__ == "__main__":
    sys.exit(main())
"""

# Says that the package has begun to import its modules.
MARKER = """import sys


class Marker:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "gofast.errors":
            print("begun", flush=True)


sys.meta_path.insert(0, Marker)
"""


def interrupted(folder: Path, arguments: list[str], delay: float) -> tuple[int, str]:
    """Exit status and stderr of Python that gets SIGINT so many seconds after gofast began to be imported."""
    (folder / "sitecustomize.py").write_text(MARKER)
    path = os.pathsep.join([str(folder), str(Path(gofast.__file__).parents[1])])
    child = subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, "PYTHONPATH": path}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    time.sleep(delay)
    child.send_signal(signal.SIGINT)
    return child.wait(timeout=60), child.communicate()[1]


@pytest.mark.parametrize("delay", [0, 0.02, 0.05, 0.1, 0.2, 0.4])
def test_the_command(tmp_path: Path, delay: float) -> None:
    script = tmp_path / "gofast"
    script.write_text(SCRIPT)
    status, error = interrupted(tmp_path, [str(script), "demo"], delay)
    assert status in ENDED and "Traceback" not in error, error


@pytest.mark.parametrize("delay", [0, 0.02, 0.05])
def test_python_m_gofast(tmp_path: Path, delay: float) -> None:
    waits = "import signal, time; signal.signal(signal.SIGINT, signal.SIG_DFL); time.sleep(60)"
    status, error = interrupted(tmp_path, ["-m", "gofast", "-c", waits], delay)
    assert status in ENDED and "Traceback" not in error, error


def test_a_script_that_imports_gofast_keeps_its_own_way(tmp_path: Path) -> None:
    script = tmp_path / "gofast"
    script.write_text("import signal, gofast; print(signal.getsignal(signal.SIGINT).__name__)")
    environment = {**os.environ, "PYTHONPATH": str(Path(gofast.__file__).parents[1])}
    done = subprocess.run([sys.executable, script], env=environment, capture_output=True, text=True)
    assert done.stdout == "default_int_handler\n", done.stderr
