"""Pictures that are a feature of records (TFRecord, tar, shards, tables): extents of files, with labels."""

from __future__ import annotations

import functools
import json
import mmap
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import errors
from .._core import picture_operations
from .._core.descriptors import OwnedDescriptors
from .._core.indexed_records import Column
from .._core.indexed_shards import indexed_shards
from .._core.listed_shards import listed_shards
from .._core.mds_shards import ShardsForm, shards_of
from .._core.memory import address_of
from .._core.patterns import Paths
from .._core.remote_files import downloaded, local_files
from .._core.remote_shards import RemoteShards
from .._core.shown_urls import is_url
from .._core.tfrecord_index import TFRecordIndex
from .file_index import UNLABELLED, Files, shared
from .listing import Listing
from .picture_cache import PictureCache


class RecordFiles(Files):
    """Pictures that are the only value of a feature of each record.

    Args:
        records: the files, with the features that are named.
        image: the feature with the pictures' bytes.
        label: one with a whole number of 32 bits in each record, or None.
        sizes_fd, kept: what was found out about them, and is kept of them, in another process.
        targets: such numbers, where they are no feature.
    """

    def __init__(
        self,
        records: TFRecordIndex,
        image: str,
        label: str | None,
        sizes_fd: int | None = None,
        kept: Mapping[str, PictureCache] | None = None,
        targets: npt.NDArray[np.int32] | None = None,
    ) -> None:
        self._begin_to_keep(kept)
        self._records, self._made_of, self._given = records, (image, label), targets
        self.shards = records if isinstance(records, RemoteShards) else None
        self.called = f"records of {records.asked.form or 'TFRecord'} files"
        self._column = records.column(image)
        self.count, self.root, self.class_names, self.empty_classes = records.count, "", "", []
        self.contents = _RecordBytes(records, self._column)
        self.targets = np.full(self.count, UNLABELLED, np.int32)
        if label is not None:
            self.targets[:] = records.column(label).values
        if targets is not None:
            self.targets[:] = targets
        size = self.found_bytes(self.count)
        self._sizes_fd = shared(size) if sizes_fd is None else sizes_fd
        self._owned = OwnedDescriptors(self._sizes_fd)
        self._find_in(mmap.mmap(self._sizes_fd, size), self.count)
        # What the core reads: paths, each with a zero behind it, and stamps; or where files lie inflated.
        paths = [os.fsencode(path) + b"\0" for path in records.asked.paths]
        self._names = np.frombuffer(b"".join(paths), np.uint8)
        self._path_offsets = np.cumsum([0, *map(len, paths)], dtype=np.uint64)
        self._stamps = np.frombuffer(records.stamps(), np.uint8)
        self._starts, self._lengths = records.inflated()

    def name(self, sample: int) -> str:
        """Its file and its number there."""
        return self._records.place(sample)

    def names_of(self, samples: Sequence[int]) -> list[str]:
        """Those of several samples."""
        return [self.name(sample) for sample in samples]

    def names(self) -> list[str]:
        """All of them."""
        return self._records.places()

    def addresses(self, seed: int, labels: bool) -> picture_operations.FilesRequest:
        """Where the arrays lie, for the core: pictures are extents of the files."""
        made = super().addresses(seed, labels)
        if not self._records.asked.compression:
            made["memory"], made["file"] = None, self._on_disk()
        made["extents"] = address_of(self._column.values)
        return made

    def _on_disk(self) -> picture_operations.FileReader:
        paths, offsets = address_of(self._names), address_of(self._path_offsets)
        stamps = 0 if self.shards else address_of(self._stamps)  # of downloads, the names say what they are
        return {"root": "", "paths": paths, "offsets": offsets, "stamps": stamps}

    def __reduce__(self) -> tuple[Any, ...]:
        if get_spawning_popen() is None:
            return _again, (self._records, *self._made_of, None, None, self._given)
        handed = DupFd(self._sizes_fd), dict(self._kept), self._given
        return _again, (self._records, *self._made_of, *handed)


def _again(
    records: TFRecordIndex,
    image: str,
    label: str | None,
    sizes: Any = None,
    kept: Mapping[str, PictureCache] | None = None,
    targets: npt.NDArray[np.int32] | None = None,
) -> RecordFiles:
    return RecordFiles(records, image, label, None if sizes is None else sizes.detach(), kept, targets)


class _RecordBytes(Sequence[bytes]):
    """The pictures' bytes, for Pillow: read when they are asked for.

    What is wrong with the file of many pictures is an error of gofast's, which no policy for bad samples
    excuses.
    """

    def __init__(self, records: TFRecordIndex, column: Column) -> None:
        self._records, self._column = records, column

    def __len__(self) -> int:
        return self._records.count

    def __getitem__(self, sample: Any) -> Any:
        try:
            return self._records.contents(self._column, sample)[0]
        except errors.GofastError as error:
            said = f"sample {sample}: {self._records.place(sample)}: {error}"
            raise type(error)(said).at(path=error.path, index=int(sample)) from None


def listing_of(records: TFRecordIndex, image: str, label: str | None) -> Listing:
    """The listing of the pictures and labels of records.

    Raises:
        SchemaError: a feature is not there, or not of the kind that is needed.
        MissingValueError: a record does not have it.
    """
    pictures = _one(records, image, "byte")
    if label is None:
        return Listing(RecordFiles(records, pictures.name, None), has_labels=False)
    column = _one(records, label, "int")
    if not _small(column.values):
        return Listing(RecordFiles(records, image, None), "", column.values.tolist())
    return Listing(RecordFiles(records, image, label))


