"""Arrow files and streams of pyarrow, pandas and polars, with their defaults and options, against pyarrow."""

from __future__ import annotations

import decimal
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest
import torch

import gofast
from gofast import TableDataset, errors
from gofast._core import command_operations
from gofast._tables.column_options import verified
from reference import assert_same, stored

NUMBERS: list[Any] = [
    *(pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
    *(pa.float16(), pa.float32(), pa.float64(), pa.bool_()),
]
CODECS: list[Any] = [None, "lz4", "zstd"]
TEXTS: list[Any] = [pa.string(), pa.large_string(), pa.string_view()]


def write(table: pa.Table, path: Path, codec: str | None = None, rows: int = 1 << 20, **options: Any) -> Path:
    """A stream where the path ends so, else a file; batches of at most so many rows."""
    new = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
    with new(path, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec, **options)) as out:
        out.write_table(table, max_chunksize=rows)
    return path


def read(path: Path) -> pa.Table:
    with pa.OSFile(str(path)) as file:
        return (
            pa.ipc.open_stream(file).read_all()
            if path.suffix == ".arrows"
            else pa.ipc.open_file(file).read_all()
        )


def want(path: Path, fill: float | None = None) -> torch.Tensor:
    """The same by pyarrow and pandas."""
    columns = [c.to_pandas().to_numpy(np.float64, na_value=np.nan) for c in read(path).columns]
    x = np.stack(columns, axis=1)
    return torch.from_numpy(x if fill is None else np.where(np.isnan(x), fill, x))


def numbers(rng: np.random.Generator, kind: Any, rows: int) -> Any:
    if pa.types.is_boolean(kind):
        return rng.integers(0, 2, rows).astype(bool)
    if pa.types.is_floating(kind):
        return rng.standard_normal(rows).astype(kind.to_pandas_dtype())
    info = np.iinfo(kind.to_pandas_dtype())
    least, most = [(0, 100), (max(info.min, -(2**53)), min(info.max, 2**53))][int(rng.integers(2))]
    return rng.integers(least, most, rows, kind.to_pandas_dtype(), endpoint=True)


def column(rng: np.random.Generator, kind: Any, rows: int) -> pa.Array:
    mask = rng.random(rows) < rng.choice([0, 0, 0.01, 0.5, 1])
    made = pa.array(numbers(rng, kind, rows), kind, mask=mask)
    if kind != pa.bool_() and kind != pa.float16() and rng.random() < 0.2:
        made = made.dictionary_encode()
        index = [pa.int8(), pa.uint8(), pa.int16(), pa.uint16(), pa.int32(), pa.int64()]
        if len(made.dictionary) > 100:
            index = index[2:]
        made = made.cast(pa.dictionary(index[int(rng.integers(len(index)))], kind))
    return made


def random_path(rng: np.random.Generator, folder: Path) -> Path:
    return folder / ["t.arrow", "t.feather", "t.arrows"][int(rng.integers(3))]


