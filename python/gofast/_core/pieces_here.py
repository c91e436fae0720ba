"""What a process has of the pieces of shards, and what comes; others may need the room."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Sequence

import numpy as np

from .remote_files import Downloads


class ComingPieces:
    """Pieces that are downloaded together. Only who has the lock may change the download, or wait for it."""

    def __init__(self, pieces: Sequence[int], downloads: Downloads) -> None:
        self.pieces, self.downloads, self.lock = pieces, downloads, threading.RLock()

    def start(self) -> None:
        """Begins to download, unless somebody waits for it already."""
        if self.lock.acquire(blocking=False):
            try:
                self.downloads.start(wait=False)
            finally:
                self.lock.release()


class PiecesHere:
    """What this process has of the pieces, and which come next.

    Attributes:
        lock: of all this. Nobody waits for a server who has it.
        held: pieces that are there, and the call that asked for each last; the next ones are `coming`.
        order: pieces by their first samples of the epoch; None: nobody knows.
        first, last: where the epoch's first and last sample of each piece lies.
        newest: where the first one lies of the piece that was asked for and begins last.
    """

    def __init__(self) -> None:
        self.pid, self.lock = os.getpid(), threading.RLock()
        self.held: dict[int, tuple[Downloads, int]] = {}
        self.coming: dict[int, ComingPieces] = {}
        self.turn, self.epoch, self.newest = 0, 0.0, -1
        self.order: list[int] | None = None
        self.first = self.last = np.zeros(0, np.int64)
        _every.add(self)

    def give_way(self, wanted: Sequence[int]) -> bool:
        """Lets go of what is not wanted now, or of what other datasets have; whether there was something."""
        with self.lock:
            if self._let_go(wanted):
                return True
        gone = 0
        for other in [*_every]:
            # Not of one that a thread is busy with; nor of the parent's, whose locks are in any state.
            if other is not self and other.pid == self.pid and other.lock.acquire(blocking=False):
                try:
                    gone += other._let_go(())  # what a batch on its way still reads comes again
                finally:
                    other.lock.release()
        return gone > 0

    def _let_go(self, wanted: Sequence[int]) -> int:
        """Lets go of what comes and nobody waits for, and of the older half of what is there."""
        gone = 0
        for coming in {id(one): one for one in self.coming.values()}.values():
            if {*coming.pieces}.isdisjoint(wanted) and coming.lock.acquire(blocking=False):
                try:
                    for piece in coming.pieces:
                        del self.coming[piece]
                    coming.downloads.release()
                finally:
                    coming.lock.release()
                gone += 1
        old = [piece for piece in self.held if piece not in wanted]
        for piece in old[: (len(old) + 1) // 2]:  # batches on their way may read the others
            self.held.pop(piece)[0].release()
            gone += 1
        return gone


_every: weakref.WeakSet[PiecesHere] = weakref.WeakSet()
