"""How far a program may run ahead of its device.

A program puts step after step on its stream and waits for none. Each step holds its batch on the device until
it is done: torch has the memory back when the stream has come that far (`record_stream`), and not when the
program drops the batch. So a program that is N steps ahead would hold N batches there.
"""

from __future__ import annotations

import contextlib
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

FEWEST = 4  # a program may always be so many marks ahead, so that the device has work;
MOST_BYTES = 512 << 20  # with more marks, it may be so many bytes of batches ahead
MARKED_BYTES = 16 << 20  # a mark stands for so many bytes of batches, because it takes 3 us


class RunAheadLimit:
    """Batches of a device that were handed out, and whose steps may not be done. Any thread may call.

    Args:
        mark: gives an event behind all that a stream holds.
        apart: while the device is asked something that is for no graph.
    """

    def __init__(self, mark: Callable[[Any], Any], apart: Callable[[], AbstractContextManager[None]]) -> None:
        self._mark, self._apart = mark, apart
        self._marks: deque[tuple[Any, int]] = deque()  # with the bytes of the batches before each
        self._unmarked = 0

    def handed_out(self, stream: Any, size: int) -> None:
        """Says that a batch of so many bytes goes to a stream. What is there by now uses those before it."""
        if self._unmarked >= MARKED_BYTES:
            with self._apart():
                self._marks.append((self._mark(stream), self._unmarked))
            self._unmarked = 0
        self._unmarked += size

    def has_room(self) -> bool:
        """Whether memory for one more may be asked for."""
        return self._left(wait=False)

    def wait(self) -> None:
        """Waits until there is room for one more."""
        self._left(wait=True)

    def _left(self, wait: bool) -> bool:
        while True:
            marks = tuple(self._marks)
            if len(marks) <= FEWEST or sum(size for _, size in marks) <= MOST_BYTES:
                return True
            with self._apart():
                if wait:
                    marks[0][0].synchronize()
                elif not marks[0][0].query():
                    return False
                with contextlib.suppress(ValueError):  # another thread has seen it too
                    self._marks.remove(marks[0])
                del marks  # and its event, here
