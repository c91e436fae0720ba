"""Memory in which the core keeps marks: places where the codes of JPEG files are entered in later epochs.

It is there before any worker is started, so that what one finds serves those of the next epoch. What lies in
it says ``gofast/image/jpeg/marks.h``. Those of a dataset of files are kept in the user's cache too, for later
runs (``kept.go`` beside it): an epoch's end begins to write them, and the process's end waits for that.
"""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import resource
import zlib
from typing import Any

import numpy as np

from . import process_operations
from .kept import own_index, user_cache
from .machine import Machine
from .memory import address_of
from .owned import Owned, handed

_MOST = 1 << 30  # bytes: the marks of 150 GB of JPEGs
_SHARE = 32  # of the memory that the process may use
_LEAST = 1 << 20  # bytes: of 1,300 photographs, of which an epoch on two cores gains 0.1 s


class Marks:
    """Zeros that processes share. What is not written takes no memory.

    ``GOFAST_MARKS`` in the environment says how many bytes; 0: nothing is kept.
    """

    def __init__(self) -> None:
        self._map: mmap.mmap | None = None
        self._settled = self._guest = False
        self._datasets: dict[str, process_operations.KeptMarks] = {}
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
        self._settled = self._guest = True

    def number(self, of: Any, files: int) -> int:
        """The number by which the core keeps the marks of a dataset, those of earlier runs among them.

        Args:
            of: says which dataset it is, in JSON.
            files: that it has.
        """
        path = own_index("marks", of) if self._map else None
        if path is None:
            return 1
        number = zlib.crc32(path.encode()) >> 2 | 1 << 30
        if path not in self._datasets and not self._guest:  # the process that spawned it has read them
            if not self._datasets:
                self._pid = os.getpid()
                atexit.register(self.save, wait=True)  # before the engine's end, which was registered before
            self._datasets[path] = {"path": path, "number": number, "files": files, "least": _LEAST}
            process_operations.load_marks(self._datasets[path])
        return number

    def save(self, wait: bool = False) -> None:
        """Keeps what is new for later runs, in the background; wait: until it is written, for the last time.

        Python unmaps the memory at its end, and finalizers that end an epoch then come too late.
        """
        datasets = [*self._datasets.values()]
        if datasets and self._pid == os.getpid():
            if wait:
                self._datasets, self._guest = {}, True
            process_operations.save_marks({"datasets": datasets, "wait": wait})

    def _keep(self, fd: int) -> None:
        self._fd, self._owned = fd, Owned(fd)
        self._map = mmap.mmap(fd, os.fstat(fd).st_size)


def folder() -> str:
    """Where they are kept for later runs."""
    return os.path.join(user_cache(), "marks")


shared = Marks()
