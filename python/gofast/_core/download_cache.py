"""A folder of downloaded files that processes share, within a budget.

Locks say who uses what: `download_locks`.
What their file contains are times: when files whose names begin alike were last closed by who read them.
Behind these stands how many bytes all files have at most: whoever makes room need not look at thousands.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import math
import os
import random
import re
import shutil
import stat
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from .. import errors
from . import download_locks
from .atomic_files import dropped, locked_now, writing
from .cache_folder import user_cache
from .download_locks import ROOM, TURN, byte_of, locking, locks, opened
from .remote_operations import RemoteState
from .shown_urls import shown
from .signals import deferred
from .units import bytes_of, exact

DEFAULT_LIMIT = "50GB"
Span = tuple[int, int]  # where a part of a file begins and ends
_FOLDER, _LIMIT = "GOFAST_DOWNLOADS", "GOFAST_DOWNLOADS_LIMIT"  # for spawned workers, too
_NAME = re.compile(r"[0-9a-f]{32}-")
_SINCE = float(os.environ.setdefault("GOFAST_DOWNLOADS_SINCE", repr(time.time())))  # or a parent's
_START = os.urandom(8).hex()  # the version, for this process and its forks, of what has none
_USES = 1 << 16  # times in the file of locks
FOLDER_SIZE = ".size"  # a file in a folder of downloads, as long as they are together, and empty
PATIENCE = 60  # seconds for which a download may write nothing, or nobody let go of anything
WAIT = 0.05  # seconds between looks at what other processes do


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
        name, told = ("cache_limit", limit)
        if limit is None:
            name, told = _LIMIT, os.environ.get(_LIMIT) or DEFAULT_LIMIT
        most = bytes_of(name, told)
        if most <= 0:
            raise errors.OptionError(f"{name}={told!r}: give a number of bytes, such as {DEFAULT_LIMIT!r}")
        return cls(os.path.abspath(made), most)

    def keep(self) -> None:
        """Makes it that of this process, and of those that it starts."""
        os.environ[_FOLDER], os.environ[_LIMIT] = self.folder, str(self.limit)


def file_name(url: str, *state: object) -> str:
    """What a state of a file is called: another one has another name."""
    digest = hashlib.blake2b(json.dumps([url, *map(str, state)]).encode(), digest_size=16).hexdigest()
    base = shown(url).rstrip("/").rpartition("/")[2]
    return f"{digest}-{re.sub('[^A-Za-z0-9._-]', '_', base)[-100:]}"


def kept_name(url: str, state: RemoteState, span: Span) -> str:
    """What a file of the core's servers, or a part of it, is called."""
    part = span if span != (0, state["size"]) else ()
    return file_name(url, state["size"], state["tag"] or state["modified"] or _START, *part)


class DiskFullError(errors.ReadError):
    """The disk has no room beside what is in use."""


NO_ROOM = errors.LimitError, DiskFullError  # while others use it


