"""Who uses which file of a folder of downloads: locks of bytes of its file ``lock``.

Each file has two bytes, by its name. Who uses the file holds the first one's lock for reading, who downloads
it ahead the second one's, and who would remove it must get them for writing: the system gives locks back when
a process ends, however it does. Byte 0 is held by whoever makes room. One more byte is held by who waits for
room that others need for the moment, one process at a time.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator

from .. import errors
from .atomic_files import writing
from .signals import deferred

ROOM, TURN = 0, 1 << 62  # the bytes of who makes room, and of who waits for it
_WAIT = 0.001  # seconds between looks at what somebody removes


class _Claims:
    """What this process uses of a folder, for now or until it ends: a descriptor, while there is anything."""

    def __init__(self) -> None:
        self.fd, self.counts = -1, Counter[int]()  # by the byte


claims: dict[tuple[str, bool], _Claims] = {}  # by the folder, and whether they last
_locks: set[int] = set()  # descriptors of who makes room, or waits for it
_lock = threading.RLock()  # a finalizer may release within a claim


def _after_fork_in_child() -> None:
    """What the parent uses until it ends may have come along. All else would outlive the parent here."""
    global _lock
    brief = [mine.fd for (_, lasts), mine in claims.items() if not lasts and mine.fd >= 0]
    for fd in [*_locks, *brief]:
        os.close(fd)
    _locks.clear()
    claims.clear()
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork_in_child)


def claim(folder: str, name: str, ahead: bool = False, lasts: bool = False) -> None:
    """See `DownloadCache.claim`."""
    while not _claimed_now(folder, byte_of(name, ahead), lasts):
        # The file is removed. If that is another thread of ours, its finalizers may need `_lock`.
        time.sleep(_WAIT)


def _claimed_now(folder: str, byte: int, lasts: bool) -> bool:
    with _lock:
        mine = claims.setdefault((folder, lasts), _Claims())
        if mine.fd < 0:
            mine.fd = opened(folder)
        if not mine.counts[byte] and not locking(mine.fd, fcntl.F_RDLCK, byte):
            return False
        mine.counts[byte] += 1
        return True


def release(folder: str, name: str, ahead: bool = False, lasts: bool = False) -> None:
    """Ends a claim of this process; others do nothing."""
    byte = byte_of(name, ahead)
    with _lock:
        mine = claims.get((folder, lasts))
        if mine is None or not mine.counts[byte]:
            return
        mine.counts[byte] -= 1
        if mine.counts[byte]:
            return
        del mine.counts[byte]
        locking(mine.fd, fcntl.F_UNLCK, byte)
        if not mine.counts:
            del claims[
                folder, lasts
            ]  # first: a child that is forked now would close what has the number then
            os.close(mine.fd)


@contextlib.contextmanager
def locks(folder: str) -> Iterator[int]:
    """A descriptor for locks, which end with the block."""
    held = list[int]()
    try:
        with deferred():
            held.append(opened(folder))
            _locks.add(held[0])
            _claim_again(folder, held[0])
        yield held[0]
    finally:
        with deferred():
            for fd in held:
                locking(fd, fcntl.F_UNLCK, 0, count=0)  # a child may have it, if only for a moment
                _locks.discard(fd)
                os.close(fd)


def _claim_again(folder: str, fd: int) -> None:
    """Claims what this process uses, where the folder was removed: this is another file of locks."""
    with _lock:
        for (of, _), mine in claims.items():
            if of == folder and mine.fd >= 0 and not os.path.samestat(os.fstat(mine.fd), os.fstat(fd)):
                before, mine.fd = mine.fd, opened(folder)
                os.close(before)
                for byte in mine.counts:
                    locking(mine.fd, fcntl.F_RDLCK, byte, wait=True)


def opened(folder: str) -> int:
    """A descriptor of the folder's file of locks."""
    with writing(folder, "the lock of the downloads"):
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        return os.open(os.path.join(folder, "lock"), flags, 0o666)


def byte_of(name: str, ahead: bool = False) -> int:
    """The byte of a file."""
    return int(name[:15], 16) + 1 + (ahead << 61)


def locking(fd: int, kind: int, byte: int, wait: bool = False, count: int = 1) -> bool:
    """Locks a byte for this descriptor, or unlocks it (0: all behind); False where somebody else has it."""
    asked = struct.pack("@hhqqi0q", kind, os.SEEK_SET, byte, count, 0)  # struct flock
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK, asked)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise errors.ReadError(f"the disk of the downloads knows no locks: {error.strerror}") from None
    return True
