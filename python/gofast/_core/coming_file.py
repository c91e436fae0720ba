"""A file that is read while it is downloaded."""

from __future__ import annotations

import io
import os
from collections.abc import Callable
from typing import Any, Protocol

from .operation import Begun

_WAIT = 2  # milliseconds between looks at what has come


class OneDownload(Protocol):
    """`Downloads` of one file."""

    begun: Begun[None] | None

    def result(self) -> list[str]:
        """Waits for the file, whoever brings it."""

    def finish(self) -> None:
        """Waits for what is begun."""


class ComingFile(io.RawIOBase):
    """Reads what has come of a file, and waits for what has not. An error of the download is one of reading.

    Args:
        download: of this file.
        ahead: called with how many bytes are still to come, until it says that it was the last time.
    """

    def __init__(self, download: OneDownload, fd: int, size: int, ahead: Callable[[int], bool]) -> None:
        super().__init__()
        self._download, self._fd, self._size = download, fd, size
        self._at = self._there = 0
        self._ahead: Callable[[int], bool] | None = ahead

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        while self._there <= self._at < self._size:
            self._look()
        count = max(0, min(len(buffer), self._there - self._at))
        came = os.preadv(self._fd, [memoryview(buffer)[:count]], self._at)
        self._at += came
        return came

    def _look(self) -> None:
        """Sees what has come."""
        begun = self._download.begun
        if begun is None:  # we are a fork, or it failed
            path, part = self._download.result()[0], 1.0
            os.close(self._fd)
            self._fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        elif (part := begun.part(_WAIT)) == 1:
            self._download.finish()
        self._there = int(part * self._size)
        if self._ahead is not None and self._ahead(self._size - self._there):
            self._ahead = None

    def close(self) -> None:
        if not self.closed:
            os.close(self._fd)
        super().close()
