"""Writing a preprocessed set, and going on after a kill at any moment.

Values are appended to the files by pwrite. About once a second a line of ``unfinished.jsonl`` says how many
samples are written, with SHA-256 of what each file has of the last block. Whoever goes on compares these
before it believes them: neither a line nor a value needs to have reached the disk before the other.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import errors
from .._core.replacing import locked
from . import files
from .fields import header, names
from .files import UNFINISHED, SetInfo, digest

_OFTEN = 1.0  # seconds between two lines


@contextlib.contextmanager
def alone(folder: str) -> Iterator[int]:
    """The descriptor of ``unfinished.jsonl``, which one process has: others wait until it ends."""
    path = os.path.join(folder, UNFINISHED)
    with writing(folder):
        os.makedirs(folder, exist_ok=True)
        fd = locked(path)
    try:
        yield fd
        os.unlink(path)
    finally:
        if os.fstat(fd).st_size == 0:  # nothing was begun
            with contextlib.suppress(OSError):
                os.unlink(path)
        fcntl.flock(fd, fcntl.LOCK_UN)  # a process that was forked meanwhile has the descriptor too
        os.close(fd)


@contextlib.contextmanager
def writing(folder: str) -> Iterator[None]:
    """Says of the system's errors that a set cannot be written, and what to do about a full disk."""
    try:
        yield
    except errors.GofastError:
        raise
    except OSError as error:
        said = f"write {folder}: cannot write the set: {error.strerror or error}"
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            said += (
                ". What is written stays: free some room, and the same call goes on there. Pictures kept as "
                "uint8 take a quarter of floats"
            )
        raise errors.ReadError(said).at(path=folder) from None


class SetWriter:
    """Writes the samples of a set one after another.

    Args:
        journal: the descriptor of ``unfinished.jsonl``.
        info: the set, without checksums.

    Attributes:
        done: samples that are written.
    """

    def __init__(self, folder: str, journal: int, info: SetInfo) -> None:
        self.folder, self._journal, self.info = folder, journal, info
        self._headers = [header(field, info.samples) for field in info.fields]
        self._hashes: list[Any] = []  # of what the current block has so far
        self._sums: list[list[str]] = [[] for _ in info.fields]
        self._fds: list[int] = []
        self.done = self._end = 0  # samples; bytes of the journal
        self._noted, self._said = 0, time.monotonic()

    def __enter__(self) -> SetWriter:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(OSError):  # after Ctrl-C, or a sample that is none: what was made stays
            self._note()
        for fd in self._fds:
            os.close(fd)

    def lines(self) -> list[bytes]:
        """Those of ``unfinished.jsonl``, without the last one if it is torn."""
        return os.pread(self._journal, os.fstat(self._journal).st_size, 0).split(b"\n")[:-1]

    def begin(self) -> None:
        """Begins a set in an empty folder."""
        os.ftruncate(self._journal, 0)
        self._append(self.info.told())
        self._open()

    def resume(self) -> None:
        """Goes on behind the samples whose checksums are right."""
        head, *lines = self.lines()
        self._open()
        self._end = len(head) + 1
        for line in lines:
            with contextlib.suppress(ValueError, TypeError, RecursionError):
                stop, sums = json.loads(line)
                if self.done < stop <= self._block_end():
                    made = [
                        digest(*place, before)
                        for place, before in zip(self._places(stop), self._begun(), strict=True)
                    ]
                    if [one.hexdigest() for one in made] == sums:
                        self._noted, self._end = stop, self._end + len(line) + 1
                        self._take(stop, made)
                        continue
            break
        os.ftruncate(self._journal, self._end)
        for fd, at, _ in self._places(self.done):
            os.ftruncate(fd, at)

    def add(self, arrays: Sequence[np.ndarray[Any, Any]]) -> None:
        """Writes the values of the next samples, which are as the fields say."""
        at, count = 0, len(arrays[0])
        while at < count:
            size = min(count - at, self._block_end() - self.done)
            made = self._begun()
            for array, one, (fd, place, _) in zip(arrays, made, self._places(self.done), strict=True):
                data = np.ascontiguousarray(array[at : at + size]).reshape(-1).view(np.uint8).data
                one.update(data)
                while data:
                    written = os.pwrite(fd, data, place)
                    data, place = data[written:], place + written
            self._take(self.done + size, made)
            at += size
            if time.monotonic() - self._said > _OFTEN:
                self._note()

    def finish(self) -> None:
        """Makes the set whole. From then on its files are for reading only."""
        for fd in self._fds:
            os.fsync(fd)
        files.write(self.folder, self.info._replace(checksums=self._sums))
        for fd in self._fds:
            os.fchmod(fd, os.fstat(fd).st_mode & ~0o222)

    def _open(self) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        for name, begin in zip(names(self.info.fields), self._headers, strict=True):
            self._fds.append(os.open(os.path.join(self.folder, name), flags, 0o666))
            os.pwrite(self._fds[-1], begin, 0)

    def _block_end(self) -> int:
        """Where the block of the next sample ends."""
        block = self.info.block
        return min(self.done - self.done % block + block, self.info.samples)

    def _begun(self) -> list[Any]:
        """Copies of the checksums of what the next sample's block has so far."""
        if self.done % self.info.block == 0:
            return [hashlib.sha256() for _ in self._fds]
        return [one.copy() for one in self._hashes]

    def _places(self, stop: int) -> list[tuple[int, int, int]]:
        """Of each field: its file, where the next value lies in it, and the bytes up to `stop`."""
        return [
            (fd, len(begin) + self.done * field.row_bytes, (stop - self.done) * field.row_bytes)
            for fd, begin, field in zip(self._fds, self._headers, self.info.fields, strict=True)
        ]

    def _take(self, stop: int, made: list[Any]) -> None:
        """Counts samples as written. The checksums of a whole block stay."""
        whole = stop == self._block_end()
        self._hashes, self.done = made, stop
        if whole:
            for sums, one in zip(self._sums, made, strict=True):
                sums.append(one.hexdigest())
            self._note()

    def _note(self) -> None:
        """Says how many samples are written."""
        if self.done > self._noted:
            self._append([self.done, [one.hexdigest() for one in self._hashes]])
            self._noted, self._said = self.done, time.monotonic()

    def _append(self, line: Any) -> None:
        text = json.dumps(line).encode() + b"\n"
        os.pwrite(self._journal, text, self._end)
        self._end += len(text)
