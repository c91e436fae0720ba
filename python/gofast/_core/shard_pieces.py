"""Pieces that shards are cut into where the budget of downloads does not hold them all.

Each holds whole records. Between two records of a tar file lie headers, and what the index has no place of: a
label's text. A piece has these on both sides, so that it is a tar file of its own, of a few more members.

A piece of another shard is no file of its form: nobody could compare it with the index. So these are cut only
where the server has an ETag, which is that of the shard that the index was made of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .. import errors
from .download_cache import Span
from .indexed_records import Column, IndexedRecords
from .remote_operations import RemoteState

_BLOCK = 512  # of a tar file, such as a header
_SHARE = 10  # bits: a piece takes a thousandth of the budget, which then holds a batch from as many places


class ShardPieces(NamedTuple):
    """Pieces by number. A shard that is not cut is one.

    Attributes:
        shards: int64 [n], of which shard each is.
        spans: int64 [n, 2], where it begins and ends there.
        ends: int64 [n], records of all shards before its end.
    """

    shards: npt.NDArray[np.int64]
    spans: npt.NDArray[np.int64]
    ends: npt.NDArray[np.int64]

    def span(self, piece: int) -> Span:
        """Where a piece begins and ends."""
        begin, end = self.spans[piece].tolist()
        return begin, end

    def size(self, piece: int) -> int:
        """Its bytes."""
        begin, end = self.span(piece)
        return end - begin

    def of(self, samples: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """The pieces that records lie in."""
        return np.searchsorted(self.ends, samples, "right")

    def records(self, piece: int) -> slice:
        """The records of a piece."""
        return slice(int(self.ends[piece - 1]) if piece else 0, int(self.ends[piece]))


def cut(
    parts: Sequence[IndexedRecords], states: Sequence[RemoteState], limit: int, tars: bool
) -> ShardPieces:
    """Cuts shards, of which these are the indexes, if half of the limit does not hold them all.

    Limits that differ little cut alike.

    Args:
        tars: they are tar files.

    Raises:
        DamagedError: records in the index of a tar file do not lie one behind the other.
    """
    sizes = [state["size"] for state in states]
    most = sum(sizes) if sum(sizes) <= limit // 2 else 1 << max((limit >> _SHARE).bit_length() - 1, 0)
    shards: list[int] = []
    spans: list[Span] = []
    ends: list[int] = []
    before = 0
    for shard, (part, size, state) in enumerate(zip(parts, sizes, states, strict=True)):
        can = size > most and not state["whole"] and (tars or state["tag"])
        begin, end = _around(part, size, _BLOCK if tars else 0) if can else _NOWHERE
        at = 0
        while len(begin) and at < len(begin):
            first = int(begin[at])
            at = max(at + 1, int(np.searchsorted(end, first + most, "right")))
            spans.append((first, int(end[at - 1])))
            ends.append(before + at)
        if not len(begin):
            spans.append((0, size))
            ends.append(before + part.count)
        shards += [shard] * (len(spans) - len(shards))
        before += part.count
    return ShardPieces(np.array(shards), np.array(spans), np.array(ends))


_NOWHERE = np.zeros(0, np.int64), np.zeros(0, np.int64)


def _around(
    part: IndexedRecords, size: int, header: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Where each record's values begin and end. If they have headers, where those of the one before it end,
    and the header of the one behind it begins. Nothing if a record has no value whose place is known."""
    block = max(header, 1)
    first, behind = np.full(part.count, size), np.zeros(part.count, np.int64)
    for column in part.columns.values():
        if column.kind == "byte":
            if not np.array_equal(np.diff(column.starts), column.has):
                raise errors.DamagedError("the index of a shard has several values in a record")
            mine, offset, length = column.has == 1, column.values[:, 1], column.values[:, 2]
            if np.any((offset < header) | (length < 0) | (length > size - offset)):
                raise errors.DamagedError("the index of a shard has a value behind its end")
            first[mine] = np.minimum(first[mine], offset)
            behind[mine] = np.maximum(behind[mine], (offset + length + block - 1) // block * block)
    if not part.count or not np.all(behind):
        return _NOWHERE
    if not header:  # records may also lie among each other: who made the index has looked at the shard
        return (first, behind) if np.all(behind[:-1] <= first[1:]) else _NOWHERE
    begin, end = np.append(0, behind[:-1]), np.append(first[1:] - header, size)
    if np.any(end < behind) or np.any(begin > first - header):
        raise errors.DamagedError("the records in the index of a tar file do not follow each other")
    return begin, end


def is_of(
    file: IndexedRecords, columns: dict[str, Column], pieces: ShardPieces, piece: int, size: int
) -> bool:
    """Whether the index of a piece's file has what its records have, and else its neighbours' at most.

    Args:
        size: of its shard.
    """
    records, (begin, end) = pieces.records(piece), pieces.span(piece)
    more = file.count - (records.stop - records.start)
    return any(
        all(_equal(file.columns[name], column, records, skip) for name, column in columns.items())
        for skip in range((begin > 0) + 1)
        if 0 <= more - skip <= (end < size)
    )


def _equal(found: Column, told: Column, records: slice, skip: int) -> bool:
    first, behind = skip, skip + records.stop - records.start
    values = found.values[found.starts[first] : found.starts[behind]]
    wanted = told.values[told.starts[records.start] : told.starts[records.stop]]
    if found.kind == "byte" == told.kind:
        values, wanted = values[:, 1:], wanted[:, 1:]  # of files with other numbers
    has = np.array_equal(found.has[first:behind], told.has[records])
    return has and (not len(wanted) or found.kind == told.kind) and np.array_equal(values, wanted)
