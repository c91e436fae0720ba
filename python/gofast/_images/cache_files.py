"""The files of a folder that records of pictures lie in.

A folder of `cache=` has one for each set of steps, versions and pictures' folders. Each set of processes that
writes there at a time has a file of records in it, with an index beside it; whoever has locked a file appends
to it, and all read it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import os
import stat
from collections.abc import Iterator
from multiprocessing.reduction import DupFd
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from .._core.units import many
from .._core.warn import warn
from .picture_cache import MOST_FILES, Names, PictureCache

SET = "pixels-"  # a set's folder begins with it
MADE_FOR = "made-for.json"
LAZY, MARK = "lazy", b"\x1f"  # of a set of lazy images; behind its paths, before what else a name has
_MAGIC = b"gofastP1"
_FILE_BITS = 48
HEAD_BYTES = 64  # of a file: what it was made for
_RECORD_BYTES = 80  # of a record, at least
_INDEX_BLOCK = 1 << 20  # bytes of an index that are read at a time
_SAFELY = os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
_WRITING = os.O_RDWR | os.O_CREAT | _SAFELY


class PictureCacheInFolder(PictureCache):
    """Records in the files of a folder. They say what they were made for, in their names and first bytes.

    Args:
        made_for: all that decides what records are like, and the folder of their files.
        names: None: whoever has them gives them before anything is looked for.
        handed: descriptors of another process: the shared ones, the index, and by number the files.
    """

    def __init__(
        self,
        count: int,
        limit: int | None,
        place: str,
        made_for: str,
        names: Names | None,
        handed: tuple[int, int, int, dict[int, int]] | None = None,
    ) -> None:
        super().__init__(count, 0, None if handed is None else handed[0])
        self._asked = limit, place, made_for
        self.called = repr(place)
        self._head = head_of(made_for)
        self._folder = os.path.join(place, set_of(made_for))
        self._read: dict[int, int] = {}  # bytes of each file's index that were read
        self.names = names
        self._keys: tuple[npt.NDArray[np.uint64], npt.NDArray[np.intp]] | None = None
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
            open(os.path.join(self._folder, MADE_FOR), "x") as f,
        ):
            f.write(made_for)

    def _path(self, number: int, what: str) -> str:
        return os.path.join(self._folder, f"{number:03}.{what}")

    def _lock(self) -> None:
        """Takes the first file that nobody else writes."""
        for number in range(MOST_FILES):
            fd = os.open(self._path(number, "records"), _WRITING, 0o666)
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if self._is_ours(fd):
                    index = self._owned.hold(os.open(self._path(number, "index"), _WRITING, 0o666))
                    if not _is_plain(index):
                        raise OSError(errno.EPERM, "an index that is no file of its own")
                    self._own, self._index, self._fds[number] = number, index, self._at_random(fd)
                    self._numbers[0] = (max(os.fstat(fd).st_size, HEAD_BYTES) + 63) // 64 * 64
                    self._numbers[1] = (os.fstat(self._index).st_size + 15) // 16
                    return
            except BlockingIOError:
                pass
            except OSError:
                os.close(fd)
                raise
            os.close(fd)
        raise OSError(errno.EMFILE, f"{MOST_FILES} processes write there")

    def _is_ours(self, fd: int) -> bool:
        """Whether a locked file was made for this; one that was not begun is, now."""
        if not _is_plain(fd):
            return False
        if os.fstat(fd).st_size < HEAD_BYTES:
            os.pwrite(fd, self._head, 0)
        return os.pread(fd, HEAD_BYTES, 0) == self._head

    def _at_random(self, fd: int) -> int:
        """Holds a file of records, which are read in any order: read-ahead took 3.5 times their bytes."""
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)
        return self._owned.hold(fd)

    def _look(self) -> None:
        """Reads what is new in the indexes of all files."""
        for number in range(MOST_FILES):
            try:
                if self._fds[number] < 0:
                    fd = os.open(self._path(number, "records"), os.O_RDONLY | _SAFELY)
                    if not _is_plain(fd) or os.pread(fd, HEAD_BYTES, 0) != self._head:
                        os.close(fd)
                        continue
                    self._fds[number] = self._at_random(fd)
                self._read_index(number)
            except FileNotFoundError:
                return  # they are numbered without gaps
            except OSError:
                continue

    def _read_index(self, number: int) -> None:
        if number == self._own and number in self._read:
            return  # its writers note their records in shared memory
        begin, end = self._read.get(number, 0), os.fstat(int(self._fds[number])).st_size
        with open(self._path(number, "index"), "rb", opener=open_safely) as f:
            if not _is_plain(f.fileno()) or os.fstat(f.fileno()).st_size - begin < 16:
                return
            f.seek(begin)
            found = self._wanted()
            for entries in entries_of(f):
                begin += entries.nbytes
                self._find(found, number, entries, end)
        self._take(found)
        self._read[number] = begin

    def _known(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.intp]]:
        """The keys of all names in order, and of each sample, which of them is its own."""
        if self._keys is None:
            assert self.names is not None
            self._keys = np.unique(self.names.keys(), return_inverse=True)
        return self._keys

    def _wanted(self) -> npt.NDArray[np.uint64]:
        """For where the record of each key lies: zeros."""
        return np.zeros(len(self._known()[0]), np.uint64)

    def _find(
        self, found: npt.NDArray[np.uint64], number: int, entries: npt.NDArray[np.uint64], end: int
    ) -> None:
        """Notes where records of our keys lie, the last of each."""
        keys = self._known()[0]
        key, place = self._within(number, entries, end)
        order = np.argsort(key, kind="stable")  # keys in order are searched faster
        key, place = key[order], place[order]
        which = np.searchsorted(keys, key)
        ours = which < len(keys)
        ours[ours] = keys[which[ours]] == key[ours]
        found[which[ours]] = place[ours]

    @staticmethod
    def _within(
        number: int, entries: npt.NDArray[np.uint64], end: int
    ) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """The keys of an index, and where their records lie, as far as the file may have them there."""
        key, at = entries[(entries[:, 1] >= HEAD_BYTES) & (entries[:, 1] <= max(end - _RECORD_BYTES, 0))].T
        return key, at + np.uint64((number << _FILE_BITS) + 1)

    def _take(self, found: npt.NDArray[np.uint64]) -> None:
        """Samples without a record have those that were found."""
        places = found[self._known()[1]]
        new = (self._records == 0) & (places != 0)
        self._records[new] = places[new]

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

    def find_by(self, names: Names) -> None:
        """In a spawned process: the names lie there."""
        self.names = names

    def refresh(self) -> None:
        """Looks what others have written meanwhile, and says once what is wrong."""
        if self._pid == os.getpid():
            self._look()
        super().refresh()

    def explained(self) -> str:
        """What gofast.explain says of it."""
        others = len([name for name in _names(self._asked[1]) if name.startswith(SET)]) - 1
        more = f"; {many(others, 'other set')} there was made for other folders, steps or versions" * (
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
) -> PictureCacheInFolder:
    fds = {number: fd.detach() for number, fd in files.items()}
    made = PictureCacheInFolder(
        count, *asked, None, (shared.detach(), own, -1 if index is None else index.detach(), fds)
    )
    made._limit = limit
    return made


def head_of(made_for: str) -> bytes:
    """What files of records that were made for this begin with."""
    return (_MAGIC + _digest(made_for)).ljust(HEAD_BYTES, b"\0")


def set_of(made_for: str) -> str:
    """The name of the folder of records that were made for this."""
    return SET + _digest(made_for).hex()[:32]


def _digest(made_for: str) -> bytes:
    return hashlib.blake2b(made_for.encode(), digest_size=32).digest()


def _is_plain(fd: int) -> bool:
    """Whether it is a file that has no other name: nobody's own."""
    found = os.fstat(fd)
    return stat.S_ISREG(found.st_mode) and found.st_nlink <= 1


def entries_of(index: BinaryIO) -> Iterator[npt.NDArray[np.uint64]]:
    """The entries of an index, some at a time: keys of names, and where their records lie."""
    while len(data := index.read(_INDEX_BLOCK)) >= 16:
        yield np.frombuffer(data[: len(data) // 16 * 16], np.uint64).reshape(-1, 2)


def open_safely(path: str, flags: int) -> int:
    """An opener of open(), for a file that others may have put there."""
    return os.open(path, flags | _SAFELY)


def _names(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []
