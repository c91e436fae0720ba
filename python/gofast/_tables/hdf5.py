"""Datasets of an HDF5 file as arrays: h5py says where the values lie, and the core reads them.

h5py is the user's own, and is asked only while a file is opened: no worker needs it, and none of its locks
is held later. What it says is checked against the file, and the first and the last values against its own
reading.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import errors
from .._core import engine, table_operations
from .._core.machine import Machine
from .._core.regular_files import MappedFile, regular_file
from .._core.stamp import Stamp
from .._core.units import exact, many, size
from .file_arrays import FileArray, sealed, size_of
from .hdf5_bands import Bands
from .hdf5_chunks import as_read, as_text, chunk_index, has_plain_edges, most_chunks, pieces
from .hdf5_datasets import NamedDatasets, filter_name
from .hdf5_file import import_h5py, opened_file

Columns = tuple[str, ...]

# Filters that the core undoes: see gofast/table/hdf5/filters.go.
_FILTERS = {1: "gzip", 2: "shuffle", 3: "fletcher32", 32000: "lzf"}
_SHUFFLE = 2

_COMPARED = 1 << 24  # bytes, at most, of what h5py reads too
_WHOLE = 16  # parts of a stream's memory: what takes one is decoded when it is opened


def open_arrays(
    path: str, wanted: Sequence[str | Columns], threads: int | None, limits: dict[str, int]
) -> list[FileArray]:
    """The array of each dataset that is wanted; of several names, their columns side by side.

    Raises:
        gofast.errors.GofastError: as :meth:`gofast.ArrayDataset.from_hdf5` says.
    """
    with opening(path, threads, limits) as opened:
        return [opened.array(names) for names in wanted]


def open_bands(
    path: str, wanted: Sequence[str | Columns], threads: int | None, memory: int
) -> list[FileArray | Bands]:
    """The same, but what has chunks and is large is only opened.

    Args:
        memory: bytes that a stream of them may take: an eighth is for arrays that are kept whole.

    Raises:
        gofast.errors.GofastError: as :meth:`gofast.IterableDataset.from_hdf5` says.
    """
    with opening(path, threads, {"memory": memory // 8}) as opened:
        opened.memory, opened.option = memory, "memory=, an eighth of which is for what is kept whole"
        return [opened.stored(names) if isinstance(names, str) else opened.array(names) for names in wanted]


@contextlib.contextmanager
def opening(path: str, threads: int | None, limits: dict[str, int]) -> Iterator[Opening]:
    """The file, opened by h5py. Raises ChangedError if it is another one at the end."""
    h5py, threads = import_h5py(), engine.threads(threads)
    with regular_file(path) as (fd, info):
        stamp = Stamp.of(info)
        with opened_file(h5py, path) as file:
            yield Opening(h5py, file, fd, MappedFile(path, stamp), threads, limits)
        if Stamp.of(os.stat(path)) != stamp:
            raise errors.ChangedError(f"open {path}: the file changed while it was opened").at(path=path)


class Opening(NamedDatasets):
    """One file that is being opened, and what of the memory is taken.

    Attributes:
        memory: bytes of the stream that the file is opened for; 0: for none.
        option: what allows more memory.
    """

    memory, option = 0, 'limits={"memory": ...}'

    def __init__(
        self, h5py: Any, file: Any, fd: int, mapped: MappedFile, threads: int, limits: dict[str, int]
    ) -> None:
        super().__init__(h5py, file, mapped.path)
        self._fd, self._mapped, self._taken = fd, mapped, 0
        self._threads, self._limits = threads, limits

    def stored(self, name: str) -> FileArray | Bands:
        """A dataset: its array, or of a stream where it lies."""
        with self._reading(name):
            return self._dataset(name)

    def array(self, wanted: str | Columns) -> FileArray:
        """The array of a dataset, or of several columns."""
        if isinstance(wanted, str):
            return self._named(wanted)
        first, before = self._column(wanted[0], None), self._taken
        shape = (len(first.array), len(wanted))
        length = size_of(first.array.dtype, shape)
        self._reserve(", ".join(map(repr, wanted)), length, "give fewer columns")

        def fill(into: Any) -> None:
            into[:, 0] = first.array
            for i, name in enumerate(wanted[1:], 1):  # one after the other: there may be thousands
                into[:, i] = self._column(name, first.array).array
                self._taken = before + length

        what = f"{many(len(wanted), 'column')} side by side, {size(length)} in memory"
        return sealed(first.array.dtype, shape, fill, first.runs_in, what)

    def _column(self, name: str, first: np.ndarray[Any, Any] | None) -> FileArray:
        """A column like the first one."""
        made = self._named(name)
        column = made.array
        if column.ndim != 1:
            raise self._error(errors.SchemaError, name, f"a column has one dimension, not {column.ndim}")
        if first is not None and (column.dtype != first.dtype or len(column) != len(first)):
            raise self._error(
                errors.SchemaError,
                name,
                f"{len(column)} values of {column.dtype}, but the first column has {len(first)} of "
                f"{first.dtype}: columns of one matrix are alike",
            )
        return made

    def _named(self, name: str) -> FileArray:
        memory, self.memory = self.memory, 0
        made = self.stored(name)
        self.memory = memory
        assert isinstance(made, FileArray)
        return made

    def found(self, name: str) -> FileArray | Bands | None:
        """A dataset of numbers as the core reads it; None where only h5py can."""
        with self._reading(name):
            native, _ = self._read_here(*self.numbers(name), name)
            self._taken = 0  # nobody keeps it
            return native

    def _dataset(self, name: str) -> FileArray | Bands:
        found, dtype = self.numbers(name)
        native, why = self._read_here(found, dtype, name)
        if native is not None:
            return native
        length = size_of(dtype, found.shape)
        self._reserve(name, length)
        what = f"{name}: {why}: read by h5py when it was opened, {size(length)} in memory"

        def fill(into: Any) -> None:
            for piece in pieces(found.shape, found.chunks, dtype.itemsize):  # between them, Ctrl-C works
                into[piece] = found[piece]

        with self._reading(name, found):
            return sealed(dtype, found.shape, fill, "h5py", what)

    def _read_here(self, found: Any, dtype: np.dtype[Any], name: str) -> tuple[FileArray | Bands | None, str]:
        """The array as the core reads it; None, and why only h5py can."""
        plist, layouts = found.id.get_create_plist(), self._h5py.h5d
        if not found.id.get_type().equal(self._h5py.h5t.py_create(dtype)):
            return None, f"stored as another type than {dtype}"
        if found.size == 0:
            return None, "empty"
        if plist.get_external_count():
            return None, "in external files"
        whose, ours = (self._h5py.h5o.get_info(one.id).fileno for one in (found, self.file))
        if whose != ours:
            return None, "a link into another file"
        layout = plist.get_layout()
        if layout == layouts.CONTIGUOUS:
            return self._mapped_array(found, name, dtype)
        if layout != layouts.CHUNKED:
            return None, "virtual" if layout == layouts.VIRTUAL else "compact"
        return self._decoded(found, name, dtype, plist)

    def _mapped_array(
        self, found: Any, name: str, dtype: np.dtype[Any]
    ) -> tuple[FileArray | Bands | None, str]:
        offset, length = found.id.get_offset(), size_of(dtype, found.shape)
        if offset is None:
            self._check_unwritten(found, name)
            return None, "never written"
        if offset % dtype.alignment:
            return None, "its values do not lie at whole words"
        if offset + length > self._mapped.stamp.size:
            said = f"{length} bytes at {offset}, but the file has {self._mapped.stamp.size}"
            raise self._error(errors.DamagedError, name, said).at(offset=offset)
        what = f"{name}: {size(length)}, mapped where they lie in {self.path}"
        made = FileArray(os.dup(self._fd), dtype, found.shape, offset, self._mapped, "C", what)
        return self._if_same(found, made, (1, *found.shape[1:]))

    def _check_unwritten(self, found: Any, name: str) -> None:
        """Refuses what HDF5 gives by chance: what its memory held before."""
        plist = found.id.get_create_plist()
        if plist.fill_value_defined() == self._h5py.h5d.FILL_VALUE_UNDEFINED:
            said = "not all of it was written, and the file has no value for the rest: write it whole"
            raise self._error(errors.UnsupportedError, name, said)

    def _decoded(
        self, found: Any, name: str, dtype: np.dtype[Any], plist: Any
    ) -> tuple[FileArray | Bands | None, str]:
        filters = [plist.get_filter(i) for i in range(plist.get_nfilters())]
        for code, _, values, name_of_it in filters:
            if code not in _FILTERS or (code == _SHUFFLE and len(values) != 1):
                return None, f"the filter {filter_name(code, name_of_it)}"
        called = [_FILTERS[code] for code, *_ in filters]
        if sum(name in ("gzip", "lzf") for name in called) > 1 or called.count("fletcher32") > 1:
            return None, "filtered twice"
        if not hasattr(found.id, "chunk_iter"):
            return None, "this h5py does not say where chunks lie"
        length = size_of(dtype, found.shape)
        is_whole = not self.memory or length <= self.memory // _WHOLE
        if is_whole:
            self._fits(name, length)  # before all of the file is read
        index = chunk_index(found, self._mapped.stamp.size)
        if index is None:
            raise self._error(errors.DamagedError, name, "its index has more chunks than there can be")
        fill = np.zeros((), dtype)
        if len(index) < most_chunks(found):
            self._check_unwritten(found, name)
            if plist.get_fill_time() == self._h5py.h5d.FILL_TIME_NEVER:
                return None, "not all of it was written"
            fill = np.asarray(found.fillvalue, dtype)
        if filters and has_plain_edges(found, index, dtype.itemsize):
            return None, "chunks at its edges may be there without filters"
        index = as_read(found, index, self._fd, self.file.userblock_size)
        if index is None:
            return None, "its index does not lead to all of its chunks"
        chunks: table_operations.Chunks = {
            "path": self.path,
            "stamp": self._mapped.stamp.crossing(),
            "name": name,
            "shape": list(found.shape),
            "chunk": list(found.chunks),
            "element": dtype.itemsize,
            "fill": as_text(fill),
            "filters": [
                {"id": code, "width": values[0] if code == _SHUFFLE else 0} for code, _, values, _ in filters
            ],
            "index": "",
            "threads": self._threads,
            "limits": {} if self.memory else self._limits | self._left(),  # a stream has no windows yet
        }
        what = f"{name}: {many(len(index), 'chunk')} ({', '.join(called) or 'no filters'})"
        if not is_whole:
            rows = index[:, 0]
            for row in rows[(rows < 0) | (rows >= len(found))][:1]:  # which no window would ask for
                raise self._error(errors.DamagedError, name, f"a chunk begins in row {row} of {len(found)}")
            bands = Bands(chunks, index, dtype, what)
            if bands.least > self.memory:  # Windows says what all of them need together
                return bands, ""
            return self._if_same(found, bands, found.chunks)
        made = table_operations.unchunk({**chunks, "index": as_text(index)}, f"reading {name} of {self.path}")
        self._taken += length
        what += f", decoded when it was opened, {size(length)} in memory"
        array = FileArray(made["fd"], dtype, found.shape, runs_in="Go", what=what)
        return self._if_same(found, array, found.chunks)

    def _if_same(
        self, found: Any, made: FileArray | Bands, block: tuple[int, ...]
    ) -> tuple[FileArray | Bands | None, str]:
        """The array, if h5py reads the same in its first and its last block."""
        for i in range(len(block)):
            if size_of(made.dtype, block) > _COMPARED:
                block = (*block[:i], 1, *block[i + 1 :])
        last = tuple(slice((n - 1) // b * b, n) for n, b in zip(found.shape, block, strict=True))
        for part in (tuple(slice(0, b) for b in block), last):
            if found[part].tobytes() != made.read(part).tobytes():
                return None, "h5py reads other values where they seem to lie"
        return made, ""

    def _left(self) -> dict[str, int]:
        limit = self._limits.get("memory")
        return {} if limit is None else {"memory": max(limit - self._taken, 1)}

    def _reserve(self, what: str, length: int, instead: str = "") -> None:
        self._fits(what, length, instead)
        self._taken += length

    def _fits(self, what: str, length: int, instead: str = "") -> None:
        """Refuses what is too large for the memory, and says what to do instead."""
        known = Machine().memory()
        limit = self._left().get("memory", known.free // 2 if known else length)
        if length > limit:
            instead = instead or (
                f'gofast.convert({self.path!r}, "new.h5") writes it so that it is read where it lies, '
                "gofast.IterableDataset.from_hdf5 decodes some rows at a time"
            )
            said = f"it needs {exact(length)} in memory, the limit is {exact(limit)}: {instead}, or raise "
            raise self._error(errors.LimitError, what, said + self.option)
