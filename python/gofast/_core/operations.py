"""What Go does for Python: every operation with the types of what it takes and gives.

The tables of the other side are `calls` in pybind/call.go and `operations` in pybind/task.go.
"""

from __future__ import annotations

from typing import Any, TypedDict

from .operation import Call, Nothing, Object, Task


class About(TypedDict):
    """The library's version, and the names of the error catalogue."""

    version: str
    errors: list[str]


class Stats(TypedDict):
    """The engine's counters, as far as Python does not read them in memory; see engine.Stats."""

    threads: int
    age: int  # nanoseconds
    tickets: int
    rows: int


class TraceWanted(TypedDict):
    """Where a trace is written, and how many events of a thread are kept."""

    path: str
    events: int


class Span(TypedDict):
    """What a thread did elsewhere, by CLOCK_MONOTONIC, in nanoseconds."""

    thread: int
    name: str
    start: int
    ns: int


class Spans(TypedDict):
    """What a trace has beside what the core's threads did."""

    spans: list[Span]


class TraceSize(TypedDict):
    """How many events a trace has, and how many there was no room for."""

    events: int
    dropped: int


class Codecs(TypedDict):
    """Folders with libraries that are tried before the system's."""

    folders: list[str]


class CodecsFound(TypedDict):
    """The formats that the core decodes, the JPEG library, and why other formats are left to Pillow."""

    native: list[str]
    jpeg: str
    missing: dict[str, str]


class Value(TypedDict):
    """One number that torch drew."""

    value: float


class Dataset(Object):
    """A dataset of the core's: its view, its samples, and how many int32 it draws for each; a sample's shape,
    and the type of its values."""

    length: int
    record_words: int
    shape: list[int]
    type: str


class Numbers(TypedDict):
    """What is made of numbers; see numbers.Spec."""

    scale: str
    mean: list[float] | None
    std: list[float] | None
    dtype: str


class Transform(Numbers):
    """What becomes of a table's rows; see gather.Transform."""

    shape: list[int]
    label: str
    missing_label: int
    classes: int


class _Strides(TypedDict, total=False):
    row_stride: int
    label_stride: int
    label_size: int


class Rows(_Strides):
    """A table in memory, and its transform."""

    features: int
    labels: int
    rows: int
    width: int
    type: str
    label_float: list[bool]
    transform: Transform


class Join(TypedDict):
    """Datasets end to end, seen through a map."""

    datasets: list[int]
    map: int
    length: int


class Output(TypedDict, total=False):
    """A tensor; empty for pictures."""

    channels: int
    crops: int
    height: int
    width: int
    dtype: str
    channels_last: bool
    raw: bool


class Plan(TypedDict):
    """A transform's native steps."""

    steps: list[dict[str, Any]]
    output: Output


class Made(TypedDict):
    """What numbers are made of stored ones, by the words of a plan; see numbers.Spec."""

    scale: str
    mean: list[float] | None
    std: list[float] | None
    dtype: str
    channels: int
    last: bool


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


class Rest(Made):
    """What is left to do to the raw samples of a plan; see image.Numbers."""

    erasures: list[Erasure]


class Codes(Made):
    """Where the results of all 256 bytes go, channels x 256 of them."""

    address: int


class FileReader(TypedDict):
    """Where the paths of files lie; see reader.File."""

    root: str
    paths: int
    offsets: int


class MemoryReader(TypedDict):
    """Where samples lie in memory; see reader.Memory."""

    starts: int
    lengths: int


class Files(TypedDict):
    """How pictures are read, and where what is known of them lies. One of the two readers is None."""

    count: int
    file: FileReader | None
    memory: MemoryReader | None
    seed: int
    epoch: int
    targets: int
    sizes: int


class Pictures(TypedDict):
    """A plan and its files."""

    plan: Plan
    files: Files
    pass_order: str
    max_pixels: int
    max_file_bytes: int


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


class Selection(Features, Codings):
    """What shapes a decoded table; see gofast.TableOptions."""

    label: list[str | int]
    label_optional: bool
    label_type: str
    classes: dict[str, Any] | None
    header: bool | None
    delimiter: str
    skiprows: int


class Sources(Selection):
    """Files of a table, and how to decode them."""

    paths: list[str]
    threads: int
    limits: dict[str, int]


