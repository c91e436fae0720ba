"""Files that are opened to be mapped: ordinary ones, and the same as they were then."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from .. import errors
from .stamp import Stamp


def open_regular(path: str) -> tuple[int, os.stat_result]:
    """A descriptor of a file, which is the caller's, and its state. Pipes and folders are refused."""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        kind = errors.NotFoundError if isinstance(error, FileNotFoundError) else errors.ReadError
        raise kind(f"open {path}: {error.strerror}").at(path=path) from None
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        os.close(fd)
        raise errors.ReadError(f"open {path}: not a regular file").at(path=path)
    return fd, info


@contextlib.contextmanager
def regular_file(path: str) -> Iterator[tuple[int, os.stat_result]]:
    """The same, closed behind the block."""
    fd, info = open_regular(path)
    try:
        yield fd, info
    finally:
        os.close(fd)


@contextlib.contextmanager
def regular_stream(path: str) -> Iterator[tuple[BinaryIO, os.stat_result]]:
    """The same as a file of Python's."""
    fd, info = open_regular(path)
    with os.fdopen(fd, "rb") as file:
        yield file, info


class MappedFile(NamedTuple):
    """A file that an array is mapped from, as it was then."""

    path: str
    stamp: Stamp

    def check(self, fd: int) -> None:
        """Raises ChangedError if somebody has written to it since. Other names, or none, change nothing."""
        if Stamp.of(os.fstat(fd)).content != self.stamp.content:
            raise errors.ChangedError(
                f"{self.path} was written to since it was opened: open the dataset again"
            ).at(path=self.path)
