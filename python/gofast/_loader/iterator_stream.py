"""What makes the batches of one iterator, and what a loader keeps of it for the next epoch."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from .._core.reason import Reason
from .batch_source import BatchSource
from .batcher import Batcher
from .collation import Unmade

if TYPE_CHECKING:
    from torch import Tensor

    from .counts import Counts
    from .dataset_stamp import DatasetStamp
    from .destination import Destination


_MOST = 3  # guesses under way: with the batch that was asked for, as many as flights of known lists
_LONGEST = 250  # batches without a guess


class Trust:
    """How many guesses are worth their time, by what became of a loader's last ones.

    Attributes:
        most: guesses that may be under way.
    """

    def __init__(self) -> None:
        self.most = 1
        self._pause = self._left = 0  # batches without a guess after the next wrong one, and from now on

    def right(self) -> None:
        """A guess was right."""
        self.most, self._pause = min(self.most + 1, _MOST), 0

    def wrong(self) -> None:
        """A guess was wrong: a loop that draws does so for every batch, so the next one comes ever later."""
        self.most = 1
        self._left = self._pause = min(4 * self._pause + 3, _LONGEST)

    def waits(self) -> bool:
        """Whether nothing is guessed for this batch."""
        if not self._left:
            return False
        self._left -= 1
        return True


class Idle:
    """The batcher that the last epoch of a loader left behind, and what became of its guesses.

    The batcher's memory has its pages already. Getting pages for new memory costs several times as much as
    filling it.
    """

    def __init__(self) -> None:
        # At most one. A list, because `pop` is one step, also if several threads iterate.
        self._left: list[tuple[Batcher, int | None]] = []
        self.trust = Trust()

    def put(self, batcher: Batcher, threads: int | None) -> None:
        self._left[:] = [(batcher, threads)]

    def take(self, threads: int | None) -> Batcher | None:
        """The idle batcher, if it is of this process: none survives a fork."""
        try:
            batcher, had = self._left.pop()
        except IndexError:
            return None
        return batcher if had == threads and batcher.pid == os.getpid() else None

    def drop(self) -> None:
        self._left.clear()


class IteratorStream:
    """One iterator's way into the engine: a batcher, made for the first batch and given up once.

    Args:
        stamp: shows the user's changes at once. None if torch would have workers: they have copies of the
            dataset, made together with the iterator.
        counts: of the loader.
    """

    def __init__(
        self,
        view: BatchSource,
        threads: int | None,
        idle: Idle,
        stamp: DatasetStamp | None,
        destination: Destination,
        counts: Counts,
    ) -> None:
        self.counts, self.destination, self.rows = counts, destination, destination.rows
        self._look_at(view)
        self.stamp = stamp
        self._threads = threads
        self._idle, self.trust = idle, idle.trust
        self.batcher: Batcher | None = None
        self._pid = os.getpid()

    def _look_at(self, view: BatchSource) -> None:
        self.view = view
        self.row_bytes: int = self.destination.row_bytes(view)

    def open(self) -> Batcher:
        """The batcher."""
        batcher = self.batcher
        if batcher is None:
            before = self._idle.take(self._threads)
            if before is not None and not self.destination.fits(before, self.view):
                before = None
            # A Subset has a new view every epoch. Comparing rows (20 us for 60,000) is cheaper than memory
            # that is new.
            if before is not None and (before.view is self.view or before.view.same_rows(self.view)):
                before.count_for(self.counts)
                batcher = before
            else:
                batcher = self._new_batcher(before)
            self.batcher = batcher
        return batcher

    def _new_batcher(self, before: Batcher | None) -> Batcher:
        made: Batcher = self.destination.batcher(self.view, self._threads, self.counts, before)
        return made

    @property
    def ahead(self) -> bool:
        """Whether samples may be made before they are asked for: no change of them goes unnoticed."""
        return self.stamp is None or self.view.steady

    def make(self, rows: Tensor, start: int, stop: int) -> Any:
        """The batch of rows[start:stop], made now."""
        if self.rows:
            return Unmade(rows[start:stop].tolist())
        return (self.batcher or self.open()).now(rows, start, stop)

    def follow(self) -> bool:
        """Take over a change. Returns whether the engine can make the samples."""
        assert self.stamp is not None
        view = self.stamp.renew()
        if isinstance(view, Reason):
            return False
        if view is not self.view:
            self.close()
            self._look_at(view)
        return True

    def cancel(self) -> None:
        """Cancel the work under way, and return when nothing is being written any more."""
        if self._pid != os.getpid():
            self.inherit()
        if self.batcher is not None:
            self.batcher.close()

    def inherit(self) -> None:
        """This process was forked, and is the child: the engine's work under way is the parent's."""
        self.batcher = None
        self._pid = os.getpid()

    def give_up(self, tickets: list[Any]) -> None:
        """Cancel these, and return when nothing of them is being written any more."""
        if self.batcher is not None and self._pid == os.getpid():
            for ticket in tickets:
                self.batcher.cancel(ticket)

    def close(self) -> None:
        """Cancel the work under way and leave the batcher to the loader's next iterator.

        Does nothing after a fork or when the interpreter ends: its engine is then gone.
        """
        batcher, self.batcher = self.batcher, None
        if batcher is not None and self._pid == os.getpid() and not sys.is_finalizing():
            batcher.close()
            if batcher.usable:  # not if the garbage collector runs the iterator's `__del__`
                self._idle.put(batcher, self._threads)
