"""A chunked dataset of an HDF5 file that is decoded some rows at a time, and what the memory allows of it.

A band is the rows that a chunk has: with several chunks where a chunk has not all of a row. Bands are decoded
whole, so that each chunk is decoded once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._core import table_operations
from .._core.memory import Room
from .._core.operation import Begun
from .hdf5_chunks import SIZE, Index, as_text

SMALLER = "give more, or write smaller chunks (h5repack -l NAME:CHUNK=... old.h5 new.h5)"
_MOST_INDEX = 16  # parts of the memory: one is for the index
_LISTED = 600  # bytes, at most, that a chunk takes while it is asked for


class Bands:
    """Where its chunks lie, and how they are decoded. Plain data: a process that is spawned has it too.

    Attributes:
        dtype, shape: of the dataset.
        name, what: its name, and its chunks in words, for gofast.explain.
        row: bytes of a row.
        step: rows of a band; the last one may have fewer.
        least: bytes that a stream needs at least for windows of one band.
    """

    runs_in = "Go"

    def __init__(
        self, chunks: table_operations.Chunks, index: Index, dtype: np.dtype[Any], what: str
    ) -> None:
        self._chunks, self.dtype, self.shape, self.what = chunks, dtype, tuple(chunks["shape"]), what
        self._index = index[np.argsort(index[:, 0], kind="stable")]
        self.name, self.step = chunks["name"], chunks["chunk"][0]
        chunk = math.prod(chunks["chunk"]) * dtype.itemsize
        largest = int(index[:, SIZE].max(initial=1))
        self._decoding = largest + 2 * max(largest, chunk + 4)  # of a thread: see decode in dataset.go
        wide = math.prod(-(-n // c) for n, c in zip(self.shape[1:], chunks["chunk"][1:], strict=True))
        self._listed = wide * _LISTED / self.step  # of a row
        self.row = math.prod(self.shape[1:]) * dtype.itemsize
        band = min(self.step, self.shape[0]) * self.row
        self.least = max(
            least(band), 4 * self.needed(min(self.step, self.shape[0])), _MOST_INDEX * index.nbytes
        )

    def needed(self, rows: int) -> int:
        """Bytes that decoding so many rows takes at least, beside their own."""
        return self._decoding + math.ceil(rows * self._listed)

    def most_rows(self, memory: int) -> int:
        """Rows that may be asked for at once, where decoding may take so many bytes."""
        return max(int((memory - self._decoding) / self._listed), 0)

    def begin(self, runs: Sequence[range], room: Room, at: int, memory: int) -> Begun[None]:
        """Decodes runs of rows, end to end, into a room. Each begins with a band, and ends with one.

        Args:
            at: where in the room.
            memory: bytes that decoding may take.
        """
        index, rows, first = list[Index](), list[Index](), 0
        for run in runs:
            some = self._index[slice(*np.searchsorted(self._index[:, 0], [run.start, run.stop]))].copy()
            rows.append(some[:, 0].copy())
            some[:, 0] += first - run.start
            index.append(some)
            first += len(run)
        return table_operations.unchunk_rows.begin(
            {
                **self._chunks,
                "shape": [first, *self.shape[1:]],
                "index": as_text(np.concatenate(index)),
                "rows": np.concatenate(rows).tolist(),
                "limits": {"memory": memory},
                "address": room.address + at,
                "size": first * self.row,
            },
            room,
        )

    def read(self, part: tuple[slice, ...]) -> np.ndarray[Any, Any]:
        """Values of one band, decoded now."""
        start = part[0].start // self.step * self.step
        run = range(start, min(start + self.step, self.shape[0]))
        room = Room(len(run) * self.row)
        self.begin([run], room, 0, self._decoding * 2 + len(self._index) * _LISTED).result()
        values = room.bytes.view(self.dtype).reshape(len(run), *self.shape[1:])
        within = (slice(part[0].start - start, part[0].stop - start), *part[1:])
        made: np.ndarray[Any, Any] = values[within]
        return made


def least(window: int) -> int:
    """What memory must be at least for windows of so many bytes: see Windows."""
    return window * 7 // 2 + (1 << 16)
