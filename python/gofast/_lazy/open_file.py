"""The open file of a picture of which only the header was read.

Pillow keeps a file open until it decodes, whatever becomes of its path meanwhile. So is done here, and what
Pillow would read then is what is read. A path's file is read by offsets alone: forked processes share the
place at which a descriptor stands.
"""

from __future__ import annotations

import io
import os
import resource
import sys
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

from .._core.stamp import Stamp

_SHARE = 4  # a fourth of the descriptors that the process may have are held
_FEW = 16  # so many are held without a look at that limit
_PART = 1 << 20
_WHOLE = (io.BufferedReader, io.BytesIO)  # files whose read leaves nothing

_held: OrderedDict[int, weakref.ref[OpenFile]] = OrderedDict()  # that hold a descriptor, the oldest first


class OpenFile:
    """A file that Pillow would have open.

    Args:
        head: what was read of it: up to where the pixels begin.
        start: where Pillow goes on: at the file's begin, or behind the head.
        of: a descriptor, closed here; a file object, which is read as Pillow reads it; or all bytes.
        buffered: of a descriptor: what Pillow's buffer would still have from there on.
        own: whether a file object is closed here.
        path, stamp: of the file at the opening, where one says what it was.

    Attributes:
        head: that.
        path: that.
    """

    __slots__ = (
        "__weakref__",
        "_fd",
        "_known",
        "_own",
        "_reading",
        "_stamp",
        "_start",
        "_stream",
        "_taken",
        "head",
        "path",
    )

    def __init__(
        self,
        head: bytes,
        start: int,
        of: Any,
        buffered: bytes = b"",
        own: bool = True,
        path: str | None = None,
        stamp: Stamp | None = None,
    ) -> None:
        self.head, self._start, self.path, self._stamp = head, start, path, stamp
        self._known = head[:start] + buffered  # what is not read again
        self._fd = of if type(of) is int else -1
        self._taken: bytes | None = of if type(of) is bytes else None
        self._stream: Any = of if self._fd < 0 and self._taken is None else None
        self._own = own
        self._reading = threading.Lock()
        if self._fd >= 0:
            _held[id(self)] = weakref.ref(self)
            if len(_held) > _FEW:
                _let_go(len(_held) - _most())

    def contents(self) -> bytes | None:
        """What Pillow would decode now; None: it has closed its file.

        Raises:
            OSError, ValueError and others: what reading raises, and would for Pillow.
        """
        with self._reading:
            return self._contents()

    def take(self) -> bytes | None:
        """The same, and from now on: Pillow decodes at this place, and closes its file."""
        if self._taken is None:
            with self._reading:
                data = self._contents()
                if self._taken is None and data is not None:
                    self._taken = data
                    self._close()
        return self._taken

    def is_alike(self) -> bool:
        """Whether what was taken has the header that was read at the opening."""
        return self._taken is not None and self._taken.startswith(self.head)

    def is_same(self) -> bool:
        """Whether the file that the path names is the one that was opened, and unchanged."""
        try:
            return self.path is not None and Stamp.of(os.stat(self.path)) == self._stamp
        except OSError:
            return False

    @property
    def stream(self) -> Any:
        """What Pillow's ``fp`` is. A file object that was given away is read as it stands."""
        with self._reading:
            if self._fd >= 0 and _held.pop(id(self), None) is not None:
                self._be(os.fdopen(self._fd, "rb"))
            return self._stream

    def close(self) -> None:
        """As Pillow closes it: somebody else's file object stays open."""
        with self._reading:
            self._close()

    def let_go(self) -> None:
        """Holds the bytes instead of the descriptor, if nobody is reading them."""
        if not self._reading.acquire(blocking=False):
            return
        try:
            data = self._contents() if self._fd >= 0 else None
            if data is not None and _held.pop(id(self), None) is not None:
                os.close(self._fd)
                self._be(io.BytesIO(data))
        except OSError:
            _held.move_to_end(id(self))  # its user will see why
        finally:
            self._reading.release()

    def _be(self, stream: Any) -> None:
        """A file object instead of the descriptor."""
        stream.seek(len(self.head))
        self._stream, self._fd, self._known = stream, -1, self.head[: self._start]

    def _contents(self) -> bytes | None:
        if self._taken is not None:
            return self._taken
        known = self._known
        if self._fd >= 0:
            data = all_of(self._fd, os.fstat(self._fd).st_size)
            return data if data.startswith(known) else known + data[len(known) :]
        if self._stream is None:
            return None
        self._stream.seek(self._start)
        data = self._stream.read()
        while type(self._stream) not in _WHOLE and (more := self._stream.read()):
            data += more
        return known + data if known else bytes(data)

    def _close(self) -> None:
        if _held.pop(id(self), None) is not None:
            os.close(self._fd)
        elif self._own and self._stream is not None:
            self._stream.close()
        self._fd, self._stream = -1, None

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not over():
            self._close()


def all_of(fd: int, size: int) -> bytes:
    """All bytes of a file of about that size, wherever its descriptor stands."""
    parts, at = [], 0
    while part := os.pread(fd, size + 1 - at if at <= size else _PART, at):
        if len(part) == size:
            return part
        parts.append(part)
        at += len(part)
    return b"".join(parts)


# -- how many are held


def _most() -> int:
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return len(_held) if limit == resource.RLIM_INFINITY else limit // _SHARE


def _let_go(count: int) -> None:
    """Lets go of the oldest files."""
    for _ in range(count):
        try:
            oldest = next(iter(_held.values()))()
        except (RuntimeError, StopIteration):  # other threads read theirs
            return
        if oldest is not None:
            oldest.let_go()


def make_room() -> bool:
    """Lets half of the descriptors go, since there are no more. Whether any were held."""
    count = len(_held)
    _let_go((count + 1) // 2)
    return len(_held) < count


def _after_fork_in_child() -> None:
    for reference in _held.values():
        if (file := reference()) is not None:
            file._reading = threading.Lock()  # another thread may have held it


os.register_at_fork(after_in_child=_after_fork_in_child)
