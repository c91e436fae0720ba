"""HDF5 files as gofast.convert reads and writes them.

What is written lies there without chunks, in this machine's order of bytes and at whole words:
ArrayDataset.from_hdf5 maps it. h5py makes the room and says where it is, and the values are put there
through a mapping.
"""

from __future__ import annotations

import contextlib
import functools
import math
import mmap
import os
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from .. import errors
from .._core.atomic_files import replaced, writing
from .._core.memory import DecodedMemory
from .._core.progress import Progress
from .._core.table_operations import DecodedTable, Sources
from .._core.warn import warn
from .file_arrays import size_of
from .hdf5 import Opening, opening
from .hdf5_chunks import pieces
from .hdf5_file import import_h5py

_ALIGNED = 64  # bytes; where values may begin
_FEATURES, _CLASSES = "features", "classes"


def is_target(path: str) -> bool:
    """Whether a name is that of an HDF5 file."""
    return path.lower().endswith((".h5", ".hdf5"))


def _names(opened: Opening, config: Sources) -> tuple[list[str], list[str]]:
    """The datasets of the features, by default all of numbers, and those of the labels."""
    given: dict[str, Any] = {option: config[option] for option in ("columns", "label", "exclude")}
    for option, listed in given.items():
        if not all(isinstance(name, str) for name in listed or ()):
            raise errors.OptionError(
                f"{option}={listed!r:.80}: the datasets of an HDF5 file have names, no positions"
            )
        given[option] = [name.strip("/") for name in listed or ()]
    features, labels, left_out = given.values()
    if config["label_optional"] and not isinstance(opened.file.get(*labels), opened.dataset):
        labels = []
    if config["columns"] is None:
        features, others = opened.listed()
        if others := [name for name in others if name not in (*left_out, *labels)]:
            warn(
                f"{opened.path}: left out, since they hold no numbers in rows: {', '.join(map(repr, others))}"
            )
    return [name for name in features if name not in (*left_out, *labels)], labels


@contextlib.contextmanager
def as_npz(config: Sources, target: str) -> Iterator[Sources]:
    """The same request for an npz, gone at the end, of the wanted datasets of an HDF5 file."""
    (source,) = config["paths"]
    with writing(target), tempfile.TemporaryFile(dir=os.path.dirname(target) or ".") as file:
        with (
            opening(source, config["threads"], config["limits"]) as opened,
            zipfile.ZipFile(file, "w") as archive,
        ):
            features, labels = _names(opened, config)
            for name in (*features, *labels):
                words = opened.words(name) if name in labels else None
                array = opened.array(name).array if words is None else words
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, array, allow_pickle=False)
        file.flush()
        stand_in = f"/proc/self/fd/{file.fileno()}"
        chosen: Any = {"paths": [stand_in], "columns": None, "exclude": [], "label": labels}
        try:
            yield config | chosen
        except errors.GofastError as error:
            error.args = tuple(str(arg).replace(stand_in, source) for arg in error.args)
            error.path = source if error.path == stand_in else error.path
            raise


def copy(config: Sources, target: str, progress: str) -> None:
    """Writes datasets of an HDF5 file into another one, in pieces: they may be larger than memory."""
    (source,) = config["paths"]
    with replaced(target) as file, opening(source, config["threads"], config["limits"]) as opened:
        features, labels = _names(opened, config)
        parts = []
        for name in dict.fromkeys((*features, *labels)):
            found, dtype = opened.numbers(name)
            parts.append(_Part(name, dtype, found.shape, functools.partial(_of_dataset, opened, name)))
        _write(file, progress, parts)


def write(schema: DecodedTable, target: str, progress: str) -> None:
    """Writes a table: its features, and each label column. Words are numbers there, and the dataset "classes"
    has the words."""
    table = DecodedMemory(schema)
    layout = table.layout
    shape, kind = (layout.rows, *layout.shape), np.dtype(bool if layout.bool else layout.type)
    taken = [_FEATURES, *layout.labels, *([_CLASSES] if layout.classes is not None else [])]
    if len({*taken}) < len(taken):
        raise errors.OptionError(f"the labels {list(layout.labels)} cannot be called so beside {_FEATURES!r}")
    arrays = {_FEATURES: table.features.view(kind).reshape(shape)}
    arrays |= {name: table.label_column(i) for i, name in enumerate(layout.labels)}
    parts = [
        _Part(name, array.dtype, array.shape, functools.partial(_of_array, array))
        for name, array in arrays.items()
    ]
    with replaced(target) as file:
        _write(file, progress, parts, layout.classes)


class _Part(NamedTuple):
    """A dataset to be written, and what makes its pieces: where each lies in it, and its values."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    pieces: Callable[[], Iterator[tuple[Any, Any]]]


def _of_array(array: Any) -> Iterator[tuple[Any, Any]]:
    for piece in pieces(array.shape, None, array.itemsize):
        yield piece, array[piece]


def _of_dataset(opened: Opening, name: str) -> Iterator[tuple[Any, Any]]:
    """All threads decode what fits into memory; h5py reads the rest piece by piece."""
    try:
        array = opened.array(name).array
    except errors.LimitError:
        found, dtype = opened.numbers(name)
        for piece in pieces(found.shape, found.chunks, dtype.itemsize):
            yield piece, opened.piece(name, found, piece)
    else:
        yield from _of_array(array)


def _write(
    file: BinaryIO, progress: str, parts: Sequence[_Part], classes: Sequence[str] | None = None
) -> None:
    h5py = import_h5py()
    with h5py.File(file, "w", alignment_threshold=1, alignment_interval=_ALIGNED) as made:
        places = [_room(h5py, made, part) for part in parts]
        if classes is not None:
            made[_CLASSES] = list(classes)
    file.flush()
    os.posix_fallocate(file.fileno(), 0, os.fstat(file.fileno()).st_size)  # a full disk is an error now
    total, done = sum(size_of(part.dtype, part.shape) for part in parts), 0
    whole = mmap.mmap(file.fileno(), 0)
    with Progress(progress) as bar:
        for part, place in zip(parts, places, strict=True):
            if place is None:  # no values
                continue
            into = np.frombuffer(whole, part.dtype, math.prod(part.shape), place).reshape(part.shape)
            for piece, values in part.pieces():
                into[piece] = values
                whole.madvise(mmap.MADV_DONTNEED)  # what was written is the file's, and need not stay
                done += values.nbytes
                bar.update(done / total)


def _room(h5py: Any, made: Any, part: _Part) -> int | None:
    """Where the values of a new dataset lie; None without any."""
    plist, links = h5py.h5p.create(h5py.h5p.DATASET_CREATE), h5py.h5p.create(h5py.h5p.LINK_CREATE)
    plist.set_layout(h5py.h5d.CONTIGUOUS)
    plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
    plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    links.set_create_intermediate_group(True)
    kind, space = h5py.h5t.py_create(part.dtype, logical=True), h5py.h5s.create_simple(part.shape)
    name = part.name.encode(errors="surrogateescape")
    offset: int | None = h5py.h5d.create(made.id, name, kind, space, plist, links).get_offset()
    return offset
