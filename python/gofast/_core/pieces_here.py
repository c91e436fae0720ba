"""What a process has of the pieces of shards, and what comes; others may need the room."""

from __future__ import annotations

import contextlib
import os
import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

from .download_cache import NO_ROOM, PATIENCE, WAIT, DownloadCache
from .remote_files import Downloads
from .signals import deferred


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

    Args:
        stays: what is there stays until somebody in this process finds no room. To lend a piece and to take
            it back are four calls of the system.

    Attributes:
        lock: of all this. Nobody waits for a server who has it.
        held: pieces that were there, and the call that asked for each last; the next ones are `coming`.
        users: batches that need a piece now.
        lent: of those that are held without users, the ones whose room others may take.
        order: pieces by their first samples of the epoch; None: nobody knows.
        first, last: where the epoch's first and last sample of each piece lies.
        begins: `first` of each piece of `order`.
        newest: where the first one lies of the piece that was asked for and begins last.
    """

    def __init__(self, stays: bool) -> None:
        self.pid, self.lock, self.stays = os.getpid(), threading.RLock(), stays
        self.held: dict[int, tuple[Downloads, int]] = {}
        self.coming: dict[int, ComingPieces] = {}
        self.users, self.lent = Counter[int](), set[int]()
        self.turn, self.epoch, self.newest = 0, 0.0, -1
        self.order: npt.NDArray[np.int64] | None = None
        self.first = self.last = self.begins = np.zeros(0, np.int64)
        _every.add(self)

    @contextlib.contextmanager
    def used(self, pieces: Sequence[int]) -> Iterator[None]:
        """Nobody takes the room of these while the block runs, once they are there."""
        used: Sequence[int] = ()
        try:
            with self.lock, deferred():
                self.users.update(pieces)
                used = pieces
            yield
        finally:
            with self.lock, deferred():
                self.users.subtract(used)
                over = [piece for piece in used if not self.users[piece]]
                for piece in over:
                    del self.users[piece]
                if not self.stays:
                    self._lend(over)

    def take_back(self, pieces: Sequence[int]) -> None:
        """Nobody takes these from now on. Those that are gone are not held any more."""
        with self.lock:
            if self.lent.isdisjoint(pieces):
                return
            with deferred():
                for piece in self.lent.intersection(pieces):
                    self.lent.discard(piece)
                    if piece in self.held and not self.held[piece][0].take_back():
                        self.held.pop(piece)[0].release()

    def hold(self, piece: int, downloads: Downloads) -> None:
        """A piece has come."""
        self.held[piece] = downloads, self.turn
        del self.coming[piece]
        self.lent.discard(piece)
        if piece not in self.users and not self.stays:
            self._lend([piece])

    def _lend(self, pieces: Sequence[int]) -> int:
        """Others may take the room of those of these that are there: how many of them are new."""
        new = [piece for piece in pieces if piece in self.held and piece not in self.lent]
        for piece in new:
            self.lent.add(piece)
            self.held[piece][0].lend()
        return len(new)

    def give_way(self) -> bool:
        """Ends what this process downloads ahead, and nobody waits for, and lends what it does not need now:
        whether there was something."""
        self.stays = False
        gone = self._end()
        for other in [*_every]:
            # Not of one that a thread is busy with; nor of the parent's, whose locks are in any state.
            if other is not self and other.pid == self.pid and other.lock.acquire(blocking=False):
                try:
                    gone += other._end()
                finally:
                    other.lock.release()
        return gone > 0

    def _end(self) -> int:
        with self.lock, deferred():
            gone = self._lend([piece for piece in self.held if piece not in self.users])
            for coming in {id(one): one for one in self.coming.values()}.values():
                if self.users.keys().isdisjoint(coming.pieces) and coming.lock.acquire(blocking=False):
                    try:
                        for piece in coming.pieces:
                            del self.coming[piece]
                        coming.downloads.release()
                    finally:
                        coming.lock.release()
                    gone += 1
        return gone


_every: weakref.WeakSet[PiecesHere] = weakref.WeakSet()


class HasPieces(Protocol):
    """A dataset whose files come in pieces, and where they are kept."""

    cache: DownloadCache

    def here(self) -> PiecesHere:
        """What this process has of them."""

    def check(self, pieces: Sequence[int], size: int) -> None:
        """Raises LimitError where so many bytes, these pieces and others, cannot be there together."""

    def bytes_of(self, pieces: Sequence[int]) -> int:
        """Their size."""

    def bring(self, pieces: Sequence[int]) -> bool:
        """Downloads pieces that are used."""


@contextlib.contextmanager
def brought(asked: Sequence[tuple[HasPieces, Sequence[int]]]) -> Iterator[None]:
    """The pieces of a batch are there, and nobody takes their room, while the block runs.

    Other processes and threads need room for their batches, too, but for a moment each. Where there is none,
    who asks keeps nothing and waits for its turn. Who has that keeps what comes, until the others are done:
    so a limit that holds the pieces of each batch is enough for any number of them.

    Raises:
        LimitError: the pieces do not fit together, or nobody let go of anything for `PATIENCE` seconds.
        GofastError: as of `Downloads.result`.
    """
    together = Counter[str]()
    for dataset, pieces in asked:
        together[dataset.cache.folder] += dataset.bytes_of(pieces)
    for dataset, pieces in asked:
        dataset.check(pieces, together[dataset.cache.folder])
    with contextlib.ExitStack() as use:
        _use(use, asked)
        try:
            _bring(asked)
        except NO_ROOM:
            use.close()
            with contextlib.ExitStack() as turns:
                for _, cache in sorted({one.cache.folder: one.cache for one, _ in asked}.items()):
                    turns.enter_context(cache.turn())
                _use(use, asked)
                _wait_for_room(asked)
        yield


def _use(use: contextlib.ExitStack, asked: Sequence[tuple[HasPieces, Sequence[int]]]) -> None:
    for dataset, pieces in asked:
        use.enter_context(dataset.here().used(pieces))


def _bring(asked: Sequence[tuple[HasPieces, Sequence[int]]]) -> None:
    for dataset, pieces in asked:
        dataset.bring(pieces)


def _wait_for_room(asked: Sequence[tuple[HasPieces, Sequence[int]]]) -> None:
    most, ends = -1, 0.0
    while True:
        try:
            _bring(asked)
            return
        except NO_ROOM as error:
            there = sum(piece in dataset.here().held for dataset, pieces in asked for piece in pieces)
            if there > most:
                most, ends = there, time.monotonic() + PATIENCE
            elif time.monotonic() > ends:
                every = sum(len(pieces) for _, pieces in asked)
                said = f"{error}. {there} of {every} pieces of a batch are here"
                said = f"{said}, and in {PATIENCE} s nobody let go of more"
                raise type(error)(said).at(path=error.path) from None
        time.sleep(WAIT)
