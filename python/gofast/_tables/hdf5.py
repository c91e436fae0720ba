"""Datasets of an HDF5 file as arrays: h5py says where the values lie, and the core reads them.

h5py is the user's own, and is asked only while a file is opened: no worker needs it, and none of its locks
is held later. What it says is checked against the file, and the first and the last values against its own
reading.
"""

from __future__ import annotations

import base64
import contextlib
import math
import os
import stat
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from .. import errors
from .._core import engine, table_operations
from .._core.machine import Machine
from .._core.stamp import Stamp
from .._core.units import many, size
from .file_arrays import FileArray, MappedFile, sealed, size_of

Columns = tuple[str, ...]

# Filters that the core undoes: see gofast/table/hdf5/filters.go.
_FILTERS = {1: "gzip", 2: "shuffle", 3: "fletcher32", 32000: "lzf"}
_SHUFFLE = 2

_COMPARED = 1 << 24  # bytes, at most, of what h5py reads too


def open_arrays(
    path: str, wanted: Sequence[str | Columns], threads: int | None, limits: dict[str, int]
) -> list[FileArray]:
    """The array of each dataset that is wanted; of several names, their columns side by side.

    Raises:
        gofast.errors.GofastError: as :class:`gofast.HDF5Dataset` says.
    """
    h5py, threads = _h5py(), engine.threads(threads)
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        kind = errors.NotFoundError if isinstance(error, FileNotFoundError) else errors.ReadError
        raise kind(f"open {path}: {error.strerror}").at(path=path) from None
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise errors.ReadError(f"open {path}: not a regular file").at(path=path)
        stamp = Stamp.of(info)
        with _opened(h5py, path) as file:
            opening = _Opening(h5py, file, fd, MappedFile(path, stamp), threads, limits)
            arrays = [opening.array(names) for names in wanted]
        if Stamp.of(os.stat(path)) != stamp:
            raise errors.ChangedError(f"open {path}: the file changed while it was opened").at(path=path)
        return arrays
    finally:
        os.close(fd)


def _h5py() -> Any:
    try:
        import h5py
    except ImportError as error:
        raise errors.UnsupportedError(
            f"HDF5 files are opened with h5py, which cannot be imported here ({error}): pip install h5py"
        ) from None
    return h5py


@contextlib.contextmanager
def _opened(h5py: Any, path: str) -> Iterator[Any]:
    try:
        file = h5py.File(path, "r")
    except (OSError, RuntimeError, ValueError) as error:
        kind: type[errors.GofastError] = errors.DamagedError if h5py.is_hdf5(path) else errors.FormatError
        if getattr(error, "errno", None):  # the system's: somebody writes to it, and holds its lock
            kind = errors.ReadError
        raise kind(f"open {path}: h5py cannot open it: {error}").at(path=path) from None
    with file:
        if file.mode != "r" or file.swmr_mode:
            raise errors.ReadError(
                f"open {path}: this process has it open for writing, and what was written may not be in the "
                "file yet: close it first"
            ).at(path=path)
        yield file


