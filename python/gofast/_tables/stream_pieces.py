"""What counting the rows of a stream found out, and its epoch, for all processes that have a copy of it."""

from __future__ import annotations

import contextlib
import fcntl
import json
import mmap
import os
from collections.abc import Callable, Iterator
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd
from typing import Any, NamedTuple

import numpy as np

from .._core.descriptors import OwnedDescriptors
from .._core.table_operations import Piece

_HEAD = 16  # the epoch and the length of what stands behind it, int64 each


class CountedPieces(NamedTuple):
    """The pieces of all files.

    Attributes:
        itemsize: bytes of a feature, probably.
    """

    pieces: list[Piece]
    itemsize: int


class StreamPieces:
    """A memfd, which workers share: the first that needs the pieces makes them, and the others wait.

    Attributes:
        found: the pieces, once this process knows them.
    """

    def __init__(self, fd: int | None = None) -> None:
        if fd is None:
            fd = os.memfd_create("gofast-stream", os.MFD_CLOEXEC)
            os.pwrite(fd, np.array([-1, 0], np.int64).tobytes(), 0)
        self._fd, self._owned = fd, OwnedDescriptors(fd)
        self._head = np.frombuffer(mmap.mmap(fd, _HEAD), np.int64)
        self.found: CountedPieces | None = None

    @property
    def epoch(self) -> int | None:
        """What `set_epoch` said, in any of the processes."""
        epoch = int(self._head[0])
        return None if epoch < 0 else epoch

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self._head[0] = epoch

    def known(self) -> CountedPieces | None:
        """The pieces, if any of the processes knows them."""
        if self.found is None and (length := int(self._head[1])):
            self.found = CountedPieces(*json.loads(os.pread(self._fd, length, _HEAD)))
        return self.found

    def get(self, make: Callable[[], CountedPieces]) -> CountedPieces:
        """The pieces. They are made here, if no other process has made them or does so now."""
        found = self.known()
        if found is None:
            with self._locked():
                found = self.known()
                if found is None:
                    found = self.found = make()
                    self._write(found)
        return found

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        fcntl.lockf(self._fd, fcntl.LOCK_EX)  # a process that is killed gives it back
        try:
            yield
        finally:
            fcntl.lockf(self._fd, fcntl.LOCK_UN)

    def _write(self, found: CountedPieces) -> None:
        text = json.dumps(found).encode()
        done = 0
        while done < len(text):
            done += os.pwrite(self._fd, text[done:], _HEAD + done)
        self._head[1] = len(text)

    def __reduce__(self) -> tuple[Any, ...]:
        if get_spawning_popen() is not None:
            return _handed, (DupFd(self._fd),)
        return _copied, (self.known(),)


def _handed(fd: Any) -> StreamPieces:
    return StreamPieces(fd.detach())


def _copied(found: CountedPieces | None) -> StreamPieces:
    made = StreamPieces()
    if found is not None:
        made.found = found
        made._write(found)
    return made
