"""Shards on a server whose indexes are known: they come, or pieces of them, when samples are needed."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from collections.abc import Callable, Sequence
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import errors
from . import tfrecord_operations
from .braces import index_name
from .download_cache import NO_ROOM, DownloadBudget, DownloadCache, kept_name
from .kept_indexes import KeptIndexes, listed_index
from .pieces_here import ComingPieces, PiecesHere, brought
from .remote_access import normal
from .remote_files import Downloads
from .remote_listings import Known
from .remote_operations import RemoteState
from .shard_pieces import ShardPieces, is_of
from .shown_urls import shown
from .signals import deferred
from .stamp import Stamp
from .tfrecord_index import RecordsOptions, TFRecordIndex
from .tfrecord_operations import RecordsMade
from .units import many, size

_AHEAD, _MOST_AHEAD = 2, 16  # pieces that come while one is read: two, and more of small ones
_BYTES_AHEAD = 64 << 20
_TURNS = 16  # calls after which a piece is not read any more by a loader's batches on their way
_SURE = 6  # the last calls, of five batches, which are probably still read
_TRIES = 3  # to write a piece, and to read one that was there
_FEW_TURNS = 4  # of who reads at once, such as torch's workers


_Again = tuple[Callable[..., "RemoteShards | None"], tuple[Any, ...]]


class RemoteShards(TFRecordIndex):
    """Records of shards on a server, by number, of which only the indexes are here.

    Each process downloads what it needs, whole shards or pieces of them. What is downloaded is the same file
    for all of them.

    Args:
        urls: of the shards.
        states: what their server says of them.
        told: what their indexes have.
        pieces: what comes at a time. Places of records are in these.
        again: what makes it in another process, and of what.
    """

    def __init__(
        self,
        fd: int,
        schema: RecordsMade,
        asked: RecordsOptions,
        urls: Sequence[str],
        states: Sequence[RemoteState],
        told: Sequence[str],
        budget: DownloadBudget,
        pieces: ShardPieces,
        again: _Again,
    ) -> None:
        self.cache = DownloadCache(budget)
        if not asked.paths:  # a spawned process has them: a name takes 6 us, and there may be 100,000
            names = (
                kept_name(urls[shard], states[shard], pieces.span(piece))
                for piece, shard in enumerate(pieces.shards.tolist())
            )
            asked = asked._replace(paths=[*map(self.cache.path, names)])
        super().__init__(fd, schema, asked)
        self._urls, self._states, self.told, self._budget = urls, states, told, budget
        self._pieces, self._again = pieces, again
        self.names = [*map(shown, urls)]
        self._stamps = self._stamps[:1] * len(asked.paths)  # each when it is read
        self._checked: set[int] = set()  # pieces that are known to have what the indexes say
        self._stays = self._has_room()
        self._here = PiecesHere(self._stays)

    def fetch(self, samples: npt.NDArray[np.int64]) -> bool:
        """Begins to download the pieces of samples: whether they are there. `brought` waits for them.

        What goes wrong is for who waits.
        """
        wanted, here = self.pieces_of(samples), self.here()
        with here.lock:  # a third of the time of what follows
            if here.stays and here.held.keys() >= set(wanted) and here.lent.isdisjoint(wanted):
                self._asked_for(here, wanted)
                return True
        with contextlib.suppress(errors.GofastError), here.used(wanted):
            return self.bring(wanted, wait=False)
        return False

    def pieces_of(self, samples: npt.NDArray[np.int64]) -> list[int]:
        """The pieces that samples lie in."""
        made: list[int] = np.unique(self._pieces.of(samples)).tolist()
        return made

    def expect(self, samples: npt.NDArray[np.int64]) -> None:
        """An epoch begins, of these samples in their order: their pieces come before they are asked for."""
        pieces = self._pieces.of(samples)
        here, all_, count = self.here(), len(self._pieces.ends), len(pieces)
        with here.lock:
            here.first, here.last = np.full(all_, count), np.full(all_, -1)
            here.first[pieces[::-1]] = np.arange(count - 1, -1, -1)  # of several, the last one stays
            here.last[pieces] = np.arange(count)
            wanted = np.flatnonzero(here.last >= 0)
            here.order = wanted[np.argsort(here.first[wanted])]
            here.begins = here.first[here.order]
            here.newest, here.epoch = -1, time.time()

    def explained(self) -> str:
        """For gofast.explain: where the shards lie, and how much of them is here."""
        pieces, here = len(self._pieces.ends), self._there()
        kept, total = self.bytes_of(here), sum(state["size"] for state in self._states)
        shards = f"{many(len(self._urls), 'shard')} on a server ({size(total)})"
        if pieces == len(self._urls):
            return f"{shards}, {len(here)} of them here ({size(kept)})"
        more = f"they are more than half of the limit, {size(self._budget.limit)}"
        return f"{shards} in {pieces} pieces, {len(here)} of them here ({size(kept)}): {more}"

    def _there(self) -> list[int]:
        """The pieces whose files are there, whoever has brought them."""
        there = set[str]()
        with contextlib.suppress(FileNotFoundError):  # the user has removed it
            there.update(os.listdir(self._budget.folder))
        return [piece for piece, path in enumerate(self.asked.paths) if os.path.basename(path) in there]

    def _has_room(self) -> bool:
        """Whether half of the limit, and of what the disk has free, hold all shards beside what is there."""
        total = sum(state["size"] for state in self._states)
        with contextlib.suppress(FileNotFoundError):
            disk = os.statvfs(self._budget.folder)
            free = disk.f_bavail * disk.f_frsize // 2
            if total > free and total - self.bytes_of(self._there()) > free:
                return False
        return total <= self._budget.limit // 2

    def here(self) -> PiecesHere:
        """What this process has of the pieces."""
        if self._here.pid != os.getpid():
            self._here = PiecesHere(self._stays)
        return self._here

    def bytes_of(self, pieces: Sequence[int]) -> int:
        """The size of pieces."""
        return sum(map(self._pieces.size, pieces))

    def check(self, pieces: Sequence[int], size: int) -> None:
        """Raises LimitError where so many bytes, these pieces and others, cannot be there together."""
        if pieces:
            url = self._urls[int(self._pieces.shards[pieces[0]])]
            self.cache.check(url, size, ", or make smaller batches")

    def bring(self, wanted: Sequence[int], wait: bool = True) -> bool:
        """Downloads pieces that are used: whether they are there.

        Args:
            wait: until they are. Else they may be on their way.

        Raises:
            ChangedError: a shard is not the one that was there, or its index is not its own.
            LimitError, DiskFullError: others use the room.
            GofastError: as of `Downloads.result`.
        """
        here = self.here()
        with here.lock:
            here.take_back(wanted)
            self._begin(here, [p for p in wanted if p not in here.held and p not in here.coming])
            coming = {piece: here.coming[piece] for piece in wanted if piece in here.coming}
            for one in dict.fromkeys(coming.values()):
                one.start()  # all at a time
        if not wait and not all(one.downloads.arrived() for one in dict.fromkeys(coming.values())):
            return False
        if not all(self._hold(here, piece, wait) for piece in coming):
            return False
        with here.lock:
            self._asked_for(here, wanted)
        return True

    def _asked_for(self, here: PiecesHere, wanted: Sequence[int]) -> None:
        """These were, and are there: the next ones come, and those that are not read any more go."""
        here.turn += 1
        for piece in wanted:
            if piece in here.held:  # else somebody has removed it
                here.held[piece] = here.held.pop(piece)[0], here.turn
        if here.order is not None:
            begun = (int(here.first[piece]) for piece in wanted if here.last[piece] >= 0)
            here.newest = max(here.newest, *begun, -1)
            self._go_on(here, here.order)
        if not here.stays:
            self._let_go(here)

    def _begin(self, here: PiecesHere, pieces: Sequence[int]) -> ComingPieces | None:
        """Pieces come together, once they are started."""
        if not pieces:
            return None
        made = ComingPieces(pieces, self._download(here, pieces))
        here.coming.update(dict.fromkeys(pieces, made))
        return made

    def _download(self, here: PiecesHere, pieces: Sequence[int]) -> Downloads:
        shards = self._pieces.shards[[*pieces]].tolist()
        urls, spans = [self._urls[shard] for shard in shards], [*map(self._pieces.span, pieces)]
        known: Known = {normal(self._urls[shard]): self._states[shard] for shard in shards}
        return Downloads(urls, self._budget, here.epoch, known, spans=spans)

    def _hold(self, here: PiecesHere, piece: int, wait: bool) -> bool:
        """Sees that a piece has what the index says: whether it is there, for which it may `wait`."""
        while True:
            with here.lock:
                if piece in here.held:
                    return True
                coming = here.coming.get(piece)
                if coming is None and wait:
                    coming = self._begin(here, [piece])
            if coming is None or not coming.lock.acquire(blocking=wait):
                return False  # it failed, or another thread waits for it
            try:
                if here.coming.get(piece) is coming:
                    with deferred():
                        gone = not wait and not coming.downloads.take_back()
                        if gone:  # somebody has just removed it
                            coming.downloads.lend()
                    if gone:
                        return False
                    self._hold_all(here, coming)
            finally:
                coming.lock.release()

    def _hold_all(self, here: PiecesHere, coming: ComingPieces) -> None:
        """Waits for what comes together, for who has its lock. After an error, each comes by itself."""
        each: list[Downloads] = []
        tries = _TRIES
        try:
            while True:
                try:
                    paths = coming.downloads.result()
                    break
                except NO_ROOM:
                    if not here.give_way():
                        raise
                except errors.ReadError as error:
                    tries -= 1  # somebody may have removed the folder
                    if not tries or not (error.path or "").startswith(self.cache.folder):
                        raise
                coming.downloads = self._download(here, coming.pieces)
            # They are there: from now on each can be let go by itself.
            alone = len(coming.pieces) == 1
            each += (coming.downloads if alone else self._download(here, [p]) for p in coming.pieces)
            for piece, path, one in zip(coming.pieces, paths, each, strict=True):
                one.result()
                if piece not in self._checked:
                    self._check(piece, path)
            with here.lock, deferred():
                for piece, one in zip(coming.pieces, each, strict=True):
                    here.hold(piece, one)
                if not alone:
                    coming.downloads.release()
                each.clear()
        except BaseException as error:
            with here.lock, deferred():
                if here.coming.get(coming.pieces[0]) is coming:
                    for piece in coming.pieces:
                        del here.coming[piece]
                    for one in [coming.downloads, *each]:
                        one.release()
            if len(coming.pieces) == 1 or not isinstance(error, errors.GofastError):
                raise

    def _check(self, piece: int, path: str) -> None:
        """Reads where its samples lie: of a tar file 2 us for a member.

        A piece of another shard has the ETag of the one that the index was made of.
        """
        shard, (begin, end) = int(self._pieces.shards[piece]), self._pieces.span(piece)
        length = self._states[shard]["size"]
        if self.asked.form != "tar" and end - begin < length:
            return
        asked = self.asked._replace(paths=[path], partial=end < length)  # a long name may be cut
        made = tfrecord_operations.index(asked.request(""))
        found = TFRecordIndex(made["fd"], made, asked)
        told = self.schema["files"][shard]["features"]
        if not is_of(found, self.columns, self._pieces, piece, length) or (
            begin == 0 and made["files"][0]["features"] != told
        ):
            url = self._urls[shard]
            if asked.form == "tar":
                said = f"it is not the file that {shown(index_name(url))} is of: write both anew"
                KeptIndexes(self.cache, self._urls).drop()  # the server may have another by now
            else:
                said = "it is not the file that was indexed, and the server says the same of both"
                said = f"{said}: make the dataset again"
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(listed_index(url, self._states[shard], asked) or "")
            said = f"{self.names[shard]}: {said}"
            raise errors.ChangedError(said).at(path=self.names[shard])
        self._checked.add(piece)

    def _go_on(self, here: PiecesHere, order: npt.NDArray[np.int64]) -> None:
        """Begins to bring the next pieces of the epoch."""
        begun = int(np.searchsorted(here.begins, here.newest, "right"))
        ahead = 0
        for number, piece in enumerate(order[begun : begun + _MOST_AHEAD].tolist()):
            if number >= _AHEAD and ahead > _BYTES_AHEAD:
                break
            ahead += self._pieces.size(piece)
            if piece not in here.held and piece not in here.coming:
                download = self._download(here, [piece])
                if not download.start(wait=False):
                    break  # a later one would take the room of this
                here.coming[piece] = ComingPieces([piece], download)

    def _let_go(self, here: PiecesHere) -> None:
        """Lets go of pieces that were not asked for lately, or are too much: others may need their room."""
        sure, turns, share = (0, _FEW_TURNS, 32) if here.order is None else (_SURE, _TURNS, 4)
        over = sum(map(self._pieces.size, here.held)) - self._budget.limit // share
        for piece, (download, turn) in [*here.held.items()]:  # the oldest first
            age = here.turn - turn
            if piece in here.users:
                continue
            if age <= sure or (age <= turns and over <= 0):
                break
            over -= self._pieces.size(piece)
            if here.order is not None and here.last[piece] < here.newest:
                download.used()  # and the epoch does not come back to it
            del here.held[piece]
            download.release()

    def _on_disk(self, file: int, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        for _ in range(_TRIES):  # somebody may empty the cache
            with brought([(self, [file])]):
                with contextlib.suppress(FileNotFoundError, errors.NotFoundError):
                    self._stamps[file] = Stamp.of(os.stat(self.asked.paths[file]))
                    return super()._on_disk(file, places)
                here = self.here()
                with here.lock, deferred():
                    if file in here.held:
                        here.held.pop(file)[0].release()
        path = self.asked.paths[file]
        raise errors.NotFoundError(f"{path}: it was removed, {_TRIES} times").at(path=path)

    def digest(self) -> str:
        """Of what the indexes have."""
        return hashlib.blake2b("\n".join(self.told).encode(), digest_size=16).hexdigest()

    def __reduce__(self) -> tuple[Any, ...]:
        if get_spawning_popen() is not None:
            more = self._urls, self._states, self.told, self._budget, self._pieces, self._again
            return _handed, (DupFd(self._fd), self.schema, self.asked, *more)
        return _again, (*self._again, self.names[0], self.digest())


def _handed(fd: Any, *more: Any) -> RemoteShards:
    return RemoteShards(fd.detach(), *more)


def _again(
    make: Callable[..., RemoteShards | None], given: tuple[Any, ...], name: str, digest: str
) -> RemoteShards:
    made = make(*given)
    if made is None or made.digest() != digest:
        said = f"{name}: other records than when the dataset was pickled"
        raise errors.ChangedError(said).at(path=name)
    return made
