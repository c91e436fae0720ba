"""Records of lazy images: nobody has a list of their files, and each Compose keeps something else.

A record's name is the path of its file, and behind a mark the steps that were done to it. A table in shared
memory says where the records of names are (``gofast/source/kept/kept.h``); forked processes have it too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from .._core import codecs, picture_operations
from .._core.memory import address_of
from .._core.picture_operations import KeptPlace
from .._core.units import many, size
from .._lazy.opened_image import LazyFactory
from .._plan.compile import Plan
from .cache_files import LAZY, MARK, PictureCacheInFolder
from .cache_option import Budget, in_memory, said_of
from .options import PictureOptions
from .picture_cache import NEVER, PictureCache
from .picture_files import BatchFiles

_PLACES = 1 << 22  # of a table, which takes memory where names have come
_PROBES = 16  # kept.c
_MOST_NAME = 4096


class PathCache:
    """The records of lazy images.

    Attributes:
        kept: where they lie, and the table: places of records, and then the keys of their names.
    """

    def __init__(self, budget: Budget) -> None:
        self.kept: PictureCache
        if budget.place == "memory":
            self.kept = in_memory(budget, 2 * _PLACES)
        else:
            said = said_of([], "", **{LAZY: True})
            self.kept = _InFolder(2 * _PLACES, budget.limit, budget.place, said, None)
        self.records, keys = _halves(self.kept)
        self._keys = address_of(keys)

    def explained(self) -> str:
        """What is to be said of them at the end."""
        (made, taken), used = self.kept.written, self.kept.uses[0]
        what = f"{self.kept.called}: {many(made, 'lazy image')} written, {size(taken)} there"
        return what + f"; used {used} times" + f"; {self.kept.trouble}" * bool(self.kept.trouble)

    def is_in_use(self) -> bool:
        """Whether a record was written or used."""
        return any(self.kept._numbers[2:4].tolist())

    def place(self, name: bytes) -> int:
        """Where a name's record is noted; -1 where there is no room."""
        return codecs.capsule().kept_place(name, self._keys, _PLACES)

    def takes_more(self) -> bool:
        """Whether records are written."""
        return self.kept._own >= 0 and self.kept._numbers[4] == 0  # neither stopped nor full


class _InFolder(PictureCacheInFolder):
    """Those in a folder, whose indexes say what is in the table."""

    def _wanted(self) -> npt.NDArray[np.uint64]:
        return np.empty(0, np.uint64)

    def _find(
        self, found: npt.NDArray[np.uint64], number: int, entries: npt.NDArray[np.uint64], end: int
    ) -> None:
        records, keys = _halves(self)
        key, place = self._within(number, entries, end)
        for probe in range(_PROBES):
            at = ((key + np.uint64(probe)) & np.uint64(_PLACES - 1)).astype(np.intp)
            free = (keys[at] == 0) & (key != 0)
            keys[at[free]] = key[free]
            mine = keys[at] == key
            records[at[mine]] = place[mine]
            key, place = key[~mine], place[~mine]

    def _take(self, found: npt.NDArray[np.uint64]) -> None:
        pass


def _halves(kept: PictureCache) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
    return kept._records[:_PLACES], kept._records[_PLACES:]


class LazyImageCache:
    """The way from a lazy image to its record, for what a plan makes: a program's one file, and its place.

    Attributes:
        files: the room of that file.
    """

    def __init__(self, of: PathCache, plan: Plan) -> None:
        self.of, self.files = of, BatchFiles(1, paths=True)
        certain = picture_operations.certain({"steps": plan.steps, "output": {}}) or []
        steps = json.dumps(certain, sort_keys=True).encode()
        self._behind = MARK + hashlib.blake2b(steps, digest_size=16).hexdigest().encode()
        self._name, self._offset = np.zeros(_MOST_NAME, np.uint8), np.zeros(1, np.uint64)
        self._record = np.zeros(1, np.uint64)
        self._alone = threading.Lock()

    def addresses(self) -> KeptPlace:
        """Where all of it lies, for the core."""
        return {
            **self.of.kept.addresses(),
            "records": address_of(self._record),
            "names": address_of(self._name),
            "offsets": address_of(self._offset),
        }

    @contextlib.contextmanager
    def at(self, making: LazyFactory) -> Iterator[bool]:
        """Makes a picture's file that of the program, which was read. Whether there is, or may be, a record.

        Other threads go on without records meanwhile.
        """
        file, place = making.source.opened, -1
        path = None if file is None else file.path
        if making.chain or path is None or not self._alone.acquire(blocking=False):
            yield False
            return
        try:
            name = os.fsencode(path) + self._behind
            if len(name) < _MOST_NAME and making.source.is_same():
                place = self.of.place(name)
            if place < 0:
                yield False
                return
            self._record[0] = before = self.of.records[place]
            if before == NEVER or (before == 0 and not self.of.takes_more()):
                yield False
                return
            self._name[: len(name) + 1] = np.frombuffer(name + b"\0", np.uint8)
            self.files.let_go()
            self.files.add(path)
            self.files.sizes[0] = making.source.size
            yield True
            if self._record[0] != before:
                self.of.records[place] = self._record[0]
        finally:
            self._alone.release()


current: PathCache | None = None  # where lazy images are kept; None: nowhere
asked: dict[str, Any] = {}  # options of datasets that say the same, for those that a script makes itself


def begin(cache: str | os.PathLike[str] | None, limit: str | int | None) -> None:
    """Keeps lazy images from now on, in this process and those that are forked from it.

    Raises:
        OptionError: that is no place, or no limit.
        LimitError: memory is short.
    """
    global current
    options = PictureOptions(cache=cache, cache_limit=limit)
    budget = options.budget
    assert budget is not None
    current = PathCache(budget)
    asked.update(cache=budget.place, cache_limit=budget.limit)


def end() -> None:
    """Keeps none any more."""
    global current
    current = None
    asked.clear()


def refresh() -> None:
    """Looks what other processes have kept."""
    if current is not None:
        current.kept.refresh()
