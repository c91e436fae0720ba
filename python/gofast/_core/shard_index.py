"""The index beside a tar shard, which `gofast shard` writes, and those of several shards as one.

It is the index that any tar file has, with all suffixes (``gofast/source/tfrecord/tar.go``). The text of
`cls` is a number in it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import errors
from . import engine, tfrecord_operations
from .braces import index_name
from .indexed_records import IndexedRecords
from .regular_files import regular_file
from .remote_operations import FetchedFile, RemoteState
from .shard_pieces import ShardPieces
from .shown_urls import shown
from .tfrecord_index import RecordsOptions, TFRecordIndex
from .tfrecord_operations import Feature, Kind, RecordsMade, ShardIndexPlace, ShardState

_LABEL = "cls"


def _asked(*paths: str) -> RecordsOptions:
    return RecordsOptions([*paths], None, "", None, "tar", _LABEL)


def write_index(shard: str, path: str, tag: str = "") -> None:
    """Writes the index of a file that is a shard, unless it is there: files of one size may differ.

    Args:
        tag: the ETag of the object that the file is in a bucket.

    Raises:
        OptionError: something else is there.
        ReadError: it cannot be written.
        GofastError: as of `TFRecordIndex.of_tar`.
    """
    asked = _asked(os.path.abspath(shard))
    state: ShardState = {"size": os.path.getsize(shard), "tag": tag}
    with contextlib.suppress(errors.NotFoundError, errors.ChangedError, errors.DamagedError):
        if content_of(read_index(path, state)) == content_of(index_of(shard)):
            return
        os.unlink(path)
    os.close(tfrecord_operations.index(asked.request(os.path.abspath(path), state))["fd"])


def read_index(path: str, shard: ShardState) -> IndexedRecords:
    """The index of a shard of this size and ETag, or of a file of this size.

    Raises:
        ChangedError: it is that of another one.
        DamagedError: it is no whole index of this version.
        NotFoundError, ReadError: it is not there, or cannot be read.
    """
    with regular_file(path) as (fd, info):
        return _indexes(fd, [{"name": path, "at": 0, "bytes": info.st_size, "shard": shard}])[0]


def indexes_at(
    fd: int, places: Sequence[FetchedFile], urls: Sequence[str], states: Sequence[RemoteState]
) -> list[IndexedRecords]:
    """The indexes of shards on a server, which lie in one file.

    Raises:
        ChangedError, DamagedError: as of `read_index`.
    """
    return _indexes(
        fd,
        [
            {"name": shown(index_name(url)), **place, "shard": {"size": state["size"], "tag": state["tag"]}}
            for url, state, place in zip(urls, states, places, strict=True)
        ],
    )


def _indexes(fd: int, places: list[ShardIndexPlace]) -> list[IndexedRecords]:
    told = tfrecord_operations.shards({"fd": fd, "threads": engine.threads(), "indexes": places})
    with open(fd, "rb", closefd=False) as file:
        file.seek(0)
        memory = memoryview(file.read())  # not mapped: others may write to it
    parts = (memory[each["at"] : each["at"] + each["bytes"]] for each in places)
    return [IndexedRecords(part, schema) for part, schema in zip(parts, told, strict=True)]


def index_of(shard: str) -> TFRecordIndex:
    """The same, made of a file, in memory."""
    asked = _asked(os.path.abspath(shard))
    made = tfrecord_operations.index(asked.request(""))
    return TFRecordIndex(made["fd"], made, asked)


def content_of(index: IndexedRecords) -> str:
    """A digest of all that an index has, which does not depend on when and where the shard was written."""
    (file,) = index.schema["files"]
    return f"{index.digest()} {hashlib.blake2b(file['features'].encode()).hexdigest()}"


def joined(parts: Sequence[IndexedRecords], features: Sequence[str], pieces: ShardPieces) -> RecordsMade:
    """The index of all files, one behind the other, with these features, in memory. Places are in pieces.

    Raises:
        DamagedError: they do not fit together.
    """
    arrays: list[npt.NDArray[Any]] = []
    columns: list[Feature] = []
    end = 0

    def place(array: npt.NDArray[Any]) -> int:
        nonlocal end
        at, end = end, end + (array.nbytes + 7) // 8 * 8
        arrays.append(array)
        return at

    for name in features:
        each, before = [], 0
        for part in parts:
            each.append(_feature(part, name, pieces, before))
            before += part.count
        kinds = {kind for kind, _, _ in each if kind}
        if len(kinds) > 1:
            raise errors.DamagedError(f"the suffix {name!r} is text in one index and a number in another")
        has = np.concatenate([one for _, _, one in each])
        values = np.concatenate([one for kind, one, _ in each if kind] or [np.zeros(0, np.int64)])
        starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(has, dtype=np.int64)])
        columns.append(
            {
                "name": name,
                "kind": min(kinds, default=""),
                "values": int(starts[-1]),
                "starts": place(starts),
                "has": place(has),
                "at": place(values),
            }
        )
    end += 8  # of nothing, too, there is something to map
    fd = os.memfd_create("gofast-shards", os.MFD_CLOEXEC)
    with open(fd, "r+b", closefd=False) as file:
        for array in arrays:
            file.write(array.data)
            file.write(bytes(-array.nbytes % 8))
        file.truncate(end)
    files = [part.schema["files"][0] for part in parts]
    first = parts[0].schema
    return {**first, "fd": fd, "files": files, "columns": columns, "size": end, "begin": 0, "end": end}


def _feature(
    part: IndexedRecords, name: str, pieces: ShardPieces, before: int
) -> tuple[Kind, npt.NDArray[np.int64], npt.NDArray[np.uint8]]:
    """What a file has of a feature: its kind, the values of the records that have it, and which these are. In
    "jpg;png" the first one counts that a record has."""
    found = [part.columns[suffix] for suffix in name.split(";") if suffix in part.columns]
    kind: Kind = next((column.kind for column in found if column.kind), "")
    has = np.zeros(part.count, np.uint8)
    values = np.zeros((part.count, 3 if kind == "byte" else 1), np.int64)
    for column in reversed(found):
        mine = column.has == 1
        if column.kind != kind or not np.array_equal(np.diff(column.starts), mine):
            raise errors.DamagedError(f"the index of a tar file has no single {name!r} in each record")
        values[mine] = column.values.reshape(-1, values.shape[1])
        has[mine] = 1
    if kind == "byte":
        piece = pieces.of(np.arange(before, before + part.count))
        values[:, 0] |= piece  # file 0; behind the number stands whether it is a picture without a format
        values[:, 1] -= pieces.spans[piece, 0]
    return kind, values[has == 1].reshape(-1), has
