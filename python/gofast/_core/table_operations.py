"""What Go does for tables: it opens, converts and caches them, and makes datasets of their rows."""

from __future__ import annotations

from typing import Any, TypedDict

from .dataset_operations import Dataset, NumbersRequest
from .operation import Call, Task
from .stamp import FileStamp


class Transform(NumbersRequest):
    """What becomes of a table's rows; see gather.Transform."""

    shape: list[int]
    label: str
    missing_label: int
    classes: int


class _Strides(TypedDict, total=False):
    row_stride: int
    label_stride: int
    label_size: int


class RowsRequest(_Strides):
    """A table in memory, and its transform."""

    features: int
    labels: int
    rows: int
    width: int
    type: str
    label_float: list[bool]
    transform: Transform


class TokenWindowsRequest(TypedDict):
    """Windows of an array of tokens in memory; see tokens.Windows."""

    first: int
    tokens: int
    type: str
    block: int
    stride: int


class Features(TypedDict):
    """Which columns are features, and what stands for empty cells."""

    columns: list[str | int] | None
    exclude: list[str | int]
    fill_value: float | str | None
    fill_values: list[dict[str, Any]]


class Codings(TypedDict):
    """Columns of texts and dates that become numbers."""

    categories: list[dict[str, Any]]
    dates: list[dict[str, Any]]


class ColumnText(TypedDict):
    """A column whose texts are kept; see load.ColumnText."""

    column: str
    missing: str | None


class Selection(Features, Codings):
    """What shapes a decoded table; see load.Options."""

    label: list[str | int]
    label_optional: bool
    label_type: str
    classes: dict[str, Any] | None
    header: bool | None
    delimiter: str
    decimal: str
    thousands: str
    encoding: list[int] | None
    skiprows: int


class Options(Selection):
    """How to decode a table."""

    texts: list[ColumnText]
    rounds: str


class Sources(Options):
    """Files of a table, and how to decode them."""

    paths: list[str]
    threads: int
    limits: dict[str, int]


class RowRequest(Sources):
    """One row of the table."""

    row: int


class RowPlace(TypedDict):
    """Where that stands."""

    path: str
    row: int
    line: int


class Building(TypedDict):
    """A cache that waits for what becomes of its texts, by a number of the caller's choice."""

    building: int


class Cache(Sources, Building):
    """The cache to build."""

    cache: str
    fingerprint: str
    force: bool


class Conversion(Sources):
    """The file to write."""

    destination: str


class KeptTexts(TypedDict):
    """Where the texts of a column lie; see load.KeptTexts."""

    count: int
    ends_offset: int
    bytes_offset: int
    bytes: int


class TextsMemory(TypedDict):
    """Where all of them lie. Whoever gets it owns the descriptor, if there are columns."""

    fd: int
    columns: list[KeptTexts] | None


class KeptMemory(TypedDict):
    """Memory of the caller, which is his until the task has ended."""

    address: int
    size: int


class KeptValues(KeptMemory):
    """Values of all texts. Without a type, all are 1."""

    name: str
    type: str


class KeptColumn(TypedDict):
    """What becomes of the texts of a column; see cache.Text."""

    name: str
    ends: KeptMemory
    values: list[KeptValues]


class CacheTexts(Building):
    """The same of all columns."""

    texts: list[KeptColumn]


class DecodedTable(TypedDict):
    """A decoded table; see load.Decoded. Whoever gets it owns the memory."""

    address: int
    rows: int
    width: int
    type: str
    bool: bool
    shape: list[int] | None
    features: list[str] | None
    dropped: list[str] | None
    labels: list[str] | None
    texts: list[str] | None
    label_kinds: list[str] | None
    classes: list[str] | None
    features_offset: int
    labels_offset: int
    size: int
    kept: TextsMemory


class Filter(TypedDict):
    """One that chunks went through; see hdf5.Filter."""

    id: int
    width: int


class Chunks(TypedDict):
    """A chunked dataset of an HDF5 file; see hdf5.Dataset."""

    path: str
    stamp: FileStamp
    name: str
    shape: list[int]
    chunk: list[int]
    element: int
    fill: str
    filters: list[Filter]
    index: str
    threads: int
    limits: dict[str, int]


class ChunksOfRows(Chunks):
    """Some of its rows, and memory of the caller, which is his until the task has ended."""

    rows: list[int]
    address: int
    size: int


class Unchunked(TypedDict):
    """Its values in memory that processes share. Whoever gets it owns the descriptor."""

    fd: int


class StreamName(TypedDict):
    """A table that is decoded in parts, by a number of the caller's choice."""

    stream: int


class StreamRequest(Sources, StreamName):
    """The stream to open."""

    memory: int


class OpenedStream(DecodedTable):
    """What is known before anything is decoded; see load.Opened."""

    stamps: list[FileStamp]


Piece = TypedDict("Piece", {"file": int, "from": int, "to": int, "rows": int, "row": int})
"""Consecutive rows of a file; see load.Piece."""


class Cut(StreamName):
    """How many rows a piece has at least."""

    rows: int


class RoomRequest(StreamName):
    """Memory of the caller, which is his until the task has ended."""

    address: int
    size: int


class Pieces(RoomRequest):
    """What is decoded into it."""

    pieces: list[Piece]


class FilledRoom(DecodedTable):
    """The table in it, and where its first row stands. It may not fit: then `size` is what it needs."""

    at: Piece
    fits: bool


rows: Call[RowsRequest, Dataset] = Call("rows")
tokens: Call[TokenWindowsRequest, Dataset] = Call("tokens")
open_table: Task[Sources, DecodedTable] = Task("open")
build_cache: Task[Cache, TextsMemory | None] = Task("cache")
finish_cache: Task[CacheTexts, None] = Task("cache_texts")
close_cache: Call[Building, None] = Call("close_cache")
convert: Task[Conversion, None] = Task("convert")
verify: Task[Sources, None] = Task("verify")
file_rows: Task[Sources, list[int]] = Task("file_rows")
place: Task[RowRequest, RowPlace] = Task("place")
unchunk: Task[Chunks, Unchunked] = Task("hdf5")
unchunk_rows: Task[ChunksOfRows, None] = Task("hdf5_rows")
open_stream: Task[StreamRequest, OpenedStream] = Task("stream")
cut_stream: Task[Cut, list[Piece] | None] = Task("stream_cut")
stream_rows: Task[Pieces, FilledRoom] = Task("stream_rows")
stream_next: Task[RoomRequest, FilledRoom] = Task("stream_next")
close_stream: Call[StreamName, None] = Call("close_stream")
