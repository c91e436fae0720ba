"""Writing a preprocessed set, and going on after a kill at any moment.

Values are appended to the files by pwrite. Again and again a line of ``arrays.jsonl.part`` says how many
samples are written, with checksums. Whoever goes on compares these before it believes them: neither a line
nor a value needs to have reached the disk before the other.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from .. import errors
from .._core import atomic_files
from .._core.atomic_files import locked
from .._core.stamp import Stamp
from .._core.units import size
from .._tables import array_folder
from .._tables.array_folder import PART, WHOLE
from .set_files import SetInfo

# Says of the system's errors that a set cannot be written, and what to do about a full disk.
writing = partial(
    atomic_files.writing,
    what="the set",
    full=". What is written stays: free some room, and the same call goes on there. Pictures kept as uint8 "
    "take a quarter of floats",
)
_OFTEN = 1.0  # seconds between two lines, or a hundredth of the time so far: a kill costs no more
_BLOCK = 64 << 20  # bytes that have a checksum together


@contextlib.contextmanager
def alone(folder: str, old: Stamp | None) -> Iterator[int]:
    """The descriptor of ``arrays.jsonl.part``, which one process has: others wait until it ends.

    Args:
        old: of the set that is to be overwritten, which becomes an unfinished one: a kill leaves nothing that
            nobody knows of. One that others have made meanwhile stays.
    """
    path, whole = os.path.join(folder, PART), os.path.join(folder, WHOLE)
    with writing(folder):
        os.makedirs(folder, exist_ok=True)
        fd = locked(path)
    try:
        if old is not None and array_folder.stamp(folder) == old:
            with writing(folder):
                empty, fd = fd, locked(whole)
                try:
                    os.replace(whole, path)
                finally:
                    os.close(empty)  # not before: who had that lock meanwhile would lock `whole` too
        yield fd
    finally:
        if os.fstat(fd).st_size == 0:  # nothing was begun
            with contextlib.suppress(OSError):
                os.unlink(path)
        fcntl.flock(fd, fcntl.LOCK_UN)  # a process that was forked meanwhile has the descriptor too
        os.close(fd)


class SetWriter:
    """Writes the samples of a set one after another.

    Args:
        journal: the descriptor of ``arrays.jsonl.part``.

    Attributes:
        done: samples that are written.
    """

    def __init__(self, folder: str, journal: int, info: SetInfo) -> None:
        self.folder, self._journal, self.info = folder, journal, info
        self._hashes = [hashlib.sha256() for _ in info.fields]  # of what was written since the last line
        self._fds: list[int] = []
        self.done = self._noted = self._end = 0  # samples, twice; bytes of the journal
        self._began = self._said = time.monotonic()

    def __enter__(self) -> SetWriter:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # after Ctrl-C, or a sample that is none: what was made stays
            self._note()
        for fd in self._fds:
            os.close(fd)

    def lines(self) -> list[bytes]:
        """Those of ``arrays.jsonl.part``, without the last one if it is torn."""
        return os.pread(self._journal, os.fstat(self._journal).st_size, 0).split(b"\n")[:-1]

    def begin(self, old: SetInfo | None) -> None:
        """Begins the set, in the place of an old one if there is one. Other files are left alone."""
        for one in old.arrays if old is not None else ():
            with contextlib.suppress(FileNotFoundError):  # who has mapped it keeps it
                os.unlink(os.path.join(self.folder, one.name + ".npy"))
        if others := sorted({*os.listdir(self.folder)} - {PART}):
            raise errors.OptionError(
                f"{self.folder} holds other files, such as {others[0]}: give a new folder"
            )
        found = os.statvfs(self.folder)
        if (free := found.f_bavail * found.f_frsize) < self.info.size:
            raise errors.ReadError(
                f"write {self.folder}: the set takes {size(self.info.size)}, and {size(free)} are free: "
                "give a path on another disk, or free some room. Pictures as uint8 take a quarter of floats"
            ).at(path=self.folder)
        os.ftruncate(self._journal, 0)
        self._append(self.info.line())
        self._open()

    def resume(self) -> None:
        """Goes on behind the samples whose checksums are right."""
        head, *lines = self.lines()
        self._open()
        self._end = len(head) + 1
        arrays = self.info.arrays
        for line, blocks in zip(lines, array_folder.blocks(arrays, lines), strict=False):
            stops = {block.stop for block in blocks}
            if len(blocks) < len(arrays) or len(stops) > 1:
                break
            if not all(array_folder.is_intact(self._fds, arrays, block) for block in blocks):
                break
            self.done, self._end = stops.pop(), self._end + len(line) + 1
        self._noted = self.done
        os.ftruncate(self._journal, self._end)
        for fd, one in zip(self._fds, arrays, strict=True):
            os.ftruncate(fd, one.place(0, self.done)[1] + one.place(0, 0)[0])

    def add(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Writes the values of the next samples, which are as the fields say."""
        stop = self.done + len(arrays[0])
        made = [one.copy() for one in self._hashes]  # Ctrl-C may come in the middle
        for array, one, fd, spec in zip(arrays, made, self._fds, self.info.arrays, strict=True):
            data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
            one.update(data)
            _put(fd, data, spec.place(self.done, stop)[0])
        self._hashes, self.done = made, stop
        now, unsaid = time.monotonic(), (stop - self._noted) * self.info.size // self.info.samples
        if now - self._said > max(_OFTEN, (now - self._began) / 100) or unsaid >= _BLOCK:
            self._note()

    def finish(self) -> None:
        """Makes the set whole."""
        self._note()
        for fd in self._fds:
            os.fsync(fd)
        self._append(array_folder.seal(os.pread(self._journal, self._end, 0)))
        os.fsync(self._journal)
        os.replace(os.path.join(self.folder, PART), os.path.join(self.folder, WHOLE))
        fd = os.open(self.folder, os.O_RDONLY | os.O_CLOEXEC)
        os.fsync(fd)
        os.close(fd)

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        for one in self.info.arrays:
            self._fds.append(os.open(os.path.join(self.folder, one.name + ".npy"), flags, 0o666))
            _put(self._fds[-1], one.header, 0)

    def _note(self) -> None:
        """Says how many samples are written."""
        if self.done > self._noted:
            sums = zip(self.info.arrays, self._hashes, strict=True)
            line = {array.name: (self.done, one.hexdigest()) for array, one in sums}
            self._append(json.dumps(line).encode() + b"\n")
            self._hashes = [hashlib.sha256() for _ in self._fds]
            self._noted, self._said = self.done, time.monotonic()

    def _append(self, line: bytes) -> None:
        _put(self._journal, line, self._end)
        self._end += len(line)


def _put(fd: int, data: bytes | memoryview, place: int) -> None:
    while data:
        written = os.pwrite(fd, data, place)
        data, place = data[written:], place + written