@pytest.mark.parametrize("seed", range(60))
def test_random_tables(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    rows = int(rng.choice([0, 1, 7, 8, 9, 63, 1000, 5000]))
    kinds = [NUMBERS[i] for i in rng.integers(0, len(NUMBERS), int(rng.integers(1, 30)))]
    table = pa.table({f"c{i}": column(rng, kind, rows) for i, kind in enumerate(kinds)})
    codec = CODECS[int(rng.integers(3))]
    size = int(rng.choice([1, 9, 64, 1000, 1 << 20])) if rows < 1000 else int(rng.choice([100, 777, 1 << 20]))
    path = write(table, random_path(rng, tmp_path), codec, size)
    assert_same(stored(path, fill_value=-7), want(path, fill=-7))
    # Whatever is said of a Parquet file of these values is said of this one.
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=max(rows, 1))
    same = TableDataset(tmp_path / "t.parquet", label=None, fill_value=-7)
    made = TableDataset(path, label=None, fill_value=-7)
    assert (made.columns, made.dtype, len(made)) == (same.columns, same.dtype, len(same))


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("name", ["t.arrow", "t.arrows"])
def test_every_type_alone(codec: Any, name: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    for kind in NUMBERS:
        for nulls in (0, 0.3):
            table = pa.table({"x": pa.array(numbers(rng, kind, 999), kind, mask=rng.random(999) < nulls)})
            path = write(table, tmp_path / name, codec, 250)
            assert_same(stored(path, fill_value=3), want(path, fill=3))


@pytest.mark.parametrize("codec", CODECS)
def test_buffers_of_many_blocks(codec: Any, tmp_path: Path) -> None:
    """lz4's blocks of 64 KiB refer to those before them."""
    rng = np.random.default_rng(9)
    table = pa.table(
        {
            "repeated": np.tile(rng.integers(-(2**31), 2**31, 9000), 30),
            "random": rng.integers(-(2**53), 2**53, 270_000),
            "runs": np.repeat(rng.integers(0, 9, 270), 1000),
        }
    )
    path = write(table, tmp_path / "t.arrow", codec)
    assert_same(stored(path), want(path))


def test_slices_and_offsets(tmp_path: Path) -> None:
    """Writers begin a batch in the middle of an array's buffers."""
    rng = np.random.default_rng(2)
    whole = pa.table(
        {
            "x": pa.array(np.arange(100.0), mask=rng.random(100) < 0.2),
            "b": pa.array(rng.random(100) < 0.5, mask=rng.random(100) < 0.2),
            "label": pa.array([f"w{i % 7}" for i in range(100)]),
        }
    )
    for start in range(0, 20, 3):
        part = whole.slice(start, 61)
        path = write(part, tmp_path / "t.arrow")
        made = TableDataset(path, fill_value=-1)
        x = part.drop_columns("label").to_pandas().to_numpy(np.float64, na_value=-1)
        assert_same(made[:]["features"].double(), torch.from_numpy(np.where(np.isnan(x), -1, x)))
        assert [made.classes[i] for i in made.targets] == part["label"].to_pylist()


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", TEXTS, ids=str)
@pytest.mark.parametrize("name", ["t.arrow", "t.arrows"])
def test_texts(name: str, kind: Any, codec: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(3)
    words = ["", "ä", "twelve bytes", "thirteen bytes", "a text that is longer than a view has room for"]
    chosen = [words[i] for i in rng.integers(0, 5, 500)]
    plain = pa.array(chosen, kind)
    table = pa.table({"x": np.arange(500), "text": plain, "label": pa.array(chosen, kind)})
    path = write(table, tmp_path / name, codec, 77)
    made = TableDataset(path, text=["text"])
    assert made[:]["text"] == chosen
    assert [made.classes[i] for i in made.targets] == chosen and made.classes == sorted(words)
    assert_same(made[:]["features"][:, 0].double(), torch.arange(500.0).double())
    holes = pa.array([None if i % 3 == 0 else word for i, word in enumerate(chosen)], kind)
    path = write(pa.table({"x": np.arange(500), "text": holes}), path, codec, 100)
    made = TableDataset(path, label=None, text={"text": gofast.tokens.Text(missing="none")})
    assert made[:]["text"] == ["none" if i % 3 == 0 else word for i, word in enumerate(chosen)]
    with pytest.raises(errors.MissingValueError) as caught:
        TableDataset(path, label="text")
    assert (caught.value.row, caught.value.column, caught.value.path) == (0, "text", str(path))


@pytest.mark.parametrize("name", ["t.arrow", "t.arrows"])
def test_categories_of_a_dictionary(name: str, tmp_path: Path) -> None:
    """A word that no row has is no class."""
    codes = np.random.default_rng(4).integers(0, 3, 200)
    words = np.array(["red", "green", "blue", "never"])
    for index in (pa.int8(), pa.uint16(), pa.int64()):
        coded = pa.DictionaryArray.from_arrays(pa.array(codes, index), pa.array(words))
        path = write(pa.table({"x": codes, "label": coded, "colour": coded}), tmp_path / name, None, 64)
        order = ["never", "blue", "green", "red"]
        made = TableDataset(path, categories={"colour": order})
        assert made.classes == ["blue", "green", "red"]
        assert [made.classes[i] for i in made.targets] == words[codes].tolist()
        assert_same(
            made[:]["features"].double(),
            torch.tensor([[c, order.index(words[c])] for c in codes], dtype=torch.float64),
        )


@pytest.mark.parametrize("deltas", [True, False])
def test_dictionaries_of_a_stream_change(deltas: bool, tmp_path: Path) -> None:
    parts = (
        [["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"]]
        if deltas
        else [["a", "b"], ["c"], ["b", "x", "a"]]
    )
    batches = [
        pa.record_batch(
            {
                "x": np.arange(len(p)),
                "label": pa.DictionaryArray.from_arrays(pa.array(range(len(p)), pa.int8()), p),
            }
        )
        for p in parts
    ]
    path = tmp_path / "t.arrows"
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=deltas)
    with pa.ipc.new_stream(path, batches[0].schema, options=options) as out:
        for batch in batches:
            out.write_batch(batch)
    made = TableDataset(path)
    assert [made.classes[i] for i in made.targets] == [word for part in parts for word in part]


def test_a_null_in_a_dictionary_is_refused(tmp_path: Path) -> None:
    coded = pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int8()), pa.array(["a", None]))
    path = write(pa.table({"x": [1, 2], "label": coded}), tmp_path / "t.arrow")
    with pytest.raises(errors.UnsupportedError, match="a null in dictionary") as caught:
        TableDataset(path)
    assert caught.value.column == "label"


