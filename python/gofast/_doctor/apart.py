"""Runs a measurement in a forked child: what it changes stays there, and it cannot hang its parent."""

from __future__ import annotations

import ctypes
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from multiprocessing import resource_tracker
from typing import Any

import torch

from .processes import Watcher

Send = Callable[[Any], None]
_PR_SET_PDEATHSIG = 1
LATE = "it hangs, or takes far longer for a batch than seconds= has room for"
_PATIENCE = (
    30.0  # seconds until a child counts as hung, beyond ten times its plan: busy machines start it late
)


class RefusalError(Exception):
    """Work that cannot be done, and says why in words for the user."""


@dataclass
class Outcome:
    """What came back from a child.

    Attributes:
        messages: in the order in which they were sent; also those of a child that ended badly.
        error: why it did not end well, in words; None if it did.
        kind: the class of the exception that it raised, "timeout" or "died"; "" if it ended well.
        watcher: what the kernel said of it and its workers.
        others: processors that other programs kept busy meanwhile.
    """

    messages: list[Any] = field(default_factory=list)
    error: str | None = None
    kind: str = ""
    watcher: Watcher | None = None
    others: float = 0.0

    @property
    def last(self) -> Any:
        """The last message; None without any."""
        return self.messages[-1] if self.messages else None


def apart(work: Callable[[Send], None], planned: float) -> Outcome:
    """Runs work(send) in a forked child and collects what it sends.

    The child and what it starts are killed at the limit, at Ctrl-C, and with this process.

    Args:
        planned: seconds that it should take. Ten times that and half a minute more is the limit.
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    # A daemonic process may have no children, and this one has workers.
    child = context.Process(target=_child, args=(work, theirs, os.getpid()), daemon=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # CPython 3.12+: fork of a process with threads
        child.start()
    assert child.pid is not None
    watcher = Watcher(child.pid)
    outcome = Outcome(watcher=watcher)
    done = False
    try:
        theirs.close()
        _lead(child.pid)
        done = _collect(ours, outcome, limit_of(planned))
        outcome.others = watcher.others()
    finally:
        _kill(child.pid)  # with its workers; it has sent all that it had to say
        child.join()
        ours.close()
    if not done and not outcome.kind:
        outcome.kind = "died"
        outcome.error = f"the process that measured ended with {_ending(child.exitcode or 0)}"
    child.close()
    return outcome


def limit_of(planned: float) -> float:
    """Seconds after which work counts as hung."""
    return 10 * planned + _PATIENCE


def _collect(ours: multiprocessing.connection.Connection, outcome: Outcome, limit: float) -> bool:
    """Whether the child came to its end."""
    assert outcome.watcher is not None
    end = time.monotonic() + limit
    while True:
        left = end - time.monotonic()
        if left <= 0:
            outcome.kind, outcome.error = "timeout", f"no end within {limit:.0f} s: {LATE}"
            return False
        try:
            if not ours.poll(min(left, 0.1)):
                outcome.watcher.look()
                continue
            kind, message = ours.recv()
        except (EOFError, OSError):
            time.sleep(0.1)  # its own end, whose status says why, comes a moment later
            return False
        if kind == "end":
            return True
        if kind == "message":
            outcome.messages.append(message)
        else:
            outcome.kind, outcome.error = kind, message
            return False


def _child(work: Callable[[Send], None], theirs: multiprocessing.connection.Connection, parent: int) -> None:
    _lead(0)  # Ctrl-C is the parent's to handle, and one signal ends all of this group
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    warnings.simplefilter("ignore")  # the loader warned its user when it was made
    # OpenMP's threads do not survive a fork: a child that asks for several waits for ever.
    torch.set_num_threads(1)
    _own_servers()
    try:
        work(lambda message: theirs.send(("message", message)))
        theirs.send(("end", None))
    except BaseException as error:
        lines = "".join(traceback.format_exception_only(error)).strip().splitlines()
        # torch's text of a worker's error is a traceback, whose last line says what happened.
        text = lines[0] if len(lines) == 1 else f"{lines[0]} ... {lines[-1]}"
        text = str(error) if isinstance(error, RefusalError) else text
        theirs.send((type(error).__name__, text[:1000]))
    finally:
        theirs.close()
        sys.stdout.flush()
        sys.stderr.flush()
        os.killpg(0, signal.SIGKILL)  # the answer is on its way; workers need no farewell


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
    try:
        os.setpgid(pid, pid)
    except (ProcessLookupError, PermissionError):
        pass  # it has ended


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass


def _ending(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit status {code}"
