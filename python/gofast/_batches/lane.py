"""The stream that one iterator works through, and the idle one that a loader keeps for the next epoch."""

from __future__ import annotations

import os
import sys
from array import array
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from .filler import Filler
    from .follow import Follower, PickedList
    from .stream import Stream
    from .view import View


class Idle:
    """The stream that the last epoch of a loader left behind.

    Its batch memory has its pages already, which new memory gets at several times the price of filling it.
    """

    def __init__(self) -> None:
        # At most one. A list, because taking from it is one step, also for threads that iterate at once.
        self._left: list[tuple[Stream, View, int | None, int]] = []

    def put(self, stream: Stream, view: View, threads: int | None) -> None:
        self._left[:] = [(stream, view, threads, os.getpid())]

    def take(self, view: View, threads: int | None) -> Stream | None:
        """The idle stream, if it is one of these rows, and of this process: none survives a fork.

        A Subset has a new view every epoch. Its stream is worth the comparison (20 us for 60,000 rows).
        """
        try:
            stream, rows, had, pid = self._left.pop()
        except IndexError:
            return None
        if had != threads or pid != os.getpid():
            return None
        return stream if rows is view or rows.same_rows(view) else None

    def drop(self) -> None:
        self._left.clear()


class Lane:
    """One iterator's way into the engine: a stream, opened at the first submission, and given up once.

    Args:
        follower: what the user changes is followed at once. None stands for torch's workers, which have
            copies of the dataset, made when the iterator was.
    """

    def __init__(self, view: View, threads: int | None, idle: Idle, follower: Follower | None = None) -> None:
        self.row_bytes: int = view.row_bytes
        self.view = view
        self._follower = follower
        self._threads = threads
        self._idle = idle
        self._stream: Stream | None = None
        self._filler: Filler | None = None
        self._pid = os.getpid()

    def open(self, batch_size: int) -> Stream:
        """The stream; batch_size is the number of rows of the first batch."""
        stream = self._stream or self._idle.take(self.view, self._threads)
        self._stream = stream or _open_stream(self.view, batch_size, self._threads)
        return self._stream

    @property
    def looks(self) -> bool:
        """Whether `unchanged` must be asked before every batch, and not only when `changes` has grown."""
        return self._follower is not None and self._follower.always

    @property
    def picked(self) -> PickedList | None:
        """What is quicker to ask than `unchanged`, and enough where it finds no change."""
        if self._follower is None or self.view.heavy:
            return None
        return self._follower.picked

    @property
    def seen(self) -> int:
        """The number of changes that the view has seen."""
        return 0 if self._follower is None else self._follower.seen

    @property
    def ahead(self) -> bool:
        """Whether samples may be made before they are asked for: nobody can change them meanwhile unseen."""
        return self._follower is None or self.view.steady

    def make(self, rows: Tensor, start: int, stop: int) -> Any:
        """The batch of rows[start:stop], made now: a ticket for a single small one costs several times its
        filling."""
        if self._filler is None:
            from .filler import Filler

            self._filler = Filler(self.view, self._threads, hands_over=False)
        return self._filler.collated(rows, start, stop)

    def unchanged(self, indices: array[int] | Tensor) -> bool:
        """Whether the stream gives what the dataset gives for these indices now."""
        return self._follower is None or self._follower.unchanged(indices)

    def follow(self, indices: array[int] | Tensor) -> bool:
        """Take over what was changed since. Whether the engine can make these samples."""
        if self._follower is None or self._follower.unchanged(indices):
            return True
        view = self._follower.renew()
        if view is None:
            return False
        if view is not self.view:
            self.close()
            self._filler = None
            self.view, self.row_bytes = view, view.row_bytes
        return True

    def cancel(self) -> None:
        """Cancel what is in flight, and return when nothing is written any more."""
        if self._pid != os.getpid():  # forked: the stream is the parent's
            self._stream, self._pid = None, os.getpid()
        if self._stream is not None:
            self._stream.close()

    def close(self) -> None:
        """Cancel what is in flight and leave the stream to the loader's next iterator.

        After a fork, and when the interpreter ends, the engine behind the stream is gone: nothing is done
        then.
        """
        stream, self._stream = self._stream, None
        if stream is not None and self._pid == os.getpid() and not sys.is_finalizing():
            stream.close()
            self._idle.put(stream, self.view, self._threads)


def _open_stream(view: View, batch_size: int, threads: int | None) -> Stream:
    from .stream import Stream  # here, because importing gofast loads nothing native

    return Stream(view, batch_size, threads)
