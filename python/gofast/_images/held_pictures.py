"""What lazy samples wait with: files or pixels, which the engine's threads decode while Python goes on.

A sample can be begun when its last step is known. Of the two pictures of a detector's batch, the second was
decoded when Python had nothing else to do. Where the latest pictures were needed whole, whatever became of
them, the next is decoded from the first look at it on: 1.47 ms a picture instead of 1.56 of COCO's, 1.38
instead of 1.56 of VOC's, with one thread beside Python's (2 cores, medians of bursts on a loaded machine).
"""

from __future__ import annotations

import os
import sys
import weakref
from collections.abc import Callable, Iterable, Sequence

from .._core import codecs, engine, native
from .._core.native import Picture
from .._lazy.source import ANY_PIXELS, Source, pass_order

_SURE = 4  # pictures in a row that were needed whole, before the next is decoded from the first look on
_MOST_MISSED = 4  # pictures that were decoded so, and of which no sample was made
_MOST_AHEAD = 8  # of which none is made yet
MOST_BYTES = 256 << 20  # of files and pixels that wait; further samples are made at once


class Held:
    """What lazy samples wait with: a file or pixels. Many samples may be made of the same.

    Args:
        picture: of which a sample is made.
        again: the file, if it is worth decoding it once for all samples.

    Attributes:
        data, size: the file, and zeros; or pixels, and their width and height.
        whole: width and height of what is to be decoded.
    """

    waiting = 0  # bytes of all
    expected = missed = 0  # how many of the latest were needed whole; that were decoded ahead in vain
    unused = 0  # that were decoded ahead, and may still be needed

    __slots__ = ("__weakref__", "_again", "_ahead", "_bytes", "_making", "data", "size", "whole")

    def __init__(self, picture: Picture) -> None:
        self.data, *self.size = picture[:3]
        self.whole: tuple[int, int] | None = None
        self._again: weakref.ref[Source] | None = None
        self._making: tuple[Making, bytes] | None = None  # who decodes it now, and what that comes to
        self._bytes = 0
        self._ahead = False  # it is decoded, and no sample is made of it yet
        self._count(len(self.data))

    @classmethod
    def of(cls, picture: Picture, again: Source | None = None) -> Held:
        """The one with a picture's data."""
        data = picture[0]
        held = _held.get(id(data))
        if held is None or held.data is not data:  # its file's data has gone, and another's lies there
            held = _held[id(data)] = cls(picture)
        if again is not None and held.whole is None and not held.size[0]:
            held.whole, held._again = again.size, weakref.ref(again)
            held._count(4 * again.size[0] * again.size[1])
        return held

    @staticmethod
    def ahead(source: Source) -> Held | None:
        """Begins to decode a picture at which somebody looks first, if the latest were needed whole."""
        sure = Held.expected >= _SURE and Held.missed < _MOST_MISSED and Held.unused < _MOST_AHEAD
        if not sure or Held.waiting >= MOST_BYTES or engine.helpers()[1] < 2 or not source.is_certain():
            return None
        if (data := source.data()) is None:
            return None
        held = Held.of((data, 0, 0, b"", *source.size), source)
        try:
            Held.begin([held])
        except MemoryError:
            return None  # whoever needs it finds less, or more
        held._claim(True)
        return held

    def is_needed(self, whole: bool) -> None:
        """A sample is made of it: of all its pixels, and it cannot be begun yet; or another."""
        Held.expected = min(Held.expected + 1, _SURE) if whole else 0
        self._claim(False)

    def _claim(self, ahead: bool) -> None:
        more = ahead - self._ahead
        self._ahead = ahead
        Held.unused += more

    def _count(self, size: int) -> None:
        more = size - self._bytes
        self._bytes = size
        Held.waiting += more

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not over():
            # Ctrl-C may have come before it had any. Behind a call, another thread may have changed the sums.
            size, ahead = getattr(self, "_bytes", 0), getattr(self, "_ahead", False)
            Held.waiting -= size
            Held.missed += ahead
            Held.unused -= ahead

    @staticmethod
    def begin(each: Iterable[Held]) -> None:
        """Begins to decode files of which several samples are made, side by side."""
        files = {
            held: (held.data, 0, 0, b"", *held.whole)
            for held in each
            if held.whole and (held._making is None or not held._making[0].is_here())
        }
        if not files:
            return
        work, rows = codecs.capsule().begin_rows(
            [*files.values()], pass_order(), ANY_PIXELS, *engine.helpers()
        )
        making = Making(work, rows, None)  # no files: they refer to it
        for held, made in zip(files, rows, strict=True):
            held._making = making, made

    def end(self, now: bool = False) -> bool:
        """Whether nobody decodes it any more: it was decoded, or memory was short, and each sample decodes
        what it needs.

        Args:
            now: does not wait until that is so.
        """
        pair = self._making  # another thread may end it meanwhile, or begin it too
        if pair is None or not pair[0].is_here():
            self._making = None
            return not self.whole
        making, made = pair
        fault = making.end(now)
        if fault is None:
            return False
        size, self._making, self.whole = self.whole, None, None
        if fault or size is None:
            return True
        self.data, self.size = made, [*size]
        _held[id(made)] = self
        if self._again is not None and (source := self._again()) is not None:
            source.keep(made)
        return True

    @staticmethod
    def decode(each: Iterable[Held | None]) -> None:
        """Decodes the files of which several samples are made."""
        files = {held for held in each if held is not None and held.whole}
        Held.begin(files)
        for held in files:
            held.end()


_held: weakref.WeakValueDictionary[int, Held] = (
    weakref.WeakValueDictionary()
)  # by the identity of a file's data


class Making:
    """Samples, or pixels of pictures, that the engine's threads make while Python goes on.

    Args:
        work: of the core.
        places: memory of what is made.
        needs: what must stay until the end.
    """

    __slots__ = ("_fault", "_needs", "_pid", "_places", "_work")

    def __init__(self, work: native.Making, places: Sequence[object], needs: object) -> None:
        self._work: native.Making | None = work
        self._places, self._needs, self._pid = places, needs, os.getpid()
        self._fault: int | None = None

    def __del__(self) -> None:
        self._work = None  # first of all: it writes to the places until it has ended

    def is_here(self) -> bool:
        """Whether it is this process's: a forked child has neither the threads nor what they have made."""
        return self._pid == os.getpid()

    def end(self, now: bool = False) -> int | None:
        """Waits for all of them: 0, or a fault. Now: does not wait; None while they are made."""
        work = self._work
        if work is not None:
            fault = codecs.capsule().end_samples(work, now)
            if fault is not None:  # else another thread may have been told meanwhile
                self._fault = fault
                self._work, self._places, self._needs = None, (), None
        return self._fault


Source.ahead = Held.ahead
