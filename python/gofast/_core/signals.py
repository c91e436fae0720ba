"""Exceptions of signal handlers: no work that one comes into may take it for an error of its own."""

from __future__ import annotations

import signal
import traceback
from types import CodeType


def by_handler(error: BaseException) -> bool:
    """Whether a signal handler of the user's raised it, wherever this thread was."""
    codes = {_code(signal.getsignal(number)) for number in signal.valid_signals()}
    return any(frame.f_code in codes for frame, _ in traceback.walk_tb(error.__traceback__))


def _code(handler: object) -> CodeType | None:
    handler = getattr(handler, "func", handler)  # of a functools.partial
    found = getattr(handler, "__code__", None) or getattr(type(handler).__call__, "__code__", None)
    return found if isinstance(found, CodeType) else None
