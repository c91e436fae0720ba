"""What the certain steps of a plan have made of pictures, kept for later epochs: in memory, or in a folder.

The core reads and appends records (``gofast/source/kept/kept.h``): a picture's pixels, with the stamp of the
file that they were made of. Here is which files they lie in. A folder has one for each set of processes
that wrote there at a time, with an index beside it; whoever has locked a file appends to it, and all read it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import mmap
import os
import stat
import sys
from collections.abc import Callable
from importlib import metadata
from multiprocessing.reduction import DupFd
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import errors
from .._core import codecs, engine, process_operations
from .._core.machine import Machine
from .._core.memory import address_of
from .._core.owned import Owned
from .._core.picture_operations import KeptPlace
from .._core.units import many, size
from .._core.warn import warn

VERSION = 1  # of records and of their files

_MOST_FILES = 256  # kept.h
_FILE_BITS = 48
_SHARED_BYTES = 64  # gf_kept_shared comes first, and then records
_HEAD_BYTES = 64  # of a file: what it was made for
_RECORD_BYTES = 88  # of a record, at least
_INDEX_BLOCK = 1 << 20  # bytes of an index that are read at a time
_NEVER = np.uint64(2**64 - 1)  # of a sample, of which no record can be made
_MAGIC = b"gofastP1"


class Budget(NamedTuple):
    """The options that say where, and how much.

    Attributes:
        place: "memory", or a folder.
        limit: bytes; None: half of the free memory, nine tenths of what is free on the disk.
    """

    place: str
    limit: int | None


class Kept:
    """Records of a list of pictures. Base class.

    Forked and spawned processes share them. No other pickle has any.

    Attributes:
        trouble: why nothing is kept, or nothing more; empty where it is.
    """

    called: str

    def __init__(self, count: int, limit: int, shared: int | None = None) -> None:
        self._count, self._limit, self._pid, self.trouble = count, limit, os.getpid(), ""
        bytes_ = _SHARED_BYTES + 8 * max(count, 1)
        self._shared = _memory("gofast-kept", bytes_) if shared is None else shared
        whole = mmap.mmap(self._shared, bytes_)
        self._numbers: npt.NDArray[np.int64] = np.frombuffer(whole, np.int64, 5)  # gf_kept_shared
        self._records: npt.NDArray[np.uint64] = np.frombuffer(whole, np.uint64, count, _SHARED_BYTES)
        self._fds = np.full(_MOST_FILES, -1, np.int32)
        self._own, self._index = -1, -1
        self._owned = Owned(self._shared)

    def addresses(self) -> KeptPlace:
        """Where all of it lies, for the core."""
        return {
            "files": address_of(self._fds),
            "own": self._own,
            "index": self._index,
            "mapped": self._mapped(),
            "limit": self._limit,
            "shared": address_of(self._numbers),
            "records": address_of(self._records),
        }

    def _mapped(self) -> int:
        return 0

    def refresh(self) -> None:
        """Looks what others have written meanwhile, and says once what is wrong."""
        stopped = int(self._numbers[4]) & 0xFFFFFFFF
        if stopped and not self.trouble and self._pid == os.getpid():
            self.trouble = f"nothing more is written: {os.strerror(stopped)}"
            warn(f"cache={self.called}: {self.trouble}; other pictures are decoded in each epoch")

    def explained(self) -> str:
        """What gofast.explain says of it."""
        kept, used = (
            int(np.count_nonzero((self._records != 0) & (self._records != _NEVER))),
            int(self._numbers[3]),
        )
        what = (
            f"{self.called}: {kept} of {many(self._count, 'picture')} kept, of at most {size(self._limit)}; "
        )
        return what + f"used {used} times" + f"; {self.trouble}" * bool(self.trouble)


class KeptInMemory(Kept):
    """Records in shared memory, which takes room as far as it is written."""

    called = '"memory"'

    def __init__(self, count: int, limit: int, shared: int | None = None, memory: int | None = None) -> None:
        super().__init__(count, limit, shared)
        if memory is None:
            memory = _memory("gofast-kept", limit)
            fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self._own, self._fds[0] = 0, self._owned.hold(memory)
        self._bytes = np.frombuffer(mmap.mmap(memory, limit, mmap.MAP_SHARED, mmap.PROT_READ), np.uint8)

    def _mapped(self) -> int:
        return address_of(self._bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return _in_memory, (self._count, self._limit, DupFd(self._shared), DupFd(int(self._fds[0])))


def _in_memory(count: int, limit: int, shared: Any, memory: Any) -> KeptInMemory:
    return KeptInMemory(count, limit, shared.detach(), memory.detach())


class KeptInFolder(Kept):
    """Records in the files of a folder. They say what they were made for, in their names and first bytes.

    Args:
        made_for: all that decides what records are like.
        handed: descriptors of another process: the shared ones, the index, and by number the files.
    """

    def __init__(
        self,
        count: int,
        limit: int | None,
        place: str,
        made_for: str,
        handed: tuple[int, int, int, dict[int, int]] | None = None,
    ) -> None:
        super().__init__(count, 0, None if handed is None else handed[0])
        self._asked = limit, place, made_for
        self.called = repr(place)
        digest = hashlib.blake2b(made_for.encode(), digest_size=32)
        self._head = (_MAGIC + digest.digest()).ljust(_HEAD_BYTES, b"\0")
        self._folder = os.path.join(place, "pixels-" + digest.hexdigest()[:32])
        self._read: dict[int, int] = {}  # bytes of each file's index that were read
        if handed is not None:
            _, self._own, self._index, files = handed
            for number, fd in files.items():
                self._fds[number] = self._owned.hold(fd)
            if self._index >= 0:
                self._owned.hold(self._index)
            return
        try:
            os.makedirs(self._folder, exist_ok=True)
            self._say(made_for)
            self._lock()
        except OSError as error:
            self.trouble = f"nothing more is written: {error.strerror}"
            warn(f"cache={self.called}: {self.trouble}; other pictures are decoded in each epoch")
        self._look()
        self._bound(limit)

    def _say(self, made_for: str) -> None:
        """Says to people what the folder is for."""
        with (
            contextlib.suppress(FileExistsError),
            open(os.path.join(self._folder, "made-for.json"), "x") as f,
        ):
            f.write(made_for)

    def _path(self, number: int, what: str) -> str:
        return os.path.join(self._folder, f"{number:03}.{what}")

    def _lock(self) -> None:
        """Takes the first file that nobody else writes."""
        for number in range(_MOST_FILES):
            fd = os.open(self._path(number, "records"), _WRITING, 0o666)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_ours(fd):
                    index = self._owned.hold(os.open(self._path(number, "index"), _WRITING, 0o666))
                    if not _is_plain(index):
                        raise OSError(errno.EPERM, "an index that is no file of its own")
                    self._own, self._index, self._fds[number] = number, index, self._owned.hold(fd)
                    self._numbers[0] = (max(os.fstat(fd).st_size, _HEAD_BYTES) + 63) // 64 * 64
                    self._numbers[1] = (os.fstat(self._index).st_size + 15) // 16
                    return
            except BlockingIOError:
                pass
            except OSError:
                os.close(fd)
                raise
            os.close(fd)
        raise OSError(errno.EMFILE, f"{_MOST_FILES} processes write there")

    def _is_ours(self, fd: int) -> bool:
        """Whether a locked file was made for this; one that was not begun is, now."""
        if not _is_plain(fd):
            return False
        if os.fstat(fd).st_size < _HEAD_BYTES:
            os.pwrite(fd, self._head, 0)
        return os.pread(fd, _HEAD_BYTES, 0) == self._head

    def _look(self) -> None:
        """Reads what is new in the indexes of all files."""
        for number in range(_MOST_FILES):
            try:
                if self._fds[number] < 0:
                    fd = os.open(self._path(number, "records"), os.O_RDONLY | _SAFELY)
                    if not _is_plain(fd) or os.pread(fd, _HEAD_BYTES, 0) != self._head:
                        os.close(fd)
                        continue
                    self._fds[number] = self._owned.hold(fd)
                self._read_index(number)
            except FileNotFoundError:
                return  # they are numbered without gaps
            except OSError:
                continue

    def _read_index(self, number: int) -> None:
        begin, end = self._read.get(number, 0), os.fstat(int(self._fds[number])).st_size
        with open(self._path(number, "index"), "rb", opener=_open) as f:
            if not _is_plain(f.fileno()):
                return
            f.seek(begin)
            while len(data := f.read(_INDEX_BLOCK)) >= 16:
                begin += len(data) // 16 * 16
                self._take(number, np.frombuffer(data[: len(data) // 16 * 16], np.int64).reshape(-1, 2), end)
        if number != self._own:
            self._read[number] = begin

    def _take(self, number: int, found: npt.NDArray[np.int64], end: int) -> None:
        """Takes entries of a file's index over, as far as the file may have such records."""
        sample, at = found[:, 0], found[:, 1]
        right = (sample >= 0) & (sample < self._count) & (at >= _HEAD_BYTES) & (at <= end - _RECORD_BYTES)
        sample, at = sample[right], at[right]
        new = self._records[sample] == 0
        self._records[sample[new]] = ((number << _FILE_BITS) | at[new]).astype(np.uint64) + np.uint64(1)

    def _bound(self, limit: int | None) -> None:
        """Says how much may be written: the limit is that of all files."""
        if self._own < 0:
            return
        others = sum(
            os.fstat(fd).st_size for i, fd in enumerate(self._fds.tolist()) if fd >= 0 and i != self._own
        )
        if limit is None:
            disk = os.statvfs(self._folder)
            limit = int(self._numbers[0]) + others + disk.f_bavail * disk.f_frsize // 10 * 9
        self._limit = max(limit - others, 0)

    def refresh(self) -> None:
        """Looks what others have written meanwhile, and says once what is wrong."""
        if self._pid == os.getpid():
            self._look()
        super().refresh()

    def explained(self) -> str:
        """What gofast.explain says of it."""
        others = len([name for name in _names(self._asked[1]) if name.startswith("pixels-")]) - 1
        more = f"; {many(others, 'other set')} there was made for other files, steps or versions" * (
            others > 0
        )
        return super().explained() + more

    def __reduce__(self) -> tuple[Any, ...]:
        files = {number: DupFd(fd) for number, fd in enumerate(self._fds.tolist()) if fd >= 0}
        index = None if self._index < 0 else DupFd(self._index)
        return _in_folder, (
            self._count,
            self._limit,
            self._asked,
            DupFd(self._shared),
            self._own,
            index,
            files,
        )


