"""Where the chunks of an HDF5 dataset lie: what h5py says, compared with what it reads there."""

from __future__ import annotations

import base64
import itertools
import math
import os
from collections.abc import Iterator
from typing import Any

import numpy as np

# A chunk's row: where it begins in every dimension, its offset in the file, its bytes there, and a bit for
# each filter that it was spared.
Index = np.ndarray[Any, np.dtype[np.int64]]
_OFFSET, SIZE, _SPARED = -3, -2, -1

_ENTRY = 8  # bytes, at least, that an index takes for a chunk
_PIECE = 1 << 24  # bytes


def most_chunks(found: Any, shape: tuple[int | None, ...] | None = None) -> int:
    """How many chunks its shape has room for."""
    sizes = zip(found.shape, shape or found.shape, found.chunks, strict=True)
    return math.prod(-(-max(now, most or now) // chunk) for now, most, chunk in sizes)


def pieces(
    shape: tuple[int, ...], chunk: tuple[int, ...] | None, itemsize: int
) -> Iterator[tuple[slice, ...]]:
    """Parts of an array that are read at once: whole chunks, and many where they are small."""
    block = list(chunk or (1,) * len(shape))
    for i in reversed(range(len(shape))):
        block[i] = min(block[i] * max(_PIECE // (math.prod(block) * itemsize), 1), shape[i])
    grid = (range(0, n, max(step, 1)) for n, step in zip(shape, block, strict=True))
    for at in itertools.product(*grid):
        yield tuple(slice(a, a + step) for a, step in zip(at, block, strict=True))


def chunk_index(found: Any, size: int) -> Index | None:
    """Its chunks; None if they never end: an index may run in a circle.

    Args:
        size: of the file.
    """
    most = min(most_chunks(found, found.maxshape), size // _ENTRY)
    rows: list[tuple[int, ...]] = []

    def take(chunk: Any) -> bool | None:
        if chunk.byte_offset is not None:
            rows.append((*chunk.chunk_offset, chunk.byte_offset, chunk.size, chunk.filter_mask))
        return True if len(rows) > most else None  # True ends it

    found.id.chunk_iter(take)
    if len(rows) > most:
        return None
    index = np.array(rows, "<i8").reshape(len(rows), found.ndim + 3)
    # Room may have been made for the largest shape, where nobody reads; but not if a chunk is missing.
    within = index[(index[:, : found.ndim] < np.array(found.shape)).all(1)]
    return within if len(within) == most_chunks(found) else index


def has_plain_edges(found: Any, index: Index, itemsize: int) -> bool:
    """Whether each chunk that reaches beyond the array has the size of its values: an option of HDF5, of
    which h5py says nothing, leaves filters out there."""
    edges = (index[:, : found.ndim] + np.array(found.chunks) > np.array(found.shape)).any(1)
    sizes = index[edges, SIZE]
    return len(sizes) > 0 and bool((sizes == math.prod(found.chunks) * itemsize).all())


def as_read(found: Any, index: Index, fd: int, base: int) -> Index | None:
    """The index, if h5py reads what lies there in the file; None if it does not. It reads what a damaged
    index hides as never written, and some versions tell places from the end of a user block on.

    Only this call of h5py's searches, as reading does. It copies the chunk's bytes, and unpacks nothing.

    Args:
        base: where the file of HDF5 begins in the file.
    """
    there = index.copy()
    there[:, _OFFSET] += base
    return next((one for one in (index, there)[: 1 + (base > 0)] if _is_as_read(found, one, fd)), None)


def _is_as_read(found: Any, index: Index, fd: int) -> bool:
    largest = int(index[:, SIZE].max(initial=0))
    if not 0 <= largest <= os.fstat(fd).st_size:
        return False
    theirs, ours = np.empty(largest, np.uint8), memoryview(bytearray(largest))
    try:
        for *place, offset, size, spared in index.tolist():
            mask, raw = found.id.read_direct_chunk(tuple(place), out=theirs)
            if mask != spared or len(raw) != size or os.preadv(fd, [ours[:size]], offset) != size:
                return False
            if not np.array_equal(theirs[:size], np.frombuffer(ours, np.uint8, size)):
                return False
    except (OSError, RuntimeError, ValueError, TypeError, OverflowError):
        return False
    return True


def as_text(values: np.ndarray[Any, Any]) -> str:
    """Values as they cross to Go."""
    return base64.b64encode(values.tobytes()).decode()