class _Opening:
    """One file that is being opened, and what of the memory is taken."""

    def __init__(
        self, h5py: Any, file: Any, fd: int, mapped: MappedFile, threads: int, limits: dict[str, int]
    ) -> None:
        self._h5py, self._file, self._fd, self._mapped = h5py, file, fd, mapped
        self._threads, self._limits = threads, limits
        self._taken = 0

    def array(self, wanted: str | Columns) -> FileArray:
        """The array of a dataset, or of several columns."""
        if isinstance(wanted, str):
            return self._named(wanted)
        columns = [self._named(name) for name in wanted]
        first = columns[0].array
        for name, column in zip(wanted, columns, strict=True):
            if column.array.ndim != 1:
                raise self._error(
                    errors.SchemaError, name, f"a column has one dimension, not {column.array.ndim}"
                )
            if column.array.dtype != first.dtype or len(column.array) != len(first):
                raise self._error(
                    errors.SchemaError,
                    name,
                    f"{len(column.array)} values of {column.array.dtype}, but {wanted[0]!r} has {len(first)} "
                    f"of {first.dtype}: columns of one matrix are alike",
                )
        shape = (len(first), len(columns))
        self._reserve(", ".join(map(repr, wanted)), size_of(first.dtype, shape))

        def fill(into: Any) -> None:
            for i, column in enumerate(columns):
                into[:, i] = column.array

        what = f"{many(len(columns), 'column')} side by side, {size(size_of(first.dtype, shape))} in memory"
        return sealed(first.dtype, shape, fill, columns[0].runs_in, what)

    def _named(self, name: str) -> FileArray:
        try:
            return self._dataset(name)
        except (errors.GofastError, MemoryError):
            raise
        except Exception as error:  # whatever h5py makes of a damaged file
            raise self._error(errors.DamagedError, name, f"h5py cannot read it: {error}") from None

    def _error(self, kind: type[errors.GofastError], name: str, text: str) -> errors.GofastError:
        path = self._mapped.path
        return kind(f"open {path}: dataset {name!r}: {text}").at(path=path, column=name)

    def _dataset(self, name: str) -> FileArray:
        found = self._file.get(name)
        if not isinstance(found, self._h5py.Dataset):
            there: list[str] = []
            with contextlib.suppress(Exception):  # of another one that is damaged
                self._file.visititems(
                    lambda known, one: there.append(known) if hasattr(one, "shape") else None
                )
            why = "there is none of this name" if found is None else "it is a group"
            listed = ", ".join(map(repr, there[:6])) + ", ..." * (len(there) > 6)
            raise self._error(errors.SchemaError, name, f"{why}; the file has {listed or 'no datasets'}")
        if found.shape is None or found.ndim == 0:
            raise self._error(errors.SchemaError, name, "it has no dimensions: the first one is that of rows")
        kind = found.dtype
        if kind.kind not in "biufc" or kind.subdtype is not None or kind.itemsize > 16:
            raise self._error(
                errors.UnsupportedError,
                name,
                f"it holds {_called(self._h5py, kind)}, and an array holds numbers of one type: write "
                "numbers into a dataset of their own",
            )
        dtype = np.dtype(kind.str).newbyteorder("=")
        native, why = self._read_here(found, name, dtype)
        if native is not None:
            return native
        length = size_of(dtype, found.shape)
        self._reserve(name, length)
        what = f"{name}: {why}: read by h5py when it was opened, {size(length)} in memory"
        return sealed(dtype, found.shape, found.read_direct, "h5py", what)

    def _read_here(self, found: Any, name: str, dtype: np.dtype[Any]) -> tuple[FileArray | None, str]:
        """The array as the core reads it; None, and why only h5py can."""
        plist, layouts = found.id.get_create_plist(), self._h5py.h5d
        if not found.id.get_type().equal(self._h5py.h5t.py_create(dtype)):
            return None, f"stored as another type than {dtype}"
        if found.size == 0:
            return None, "empty"
        if plist.get_external_count():
            return None, "in external files"
        whose, ours = (self._h5py.h5o.get_info(one.id).fileno for one in (found, self._file))
        if whose != ours:
            return None, "a link into another file"
        layout = plist.get_layout()
        if layout == layouts.CONTIGUOUS:
            return self._mapped_array(found, name, dtype)
        if layout != layouts.CHUNKED:
            return None, "virtual" if layout == layouts.VIRTUAL else "compact"
        return self._decoded(found, name, dtype, plist)

    def _mapped_array(self, found: Any, name: str, dtype: np.dtype[Any]) -> tuple[FileArray | None, str]:
        offset, length = found.id.get_offset(), size_of(dtype, found.shape)
        if offset is None:
            self._check_unwritten(found, name)
            return None, "never written"
        if offset % dtype.alignment:
            return None, "its values do not lie at whole words"
        if offset + length > self._mapped.stamp.size:
            said = f"{length} bytes at {offset}, but the file has {self._mapped.stamp.size}"
            raise self._error(errors.DamagedError, name, said).at(offset=offset)
        what = f"{name}: {size(length)}, mapped where they lie in {self._mapped.path}"
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
    ) -> tuple[FileArray | None, str]:
        filters = [plist.get_filter(i) for i in range(plist.get_nfilters())]
        for code, _, values, called in filters:
            if code not in _FILTERS or (code == _SHUFFLE and len(values) != 1):
                return None, f"the filter {called.decode(errors='replace') or code}"
        if sum(_FILTERS[code] in ("gzip", "lzf") for code, *_ in filters) > 1:
            return None, "compressed twice"
        at = self._file.userblock_size > 0
        if at or not hasattr(found.id, "chunk_iter"):
            return None, "this h5py does not say where chunks lie" + " behind a user block" * at
        index = _index(found)
        if index is None:
            raise self._error(errors.DamagedError, name, "it has more chunks than its shape allows")
        fill = np.zeros((), dtype)
        if len(index) < _most(found):
            self._check_unwritten(found, name)
            if plist.get_fill_time() == self._h5py.h5d.FILL_TIME_NEVER:
                return None, "not all of it was written"
            fill = np.asarray(found.fillvalue, dtype)
        if filters and _has_plain_edges(found, index, dtype.itemsize):
            return None, "chunks at its edges may be there without filters"
        if not _are_found(found, index, self._mapped.stamp.size):
            return None, "its index does not lead to all of its chunks"
        made = table_operations.unchunk(
            {
                "path": self._mapped.path,
                "stamp": self._mapped.stamp.crossing(),
                "name": name,
                "shape": list(found.shape),
                "chunk": list(found.chunks),
                "element": dtype.itemsize,
                "fill": _text(fill),
                "filters": [
                    {"id": code, "width": values[0] if code == _SHUFFLE else 0}
                    for code, _, values, _ in filters
                ],
                "index": _text(index),
                "threads": self._threads,
                "limits": self._limits | self._left(),
            },
            f"reading {name} of {self._mapped.path}",
        )
        length = size_of(dtype, found.shape)
        self._taken += length
        how = ", ".join(_FILTERS[code] for code, *_ in filters) or "no filters"
        chunks = f"{many(len(index), 'chunk')} ({how})"
        what = f"{name}: {chunks}, decoded when it was opened, {size(length)} in memory"
        return self._if_same(
            found, FileArray(made["fd"], dtype, found.shape, runs_in="Go", what=what), found.chunks
        )

    def _if_same(self, found: Any, made: FileArray, block: tuple[int, ...]) -> tuple[FileArray | None, str]:
        """The array, if h5py reads the same in its first and its last block."""
        for i in range(len(block)):
            if size_of(made.array.dtype, block) > _COMPARED:
                block = (*block[:i], 1, *block[i + 1 :])
        last = tuple(slice((n - 1) // b * b, n) for n, b in zip(found.shape, block, strict=True))
        for part in (tuple(slice(0, b) for b in block), last):
            if found[part].tobytes() != made.array[part].tobytes():
                return None, "h5py reads other values where they seem to lie"
        return made, ""

    def _left(self) -> dict[str, int]:
        limit = self._limits.get("memory")
        return {} if limit is None else {"memory": max(limit - self._taken, 1)}

    def _reserve(self, what: str, length: int) -> None:
        known = Machine().memory()
        limit = self._left().get("memory", known.free // 2 if known else length)
        if length > limit:
            raise self._error(
                errors.LimitError,
                what,
                f'it needs {length} bytes in memory, the limit is {limit}: raise limits={{"memory": ...}}',
            )
        self._taken += length


def _most(found: Any) -> int:
    """How many chunks its shape has room for."""
    return math.prod(-(-n // chunk) for n, chunk in zip(found.shape, found.chunks, strict=True))


def _index(found: Any) -> np.ndarray[Any, np.dtype[np.int64]] | None:
    """Of each chunk: where it begins, its offset and bytes in the file, and the filters it was spared."""
    most = _most(found)
    rows: list[tuple[int, ...]] = []

    def take(chunk: Any) -> bool | None:
        if chunk.byte_offset is not None:
            rows.append((*chunk.chunk_offset, chunk.byte_offset, chunk.size, chunk.filter_mask))
        return True if len(rows) > most else None  # True ends it: an index may run in a circle

    found.id.chunk_iter(take)
    if len(rows) > most:
        return None
    return np.array(rows, "<i8").reshape(len(rows), found.ndim + 3)


def _has_plain_edges(found: Any, index: np.ndarray[Any, np.dtype[np.int64]], itemsize: int) -> bool:
    """Whether each chunk that reaches beyond the array has the size of its values: an option of HDF5, of
    which h5py says nothing, leaves filters out there."""
    edges = (index[:, : found.ndim] + np.array(found.chunks) > np.array(found.shape)).any(1)
    sizes = index[edges, -2]
    return len(sizes) > 0 and bool((sizes == size_of(np.dtype(f"V{itemsize}"), found.chunks)).all())


def _are_found(found: Any, index: np.ndarray[Any, np.dtype[np.int64]], most: int) -> bool:
    """Whether HDF5 finds each chunk where it listed it: it reads what a damaged index hides as never written.

    Only this call of h5py's searches, as reading does. It copies the chunk's bytes, and unpacks nothing.
    """
    places, rest = index[:, : found.ndim].tolist(), index[:, found.ndim :].tolist()
    largest = max((size for _, size, _ in rest), default=0)
    if largest > most:
        return True  # the core says what is wrong with it
    into = np.empty(largest, np.uint8)
    try:
        for place, (_, size, spared) in zip(places, rest, strict=True):
            mask, raw = found.id.read_direct_chunk(tuple(place), out=into)
            if mask != spared or len(raw) != size:
                return False
    except (OSError, RuntimeError, ValueError, TypeError, OverflowError):
        return False
    return True


def _text(values: Any) -> str:
    return base64.b64encode(values.tobytes()).decode()


def _called(h5py: Any, kind: np.dtype[Any]) -> str:
    """What values are, that are no numbers."""
    if h5py.check_string_dtype(kind) is not None:
        return "strings"
    if h5py.check_vlen_dtype(kind) is not None:
        return "arrays of different lengths"
    if h5py.check_ref_dtype(kind) is not None:
        return "references"
    return f"records of {', '.join(map(repr, kind.names))}" if kind.names else f"values of {kind}"