def listing_of_tar(
    paths: Paths, image: str, label: str | Sequence[str] | None, partial: bool
) -> tuple[Listing, list[str] | None]:
    """The listing of the pictures and labels of tar files, and the names of the labels, where there are any.

    See :meth:`gofast.ImageFiles.from_tar`.

    Raises:
        OptionError: a suffix is none.
        SchemaError: no sample has it, or a label is not what its suffix says.
        MissingValueError: a sample does not have it.
    """
    several = isinstance(label, (list, tuple))
    labels: list[Any] = [*label] if several and label is not None else [] if label is None else [label]
    if not all(isinstance(suffix, str) for suffix in (image, *labels)) or label == []:
        raise errors.OptionError("image= and label= are suffixes, such as 'jpg;png' and 'cls'")
    names = [name.partition(":")[0] for name in labels]
    number = names[0] if labels and not several and _maker(labels[0]) is None else ""
    features, remote = [*dict.fromkeys([image, *names])], None
    if number or not labels:
        remote = indexed_shards(paths, features, number)
    records = remote or TFRecordIndex.of_tar(local_files(paths), features, number, partial)
    if not labels or number:
        return listing_of(records, image, number or None), records.class_names(number) if number else None
    columns = [_labels(records, name, _maker(name) or int) for name in labels]
    values = list(zip(*columns, strict=True)) if several else columns[0]
    return Listing(RecordFiles(records, _one(records, image, "byte").name, None), "", values), None


def listing_of_shards(
    root: str | os.PathLike[str], form: ShardsForm, image: str, label: str | None
) -> Listing:
    """The listing of the pictures and labels of shards; see :meth:`gofast.ImageFiles.from_mds`."""
    shards = shards_of(os.path.expanduser(os.fspath(root)), form)
    if not all(isinstance(name, str) for name in (image, label or "")):
        raise errors.OptionError("image= and label= are names of columns, such as 'image' and 'class'")
    features = [image] if label is None else [image, label]
    remote = is_url(shards.paths[0])
    records: TFRecordIndex | None = listed_shards(shards, features) if remote else None
    if remote and records is None:
        here = downloaded(dict.fromkeys(shards.paths))
        shards = shards._replace(paths=[here[url] for url in shards.paths])
    records = records or TFRecordIndex.of_shards(shards, features)
    if label is None or records.column(label).kind != "byte":
        return listing_of(records, image, label)
    pictures = _one(records, image, "byte")
    return Listing(RecordFiles(records, pictures.name, None), "", _labels(records, label, bytes.decode))


def _labels(records: TFRecordIndex, label: str, make: Callable[[bytes], Any]) -> list[Any]:
    """The labels of all records, which are made of texts."""
    name, made = label.partition(":")[0], list[Any]()
    for record, text in enumerate(records.texts(_one(records, name, "byte"))):
        try:
            made.append(make(text))
        except (ValueError, LookupError, TypeError) as error:
            said = f"{records.place(record)}: the label {label!r} is {text[:80]!r}: {error!r:.200}"
            raise errors.SchemaError(said).at(row=record, column=name) from error
    return made


def _maker(label: str) -> Callable[[bytes], Any] | None:
    """What makes a label of its member's bytes; None: it is a whole number, which the core reads.

    A ":" begins the names in JSON: "json:label.id".
    """
    suffix, _, names = label.partition(":")
    kind = suffix.rpartition(".")[2]
    if kind in ("json", "jsn"):
        return functools.partial(_in_json, names.split(".") if names else [])
    return bytes.decode if kind in ("txt", "text", "transcript") else None


def _in_json(names: Sequence[str], text: bytes) -> Any:
    return functools.reduce(operator.getitem, names, json.loads(text))


def listing_beside(records: TFRecordIndex, image: str, labels: npt.NDArray[Any]) -> Listing:
    """The listing of pictures whose labels are those of a table of as many rows."""
    if len(labels) != records.count:
        said = f"{len(labels)} rows have labels, and {records.count} pictures: the file changed meanwhile"
        raise errors.ChangedError(f"{records.asked.paths[0]}: {said}").at(path=records.asked.paths[0])
    pictures = _one(records, image, "byte")
    if labels.dtype.kind != "i" or labels.ndim > 1 or not _small(labels):
        return Listing(RecordFiles(records, pictures.name, None), "", labels.tolist())
    return Listing(RecordFiles(records, pictures.name, None, targets=labels.astype(np.int32)))


def _small(values: npt.NDArray[Any]) -> bool:
    return not len(values) or -(1 << 31) <= values.min() <= values.max() < 1 << 31


def _one(records: TFRecordIndex, name: str, kind: str) -> Column:
    """A feature of this kind of which each record has one value."""
    column = records.column(name)
    if column.kind not in (kind, ""):
        raise errors.SchemaError(
            f"{records.place(0)}: the feature {name!r} is of type {column.kind!r}, and {kind!r} is needed"
        ).at(column=name)
    wrong = np.flatnonzero((np.diff(column.starts) != 1) | (column.has == 0))
    if len(wrong):
        record = int(wrong[0])
        if not column.has[record]:
            raise records.missing(name, record)
        count = int(column.starts[record + 1] - column.starts[record])
        raise errors.SchemaError(
            f"{records.place(record)}: the feature {name!r} has {count} values, and one is needed"
        ).at(row=record, column=name)
    return column
