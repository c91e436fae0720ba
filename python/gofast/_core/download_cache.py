"""A folder of downloaded files that processes share, within a budget.

Each file has a byte of the file ``lock``, by its name. Who uses the file holds that byte's lock for reading,
and who would remove it must get it for writing: the system gives locks back when a process ends, however it
does. Byte 0 is held by whoever makes room.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import random
import re
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from .. import errors
from .atomic_files import writing
from .cache_folder import user_cache
from .units import bytes_of, exact

DEFAULT_LIMIT = "50GB"
_FOLDER, _LIMIT = "GOFAST_DOWNLOADS", "GOFAST_DOWNLOADS_LIMIT"  # for spawned workers, too
_NAME = re.compile(r"[0-9a-f]{32}-")


class DownloadBudget(NamedTuple):
    """Where downloads are kept, and how many bytes of them."""

    folder: str
    limit: int

    @classmethod
    def of(
        cls, folder: str | os.PathLike[str] | None = None, limit: int | str | None = None
    ) -> DownloadBudget:
        """The user's, or that of the process, or the user's cache and 50 GB.

        Raises:
            OptionError: the limit is none, or there is no home for a cache.
        """
        made = os.environ.get(_FOLDER) or os.path.join(user_cache(), "downloads")
        made = os.path.expanduser(os.fspath(folder)) if folder is not None else made
        if folder is None and not os.path.isabs(made):
            raise errors.OptionError("there is no home for downloads: give cache_dir= or GOFAST_DOWNLOADS")
        told = os.environ.get(_LIMIT) or DEFAULT_LIMIT
        most = bytes_of("cache_limit", told if limit is None else limit)
        if most <= 0:
            raise errors.OptionError(
                f"cache_limit={limit!r}: give a number of bytes, such as {DEFAULT_LIMIT!r}"
            )
        return cls(os.path.abspath(made), most)

    def keep(self) -> None:
        """Makes it that of this process, and of those that it starts."""
        os.environ[_FOLDER], os.environ[_LIMIT] = self.folder, str(self.limit)


class _Claims:
    """What this process uses of a folder: a descriptor, while there is anything."""

    def __init__(self) -> None:
        self.fd, self.counts = -1, Counter[str]()


_claims: dict[str, _Claims] = {}
_lock = threading.RLock()  # a finalizer may release within a claim


def _after_fork_in_child() -> None:
    global _lock
    _claims.clear()  # the parent's descriptors stay open: what it uses may have come along
    _lock = threading.RLock()


os.register_at_fork(after_in_child=_after_fork_in_child)


def file_name(url: str, *state: object) -> str:
    """What a state of a file is called: another one has another name."""
    digest = hashlib.blake2b(json.dumps([url, *map(str, state)]).encode(), digest_size=16).hexdigest()
    base = re.split("[?#]", url)[0].rstrip("/").rpartition("/")[2]
    return f"{digest}-{re.sub('[^A-Za-z0-9._-]', '_', base)[-100:]}"


class DownloadCache:
    """The folder of a budget.

    Raises:
        ReadError: it cannot be made, or not be written to.
    """

    def __init__(self, budget: DownloadBudget) -> None:
        self.folder, self.limit = budget
        with writing(self.folder, "the folder of downloads"):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)

    def path(self, name: str) -> str:
        """Where the file of a name is, or is to be."""
        return os.path.join(self.folder, name)

    def claim(self, name: str) -> None:
        """Nobody removes the file until `release`, which this process calls as often, or ends."""
        with _lock:
            mine = _claims.setdefault(self.folder, _Claims())
            if mine.fd < 0:
                mine.fd = self._open()
            if not mine.counts[name]:
                _locking(mine.fd, fcntl.F_RDLCK, _byte(name), wait=True)  # for as long as a file is removed
            mine.counts[name] += 1

    def release(self, name: str) -> None:
        """Ends a claim of this process; others do nothing."""
        with _lock:
            mine = _claims.get(self.folder)
            if mine is None or not mine.counts[name]:
                return
            mine.counts[name] -= 1
            if mine.counts[name]:
                return
            del mine.counts[name]
            _locking(mine.fd, fcntl.F_UNLCK, _byte(name))
            if not mine.counts:
                os.close(mine.fd)
                del _claims[self.folder]

    def reserve(self, url: str, fd: int, size: int) -> None:
        """Gives the file of a descriptor its size. Where that is too much, others go that nobody uses.

        Which ones go is drawn: the oldest would be wanted next in an epoch over more than fits.

        Raises:
            LimitError: what is in use leaves too little.
            ReadError: the disk has no room.
        """
        with self._room() as lock:
            left = [entry for entry in os.scandir(self.folder) if _NAME.match(entry.name)]
            over = sum(map(_size, left)) + size - os.fstat(fd).st_size - self.limit
            random.Random().shuffle(left)
            while over > 0 and left:
                entry = left.pop()
                bytes_there = _size(entry)
                if bytes_there and _locking(lock, fcntl.F_WRLCK, _byte(entry.name)):
                    with contextlib.suppress(FileNotFoundError):
                        os.unlink(entry.path)
                        over -= bytes_there
                    _locking(lock, fcntl.F_UNLCK, _byte(entry.name))
            if over > 0:
                raise self._too_much(f"{url}: its {exact(size)} do not fit beside what is in use", over).at(
                    path=url
                )
            with writing(self.folder, f"{exact(size)} of {url}"):
                os.ftruncate(fd, 0)
                if size:
                    os.posix_fallocate(fd, 0, size)

    def check(self, url: str, size: int) -> None:
        """Whether files of so many bytes, one of which is at the URL, can be there at the same time.

        Raises:
            LimitError: they cannot.
        """
        if size > self.limit:
            raise self._too_much(f"{url}: {exact(size)} are asked for together", size - self.limit).at(
                path=url
            )

    def _too_much(self, said: str, over: int) -> errors.LimitError:
        return errors.LimitError(
            f"{said}, and downloads in {self.folder} are limited to {exact(self.limit)}: "
            f"raise cache_limit= by {exact(over)}"
        )

    @contextlib.contextmanager
    def _room(self) -> Iterator[int]:
        fd = self._open()
        try:
            _locking(fd, fcntl.F_WRLCK, 0, wait=True)
            yield fd
        finally:
            os.close(fd)

    def _open(self) -> int:
        with writing(self.folder, "the lock of the downloads"):
            return os.open(self.path("lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)


def _byte(name: str) -> int:
    return int(name[:15], 16) + 1


def _locking(fd: int, kind: int, byte: int, wait: bool = False) -> bool:
    """Locks a byte for this descriptor, or unlocks it; False where somebody else has it."""
    asked = struct.pack("@hhqqi0q", kind, os.SEEK_SET, byte, 1, 0)  # struct flock
    try:
        fcntl.fcntl(fd, fcntl.F_OFD_SETLKW if wait else fcntl.F_OFD_SETLK, asked)
    except (BlockingIOError, PermissionError):
        return False
    except OSError as error:
        raise errors.ReadError(f"the disk of the downloads knows no locks: {error.strerror}") from None
    return True


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0
