"""Work in a forked child, which does not hang."""

from __future__ import annotations

import faulthandler
import os
import pickle
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

import torch

LIMIT = 40  # seconds that a child may take: far more than it needs, on any machine


def in_child(work: Callable[[], None]) -> int:
    """Forks, works in the child, and gives its wait status; a child that hangs says where, and is killed."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            torch._C._set_worker_signal_handlers()
            faulthandler.register(signal.SIGALRM)  # its own watchdog does not survive a second fork
            signal.alarm(LIMIT)
            work()
            status = 0
        except BaseException:
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
        finally:
            sys.stderr.flush()
            os._exit(status)
    end = time.monotonic() + LIMIT + 5
    while time.monotonic() < end:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    raise AssertionError(f"child {pid} hangs")


def answer_of_child(work: Callable[[], Any]) -> Any:
    """What a forked child gives. It is small: a pipe holds it until the child has ended."""
    reader, writer = os.pipe()

    def tell() -> None:
        os.write(writer, pickle.dumps(work()))

    with open(reader, "rb") as file:
        try:
            assert in_child(tell) == 0
        finally:
            os.close(writer)
        return pickle.loads(file.read())
