"""Ranks of small trainings, forked from a process that has imported the framework: 1 s a run, not 10."""

from __future__ import annotations

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
import traceback
from pathlib import Path

from programs import Run

_HERE = Path(__file__).parent
_SECONDS = 90  # of a run
_SECONDS_FOR_OTHERS = 5  # of ranks whose peer is dead


class Ranks:
    """A process that forks them, once for each framework.

    Args:
        modules: what it imports first.
    """

    def __init__(self, *modules: str) -> None:
        path = os.pathsep.join(entry for entry in sys.path if entry)
        self._server = subprocess.Popen(
            [sys.executable, __file__, *modules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{_HERE}{os.pathsep}{path}", "OMP_NUM_THREADS": "1"},
        )

    def __call__(self, program: str, run: Run) -> list[int]:
        """Runs it. Returns the ranks' exit codes; that of a killed one is the signal, negative."""
        assert self._server.stdin is not None and self._server.stdout is not None
        self._server.stdin.write(json.dumps([program, run]) + "\n")
        self._server.stdin.flush()
        codes: list[int] = json.loads(self._server.stdout.readline())
        return codes

    def close(self) -> None:
        """Ends it."""
        self._server.communicate()


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def _rank(program: str, run: Run, number: int, port: int) -> None:
    """Is a rank until it ends."""
    os.setsid()
    os.environ.update(
        RANK=str(number),
        LOCAL_RANK=str(number),
        GROUP_RANK="0",
        WORLD_SIZE=str(run.world),
        LOCAL_WORLD_SIZE=str(run.world),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        GLOO_SOCKET_IFNAME="lo",
        TORCHELASTIC_RUN_ID="none",
        ACCELERATE_USE_CPU="1",
    )
    log = os.open(f"{run.place}/output.{number}", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    import programs

    try:
        getattr(programs, program)(run)
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)


def _serve() -> None:
    for name in sys.argv[1:]:
        importlib.import_module(name)
    for line in sys.stdin:
        program, fields = json.loads(line)
        run, port = Run(*fields), _free_port()
        ranks = []
        for number in range(run.world):
            pid = os.fork()
            if not pid:
                _rank(program, run, number, port)
            ranks.append(pid)
        codes: dict[int, int] = {}
        end = time.monotonic() + _SECONDS
        while len(codes) < len(ranks):
            if any(codes.values()):  # as torchrun does: the others wait for it
                end = min(end, time.monotonic() + _SECONDS_FOR_OTHERS)
            for pid in set(ranks) - codes.keys():
                if time.monotonic() > end:
                    os.kill(pid, signal.SIGKILL)
                done, status = os.waitpid(pid, os.WNOHANG)
                if done:
                    codes[pid] = os.waitstatus_to_exitcode(status)
            time.sleep(0.01)
        sys.stdout.write(json.dumps([codes[pid] for pid in ranks]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    _serve()