def _in_folder(
    count: int,
    limit: int,
    asked: tuple[int | None, str, str],
    shared: Any,
    own: int,
    index: Any,
    files: dict[int, Any],
) -> KeptInFolder:
    fds = {number: fd.detach() for number, fd in files.items()}
    made = KeptInFolder(count, *asked, (shared.detach(), own, -1 if index is None else index.detach(), fds))
    made._limit = limit
    return made


def opened(budget: Budget, certain: list[dict[str, Any]], count: int, digest: Callable[[], str]) -> Kept:
    """The records of what these steps make of so many pictures, whose paths have that digest.

    Raises:
        LimitError: memory is short.
    """
    if budget.place == "memory":
        free = Machine().memory()
        limit = budget.limit or (free.free // 2 // engine.ranks() if free else 1 << 30)
        try:
            return KeptInMemory(count, limit)
        except (OSError, OverflowError) as error:
            said = f'cache="memory": there is no room for {size(limit)}: {error}; lower cache_limit='
            raise errors.LimitError(said) from error
    made_for = {
        "format": VERSION,
        "steps": certain,
        "gofast": process_operations.about({})["version"],
        "torch": metadata.version("torch"),
        "pillow": _pillow(),
        "decoders": codecs.load(),
        "pass_order": codecs.pass_order(),
        "byte_order": sys.byteorder,
        "files": digest(),
        "count": count,
    }
    return KeptInFolder(count, budget.limit, budget.place, json.dumps(made_for, sort_keys=True, indent=1))


def _is_plain(fd: int) -> bool:
    """Whether it is a file that has no other name: nobody's own."""
    found = os.fstat(fd)
    return stat.S_ISREG(found.st_mode) and found.st_nlink <= 1


def _pillow() -> str:
    try:
        return metadata.version("pillow")
    except metadata.PackageNotFoundError:
        return ""


_SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_WRITING = os.O_RDWR | os.O_CREAT | _SAFELY


def _open(path: str, flags: int) -> int:
    return os.open(path, flags | _SAFELY)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _memory(name: str, count: int) -> int:
    """The descriptor of zeros that processes share."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.truncate(fd, count)
    return fd
