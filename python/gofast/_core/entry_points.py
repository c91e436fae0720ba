"""Memory in which the core keeps marks: places where the codes of JPEG files are entered in later epochs.

It is there before any worker is started, so that what one finds serves those of the next epoch. What lies in
it says ``gofast/image/jpeg/marks.h``.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import resource
from typing import Any

import numpy as np

from .descriptors import OwnedDescriptors, handed
from .machine import Machine
from .memory import address_of

_MOST = 1 << 30  # bytes: the marks of 150 GB of JPEGs
_SHARE = 32  # of the memory that the process may use


class EntryPoints:
    """Zeros that processes share. What is not written takes no memory.

    ``GOFAST_MARKS`` in the environment says how many bytes; 0: nothing is kept.
    """

    def __init__(self) -> None:
        self._map: mmap.mmap | None = None
        self._settled = False
        asked, known = os.environ.get("GOFAST_MARKS", ""), Machine().memory()
        limits = [resource.getrlimit(resource.RLIMIT_AS)[0], known.limit if known else -1]
        size = min([_MOST, *(limit // _SHARE for limit in limits if limit >= 0)])
        size = int(asked) if asked.isdecimal() else size
        if size:
            with contextlib.suppress(OSError, OverflowError):  # too much, or no descriptor: it is only slower
                fd = os.memfd_create("gofast-marks", os.MFD_CLOEXEC)
                os.truncate(fd, size)
                self._keep(fd)

    def place(self) -> tuple[int, int]:
        """Address and size, for the core, which keeps them; zeros where there are none."""
        self._settled = True
        return (address_of(np.frombuffer(self._map, np.uint8)), len(self._map)) if self._map else (0, 0)

    def handed(self) -> Any:
        """What a process that is being spawned gets them by; None where there are none."""
        return handed(self._fd) if self._map and self._owned.has(self._fd) else None

    def take_over(self, handed: Any) -> None:
        """Keeps those of the process that spawned this one, if nothing was decoded yet."""
        if handed is None:
            return
        fd = handed.detach()
        if self._settled:
            os.close(fd)
            return
        with contextlib.suppress(OSError):
            self._keep(fd)
        self._settled = True

    def _keep(self, fd: int) -> None:
        self._fd, self._owned = fd, OwnedDescriptors(fd)
        self._map = mmap.mmap(fd, os.fstat(fd).st_size)


shared = EntryPoints()
