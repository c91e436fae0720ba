"""A thread that looks at what another one does, every few milliseconds."""

from __future__ import annotations

import sys
import threading
from types import FrameType
from typing import TypeVar

EVERY = 0.003  # seconds
_SWITCH = 5e-4  # seconds after which a thread that computes in Python lets the looking one in; 5 ms are usual
Own = TypeVar("Own", bound="WatcherThread")


class WatcherThread:
    """Looks at the stack of the thread that made it, while its `with` statement lasts."""

    def __init__(self) -> None:
        self._target, self._over = threading.get_ident(), threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self: Own) -> Own:
        self._switch = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()
        sys.setswitchinterval(self._switch)

    def _run(self) -> None:
        while not self._over.wait(EVERY):
            self.look(sys._current_frames().get(self._target))

    def look(self, frame: FrameType | None) -> None:
        """Notes what is seen now."""
        raise NotImplementedError
