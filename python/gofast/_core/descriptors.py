"""Descriptors that are closed when nobody needs them any more."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import sys
import weakref
from collections.abc import Callable
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd
from typing import Any

_FUTURE_WRITE = 0x10  # fcntl.F_SEAL_FUTURE_WRITE, which Python has from 3.13 on


class OwnedDescriptors:
    """Closes its descriptors when it is dropped, if they are still the same files'.

    Daemons close every descriptor that they inherit, so a number may belong to another file by then.
    """

    def __init__(self, *fds: int) -> None:
        self._was = {fd: os.fstat(fd) for fd in fds}

    def hold(self, fd: int) -> int:
        """Owns one more; that one."""
        self._was[fd] = os.fstat(fd)
        return fd

    def has(self, fd: int) -> bool:
        """Whether it is owned, and open still."""
        with contextlib.suppress(OSError, KeyError):
            return os.path.samestat(os.fstat(fd), self._was[fd])
        return False

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        if over():  # the modules that this needs may be gone, and the system closes all
            return
        for fd in getattr(self, "_was", ()):  # none if a descriptor was none
            if self.has(fd):
                os.close(fd)


def seal(fd: int) -> None:
    """Lets nobody write to memory of memfd_create, or give it another size: the core's ``memfd.Seal``."""
    seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
    try:
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals | _FUTURE_WRITE)
    except OSError as error:
        if error.errno != errno.EINVAL:
            raise
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)


_handed = weakref.WeakKeyDictionary[Any, OwnedDescriptors]()  # copies for each process that is being spawned


def handed(fd: int) -> Any:
    """A DupFd for a process that is being spawned, of a descriptor that others may hand to it too.

    multiprocessing refuses one that is named twice, so each gets a copy, until the process has ended.
    """
    return DupFd(_handed.setdefault(get_spawning_popen(), OwnedDescriptors()).hold(os.dup(fd)))
