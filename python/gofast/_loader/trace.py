"""A trace of what threads do, for a time."""

from __future__ import annotations

import os
from collections import deque
from typing import TYPE_CHECKING

from .._core import process_operations
from ..errors import ClosedError, GofastError, OptionError

if TYPE_CHECKING:
    from .counts import Counts


class Trace:
    """What `DataLoader.trace` returns: begins at ``with`` or `start`, ends behind it or at `stop`.

    Attributes:
        path: the file, which is there when the trace has ended.
        events: in the file; 0 before.
        dropped: older events, for which threads had no room.
    """

    def __init__(self, counts: Counts, path: str | os.PathLike[str], events: int) -> None:
        self.path = os.path.abspath(os.fsdecode(path))
        self.events = self.dropped = 0
        self._counts, self._most = counts, events
        self._pid: int | None = None  # of the process whose trace is under way

    def start(self) -> Trace:
        """Begins.

        Raises:
            OptionError: there is a trace in this process already.
            ReadError: the file cannot be written.
        """
        if self._pid == os.getpid():
            raise OptionError("this trace has been started already: stop it first")
        process_operations.start_trace({"path": self.path, "events": self._most})
        self._pid, self._counts.spans = os.getpid(), deque(maxlen=self._most)
        return self

    def stop(self) -> None:
        """Ends, and writes the file. Does nothing where no trace was begun, or in a forked child.

        Raises:
            ReadError: the file cannot be written.
        """
        if self._pid is None:
            return  # the loader's spans may be those of another trace
        pid, spans = self._pid, self._counts.spans or ()
        if pid == os.getpid():
            told: list[process_operations.Span] = [
                {"thread": thread, "name": name, "start": start, "ns": ns}
                for thread, name, start, ns in spans
            ]
            try:
                size = process_operations.stop_trace({"spans": told})
                self.events, self.dropped = size["events"], size["dropped"]
            except ClosedError:
                pass  # it has ended, and Ctrl-C came before the last line below
            except GofastError:
                self._pid = self._counts.spans = None
                raise
        self._pid = self._counts.spans = None  # last: whoever pressed Ctrl-C may stop it again

    def __enter__(self) -> Trace:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        state = "under way" if self._pid == os.getpid() else f"{self.events} events, {self.dropped} dropped"
        return f"Trace({self.path!r}: {state})"