class DownloadCache:
    """The folder of a budget.

    Raises:
        ReadError: it cannot be made, or not be written to.
        OptionError: it is somebody else's, or anybody may write there.
    """

    def __init__(self, budget: DownloadBudget) -> None:
        self.folder, self.limit = budget
        with writing(self.folder, "the folder of downloads"):
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            made = os.stat(self.folder)
        if made.st_mode & stat.S_IWOTH or (os.geteuid() and made.st_uid not in (0, os.geteuid())):
            raise errors.OptionError(
                f"downloads in {self.folder}: others could put files there: give a folder of your own"
            ).at(path=self.folder)

    def path(self, name: str) -> str:
        """Where the file of a name is, or is to be."""
        return os.path.join(self.folder, name)

    def claim(self, name: str, ahead: bool = False, lasts: bool = False) -> None:
        """Nobody removes the file until `release`, which this process calls as often, or ends.

        Args:
            ahead: nobody does but who needs room for a file that is read next.
            lasts: processes that are forked from this one use the file, too.
        """
        download_locks.claim(self.folder, name, ahead, lasts)

    def release(self, name: str, ahead: bool = False, lasts: bool = False) -> None:
        """Ends a claim of this process; others do nothing."""
        download_locks.release(self.folder, name, ahead, lasts)

    def claimed(self, name: str, until: contextlib.ExitStack, lasts: bool = False) -> None:
        """Claims the file until the stack ends."""
        with deferred():  # else there could be a claim of which nobody knows
            self.claim(name, lasts=lasts)
            until.callback(self.release, name, lasts=lasts)

    def part(self, name: str, until: contextlib.ExitStack) -> int | None:
        """A descriptor of what the file is called until it is complete; None: somebody writes it already.

        When the stack ends, it is removed, unless it has got its name.

        Raises:
            ReadError: it cannot be written.
        """
        part = self.path(name) + ".part"
        with deferred(), writing(part):  # else a lock could be held of which nobody knows
            fd = locked_now(part)
            if fd is not None:
                until.callback(dropped, part, fd)
        return fd

    def used(self, name: str) -> None:
        """The file was read, and is not wanted again in this epoch."""
        with contextlib.suppress(OSError, errors.ReadError):  # a full disk: it counts as not read
            fd = opened(self.folder)
            try:
                os.pwrite(fd, struct.pack("d", time.time()), 8 * (int(name[:15], 16) % _USES))
            finally:
                os.close(fd)

    def reserve(
        self,
        asked: Sequence[tuple[str, int, int]],
        ahead: bool = False,
        epoch: float = 0.0,
        allocate: Callable[[int, int], OSError | None] | None = None,
    ) -> int:
        """Gives the files of (URL, descriptor, size) their sizes, the first ones at least: to how many.

        Where that is too much, others go that nobody uses. Which ones is drawn: the oldest would be wanted
        next in an epoch over more than fits. Those go last that were read since this process began, and not
        since the time `epoch`, when its epoch began: they are still to come. For what comes ahead they stay.

        Args:
            allocate: gives a descriptor its bytes on the disk, or says why not; None: `_allocated`.

        Raises:
            LimitError: what is in use leaves too little for the first.
            DiskFullError: the disk has no room for it.
        """
        allocate = allocate or _allocated
        with locks(self.folder) as lock, contextlib.ExitStack() as held:
            locking(lock, fcntl.F_WRLCK, ROOM, wait=True)
            most = _told(lock) + sum(size - os.fstat(fd).st_size for _, fd, size in asked)
            if most <= self.limit:
                _tell(lock, most)
                if all(allocate(fd, size) is None for _, fd, size in asked):
                    return len(asked)
            os.ftruncate(lock, 8 * _USES)  # who ends before the end of this has told nobody what was added
            with writing(self.folder, "the folder of downloads"):  # which somebody may have removed
                every = [*os.scandir(self.folder)]
            left = [entry for entry in every if _NAME.match(entry.name) and not entry.is_symlink()]
            random.Random().shuffle(left)
            times = os.pread(lock, 8 * _USES, 0).ljust(8 * _USES, b"\0")
            coming = {one.name for one in left if _SINCE <= _time(times, one.name) < epoch}
            there = sum(map(_size, left))
            held.callback(lambda: _tell(lock, there))
            left.sort(key=lambda one: one.name in coming)
            del left[len(left) - len(coming) if ahead else len(left) :]
            unused = self._unused(lock, held, left, ahead)
            for done, (url, fd, size) in enumerate(asked):
                over = there + size - os.fstat(fd).st_size - self.limit
                over -= _removed(unused, over)
                if over > 0:
                    if done:
                        return done
                    said = f"{shown(url)}: its {exact(size)} do not fit beside what is in use"
                    raise self._too_much(said, over).at(path=shown(url))
                there = self.limit + over
                while (full := allocate(fd, size)) is not None:
                    disk = os.statvfs(self.folder)
                    more = max(size - disk.f_bavail * disk.f_frsize, 1)
                    gone = _removed(unused, more) if full.errno in (errno.ENOSPC, errno.EDQUOT) else 0
                    there -= gone
                    if not gone:
                        if done:
                            return done
                        said = f"cannot write {exact(size)} of {shown(url)}: {full.strerror}"
                        raise DiskFullError(f"write {self.folder}: {said}").at(path=self.folder)
            return len(asked)

    def recount(self) -> None:
        """Whoever makes room next looks at what is there: files have other sizes than they were given."""
        with locks(self.folder) as lock:
            locking(lock, fcntl.F_WRLCK, ROOM, wait=True)
            os.ftruncate(lock, 8 * _USES)

    def _unused(
        self, lock: int, held: contextlib.ExitStack, left: list[os.DirEntry[str]], ahead: bool
    ) -> Iterator[os.DirEntry[str]]:
        """Files that nobody uses, then those that are downloaded ahead: nobody can use them for now."""
        passed = []
        for entry in left:
            if all(locking(lock, fcntl.F_WRLCK, byte_of(entry.name, soon)) for soon in (True, False)):
                yield entry
            else:
                passed.append(entry)
        for entry in [] if ahead else passed:
            if not locking(lock, fcntl.F_WRLCK, byte_of(entry.name)):
                continue
            if entry.name.endswith(".part"):
                fd = None
                with contextlib.suppress(OSError):
                    fd = locked_now(entry.path, 0)
                if fd is None:  # it is written to
                    continue
                held.callback(os.close, fd)
            yield entry

    def busy(self) -> bool:
        """Whether a file is written to, which may give way when it is complete."""
        since = time.time() - PATIENCE
        with contextlib.suppress(FileNotFoundError), os.scandir(self.folder) as every:
            for part in (entry for entry in every if entry.name.endswith(".part")):
                with contextlib.suppress(OSError):
                    if part.stat(follow_symlinks=False).st_mtime > since:
                        if (fd := locked_now(part.path, 0)) is None:
                            return True
                        os.close(fd)
        return False

    def check(self, url: str, size: int, else_: str = "") -> None:
        """Whether files of so many bytes, one of which is at the URL, can be there at the same time.

        Raises:
            LimitError: they cannot.
        """
        if size > self.limit:
            said = f"{shown(url)}: {exact(size)} are asked for together"
            raise self._too_much(said, size - self.limit, else_).at(path=shown(url))

    def _too_much(self, said: str, over: int, else_: str = "") -> errors.LimitError:
        return errors.LimitError(
            f"{said}, and downloads in {self.folder} are limited to {exact(self.limit)}: "
            f"raise cache_limit= by {exact(over)}{else_}"
        )

    @contextlib.contextmanager
    def turn(self) -> Iterator[None]:
        """Alone among the processes and threads that wait for room. The others hold nothing meanwhile.

        Raises:
            LimitError: somebody has it, and for `PATIENCE` seconds no file came or went, or grew.
        """
        with locks(self.folder) as fd:
            was, ends = -1.0, 0.0
            while not locking(fd, fcntl.F_WRLCK, TURN):
                now = 0.0
                with contextlib.suppress(FileNotFoundError):  # somebody may remove the folder
                    now = os.stat(self.folder).st_mtime
                if now != was:
                    was, ends = now, time.monotonic() + PATIENCE
                elif time.monotonic() > ends and not self.busy():
                    raise errors.LimitError(
                        f"downloads in {self.folder} are limited to {exact(self.limit)}: another process "
                        f"waits for room, and in {PATIENCE} s no file came or went: raise cache_limit="
                    ).at(path=self.folder)
                time.sleep(WAIT)
            yield


