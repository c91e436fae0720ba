"""TFRecord files: the index that the core made of them, mapped, and the values of features."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import mmap
import operator
import os
import re
import struct
from collections.abc import Iterable, Iterator, Sequence
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import errors
from . import engine, tfrecord_operations
from .cache_folder import own_index
from .descriptors import OwnedDescriptors
from .indexed_records import Column, IndexedRecords
from .mds_shards import Shards
from .patterns import Paths, files_of
from .stamp import Stamp
from .tfrecord_operations import Leaf, RecordsRequest, RecordsSchema, ShardState
from .units import many
from .unpacked_files import unpacked_files
from .warn import warn

_KEPT_FROM = 64 << 20  # smaller files are read again before anybody notices
_GAP = 4 << 10  # bytes between two values that cost less than a call
_MOST = 8 << 20  # bytes of one reading

_FILE = (1 << 32) - 1  # the file's number in the first word of a place
_PIXELS = (1 << 31) - 1  # what is behind it, of a picture without a file format

_Place = tuple[int, int]  # offset and length


class RecordsOptions(NamedTuple):
    """What was opened.

    Attributes:
        paths: absolute ones.
        features: names; None: all.
        compression: "", "gzip", "zlib", or those of `Shards`.
        kept: where the index is; None: where gofast keeps its own.
        form: of the files; "": TFRecord.
        label: of tar files, the feature whose text is a whole number.
        partial: of tar files, what stands before damage is indexed.
        leaves: of litData's chunks, the columns.
        unpacked: of compressed MDS shards, how many bytes each holds; 0: it is not compressed.
        packed: of tar files the ones that were given, if some are compressed: `paths` has what these hold.
    """

    paths: list[str]
    features: list[str] | None
    compression: str
    kept: str | None
    form: Literal["", "tar", "table", "mds", "litdata"] = ""
    label: str = ""
    partial: bool = False
    leaves: Sequence[Leaf] = ()
    unpacked: Sequence[int] = ()
    packed: Sequence[str] = ()

    def request(self, index: str, shard: ShardState | None = None) -> RecordsRequest:
        """The same for the core."""
        return {
            "paths": self.paths,
            "features": self.features,
            "compression": self.compression,
            "form": self.form,
            "label": self.label,
            "partial": self.partial,
            "leaves": list(self.leaves),
            "unpacked": list(self.unpacked),
            "shard": shard,
            "threads": engine.threads(),
            "index": index,
        }


class TFRecordIndex(IndexedRecords):
    """Records of TFRecord files, by number.

    Copies in one process share it, and so do processes that are forked or spawned from this one. Of any other
    pickle the files are read again.

    Attributes:
        names: what errors call the files.
    """

    def __init__(self, fd: int, schema: RecordsSchema, asked: RecordsOptions) -> None:
        self._fd, self.asked, self.names = fd, asked, [*asked.packed] or asked.paths
        self._owned = OwnedDescriptors(fd)
        super().__init__(mmap.mmap(fd, schema["size"], mmap.MAP_SHARED, mmap.PROT_READ), schema)
        self._stamps = [Stamp.crossed(file["stamp"]) for file in schema["files"]]
        self._ends = np.cumsum([file["records"] for file in schema["files"]])

    @classmethod
    def open(
        cls,
        paths: Paths,
        features: Sequence[str] | None,
        compression: str | None = None,
        index: str | Path | None = None,
    ) -> TFRecordIndex:
        """Reads files once, or maps what an earlier reading kept, if nothing changed.

        Raises:
            OptionError: no files, or an option makes no sense.
            NotFoundError, ReadError: a file, or the index that was asked for.
            DamagedError: a file is not whole, or a checksum differs.
            UnsupportedError, SchemaError, LimitError: see ``gofast/source/tfrecord``.
        """
        if compression not in (None, "", "gzip", "zlib"):
            raise errors.OptionError(f'compression_type={compression!r} is not "gzip", "zlib" or None')
        kept = None if index is None or _is_of_others(index) else os.path.abspath(os.fspath(index))
        names = None if features is None else list(features)
        return cls._made(RecordsOptions(files_of(paths), names, compression or "", kept))

    @classmethod
    def of_tar(cls, paths: Paths, suffixes: Sequence[str], label: str, partial: bool) -> TFRecordIndex:
        """Reads the headers of WebDataset's shards: neighbours with one key are a record.

        Compressed ones are unpacked first, see `unpacked_files`.

        Args:
            suffixes: of the members that are features; in "jpg;png" the first one counts that a record has.
            label: the one whose text is a whole number, or "".
            partial: damage is a warning. The file's records before it are there, those behind it are not.

        Raises:
            OptionError: no files.
            NotFoundError, ReadError: a file.
            DamagedError, UnsupportedError, SchemaError, LimitError: see ``gofast/source/tfrecord/tar.go``.
        """
        names, files = list(dict.fromkeys(suffixes)), files_of(paths)
        asked = RecordsOptions(unpacked_files(files), names, "", None, "tar", label, partial)
        asked = asked if asked.paths == files else asked._replace(packed=files)
        with _named(asked):
            made = cls._made(asked)
        for path, name, file in zip(asked.paths, made.names, made.schema["files"], strict=True):
            if file["damage"]:
                what = f"{many(file['records'], 'sample')} before it are taken, and none behind it"
                warn(f"{file['damage'].replace(path, name)}: {what}", once=f"damage {name}")
        return made

    @classmethod
    def of_table(cls, paths: Paths, image: str) -> TFRecordIndex:
        """Finds the values of a column of binaries in Parquet and Arrow files: a row is a record.

        Raises:
            OptionError: no files.
            NotFoundError, ReadError: a file.
            FormatError: one of another format.
            SchemaError: no such column, or one of other values.
            DamagedError, UnsupportedError, LimitError: see ``find.go`` of both formats.
        """
        return cls._made(RecordsOptions(files_of(paths), [image], "", None, "table"))

    @classmethod
    def of_shards(cls, shards: Shards, features: Sequence[str]) -> TFRecordIndex:
        """Finds the values of columns in shards of mosaicml-streaming or litData: a sample is a record.

        Raises:
            NotFoundError, ReadError: a file.
            DamagedError: one is not what it says, or what the folder's index says of it.
            UnsupportedError, SchemaError, LimitError: see ``gofast/source/tfrecord/mds.go``.
        """
        asked = RecordsOptions(shards.paths, list(dict.fromkeys(features)), shards.compression, None)
        made = cls._made(asked._replace(form=shards.form, leaves=shards.leaves, unpacked=shards.unpacked))
        for path, samples, file in zip(shards.paths, shards.samples, made.schema["files"], strict=True):
            if file["records"] != samples:
                said = f"{path}: it has {many(file['records'], 'sample')}, and index.json says {samples}"
                raise errors.DamagedError(said).at(path=path)
        return made

    @classmethod
    def _made(cls, asked: RecordsOptions) -> TFRecordIndex:
        own = None
        if asked.kept is None and asked.compression == "" and _size(asked.paths) >= _KEPT_FROM:
            asked_for = [asked.features, asked.form, asked.label, asked.partial, asked.leaves]
            own = own_index("tfrecord", [asked.paths, *asked_for])
        config = asked.request(asked.kept or own or "")
        label = f"indexing {len(asked.paths)} {asked.form or 'TFRecord'} files"
        try:
            made = tfrecord_operations.index(config, label)
        except (errors.ReadError, errors.LimitError, errors.OptionError) as error:
            if own is None or error.path is None or not error.path.startswith(own):
                raise
            config["index"] = ""  # where gofast would keep it, nothing can be written
            made = tfrecord_operations.index(config, label)
        if asked.kept is not None and not made["stored"]:
            why = "a file was written within the last two seconds, and may change without a trace"
            if asked.compression:
                why = "of compressed files it would be as large as their content"
            warn(f"index={asked.kept!r} was not written: {why}", once=f"index {asked.kept}: {why}")
        return cls(made["fd"], made, asked)

    def place(self, record: int) -> str:
        """What errors call a record: its file, and its number there."""
        file = int(np.searchsorted(self._ends, record, "right"))
        return f"{self.names[file]}[{record - (int(self._ends[file - 1]) if file else 0)}]"

    def places(self) -> list[str]:
        """All of them."""
        files = zip(self.names, self.schema["files"], strict=True)
        return [f"{path}[{number}]" for path, file in files for number in range(file["records"])]

    def column(self, name: str) -> Column:
        """A feature that was asked for.

        Raises:
            SchemaError: no record has it.
        """
        found = self.columns.get(name)
        if found is None or (found.kind == "" and self.count):
            has = ", ".join(map(repr, self.schema["first"])) or "no features"
            raise errors.SchemaError(
                f"{self.names[0]}: no record has a feature {name!r}; the first one has {has}"
            ).at(path=self.names[0], column=name)
        return found

    def missing(self, name: str, record: int) -> errors.MissingValueError:
        """The error for a record without a feature."""
        said = f"{self.place(record)}: the record has no feature {name!r}"
        return errors.MissingValueError(said).at(row=record, column=name)

    def contents(self, column: Column, record: int) -> list[bytes]:
        """The values of a feature of bytes; see `values`."""
        return self.values([column], record)[0]

    def values(self, columns: Sequence[Column], record: int) -> list[list[bytes]]:
        """The values of features of bytes. The record's file is opened once.

        Raises:
            ChangedError: the file is not what it was.
            NotFoundError, ReadError: it cannot be read.
        """
        places = [c.values[c.starts[record] : c.starts[record + 1]].tolist() for c in columns]
        if not any(places):
            return [[] for _ in columns]
        read = self._inflated if self.asked.compression else self._on_disk
        file = next(each[0][0] for each in places if each) & _FILE
        stored = [[self._stored(*place) for place in each] for each in places]
        found = read(file, sorted({place for each in stored for place in each}))
        return [
            [
                _unpacked(self.asked.paths[file], found[at], *place)
                for at, place in zip(ats, each, strict=True)
            ]
            for ats, each in zip(stored, places, strict=True)
        ]

    def _stored(self, file: int, offset: int, length: int) -> _Place:
        """Where all of what becomes a value lies."""
        if file <= _FILE or file >> 32 == _PIXELS:
            return offset, length
        plain = (file >> 32) - 1 + length
        return offset, min(6 * plain + 32, self._stamps[file & _FILE].size - offset)  # gf_snappy_most

    def texts(self, column: Column) -> list[bytes]:
        """The only value of a feature of bytes of every record. Each file is opened once.

        Raises:
            SchemaError: they are pictures.
            ChangedError, NotFoundError, ReadError: as of `values`.
        """
        if (column.values[:, 0] > _FILE).any():
            said = f"{self.names[0]}: the feature {column.name!r} holds pictures, and texts are needed"
            raise errors.SchemaError(said).at(path=self.names[0], column=column.name)
        places, made = column.values.tolist(), list[bytes]()
        for file, group in itertools.groupby(places, operator.itemgetter(0)):
            part = [(offset, length) for _, offset, length in group]
            found = self._inflated(file, part) if self.asked.compression else self._on_disk(file, part)
            made += [found[place] for place in part]
        return made

    def _inflated(self, file: int, places: Iterable[_Place]) -> dict[_Place, bytes]:
        start = self.schema["files"][file]["inflated"]
        return {(at, length): bytes(self._bytes[start + at : start + at + length]) for at, length in places}

    def _on_disk(self, file: int, places: Sequence[_Place]) -> dict[_Place, bytes]:
        path, was = self.asked.paths[file], self._stamps[file]
        try:
            fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)  # a FIFO must not block
            try:
                now = Stamp.of(os.fstat(fd))
                found = _read(fd, places) if now == was else {}
            finally:
                os.close(fd)
        except OSError as error:
            kind = errors.NotFoundError if isinstance(error, FileNotFoundError) else errors.ReadError
            raise kind(f"{path}: {error.strerror}").at(path=path, offset=places[0][0]) from error
        if now != was or any(len(data) != length for (_, length), data in found.items()):
            said = f"{path}: the file changed since it was indexed: make the dataset again"
            raise errors.ChangedError(said).at(path=path)
        return found

    def class_names(self, column: str) -> list[str] | None:
        """The names of a column's whole numbers, where Hugging Face's datasets wrote them.

        Raises:
            SchemaError: files have different ones.
        """
        each = [_class_names(file["features"], column) for file in self.schema["files"]]
        for path, names in zip(self.names, each, strict=True):
            if names != each[0]:
                said = f"the classes are {names}, those of {self.names[0]} are {each[0]}"
                raise errors.SchemaError(f"{path}: column {column!r}: {said}").at(path=path, column=column)
        return each[0]

    def stamps(self) -> bytes:
        """The files' stamps, as C reads them."""
        return b"".join(struct.pack("=qqqQ", *stamp) for stamp in self._stamps)

    def inflated(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.uint64]]:
        """Where the content of each compressed file lies in memory, and how long it is."""
        base = np.frombuffer(self._bytes, np.uint8).__array_interface__["data"][0]
        held = self.schema["files"]
        starts = np.array([base + file["inflated"] for file in held], np.uint64)
        return starts, np.array([file["bytes"] for file in held], np.uint64)

    def digest(self) -> str:
        """Of its columns; of tables, whose labels lie elsewhere, of the files' sizes and times, too."""
        made = super().digest()
        if self.asked.form != "table":
            return made
        told = [made, *((stamp.size, stamp.modified) for stamp in self._stamps)]
        return hashlib.blake2b(repr(told).encode(), digest_size=16).hexdigest()

    def __copy__(self) -> TFRecordIndex:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> TFRecordIndex:
        return self  # nobody writes to it

    def __reduce__(self) -> tuple[Any, ...]:
        if get_spawning_popen() is not None:
            return _handed, (DupFd(self._fd), self.schema, self.asked)
        return _read_again, (self.asked, self.digest())


