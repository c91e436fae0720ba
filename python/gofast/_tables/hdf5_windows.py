"""Windows of the rows of arrays in an HDF5 file: decoded or copied, the next one while the last is used."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from .. import errors
from .._core.memory import PAGE, Room
from .._core.operation import Begun
from .._core.units import size
from .._loader.batcher import forked
from . import blocks
from .file_arrays import FileArray
from .hdf5_bands import SMALLER, Bands, least
from .origin import Stored
from .window_memory import Rooms, decoded

Values = np.ndarray[Any, Any]


class FilledWindow(NamedTuple):
    """A window: its arrays, which nobody may write to, in a room that is to be given back."""

    arrays: list[Values]
    room: Room


class _RunsBeingDecoded(NamedTuple):
    runs: Sequence[range]
    room: Room
    work: list[Begun[None]]


class HDF5Windows:
    """What windows the memory has room for.

    Five eighths of it are for two windows, two are for decoding, and one is for what is kept whole.

    Attributes:
        blocks: rows of the dataset that are decoded together, in its order.
        rows: of a window, at most.

    Raises:
        LimitError: not one block fits into it.
    """

    def __init__(self, arrays: Sequence[Stored], memory: int, permuted: bool) -> None:
        self._arrays, self._pid = arrays, os.getpid()
        self._room = memory // 8 * 5
        self._decoding = memory // 4 // max(sum(isinstance(one, Bands) for one in arrays), 1)
        total = arrays[0].shape[0]
        row = max(sum(math.prod(one.shape[1:]) * one.dtype.itemsize for one in arrays), 1)
        bands = [one for one in arrays if isinstance(one, Bands)]
        step = min(math.lcm(*(one.step for one in bands)), total)
        fits = (self._room // 2 * 15 // 16 - (len(arrays) + 1) * PAGE) // row  # a room is a 16th larger
        most = min([fits, *(one.most_rows(self._decoding) for one in bands)])
        if step > most or any(one.least > memory for one in bands):
            each = "".join(f", {one.step} of a chunk of {one.name!r}" for one in bands)
            each_needs = (max(one.least, 4 * len(bands) * one.needed(step)) for one in bands)
            needed = max([least(step * row), *each_needs])
            raise errors.LimitError(
                f"{step} rows of {size(row)} are in memory together{each}: they need "
                f"memory={needed}, {size(needed)}, and {size(memory)} are given: {SMALLER}"
            )
        wanted = min(blocks.block_bytes(most * row) // row, most)
        block = max(wanted // max(step, 1), 1) * step
        self.blocks = [range(at, min(at + block, total)) for at in range(0, total, max(block, 1))]
        self.rows = most if permuted else min(most, max(blocks.USUAL // row, 1))

    def runs(self, wanted: Sequence[int]) -> list[range]:
        """The rows of these blocks, in the order of the file."""
        made = list[range]()
        for block in sorted(wanted):
            rows = self.blocks[block]
            if made and made[-1].stop == rows.start:
                rows = range(made.pop().start, rows.stop)
            made.append(rows)
        return made

    def filled(self, wanted: Iterable[Sequence[range]], rooms: Rooms) -> Iterator[FilledWindow]:
        """Windows of these runs of rows."""
        for filled in decoded(wanted, partial(self._begin, rooms), self._finished):
            assert isinstance(filled, FilledWindow)  # its type is known: it is as wide as it was said to be
            yield filled

    def rooms(self) -> Rooms:
        """Memory for the windows of an iterator."""
        return Rooms(self._room)

    def _begin(self, rooms: Rooms, runs: Sequence[range]) -> _RunsBeingDecoded:
        rows = sum(map(len, runs))
        places = self._places(rows)
        room = rooms.take(places[-1])
        assert room is not None
        work = [
            one.begin(runs, room, at, self._decoding)
            for one, at in zip(self._arrays, places, strict=False)
            if isinstance(one, Bands)
        ]
        return _RunsBeingDecoded(runs, room, work)

    def _places(self, rows: int) -> list[int]:
        """Where each array lies in a room, and where the last one ends."""
        places = [0]
        for one in self._arrays:
            length = rows * math.prod(one.shape[1:]) * one.dtype.itemsize
            places.append(places[-1] + -(-length // PAGE) * PAGE)
        return places

    def _finished(self, begun: _RunsBeingDecoded) -> FilledWindow:
        if self._pid != os.getpid():
            raise forked()
        for work in begun.work:
            work.result()
        rows = sum(map(len, begun.runs))
        made = list[Values]()
        for one, at in zip(self._arrays, self._places(rows), strict=False):
            shape = (rows, *one.shape[1:])
            count = math.prod(shape)
            if isinstance(one, FileArray):
                into, first = begun.room.bytes[at : at + count * one.dtype.itemsize], 0
                values = into.view(one.dtype).reshape(shape)
                for run in begun.runs:
                    values[first : first + len(run)] = one.array[run.start : run.stop]
                    first += len(run)
                one.check()
            made.append(np.frombuffer(begun.room.read_only, one.dtype, count, at).reshape(shape))
        return FilledWindow(made, begun.room)
