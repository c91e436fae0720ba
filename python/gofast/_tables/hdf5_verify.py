"""Reads all of an HDF5 file, as its datasets are read for training, and keeps nothing."""

from __future__ import annotations

from .. import errors
from .._core.machine import Machine
from .hdf5 import Opening, opening
from .hdf5_bands import Bands
from .hdf5_chunks import pieces
from .hdf5_windows import HDF5Windows

_MEMORY = 1 << 30  # bytes, where nobody knows what is free


def verify(path: str, threads: int | None = None) -> errors.GofastError | None:
    """Reads every dataset as ArrayDataset.from_hdf5 does; chunks that are many, as a stream does.

    Returns:
        Why a dataset was not read that is no array of numbers, of the first one.

    Raises:
        gofast.errors.GofastError: what opening a dataset raises; where none can be used, that.
    """
    left = None
    with opening(path, threads, {}) as opened:
        known = Machine().memory()
        opened.memory = known.free // 2 if known else _MEMORY
        names = opened.listed(whole=True)
        for name in names[1]:
            try:
                opened.numbers(name)
            except (errors.UnsupportedError, errors.SchemaError) as error:
                left = left or error
        if left and not names[0]:
            raise left
        for name in names[0]:
            _read(opened, name)
    return left


def _read(opened: Opening, name: str) -> None:
    found, dtype = opened.numbers(name)
    stored = opened.found(name)
    if stored is None:
        for piece in pieces(found.shape, found.chunks, dtype.itemsize):
            opened.piece(name, found, piece)
    elif isinstance(stored, Bands):
        windows = HDF5Windows([stored], opened.memory, permuted=False)
        rooms = windows.rooms()
        for filled in windows.filled(([rows] for rows in windows.blocks), rooms):
            rooms.give(filled.room)