def _class_names(features: str, column: str) -> list[str] | None:
    try:
        names = json.loads(features)["info"]["features"][column]["names"]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    return names if isinstance(names, list) and all(isinstance(one, str) for one in names) else None


def _read(fd: int, places: Sequence[_Place]) -> dict[_Place, bytes]:
    """Bytes of a file, by place. Those that lie close to each other are read at once."""
    found: dict[_Place, bytes] = {}
    first = 0
    for i, (offset, length) in enumerate(places):
        end = offset + length
        near = i + 1 < len(places) and places[i + 1][0] - end <= _GAP
        if near and sum(places[i + 1]) - places[first][0] <= _MOST:
            continue
        begin = places[first][0]
        data = os.pread(fd, end - begin, begin)
        for at, size in places[first : i + 1]:
            found[at, size] = data[at - begin : at - begin + size]
        first = i + 1
    return found


def _unpacked(path: str, stored: bytes, file: int, offset: int, length: int) -> bytes:
    """A value of what lies there; see ``packed`` in ``gofast/source/reader/extent.h``."""
    packed = file >> 32
    if not packed:
        return stored
    if packed == _PIXELS:
        value, how = engine.capsule().picture_file(stored), "are no picture of Pillow's"
    else:
        value, how = engine.capsule().unpacked(stored, packed - 1, length), "cannot be unpacked (snappy)"
    if value is None:
        said = f"{path}: offset {offset}: the bytes {how}"
        raise errors.DamagedError(said).at(path=path, offset=offset)
    return value


