"""Exceptions of signal handlers: no work that one comes into may take it for its own error, or half do."""

from __future__ import annotations

import contextlib
import signal
import threading
import traceback
from collections.abc import Iterator
from types import CodeType, FrameType


@contextlib.contextmanager
def deferred() -> Iterator[None]:
    """Ctrl-C comes at the end of the block, which takes no longer than the disk; a second one at once."""
    handler = signal.getsignal(signal.SIGINT)
    if not callable(handler) or threading.current_thread() is not threading.main_thread():
        yield  # it comes to the main thread, or ends the process
        return
    came: list[FrameType | None] = []

    def defer(number: int, frame: FrameType | None) -> None:
        if came:
            handler(number, frame)
        came.append(frame)

    signal.signal(signal.SIGINT, defer)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if came:
            handler(signal.SIGINT, came[0])


def by_handler(error: BaseException) -> bool:
    """Whether a signal handler of the user's raised it, wherever this thread was."""
    codes = {_code(signal.getsignal(number)) for number in signal.valid_signals()}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def _code(handler: object) -> CodeType | None:
    handler = getattr(handler, "func", handler)  # of a functools.partial
    found = getattr(handler, "__code__", None) or getattr(type(handler).__call__, "__code__", None)
    return found if isinstance(found, CodeType) else None
