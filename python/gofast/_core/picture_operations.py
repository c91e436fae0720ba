"""What Go does for pictures: it finds files, reads plans, and makes datasets of both."""

from __future__ import annotations

from typing import Any, TypedDict

from .dataset_operations import Dataset, Made
from .operation import Call, Nothing, Task


class Output(TypedDict, total=False):
    """A tensor; empty for pictures."""

    channels: int
    crops: int
    height: int
    width: int
    dtype: str
    channels_last: bool
    raw: bool


class _Sizes(TypedDict, total=False):
    any_size: bool


class PlanRequest(_Sizes):
    """A transform's native steps; see image.Plan."""

    steps: list[dict[str, Any]]
    output: Output


class Erasure(TypedDict):
    """A box of a finished sample that is erased; see steps.Erasure."""

    word: int
    value: list[float]


class TorchWords(TypedDict):
    """Words of a record that only torch can compute; see steps.TorchWords."""

    op: str
    word: int
    kernel: list[int]
    version: str


class Record(TypedDict):
    """What an operation draws: words, and what they say; see steps.Record."""

    words: int
    fields: str


class Rest(Made):
    """What is left to do to the raw samples of a plan; see image.Numbers."""

    erasures: list[Erasure]


class FileReader(TypedDict):
    """Where the paths of files lie, and their stamps if each read is to compare them; see reader.File."""

    root: str
    paths: int
    offsets: int
    stamps: int


class MemoryReader(TypedDict):
    """Where samples lie in memory; see reader.Memory."""

    starts: int
    lengths: int


class Stored(TypedDict):
    """Pictures that lie in memory as pixels; see image.Stored."""

    data: int
    strides: list[int]
    width: int
    height: int
    channels: int


class KeptPlace(TypedDict):
    """Where records of pictures are kept; see kept.Config."""

    files: int
    own: int
    index: int
    mapped: int
    limit: int
    shared: int
    records: int
    names: int
    offsets: int


class KeptKeys(TypedDict):
    """Names of files, and where it is written what records of them are found by; see kept.Keys."""

    names: int
    offsets: int
    count: int
    keys: int


class FilesRequest(TypedDict):
    """How pictures are read, and where what is known of them lies. One of the first three is there."""

    count: int
    file: FileReader | None
    memory: MemoryReader | None
    stored: Stored | None
    seed: int
    epoch: int
    targets: int
    extents: int
    facts: int
    mapped: int
    lasting: int
    kept: KeptPlace | None


class PicturesRequest(TypedDict):
    """A plan and its files."""

    plan: PlanRequest
    files: FilesRequest
    pass_order: str
    max_pixels: int
    max_file_bytes: int


class _Kinds(TypedDict, total=False):
    extensions: list[str] | None
    classes: list[str]
    class_ids: list[int]
    paths: list[str]
    labels: list[int] | None


class Scan(_Kinds):
    """What to look for in folders, or a list of files; see folder.Options."""

    kind: str
    root: str


class Index(Scan):
    """The same, and where the index is kept: "" for memory."""

    threads: int
    index: str


class IndexSchema(TypedDict):
    """An index of files; see folder.Schema."""

    count: int
    class_names: str
    empty_classes: list[str] | None
    root: str
    unreadable: list[str] | None
    reused: bool
    size: int
    path_offsets_offset: int
    sample_classes_offset: int
    paths_offset: int
    paths_size: int


class IndexMade(IndexSchema):
    """Whoever gets it owns the descriptor."""

    fd: int


pictures: Call[PicturesRequest, Dataset] = Call("pictures")
numbers: Call[PlanRequest, Rest | None] = Call("numbers")
certain: Call[PlanRequest, list[dict[str, Any]] | None] = Call("certain")
kept_keys: Call[KeptKeys, None] = Call("kept_keys")
records: Call[Nothing, dict[str, Record]] = Call("records")
torch_words: Call[PlanRequest, list[TorchWords]] = Call("torch_words")
index: Task[Index, IndexMade] = Task("index")
