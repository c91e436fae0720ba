"""Where a thread is, looked at every 3 ms from another: the line found most often, and how often it reads."""

from __future__ import annotations

import collections
import io
import itertools
import mmap
import os
import sys
import sysconfig
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType

_EVERY = 0.003  # seconds
# Words in the names of functions that bring data.
_READS = {"read", "readinto", "readall", "readline", "readlines", "pread", "recv", "fetch", "download"}
_NETWORK = ("/ssl.py", "/socket.py")  # of the standard library: they wait for data in the name of the user
_NOT_THE_USERS = tuple(
    os.path.realpath(path) + os.sep
    for path in {
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("purelib"),
        sysconfig.get_path("platlib"),
        os.path.dirname(os.path.dirname(__file__)),
    }
)


class Hot:
    """Looks at the thread that made it, while its `with` statement lasts."""

    def __init__(self) -> None:
        self._target = threading.get_ident()
        self._below = set(_stack(sys._getframe(1)))  # who called the doctor
        self._over = threading.Event()
        self._seen: collections.Counter[str] = collections.Counter()
        self._looks = self._reads = 0
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Hot:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._over.wait(_EVERY):
            frame = sys._current_frames().get(self._target)
            calls = list(itertools.takewhile(lambda call: call not in self._below, _stack(frame)))
            own = next(filter(_is_own, calls), None)
            self._looks += 1
            self._reads += any(map(_reads, calls))
            if own is not None:
                self._seen[_place(own)] += 1

    @property
    def line(self) -> str:
        """The user's line on which most time goes, with its share; "" if no line has a fifth of it."""
        total = self._looks
        if total < 10 or not self._seen:
            return ""
        place, count = self._seen.most_common(1)[0]
        return f"{place} ({count / total:.0%} of the time)" if count / total >= 0.2 else ""

    @property
    def reading(self) -> float:
        """The share of looks at which the user's own code was reading."""
        return self._reads / self._looks if self._looks >= 10 else 0.0


def _is_own(frame: FrameType) -> bool:
    """Whether it is the user's own code."""
    path = frame.f_code.co_filename
    return not path.startswith(_NOT_THE_USERS) and not path.startswith("<")


def _place(frame: FrameType) -> str:
    path = frame.f_code.co_filename
    return f"{os.path.basename(path)}:{frame.f_lineno} in {frame.f_code.co_name}"


def _reads(frame: FrameType) -> bool:
    """Whether a call brings data: by its name, or as a method of a file."""
    code = frame.f_code
    if not _is_own(frame):
        return code.co_filename.endswith(_NETWORK)
    if _READS & set(code.co_name.lower().split("_")):
        return True
    owner = frame.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
    return isinstance(owner, (io.IOBase, mmap.mmap))


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back