class Row(Sources):
    """One row of the table."""

    row: int


class RowPlace(TypedDict):
    """Where that stands."""

    path: str
    row: int
    line: int


class Cache(Sources):
    """The cache to build."""

    cache: str
    fingerprint: str
    force: bool


class Conversion(Sources):
    """The file to write."""

    destination: str


class CacheFile(TypedDict):
    """A cache."""

    path: str


class Table(TypedDict):
    """A decoded table; see gofast.Schema. Whoever gets it owns the descriptor."""

    fd: int
    rows: int
    width: int
    type: str
    bool: bool
    shape: list[int] | None
    features: list[str] | None
    dropped: list[str] | None
    labels: list[str] | None
    label_kinds: list[str] | None
    classes: list[str] | None
    features_offset: int
    labels_offset: int
    size: int


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
    classes: list[str] | None
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


class Inspection(TypedDict):
    """Files, folders and globs to look at; see inspect.Options."""

    paths: list[str]
    threads: int


class _Pictured(TypedDict, total=False):
    picture: bool


class Problem(_Pictured):
    """A file with which something is wrong; see inspect.Problem."""

    path: str
    kind: str
    reason: str


class _Rest(TypedDict, total=False):
    missing_libraries: dict[str, str]


class Verification(_Rest):
    """What was found by reading everything; see inspect.Verification."""

    files: int
    bytes: int
    seconds: float
    pictures: int
    tables: int
    others: int
    damaged: list[Problem]
    unchecked: list[Problem]
    unreadable_folders: list[str]


class Here(TypedDict):
    """Go's version, the kernels in use by what they work on, and the memory that a table may take."""

    go: str
    kernels: dict[str, str]
    memory: int


class DeviceWanted(TypedDict):
    """A GPU, and where what it needs is found; see device.Options."""

    ordinal: int
    library: str
    compilers: list[str]
    cache: str


class Device(Object):
    """A GPU; see device.Info. And the size of a kernel's parameters."""

    making_bytes: int
    name: str
    ordinal: int
    capability: str
    driver: str
    stream: int


class DeviceStats(TypedDict):
    """A GPU's counters; see device.Stats. And its memory, in bytes."""

    batches: int
    bytes: int
    staged_bytes: int
    pageable_bytes: int
    pinned_bytes: int
    kernels: int
    rate: float
    copy_seconds: float
    kernel_seconds: float
    free: int
    total: int


class Kernel(Object):
    """What a kernel makes of what, by the types' names."""

    stored: str
    made: str


about: Call[Nothing, About] = Call("about")
stats: Call[Nothing, Stats] = Call("stats")
start_trace: Call[TraceWanted, Nothing] = Call("start_trace")
stop_trace: Call[Spans, TraceSize] = Call("stop_trace")
codecs: Call[Codecs, CodecsFound] = Call("codecs")
is_fused: Call[Value, int] = Call("is_fused")
rows: Call[Rows, Dataset] = Call("rows")
pictures: Call[Pictures, Dataset] = Call("pictures")
numbers: Call[Plan, Rest | None] = Call("numbers")
torch_words: Call[Plan, list[TorchWords]] = Call("torch_words")
codes: Call[Codes, None] = Call("codes")
join: Call[Join, Dataset] = Call("join")
free: Call[Object, None] = Call("free")
device: Call[DeviceWanted, Device] = Call("device")
close_device: Call[Object, None] = Call("close_device")
device_stats: Call[Object, DeviceStats] = Call("device_stats")
kernel: Call[Kernel, int] = Call("kernel")

scan_text: Call[dict[str, Any], str] = Call("scan_text")
verify_text: Call[Verification, str] = Call("verify_text")
here: Call[Nothing, Here] = Call("here")

open_table: Task[Sources, Table] = Task("open")
build_cache: Task[Cache, None] = Task("cache")
convert: Task[Conversion, None] = Task("convert")
verify: Task[CacheFile, None] = Task("verify")
index: Task[Index, IndexMade] = Task("index")
place: Task[Row, RowPlace] = Task("place")
scan: Task[Inspection, dict[str, Any]] = Task("scan")  # see inspect.Report
verify_files: Task[Inspection, Verification] = Task("verify_files")
