"""Runs a measurement in a forked child: what it changes stays there, and it cannot hang its parent."""

from __future__ import annotations

import ctypes
import math
import multiprocessing
import os
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection
from typing import Any

import torch

from .processes import Process, Watcher

_PR_SET_PDEATHSIG = 1
_BLAS = re.compile(r"\S*(?:openblas|mkl_rt)\S*$", re.MULTILINE)
_SETTERS = [f"{lib}_set_num_threads{end}" for lib in ("openblas", "scipy_openblas") for end in ("", "64_")]
_STILL = 0.5  # seconds without processor time, after which a thread waits for ever
LATE = "it hangs, or takes far longer for a batch than seconds= has room for"
NO_TIME = "no time was left for it: give more seconds="
_PATIENCE = (
    30.0  # seconds until a child counts as hung, beyond ten times its plan: busy machines start it late
)


class RefusalError(Exception):
    """Work that cannot be done, and says why in words for the user."""


@dataclass
class Outcome:
    """What came back from a child.

    Attributes:
        watcher: what the kernel said of it and its workers.
        value: of the work; if it did not end well, what was kept of it, or None.
        error: why it did not, in words; "" if it did.
    """

    watcher: Watcher
    value: Any = None
    error: str = ""


def apart(work: Callable[[], Any], planned: float, kept: Any = None) -> Outcome:
    """Runs work() in a forked child.

    The child and what it starts are killed at its end, at the limit, at Ctrl-C, and with this process.

    Args:
        planned: seconds that it should take. Ten times that and half a minute more is the limit.
        kept: what the work writes into: it comes back after an error.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    # A daemonic process may have no children, and this one has workers.
    child = context.Process(target=_child, args=(work, theirs, os.getpid(), kept), daemon=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # CPython 3.12+: fork of a process with threads
        child.start()
    assert child.pid is not None
    outcome = Outcome(Watcher(child.pid))
    ended = False
    try:
        theirs.close()
        _lead(child.pid)
        ended = _collect(ours, outcome, limit_of(planned))
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)  # with its workers; it has sent all that it had to say
        child.join()
        ours.close()
    if not ended:
        code = child.exitcode or 0
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
        outcome.error = f"the process that measured ended with {how}"
    child.close()
    return outcome


until = math.inf  # time.monotonic() at which an examination must be over, and each of its children with it
asked = ""  # a file that a process makes if it asks for several threads; set where it must not have them


def keep_one_thread() -> None:
    """One thread for this process, whatever its code asks for later."""
    for module, name in ((torch, "set_num_threads"), (sys.modules.get("cv2"), "setNumThreads")):
        if module is not None:
            getattr(module, name)(1)
            setattr(module, name, _note)
    with open("/proc/self/maps") as maps:
        libraries = {*_BLAS.findall(maps.read())}
    for library in map(ctypes.CDLL, libraries):
        for name in (*_SETTERS, "MKL_Set_Num_Threads"):
            if hasattr(library, name):
                getattr(library, name)(1)


def _note(threads: int) -> None:
    if threads > 1 and asked:
        with open(asked, "w"):
            pass


def forks_stand_still() -> bool:
    """Whether a process forked from this one waits for ever if it computes with several threads.

    OpenMP's threads do not survive a fork: it does once this one has computed with several.
    """
    child = multiprocessing.get_context("fork").Process(target=_compute, daemon=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child.start()
    seen, since, used = Process(), time.monotonic(), -1.0
    while child.exitcode is None and time.monotonic() - since < _STILL:
        with suppress(OSError):
            seen.look(child.pid or 0)
        if seen.cpu + seen.delay != used:  # it gets on
            since, used = time.monotonic(), seen.cpu + seen.delay
        child.join(0.02)
    still = child.exitcode is None
    child.kill()
    child.join()
    child.close()
    return still


def _compute() -> None:
    torch.set_num_threads(2)
    torch.ones(1 << 18).add_(1)


def limit_of(planned: float) -> float:
    """Seconds after which work counts as hung, or the examination is over."""
    return max(min(10 * planned + _PATIENCE, until - time.monotonic()), 0.0)


def _collect(ours: Connection, outcome: Outcome, limit: float) -> bool:
    """Waits for the answer. False if the child died without one."""
    end = time.monotonic() + limit
    while not ours.poll(0.1):
        outcome.watcher.look()
        if time.monotonic() > end:
            outcome.error = NO_TIME if end >= until - 0.1 else f"no end within {limit:.0f} s: {LATE}"
            return True
    try:
        outcome.value, outcome.error = ours.recv()
    except (EOFError, OSError):
        time.sleep(0.1)  # its own end, whose status says why, comes a moment later
        return False
    return True


def _child(work: Callable[[], Any], theirs: Connection, parent: int, kept: Any) -> None:
    _lead(0)  # Ctrl-C is the parent's to handle, and one signal ends all of this group
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    warnings.simplefilter("ignore")  # the loader warned its user when it was made
    torch.set_num_threads(1)
    if asked:
        keep_one_thread()
    _own_servers()
    try:
        theirs.send((work(), ""))
    except BaseException as error:
        theirs.send((kept, _said_of(error)))
    finally:
        theirs.close()
        sys.stdout.flush()
        sys.stderr.flush()
        os.killpg(0, signal.SIGKILL)  # the answer is on its way; workers need no farewell


def _said_of(error: BaseException) -> str:
    """An error in a line."""
    if isinstance(error, RefusalError):
        return str(error)
    lines = "".join(traceback.format_exception_only(error)).strip().splitlines()
    # torch's text of a worker's error is a traceback, whose last line says what happened.
    return (lines[0] if len(lines) == 1 else f"{lines[0]} ... {lines[-1]}")[:1000]


def _own_servers() -> None:
    """What multiprocessing keeps in the background of a process does not survive a fork as it is.

    The fork server is its starter's child, and serves no other process: this gets its own. The resource
    tracker serves all, but a thread of the parent may have held its lock: one that feeds a queue to spawned
    workers drops the queue's semaphores when it ends.
    """
    server: Any = getattr(sys.modules.get("multiprocessing.forkserver"), "_forkserver", None)
    if server is not None:
        server._forkserver_pid = server._forkserver_address = server._forkserver_alive_fd = None
    tracker: Any = resource_tracker._resource_tracker
    tracker._lock = threading.RLock()


def _lead(pid: int) -> None:
    """Makes a child the leader of a group. Both sides do: neither may go on before it is one."""
    with suppress(ProcessLookupError, PermissionError):  # it has ended
        os.setpgid(pid, pid)
