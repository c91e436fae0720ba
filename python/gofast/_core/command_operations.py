"""What Go does for the command `gofast`: it reads files, and says what it found."""

from __future__ import annotations

from typing import TypedDict

from .operation import Call, Nothing, Task
from .table_operations import Options
from .tfrecord_operations import Leaf


class ListedShards(TypedDict):
    """Shards of MDS or litData that an index.json lists; see inspect.Shards."""

    form: str
    paths: list[str]
    samples: list[int]
    leaves: list[Leaf]
    compression: str
    unpacked: list[int]


class Verifying(TypedDict):
    """Files, folders and globs to read, and the options that tables are opened with; see inspect.Options."""

    paths: list[str]
    shards: list[ListedShards]
    threads: int
    table: Options
    one_table: bool


class _Pictured(TypedDict, total=False):
    picture: bool
    member: str
    offset: int
    bytes: int


class Problem(_Pictured):
    """A file with which something is wrong; see inspect.Problem."""

    path: str
    kind: str
    reason: str


class _OptionalFindings(TypedDict, total=False):
    missing_libraries: dict[str, str]


class Verification(_OptionalFindings):
    """What was found by reading everything; see inspect.Verification."""

    files: int
    bytes: int
    seconds: float
    pictures: int
    tables: int
    records: int
    tfrecords: int
    tars: int
    shards: int
    hdf5: list[str]
    others: int
    damaged: list[Problem]
    unchecked: list[Problem]
    unreadable_folders: list[str]


class Here(TypedDict):
    """Go's version, the kernels in use by what they work on, and the memory that a table may take."""

    go: str
    kernels: dict[str, str]
    memory: int


here: Call[Nothing, Here] = Call("here")
verify_files: Task[Verifying, Verification] = Task("verify_files")