TIMES: list[Any] = [
    *(pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
    *(pa.timestamp(unit) for unit in ("s", "ms", "us", "ns")),
    pa.timestamp("us", "Europe/Berlin"),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
]


@pytest.mark.parametrize("kind", TIMES, ids=str)
def test_dates_and_times(kind: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    day = 24 * 3600
    per = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
    unit = getattr(kind, "unit", "D")
    if pa.types.is_date(kind):
        days = rng.integers(-(10**5), 10**5, 300)
        counts, seconds = (days if kind == pa.date32() else days * day * 1000), days * day
    else:
        most = day if pa.types.is_time(kind) else 10**9
        counts = rng.integers(0 if pa.types.is_time(kind) else -most * per[unit], most * per[unit], 300)
        seconds = np.floor_divide(counts, per[unit])
    width = np.int32 if kind.bit_width == 32 else np.int64
    table = pa.table({"when": pa.array(counts.astype(width)).view(kind), "x": np.arange(300)})
    path = write(table, tmp_path / "t.arrow", None, 100)
    made = TableDataset(path, label=None, dates={"when": "s"}, dtype=torch.float64)
    assert made[:]["features"][:, 0].tolist() == seconds.tolist()
    with pytest.raises(errors.UnsupportedError, match=r'dates=\{"when": "s"\}'):
        TableDataset(path, label=None)
    with pytest.raises(errors.UnsupportedError, match="cannot be a label"):
        TableDataset(path, label="when")


@pytest.mark.parametrize(
    "kind", [pa.decimal32(9, 2), pa.decimal64(18, 3), pa.decimal128(38, 10), pa.decimal256(76, 4)], ids=str
)
def test_decimals(kind: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(6)
    with decimal.localcontext(prec=80):
        values = [
            decimal.Decimal(int.from_bytes(rng.bytes(32), signed=True) % 10**kind.precision).scaleb(
                -kind.scale
            )
            * (-1) ** i
            for i in range(100)
        ]
        table = pa.table({"x": pa.array([*values, None], kind)})
    path = write(table, tmp_path / "t.arrow", "lz4", 30)
    made = TableDataset(path, label=None, fill_value=0.5, dtype=torch.float64)
    assert made[:]["features"][:, 0].tolist() == [*map(float, values), 0.5]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("kind", [pa.uint8(), pa.int32(), pa.float32(), pa.float64(), pa.bool_()], ids=str)
def test_lists(kind: Any, codec: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    values = numbers(rng, kind, 300 * 5).reshape(300, 5)
    for make in (lambda of: pa.list_(of), pa.large_list, lambda of: pa.list_(of, 5)):
        column = pa.array(values.tolist(), make(kind))
        path = write(
            pa.table({"x": column.slice(3), "label": np.arange(297)}), tmp_path / "t.arrow", codec, 70
        )
        made = TableDataset(path, dtype=torch.float64)
        assert made.shape == (5,)
        assert_same(made[:]["features"], torch.from_numpy(values[3:].astype(np.float64)))
        holes = [
            None if i % 11 == 3 else [None if rng.random() < 0.1 else v for v in row]
            for i, row in enumerate(values.tolist())
        ]
        path = write(pa.table({"x": pa.array(holes, make(kind))}), path, codec, 70)
        filled = [
            [9.0] * 5 if row is None else [9.0 if v is None else float(v) for v in row] for row in holes
        ]
        made = TableDataset(path, label=None, fill_value=9, dtype=torch.float64)
        assert made[:]["features"].tolist() == filled


def test_lists_of_other_lengths_are_an_error(tmp_path: Path) -> None:
    rows: list[Any] = [[1, 2], [3, 4], [5], [6, 7]]
    for row in ([5], [5, 6, 7], []):
        rows[2] = row
        path = write(pa.table({"x": pa.array(rows, pa.list_(pa.int64()))}), tmp_path / "t.arrow", None, 3)
        with pytest.raises(
            errors.SchemaError, match=r"the first row has.*all rows must have the same"
        ) as caught:
            TableDataset(path, label=None)
        assert caught.value.column == "x" and caught.value.row in (1, 2, 3)


def test_binaries_of_one_length_are_pixels(tmp_path: Path) -> None:
    pixels = np.random.default_rng(8).integers(0, 256, (50, 12), np.uint8)
    column = pa.array([row.tobytes() for row in pixels], pa.binary(12))
    path = write(pa.table({"x": column, "label": np.arange(50)}), tmp_path / "t.arrow", "zstd", 20)
    assert_same(TableDataset(path)[:]["features"], torch.from_numpy(pixels).float())


REFUSED: dict[str, tuple[Any, str]] = {
    "struct": (pa.array([{"a": 1, "b": "x"}] * 3), "a struct, a map or a list of lists"),
    "map": (
        pa.array([[("a", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
        "a struct, a map or a list of lists",
    ),
    "lists of lists": (pa.array([[[1], [2, 3]]] * 3), "a struct, a map or a list of lists"),
    "lists of texts": (pa.array([["a"]] * 3), "a list of strings"),
    "list view": (pa.array([[1, 2]] * 3, pa.list_view(pa.int64())), "a struct, a map or a list of lists"),
    "interval": (pa.array([(1, 2, 3)] * 3, pa.month_day_nano_interval()), "does not read"),
    "union": (
        pa.UnionArray.from_sparse(pa.array([0, 0, 0], pa.int8()), [pa.array([1, 2, 3])]),
        "a struct, a map",
    ),
    "dense union": (
        pa.UnionArray.from_dense(
            pa.array([0, 0, 0], pa.int8()), pa.array([0, 1, 2], pa.int32()), [pa.array([1, 2, 3])]
        ),
        "a struct, a map",
    ),
    "runs": (pa.RunEndEncodedArray.from_arrays([1, 3], [1, 2]), "does not read"),
    "dates in lists": (pa.array([[1]] * 3, pa.list_(pa.date32())), "a list of dates"),
    "views in a struct": (
        pa.array([{"v": "a text of more than twelve bytes"}] * 3, pa.struct([("v", pa.string_view())])),
        "a struct",
    ),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_refused_is_refused_alone(what: str, tmp_path: Path) -> None:
    column, why = REFUSED[what]
    view = pa.array(["a text of more than twelve bytes", "", "b"], pa.string_view())
    table = pa.table({"before": [1, 2, 3], "it": column, "text": view, "after": [4.5, 5.5, 6.5]})
    for codec in (None, "zstd"):
        path = write(table, tmp_path / "t.arrow", codec, 2)
        with pytest.raises(errors.UnsupportedError, match=why) as caught:
            TableDataset(path, label=None, columns=["before", "it"])
        assert caught.value.column == "it"
        made = TableDataset(path, label="text", columns=["before", "after"])
        assert made[:]["features"].tolist() == [[1, 4.5], [2, 5.5], [3, 6.5]]
        assert [made.classes[i] for i in made.targets] == view.to_pylist()
        assert damage(path) == []


def test_a_column_of_nothing(tmp_path: Path) -> None:
    table = pa.table({"none": pa.nulls(5), "x": [1, 2, 3, 4, 5]})
    path = write(table, tmp_path / "t.arrow")
    assert TableDataset(path, label=None, fill_value=8)[:]["features"].tolist() == [
        [8, i] for i in range(1, 6)
    ]
    with pytest.raises(errors.MissingValueError) as caught:
        TableDataset(path, label=None)
    assert (caught.value.row, caught.value.column) == (0, "none")


def test_other_writers(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"a": [0.5, 1.5], "b": pd.array([1, None], "Int64"), "label": ["x", "y"]}, index=[7, 9]
    )
    path = tmp_path / "t.feather"
    feather.write_feather(frame.reset_index(drop=True), path)
    pl.from_pandas(frame).write_ipc(tmp_path / "p.arrow", compression="zstd")
    pl.from_pandas(frame).with_columns(pl.col("label").cast(pl.Categorical)).write_ipc_stream(
        tmp_path / "p.arrows"
    )
    # Of a frame with an index, the index is no column.
    write(pa.Table.from_pandas(frame), tmp_path / "i.arrow")
    for name in ("t.feather", "p.arrow", "p.arrows", "i.arrow"):
        made = TableDataset(tmp_path / name, fill_value=4)
        assert made[:]["features"].tolist() == [[0.5, 1], [1.5, 4]], name
        assert made.classes == ["x", "y"]


def test_old_metadata(tmp_path: Path) -> None:
    table = pa.table({"x": [1, 2, 3], "y": [0.5, None, 2.5]})
    path = write(
        table, tmp_path / "t.arrow", metadata_version=pa.ipc.MetadataVersion.V4, use_legacy_format=True
    )
    assert_same(stored(path, fill_value=7), want(path, fill=7))


def test_a_file_of_version_0_17() -> None:
    """pyarrow has it among its tests."""
    path = Path(pa.__file__).parent / "tests/data/feather/v0.17.0.version.2-compression.lz4.feather"
    if not path.exists():
        pytest.skip("this pyarrow came without its tests")
    assert_same(stored(path), want(path))


def as_0_17(path: Path, table: pa.Table, codec: str, note: str) -> Path:
    """A stream whose record batches name their codec in a note, as 0.17 did, and not where it belongs."""
    options = pa.ipc.IpcWriteOptions(compression=codec, metadata_version=pa.ipc.MetadataVersion.V4)
    with pa.ipc.new_stream(path, table.schema, options=options) as out:
        for part in table.to_batches(max_chunksize=300):
            out.write_batch(part, custom_metadata={"ARROW:experimental_compression": note})
    content, at = bytearray(path.read_bytes()), 0

    def table_at(at: int) -> int:
        return at + struct.unpack_from("<I", content, at)[0]

    def field(of: int, number: int) -> int:  # where its offset stands
        vtable = of - struct.unpack_from("<i", content, of)[0]
        return vtable + 4 + 2 * number if 4 + 2 * number < content[vtable] else 0

    def place(of: int, number: int) -> int:
        slot = field(of, number)
        return of + struct.unpack_from("<H", content, slot)[0] if slot and content[slot] else 0

    while length := struct.unpack_from("<I", content, at + 4)[0]:
        message = table_at(at + 8)
        body, kind = place(message, 3), place(message, 1)
        if content[kind] == 3:
            slot = field(table_at(place(message, 2)), 3)
            assert content[slot] != 0
            content[slot] = 0
        at += 8 + length + (struct.unpack_from("<q", content, body)[0] if body else 0)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(("codec", "note"), [("lz4", "LZ4"), ("lz4", "lz4"), ("zstd", "ZSTD")])
def test_a_codec_named_in_a_note(codec: str, note: str, tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(1000) % 9, "y": np.linspace(0, 1, 1000)})
    path = as_0_17(tmp_path / "t.arrows", table, codec, note)
    assert read(path).equals(table)
    assert_same(stored(path), want(path))


def test_an_unknown_codec_named_in_a_note(tmp_path: Path) -> None:
    path = as_0_17(tmp_path / "t.arrows", pa.table({"x": np.arange(1000)}), "lz4", "snappy")
    with pytest.raises(pa.ArrowInvalid):
        read(path)
    with pytest.raises(errors.UnsupportedError, match="snappy"):
        TableDataset(path, label=None)


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", [pa.ipc.MetadataVersion.V4, pa.ipc.MetadataVersion.V5])
@pytest.mark.parametrize("ended", [True, False])
def test_a_stream_without_markers(codec: Any, version: Any, ended: bool, tmp_path: Path) -> None:
    """Those before version 0.15, also without the zero at the end."""
    words = pa.array(["a", "b", "c"] * 200).dictionary_encode()
    holes = pa.array([None, 1, 2] * 200)
    table = pa.table({"x": np.arange(600), "y": holes, "label": words, **{f"c{i}": holes for i in range(99)}})
    path = write(table, tmp_path / "t.arrows", codec, 250, use_legacy_format=True, metadata_version=version)
    if not ended:
        path.write_bytes(path.read_bytes()[:-4])
    made = TableDataset(path, fill_value=5)
    assert_same(
        made[:]["features"].double(),
        torch.from_numpy(table.drop(["label"]).to_pandas().fillna(5).to_numpy(np.float64)),
    )
    assert [made.classes[i] for i in made.targets] == table["label"].to_pylist()
    content = path.read_bytes()
    for end in (4, 100, len(content) // 2, len(content) - 6):
        path.write_bytes(content[:end])
        with pytest.raises(errors.GofastError):
            TableDataset(path, fill_value=5)


@pytest.mark.parametrize("name", ["t.arrow", "t.arrows"])
def test_linked_blocks_with_checksums(name: str, tmp_path: Path) -> None:
    """What polars makes of LZ4, where a buffer takes several blocks."""
    frame = pl.DataFrame({"x": np.tile(np.arange(1000.0), 300), "y": np.arange(300_000) % 7})
    path = tmp_path / name
    (frame.write_ipc_stream if path.suffix == ".arrows" else frame.write_ipc)(path, compression="lz4")
    assert_same(stored(path), torch.from_numpy(frame.to_numpy()))
    content = bytearray(path.read_bytes())
    block = content.index(b"\x04\x22\x4d\x18") + 40_000  # inside the first
    content[block] ^= 1
    path.write_bytes(content)
    with pytest.raises(errors.DamagedError, match="checksum"):
        TableDataset(path, label=None)


def test_nulls_that_nobody_counted(tmp_path: Path) -> None:
    """-1 stands for a number that the writer did not know."""
    table = pa.table({"x": [7, 8, None], "y": [0.5, 1.5, 2.5]})
    path = write(table, tmp_path / "t.arrow")
    content = path.read_bytes()
    node = struct.pack("<qq", 3, 1)
    assert content.count(node) == 1
    path.write_bytes(content.replace(node, struct.pack("<qq", 3, -1)))
    assert read(path).equals(table)
    assert_same(stored(path, fill_value=4), want(path, fill=4))


def test_errors_say_where(tmp_path: Path) -> None:
    table = pa.table(
        {"a": np.arange(10), "b": pa.array([None if i == 7 else i for i in range(10)], pa.int16())}
    )
    path = write(table, tmp_path / "t.arrow", None, 3)
    with pytest.raises(errors.MissingValueError, match="record batch 2: null in a feature column") as caught:
        TableDataset(path, label=None)
    assert (caught.value.row, caught.value.column, caught.value.path) == (7, "b", str(path))
    path = write(pa.table({"a": pa.array([1, 2**63], pa.uint64())}), path)
    with pytest.raises(errors.BadValueError, match=str(2**63)) as caught:
        TableDataset(path, dtype="int64", label=None)
    assert (caught.value.row, caught.value.column) == (1, "a")
    (tmp_path / "big.arrows").write_bytes(write(table, tmp_path / "t.arrows").read_bytes() * 2)
    with pytest.raises(errors.UnsupportedError, match="behind the end of the stream"):
        TableDataset(tmp_path / "big.arrows")


def damage(path: Path) -> list[Any]:
    """What `gofast verify` finds."""
    table = verified(label=None)
    return command_operations.verify_files(
        {"paths": [str(path)], "shards": [], "threads": 2, "table": table, "one_table": False}
    )["damaged"]


def test_verify_reads_all_columns(tmp_path: Path) -> None:
    """All that can be features: a struct beside them is not checked."""
    words = [f"number {i}" for i in range(1000)]
    table = pa.table({"s": pa.StructArray.from_arrays([pa.array(words)], ["w"]), "x": np.arange(1000.0)})
    path = write(table, tmp_path / "t.arrow", "zstd", 300)
    assert damage(path) == []
    content = bytearray(path.read_bytes())
    at = content.rindex(b"\x28\xb5\x2f\xfd")  # the last frame of zstd
    content[at : at + 4] = b"none"
    path.write_bytes(content)
    [found] = damage(path)
    assert "record batch 3: the page cannot be decompressed" in found["reason"], found


def test_convert(tmp_path: Path) -> None:
    table = pa.table({"x": np.arange(100) % 7, "y": np.linspace(0, 1, 100), "label": ["a", "b"] * 50})
    path = write(table, tmp_path / "t.arrow", "lz4", 30)
    gofast.convert(path, tmp_path / "t.parquet")
    again = pq.read_table(tmp_path / "t.parquet").select(["x", "y", "label"]).to_pandas()
    assert (
        again["y"].tolist() == table["y"].to_pylist()
        and again["label"].tolist() == table["label"].to_pylist()
    )


def test_a_cache_and_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "parts"
    folder.mkdir()
    for i in range(3):
        write(pa.table({"x": np.arange(i * 10, i * 10 + 10), "label": [i] * 10}), folder / f"{i}.arrow")
    for _ in range(2):
        made = TableDataset(folder, cache=tmp_path / "cache.cache")
        assert made[:]["features"][:, 0].tolist() == list(range(30))
