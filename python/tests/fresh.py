"""Python processes that have torch and torchvision already, whose imports take 5 s: forked from one that did.

`run` is subprocess.run for them. What it runs is `__main__`, with arguments, an environment and a folder
of its own; gofast is not there yet, and the interpreter ends as any does. Not for what is about imports,
the command line, memory at its most, or variables that torch reads when it is imported.
"""

from __future__ import annotations

import atexit
import builtins
import contextlib
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_servers: dict[int, socket.socket] = {}  # of this process: a forked child starts its own
_lock = threading.Lock()  # several threads may ask at once


def run(
    arguments: Sequence[Any],
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout: float = 100,
    check: bool = False,
) -> subprocess.CompletedProcess[str]:
    """`-c CODE`, `-m MODULE` or a script, and its arguments; what is given back is a process's own."""
    command = [str(each) for each in arguments]
    request = json.dumps([command, dict(os.environ if env is None else env), str(cwd or Path.cwd())]).encode()
    ours, theirs = socket.socketpair()
    with ours, theirs, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        given = [theirs.fileno(), out.fileno(), err.fileno()]
        with _lock:
            socket.send_fds(_server(), [len(request).to_bytes(8, "little") + request], given)
        theirs.close()
        pid = int.from_bytes(ours.recv(8), "little")
        late = not select.select([ours], [], [], timeout)[0]
        if late:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        status = int.from_bytes(ours.recv(8), "little", signed=True)
        said = [os.pread(file.fileno(), 1 << 24, 0).decode() for file in (out, err)]
    if late:
        raise subprocess.TimeoutExpired(command, timeout, *said)
    assert not check or status == 0, "".join(said)
    return subprocess.CompletedProcess(command, status, *said)


def _server() -> socket.socket:
    pid = os.getpid()
    if pid not in _servers:
        ours, theirs = socket.socketpair()
        with theirs:
            number = theirs.fileno()
            server = subprocess.Popen(
                [sys.executable, __file__, str(number)], pass_fds=[number], stdin=subprocess.DEVNULL
            )
        atexit.register(_end, pid, ours, server)
        _servers[pid] = ours
    return _servers[pid]


def _end(pid: int, ours: socket.socket, server: subprocess.Popen[bytes]) -> None:
    ours.close()
    if os.getpid() == pid:
        server.kill()
        server.wait()


def _serve(asked: socket.socket) -> tuple[list[str], str]:
    """Forks for each request a process that waits for the one asked for; returns in that one."""
    while True:
        head, given, *_ = socket.recv_fds(asked, 8, 3)
        if not head:
            os._exit(0)  # the tests are over
        command, environment, folder = json.loads(
            asked.recv(int.from_bytes(head, "little"), socket.MSG_WAITALL)
        )
        if os.fork():
            for descriptor in given:
                os.close(descriptor)
            with contextlib.suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass  # of requests before
            continue
        pid = os.fork()
        if pid:
            os.write(given[0], pid.to_bytes(8, "little"))
            status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            os.write(given[0], status.to_bytes(8, "little", signed=True))
            os._exit(0)
        os.dup2(given[1], 1)
        os.dup2(given[2], 2)
        for descriptor in (*given, asked.detach()):
            os.close(descriptor)
        os.environ.clear()
        os.environ.update(environment)
        os.chdir(folder)
        return command, environment.get("PYTHONPATH", "")


def _become(command: list[str], path: str) -> None:
    """As `python COMMAND` does it."""
    main = types.ModuleType("__main__")
    main.__dict__["__builtins__"] = builtins
    sys.modules["__main__"] = main
    sys.path[0], sys.argv = "", command
    sys.path[1:1] = [each for each in path.split(os.pathsep) if each and each not in sys.path]
    if command[0] == "-m":
        sys.path[0], sys.argv = os.getcwd(), command[1:]
        runpy._run_module_as_main(command[1])  # type: ignore[attr-defined]
    elif command[0] == "-c":
        sys.argv = ["-c", *command[2:]]
        exec(compile(command[1], "<string>", "exec"), main.__dict__)
    else:
        script = Path(command[0])
        sys.path[0], main.__dict__["__file__"] = str(script.resolve().parent), command[0]
        exec(compile(script.read_text(), command[0], "exec"), main.__dict__)


if __name__ == "__main__":
    import torch  # noqa: F401
    import torchvision  # noqa: F401

    _become(*_serve(socket.socket(fileno=int(sys.argv[1]))))
