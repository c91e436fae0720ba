"""Tar shards on a server beside which their indexes lie: one is downloaded when a sample of it is needed."""

from __future__ import annotations

import os
import threading
import time
import weakref
from collections.abc import Sequence
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import errors
from .arguments import several
from .braces import braces, index_name
from .download_cache import DownloadBudget, DownloadCache
from .remote_access import NATIVE, normal, remote_file
from .remote_files import Downloads, kept_name
from .remote_listings import Known, url_files
from .remote_operations import RemoteState, probe
from .shard_index import content_of, index_of, joined, read_index
from .shown_urls import is_url, shown
from .stamp import Stamp
from .tfrecord_index import RecordsOptions, TFRecordIndex
from .tfrecord_operations import RecordsMade
from .units import many
from .warn import warn

_AHEAD, _MOST_AHEAD = 2, 16  # shards that come while one is read: two, and more of small ones
_BYTES_AHEAD = 64 << 20
_TURNS = 48  # calls after which a shard is not read any more by a loader's batches on their way
_FEW_TURNS = 4  # of who reads at once, such as torch's workers


class _Here:
    """What this process has of the shards, and which come next.

    Attributes:
        held: shards that are there, and the call that asked for each last; the next ones are `coming`.
        order: shards by their first samples of the epoch; None: nobody knows.
        first, last: where the epoch's first and last sample of each shard lies.
        newest: where the first one lies of the shard that was asked for and begins last.
    """

    def __init__(self) -> None:
        self.pid, self.lock = os.getpid(), threading.RLock()
        self.held: dict[int, tuple[Downloads, int]] = {}
        self.coming: dict[int, Downloads] = {}
        self.turn, self.epoch, self.newest = 0, 0.0, -1
        self.order: list[int] | None = None
        self.first = self.last = np.zeros(0, np.int64)
        _every.add(self)


_every: weakref.WeakSet[_Here] = weakref.WeakSet()


