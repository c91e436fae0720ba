"""What Go does for TFRecord files: it reads them once, and makes an index."""

from __future__ import annotations

from typing import Literal, TypedDict

from .operation import Task
from .stamp import FileStamp

Kind = Literal["byte", "float", "int", ""]  # "": no record has the feature


class Leaf(TypedDict):
    """A column of litData's chunks; see tfrecord.Leaf."""

    name: str
    path: list[str]
    encoding: str


class ShardState(TypedDict):
    """What the index beside a shard is found by; see tfrecord.Shard."""

    size: int
    tag: str


class RecordsRequest(TypedDict):
    """What to index, and where the index is kept ("" for memory); see tfrecord.Options."""

    paths: list[str]
    features: list[str] | None
    compression: str
    form: Literal["", "tar", "table", "mds", "litdata"]
    label: str
    partial: bool
    leaves: list[Leaf]
    unpacked: list[int]
    shard: ShardState | None
    threads: int
    index: str


class RecordFile(TypedDict):
    """One file; see tfrecord.FileSchema."""

    records: int
    stamp: FileStamp
    damage: str
    inflated: int
    bytes: int
    features: str


class Feature(TypedDict):
    """One feature, and where its arrays lie; see tfrecord.ColumnSchema."""

    name: str
    kind: Kind
    values: int
    starts: int
    has: int
    at: int


class RecordsMade(TypedDict):
    """An index; see tfrecord.Schema. Whoever gets it owns the descriptor."""

    fd: int
    files: list[RecordFile]
    columns: list[Feature]
    first: list[str]
    size: int
    begin: int
    end: int
    reused: bool
    kept: bool


index: Task[RecordsRequest, RecordsMade] = Task("tfrecord")
