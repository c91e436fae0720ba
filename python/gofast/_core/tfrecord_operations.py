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


class ShardIndexPlace(TypedDict):
    """The index of a shard among others in one file; see tfrecord.ShardIndex."""

    name: str
    at: int
    bytes: int
    shard: ShardState


class ShardIndexes(TypedDict):
    """Indexes of shards in a file."""

    fd: int
    threads: int
    indexes: list[ShardIndexPlace]


class Packing(TypedDict):
    """Files, of which some may be compressed tar files."""

    paths: list[str]
    threads: int


class Packed(TypedDict):
    """How a tar file is compressed ("" for not at all), and what it may unpack to; see tfrecord.Packed."""

    compression: str
    stamp: FileStamp
    bytes: int


# See tfrecord.Unpacking.
Unpacked = TypedDict("Unpacked", {"from": str, "part": str, "path": str, "bytes": int})


class Unpacking(TypedDict):
    """Compressed files, and where their content is to lie."""

    files: list[Unpacked]
    threads: int


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


class RecordsSchema(TypedDict):
    """What an index holds, and where; see tfrecord.Schema."""

    files: list[RecordFile]
    columns: list[Feature]
    first: list[str]
    size: int
    begin: int
    end: int
    reused: bool
    stored: bool


class RecordsMade(RecordsSchema):
    """An index. Whoever gets it owns the descriptor."""

    fd: int


index: Task[RecordsRequest, RecordsMade] = Task("tfrecord")
shards: Task[ShardIndexes, list[RecordsSchema]] = Task("shards")
packs: Task[Packing, list[Packed]] = Task("packs")
unpack: Task[Unpacking, list[bool]] = Task("unpack")