class RemoteShards(TFRecordIndex):
    """Records of tar files on a server, by number, of which only the indexes are here.

    Each process downloads what it needs. What is downloaded is the same file for all of them.

    Args:
        urls: of the shards.
        states: what their server says of them.
        told: what their indexes have.
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
    ) -> None:
        super().__init__(fd, schema, asked)
        self._urls, self._states, self.told, self._budget = urls, states, told, budget
        self.names = [*map(shown, urls)]
        self._fit = sum(state["size"] for state in states) <= budget.limit // 2
        self._checked: set[int] = set()  # shards whose indexes are known to be theirs
        self._here = _Here()

    @classmethod
    def of(cls, paths: Any, features: Sequence[str], label: str) -> RemoteShards | None:
        """Shards of URLs, or of patterns of these; None where they are something else, or have no indexes.

        Indexes that are there and not the shards' are a warning.

        Raises:
            GofastError: as of `local_files`, of listings and of servers.
        """
        given: Any = [paths] if isinstance(paths, str) else several(paths)
        if not isinstance(given, (list, tuple)) or not given or not all(map(_may_be, given)):
            return None
        known: Known = {}
        urls: list[str] = []
        for pattern in given:
            for each in braces(pattern):
                matching = url_files(each)
                known |= matching
                urls += matching
        try:
            probe([remote_file(index_name(urls[0]))])
        except (errors.NotFoundError, errors.ReadError):  # S3 says 403 where nobody may list what is there
            return None
        asked = [url for url, state in known.items() if state is None]
        looking = f"looking at {many(len(asked), 'file')}"
        known.update(zip(asked, probe([remote_file(url) for url in asked], looking), strict=True))
        states = [state for url in urls if (state := known[url])]
        if not all(state["tag"] or state["modified"] for state in states):
            return None  # nobody would see that it is another file when it comes again, or to another process
        indexes = Downloads(map(index_name, urls))
        try:
            local = indexes.result(show=True)
            parts = [
                read_index(path, state["size"], state["tag"])
                for path, state in zip(local, states, strict=True)
            ]
            made = joined(parts, features)
        except (errors.NotFoundError, errors.ChangedError, errors.DamagedError) as error:
            said = "without the index of each shard all are downloaded first: gofast shard writes them"
            warn(f"{error}: {said}", once=f"indexes of {urls[0]}")
            return None
        if any(c["kind"] == ("byte" if c["name"] == label else "int") for c in made["columns"]):
            os.close(made["fd"])
            return None  # texts that are numbers, or the reverse: they lie in the shards
        budget = DownloadBudget.of()
        cache = DownloadCache(budget)
        at = [cache.path(kept_name(url, state)) for url, state in zip(urls, states, strict=True)]
        options = RecordsOptions(at, [*features], "", None, "tar", label)
        return cls(made["fd"], made, options, urls, states, [*map(content_of, parts)], budget)

    def fetch(self, samples: npt.NDArray[np.int64], wait: bool = True) -> bool:
        """Downloads the shards of samples, and keeps them while batches of theirs are made.

        Args:
            wait: until they are there. Else they may be on their way, and what goes wrong is for who waits.

        Returns:
            Whether they are there.

        Raises:
            ChangedError: a shard is not the one that was there, or its index is not its own.
            LimitError: they do not fit into the budget together.
            GofastError: as of `Downloads.result`.
        """
        files = np.unique(np.searchsorted(self._ends, samples, "right")).tolist()
        return self._bring(files, wait) if files else True

    def expect(self, samples: npt.NDArray[np.int64]) -> None:
        """An epoch begins, of these samples in their order: their shards come before they are asked for."""
        files = np.searchsorted(self._ends, samples, "right")
        here, shards, count = self._of_process(), len(self._urls), len(files)
        with here.lock:
            here.first, here.last = np.full(shards, count), np.full(shards, -1)
            here.first[files[::-1]] = np.arange(count - 1, -1, -1)  # of several, the last one stays
            here.last[files] = np.arange(count)
            wanted = np.flatnonzero(here.last >= 0)
            here.order = wanted[np.argsort(here.first[wanted])].tolist()
            here.newest, here.epoch = -1, time.time()

    def _of_process(self) -> _Here:
        if self._here.pid != os.getpid():
            self._here = _Here()
        return self._here

    def _bring(self, files: list[int], wait: bool) -> bool:
        here = self._of_process()
        with here.lock:
            here.turn += 1
            missing = [file for file in files if file not in here.held]
            for file in missing:
                if file not in here.coming:
                    here.coming[file] = self._download(here, file)
                here.coming[file].start(wait=False)  # all at a time
            if not wait and not all(here.coming[file].arrived() for file in missing):
                return False
            try:
                for file in missing:
                    self._hold(here, file, files)
            except errors.GofastError:
                if wait:
                    raise
                return False
            for file in files:
                here.held[file] = here.held[file][0], here.turn
            if here.order is not None:
                begun = (int(here.first[file]) for file in files if here.last[file] >= 0)
                here.newest = max(here.newest, *begun, -1)
                self._go_on(here, here.order)
            if not self._fit:
                self._let_go(here)
            return True

    def _download(self, here: _Here, file: int) -> Downloads:
        url = self._urls[file]
        return Downloads([url], self._budget, here.epoch, {normal(url): self._states[file]})

    def _hold(self, here: _Here, file: int, wanted: list[int]) -> None:
        """Waits for a shard, and sees that its index is its own."""
        try:
            while True:
                try:
                    path = here.coming[file].result()[0]
                    break
                except errors.LimitError:
                    if not _give_way(here, wanted):
                        raise
                    here.coming[file] = self._download(here, file)
            if file not in self._checked:
                self._check(file, path)
        except BaseException:
            here.coming.pop(file).release()
            raise
        here.held[file] = here.coming.pop(file), here.turn  # Ctrl-C between these releases it

    def _check(self, file: int, path: str) -> None:
        """Reads the shard's headers: 2 us a member."""
        if content_of(index_of(path)) != self.told[file]:
            name = shown(index_name(self._urls[file]))
            said = f"{self.names[file]}: it is not the file that {name} is of: write both anew"
            raise errors.ChangedError(said).at(path=self.names[file])
        self._checked.add(file)

    def _go_on(self, here: _Here, order: list[int]) -> None:
        """Begins to bring the next shards of the epoch."""
        begun = int(np.searchsorted(here.first[order], here.newest, "right"))
        size = 0
        for number, file in enumerate(order[begun : begun + _MOST_AHEAD]):
            if number >= _AHEAD and size > _BYTES_AHEAD:
                break
            size += self._states[file]["size"]
            if file not in here.held and file not in here.coming:
                download = self._download(here, file)
                if not download.start(wait=False):
                    break  # a later one would take the room of this
                here.coming[file] = download

    def _let_go(self, here: _Here) -> None:
        """Lets go of shards that were not asked for lately: others may need their room."""
        recent = here.turn - (_FEW_TURNS if here.order is None else _TURNS)
        for file, (download, turn) in [*here.held.items()]:
            if turn < recent:
                if here.order is not None and here.last[file] < here.newest:
                    download.used()  # and the epoch does not come back to it
                del here.held[file]
                download.release()

    def _on_disk(self, file: int, places: Sequence[tuple[int, int]]) -> dict[tuple[int, int], bytes]:
        self._bring([file], True)
        self._stamps[file] = Stamp.of(os.stat(self.asked.paths[file]))
        return super()._on_disk(file, places)

    def __reduce__(self) -> tuple[Any, ...]:
        if get_spawning_popen() is not None:
            more = self._urls, self._states, self.told, self._budget
            return _handed, (DupFd(self._fd), self._schema, self.asked, *more)
        return _again, (self._urls, self.asked.features, self.asked.label, self._digest())


def _may_be(given: Any) -> bool:
    return is_url(given) and normal(given).startswith(NATIVE) and "?" not in given and given[-1:] != "/"


def _give_way(here: _Here, wanted: list[int]) -> bool:
    """Lets go of shards that are not wanted now, or of those of other datasets; whether there was one."""
    if _let_go_of_all(here, wanted):
        return True
    gone = 0
    for other in [*_every]:
        # Not of one that a thread waits for; nor of the parent's, whose locks are in any state.
        if other is not here and other.pid == here.pid and other.lock.acquire(blocking=False):
            try:
                gone += _let_go_of_all(other, ())  # what a batch on its way still reads comes again
            finally:
                other.lock.release()
    return gone > 0


def _let_go_of_all(here: _Here, wanted: Sequence[int]) -> int:
    held = [file for file in here.held if file not in wanted]
    coming = [file for file in here.coming if file not in wanted]
    for file in held:
        here.held.pop(file)[0].release()
    for file in coming:
        here.coming.pop(file).release()
    return len(held) + len(coming)


def _handed(fd: Any, *more: Any) -> RemoteShards:
    return RemoteShards(fd.detach(), *more)


def _again(urls: Sequence[str], features: Sequence[str], label: str, digest: str) -> RemoteShards:
    made = RemoteShards.of([*urls], features, label)
    if made is None or made._digest() != digest:
        said = f"{shown(urls[0])}: other records than when the dataset was pickled"
        raise errors.ChangedError(said).at(path=shown(urls[0]))
    return made
