"""Files that exist completely or not at all: gofast/internal/atomicfile, for what Python writes."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from typing import BinaryIO

from .. import errors


@contextlib.contextmanager
def replaced(path: str) -> Iterator[BinaryIO]:
    """A new file, which gets this name if the block ends well. One writer at a time: others wait.

    Raises:
        gofast.errors.ReadError: the system refuses to write it.
    """
    part = path + ".part"
    with writing(path), os.fdopen(locked(part), "r+b") as file:
        try:
            file.truncate(0)
            yield file
            file.flush()
            os.fsync(file.fileno())
            os.replace(part, path)
        except BaseException:
            os.unlink(part)
            raise


@contextlib.contextmanager
def writing(path: str, what: str = "the file", full: str = "") -> Iterator[None]:
    """Says of the system's errors that this cannot be written; `full`: and what to do about a full disk."""
    try:
        yield
    except errors.GofastError:
        raise
    except OSError as error:
        said = f"write {path}: cannot write {what}: {error.strerror or error}"
        said += full * (error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG))
        raise errors.ReadError(said).at(path=path) from None


def locked(part: str) -> int:
    """A descriptor of the file, which nobody else has: the lock of a writer that died is gone."""
    while (fd := locked_now(part)) is None:
        time.sleep(0.01)  # somebody writes it, or has just renamed it
    return fd


def locked_now(part: str, create: int = os.O_CREAT) -> int | None:
    """The same, or None where somebody else has it; with `create` 0, a file that is there."""
    flags = os.O_RDWR | create | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    fd = os.open(part, flags, 0o666)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(fd), os.lstat(part)):
            return fd
    except (BlockingIOError, FileNotFoundError):
        pass
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


def dropped(part: str, fd: int) -> None:
    """Removes a part that is locked by a descriptor, unless it has got its name."""
    try:
        if os.path.samestat(os.fstat(fd), os.lstat(part)):
            os.unlink(part)
    except OSError:
        pass
    os.close(fd)
