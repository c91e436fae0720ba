"""The line of code on which a thread was found most often: looked at from another thread, every 3 ms."""

from __future__ import annotations

import collections
import os
import sys
import sysconfig
import threading
from collections.abc import Iterator
from types import FrameType, TracebackType

_EVERY = 0.003  # seconds
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
        self._looks = 0
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
            place = "" if frame is None else self._place(frame)
            self._looks += 1
            if place:
                self._seen[place] += 1

    @property
    def line(self) -> str:
        """The user's line on which most time goes, with its share; "" if no line has a fifth of it."""
        total = self._looks
        if total < 10 or not self._seen:
            return ""
        place, count = self._seen.most_common(1)[0]
        return f"{place} ({count / total:.0%} of the time)" if count / total >= 0.2 else ""

    def _place(self, innermost: FrameType) -> str:
        """The innermost line of the user's own code."""
        for frame in _stack(innermost):
            path = frame.f_code.co_filename
            if frame in self._below:
                break
            if not path.startswith(_NOT_THE_USERS) and not path.startswith("<"):
                return f"{os.path.basename(path)}:{frame.f_lineno} in {frame.f_code.co_name}"
        return ""


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame and its callers."""
    while frame is not None:
        yield frame
        frame = frame.f_back
