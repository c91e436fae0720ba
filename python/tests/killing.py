"""How a test kills a worker process."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import psutil


def kill_worker(iterator: Any, number: int = 0) -> None:
    """Kills a worker of torch's iterator; torch's handler of dead children may raise here already.

    Torch's workers look at an event now and then, under its lock. One that is killed with the lock in hand
    leaves torch waiting for ever, whatever the dataset: it is killed where it cannot have it.
    """
    pid = iterator._workers[number].pid
    with iterator._workers_done_event._cond:
        os.kill(pid, signal.SIGKILL)
        while psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
            time.sleep(0.01)