def _handed(fd: Any, schema: RecordsSchema, asked: RecordsOptions) -> TFRecordIndex:
    return TFRecordIndex(fd.detach(), schema, asked)


def _read_again(asked: RecordsOptions, digest: str) -> TFRecordIndex:
    if asked.packed:
        asked = asked._replace(paths=unpacked_files([*asked.packed]))
    with _named(asked):
        records = TFRecordIndex._made(asked)
    if records.digest() != digest:
        said = f"{asked.paths[0]}: other records than when the dataset was pickled"
        raise errors.ChangedError(said).at(path=asked.paths[0])
    return records


@contextlib.contextmanager
def _named(asked: RecordsOptions) -> Iterator[None]:
    """Errors name a compressed file as it was given. Offsets are in what it unpacks to."""
    try:
        yield
    except errors.GofastError as error:
        if not asked.packed or error.path not in asked.paths:
            raise
        name = asked.packed[asked.paths.index(error.path)]
        said = str(error).replace(error.path, name)
        raise type(error)(said).at(**{**error.__dict__, "path": name}) from None


def _size(paths: Sequence[str]) -> int:
    with contextlib.suppress(OSError):  # the core says so
        return sum(map(os.path.getsize, paths))
    return 0


def _is_of_others(index: str | Path) -> bool:
    """Whether it is an index of the tfrecord package: offsets and lengths in text, not needed here."""
    try:
        with open(index, "rb") as file:
            return re.match(rb"\d+ \d+\s", file.read(64)) is not None
    except OSError:
        return False