def _told(lock: int) -> float:
    """How many bytes the files of a folder have at most; infinity where nobody has counted them."""
    told = os.pread(lock, 8, 8 * _USES)
    return int.from_bytes(told, sys.byteorder) if len(told) == 8 else math.inf


def _tell(lock: int, size: float) -> None:
    try:
        os.pwrite(lock, int(size).to_bytes(8, sys.byteorder), 8 * _USES)
    except OSError:  # a full disk: the next one counts
        os.ftruncate(lock, 8 * _USES)


def _removed(unused: Iterator[os.DirEntry[str]], needed: int) -> int:
    """Removes so many bytes, or nothing: how many."""
    going: list[os.DirEntry[str]] = []
    gain = 0
    while gain < needed and (entry := next(unused, None)):
        going.append(entry)
        gain += _size(entry)
    if gain < needed:
        return 0
    for entry in going:
        with contextlib.suppress(FileNotFoundError):
            if entry.is_dir(follow_symlinks=False):
                _remove_folder(entry.path)
            else:
                os.unlink(entry.path)
    return gain


def _remove_folder(path: str) -> None:
    """It is no whole one from the first moment on, and has its size to the last."""
    gone = f"{path}-{random.randrange(1 << 60):x}.part"
    os.rename(path, gone)
    with os.scandir(gone) as every:
        for entry in every:
            if entry.name != FOLDER_SIZE:
                shutil.rmtree(entry.path)
    shutil.rmtree(gone)


def _allocated(fd: int, size: int) -> OSError | None:
    """Gives a file its bytes on the disk, or says why it has none."""
    try:
        os.ftruncate(fd, 0)
        if size:
            os.posix_fallocate(fd, 0, size)
    except OSError as error:
        os.ftruncate(fd, 0)
        return error
    return None


def _time(times: bytes, name: str) -> float:
    last: float = struct.unpack_from("d", times, 8 * (int(name[:15], 16) % _USES))[0]
    return last


def _size(entry: os.DirEntry[str]) -> int:
    try:
        if entry.is_dir(follow_symlinks=False):
            return os.stat(os.path.join(entry.path, FOLDER_SIZE)).st_size
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        with contextlib.suppress(FileNotFoundError):
            if entry.name.endswith(".part"):  # the core has just given it its name
                return os.stat(entry.path.removesuffix(".part")).st_size
        return 0
