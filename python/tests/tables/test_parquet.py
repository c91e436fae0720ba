"""Parquet files of pyarrow, pandas, polars and duckdb, with their defaults and options, against pyarrow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from gofast import TableDataset, errors
from reference import assert_same, stored

ROWS = 3000


def want(path: Path, fill: float | None = None) -> torch.Tensor:
    """The same by pyarrow."""
    columns = [c.to_pandas().to_numpy(np.float64, na_value=np.nan) for c in pq.read_table(path).columns]
    x = np.stack(columns, axis=1)
    return torch.from_numpy(x if fill is None else np.where(np.isnan(x), fill, x))


def numbers(seed: int = 1, rows: int = ROWS) -> pa.Table:
    """Columns of every number type, with runs, small ranges and whole ranges."""
    rng = np.random.default_rng(seed)
    columns: dict[str, Any] = {
        "pixel": rng.integers(0, 256, rows),
        "run": np.repeat(rng.integers(0, 9, rows // 100 + 1), 100)[:rows],
    }
    for kind in ("int8", "int16", "int32", "uint8", "uint16", "uint32"):
        info = np.iinfo(kind)
        columns[kind] = rng.integers(info.min, info.max, rows, dtype=kind, endpoint=True)
    columns["int64"] = rng.integers(-(2**53), 2**53, rows)
    columns["uint64"] = rng.integers(0, 2**53, rows, dtype=np.uint64)
    columns["float32"] = rng.standard_normal(rows).astype(np.float32)
    columns["float64"] = rng.standard_normal(rows)
    columns["bool"] = rng.integers(0, 2, rows).astype(bool)
    columns["sorted"] = np.arange(rows) * 3 - 1000
    return pa.table(columns)


CODECS = ["none", "snappy", "gzip", "zstd", "brotli", "lz4"]


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_pyarrow(codec: str, version: str, dictionary: bool, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        numbers(), path, compression=codec, data_page_version=version, use_dictionary=dictionary,
        row_group_size=700, data_page_size=2048, write_page_index=dictionary, write_page_checksum=True,
    )  # fmt: skip
    assert_same(stored(path), want(path))


@pytest.mark.parametrize("group", [1, 7, 64, 1024, 1 << 20])
@pytest.mark.parametrize("page", [64, 1 << 20])
def test_row_groups_and_pages(group: int, page: int, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(numbers(2, 500), path, row_group_size=group, data_page_size=page)
    assert_same(stored(path), want(path))


@pytest.mark.parametrize("encoding", ["PLAIN", "DELTA_BINARY_PACKED", "BYTE_STREAM_SPLIT"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_encodings(encoding: str, version: str, tmp_path: Path) -> None:
    whole = numbers(3).drop(["bool"])
    if encoding == "DELTA_BINARY_PACKED":
        whole = whole.drop(["float32", "float64"])
    path = tmp_path / "t.parquet"
    pq.write_table(
        whole, path, use_dictionary=False, column_encoding=dict.fromkeys(whole.column_names, encoding),
        data_page_version=version, row_group_size=1000, data_page_size=1000,
    )  # fmt: skip
    assert_same(stored(path), want(path))


@pytest.mark.parametrize(
    ("rows", "columns", "group"),
    [(333, 150, 7), (333, 150, 1 << 20), pytest.param(600_000, 40, 1 << 20, marks=pytest.mark.full)],
)
def test_more_columns_and_rows_than_a_tile_has(rows: int, columns: int, group: int, tmp_path: Path) -> None:
    values = np.random.default_rng(3).integers(0, 256, (rows, columns))
    frame = pa.table({f"c{i:03}": values[:, i] for i in range(columns)})
    pq.write_table(frame, tmp_path / "t.parquet", row_group_size=group)
    got = TableDataset(tmp_path / "t.parquet", label=None, dtype=torch.uint8)[:]["features"]
    assert np.array_equal(got.numpy(), values)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_dictionary_that_grows_too_large_goes_on_plain(version: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(
        numbers(4), path, dictionary_pagesize_limit=1500, data_page_size=500, data_page_version=version
    )
    assert_same(stored(path), want(path))


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize("dictionary", [True, False])
def test_nulls(version: str, dictionary: bool, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    path = tmp_path / "t.parquet"
    whole = {
        name: pa.array(c.to_pylist(), c.type, mask=rng.random(ROWS) < 0.3)
        for name, c in zip(numbers().column_names, numbers().columns, strict=True)
    }
    whole["none"] = pa.array([5] * (ROWS - 1) + [None], pa.int64())
    whole["all"] = pa.array([None] * ROWS, pa.int32())
    pq.write_table(
        pa.table(whole),
        path,
        data_page_version=version,
        use_dictionary=dictionary,
        row_group_size=900,
        data_page_size=1500,
    )
    assert_same(stored(path, fill_value=-7), want(path, fill=-7))
    with pytest.raises(errors.MissingValueError) as caught:
        stored(path, columns=["none"])
    assert (caught.value.row, caught.value.column, caught.value.path) == (ROWS - 1, "none", str(path))
    with pytest.raises(errors.MissingValueError):
        TableDataset(path, label="none", columns=["all"], fill_value=0)


def test_nan_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    for kind in (pa.float32(), pa.float64()):
        pq.write_table(pa.table({"x": pa.array([0.5, float("nan"), 2], kind)}), path)
        with pytest.raises(errors.MissingValueError) as caught:
            stored(path)
        assert (caught.value.row, caught.value.column) == (1, "x")
        assert_same(stored(path, fill_value=9)[:, 0], torch.tensor([0.5, 9, 2], dtype=torch.float64))


def test_integers_beyond_int64(tmp_path: Path) -> None:
    """Floats are rounded once, as numpy does; no integer type holds it."""
    path, x = tmp_path / "t.parquet", [1, 2**63 + 2**40 + 1]
    pq.write_table(pa.table({"x": pa.array(x, pa.uint64())}), path)
    for dtype in (torch.float32, torch.float64):
        want = np.array(x, np.uint64).astype(str(dtype)[6:])
        assert torch.equal(
            TableDataset(path, label=None, dtype=dtype)[:]["features"][:, 0], torch.from_numpy(want)
        )
    with pytest.raises(errors.BadValueError) as caught:
        TableDataset(path, label=None, dtype=torch.int64)
    assert (caught.value.row, caught.value.column) == (1, "x")


# ------------------------------------------------------------------ pictures in one column


@pytest.mark.parametrize("form", ["fixed binary", "list", "large list", "fixed list", "list of int64"])
@pytest.mark.parametrize("group", [50, 1 << 20])
def test_pictures_in_one_column(form: str, group: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(8)
    pixels = rng.integers(0, 256, (300, 784), dtype=np.uint8)
    flat = pa.array(pixels.reshape(-1))
    image: Any
    if form == "fixed binary":
        image = pa.array([row.tobytes() for row in pixels], pa.binary(784))
    elif form == "fixed list":
        image = pa.FixedSizeListArray.from_arrays(flat, 784)
    elif form == "large list":
        image = pa.LargeListArray.from_arrays(np.arange(301) * 784, flat)
    else:
        values = flat if form == "list" else flat.cast(pa.int64())
        image = pa.ListArray.from_arrays(pa.array(np.arange(301) * 784, pa.int32()), values)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"image": image, "label": rng.integers(0, 10, 300)}), path, row_group_size=group)
    ds = TableDataset(path, shape=(1, 28, 28), dtype=torch.uint8, scale=None)
    assert_same(ds[:]["image"], torch.from_numpy(pixels).reshape(-1, 1, 28, 28))
    assert TableDataset(path).shape == (784,)
    assert_same(TableDataset(path)[3]["features"], torch.from_numpy(pixels[3]).float())


def test_lists_of_floats(tmp_path: Path) -> None:
    x = np.random.default_rng(9).standard_normal((50, 7)).astype(np.float32)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": pa.array(list(x))}), path)
    assert_same(stored(path), torch.from_numpy(x.astype(np.float64)))


@pytest.mark.parametrize(
    "rows", [[[1, 2], [3]], [[1, 2], [3, 4, 5]], [[1, 2], []], [[1, 2], None], [[1, 2], [3, None]]]
)
def test_lists_of_unequal_length_are_an_error(rows: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": pa.array(rows, pa.list_(pa.uint8()))}), path)
    with pytest.raises(errors.GofastError) as caught:
        stored(path)
    assert caught.value.row == 1 and caught.value.column == "x"


# ------------------------------------------------------------------ labels


TEXTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "string": (pa.string(), {}),
    "large string": (pa.large_string(), {}),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), {}),
    "delta length": (pa.string(), {"column_encoding": {"label": "DELTA_LENGTH_BYTE_ARRAY"}}),
    "delta": (pa.string(), {"column_encoding": {"label": "DELTA_BYTE_ARRAY"}}),
    "plain": (pa.string(), {"use_dictionary": False}),
    "v2": (pa.string(), {"data_page_version": "2.0"}),
}


@pytest.mark.parametrize("kind", TEXTS)
def test_text_labels(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    words = np.array(["dog", "cat", "", "a long name of a class", "zürich", "Cat"])[rng.integers(0, 6, ROWS)]
    path, (stored_as, options) = tmp_path / "t.parquet", TEXTS[kind]
    if "column_encoding" in options:
        options = {"use_dictionary": ["x"], **options}
    whole = pa.table({"x": rng.integers(0, 9, ROWS), "label": pa.array(words, pa.string()).cast(stored_as)})
    pq.write_table(whole, path, row_group_size=1000, data_page_size=700, **options)
    ds = TableDataset(path)
    classes = sorted(set(words))
    assert ds.classes == classes
    assert_same(ds.targets, torch.tensor([classes.index(w) for w in words]))


def test_a_missing_text_label_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1, 2], "label": ["a", None]}), path)
    with pytest.raises(errors.MissingValueError) as caught:
        TableDataset(path)
    assert (caught.value.row, caught.value.column) == (1, "label")


def test_number_labels(tmp_path: Path) -> None:
    whole = numbers()
    path = tmp_path / "t.parquet"
    pq.write_table(whole, path)
    for name in whole.column_names:
        got = TableDataset(path, label=name, columns=["pixel" if name != "pixel" else "run"]).targets
        expected = torch.from_numpy(
            whole[name].to_numpy().astype(np.float64 if "float" in name else np.int64)
        )
        assert_same(got, expected.to(torch.float32) if "float" in name else expected)


# ------------------------------------------------------------------ the other writers


def frame() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    pixels = pd.DataFrame(rng.integers(0, 256, (ROWS, 20)), columns=[f"pixel{i}" for i in range(20)])
    pixels.insert(0, "label", rng.integers(0, 10, ROWS))
    return pixels


def check_frame(path: Any, whole: pd.DataFrame) -> None:
    ds = TableDataset(path, shape=(4, 5), scale=None)
    x = whole.drop(columns="label").to_numpy(np.float32, copy=True).reshape(-1, 4, 5)
    assert_same(
        ds[:], {"image": torch.from_numpy(x), "label": torch.tensor(whole["label"].to_numpy(np.int64))}
    )


@pytest.mark.parametrize("engine", ["pyarrow"])
@pytest.mark.parametrize("kept", ["range", "shuffled", "named"])
def test_pandas(engine: Any, kept: str, tmp_path: Path) -> None:
    whole = frame()
    if kept == "shuffled":
        whole = whole.sample(frac=1, random_state=1)  # gets __index_level_0__
    elif kept == "named":
        whole.index.name = "id"
    path = tmp_path / "t.parquet"
    whole.to_parquet(path, engine=engine)
    check_frame(path, whole)


@pytest.mark.parametrize("backend", ["numpy", "nullable", "pyarrow", "small"])
def test_pandas_types(backend: str, tmp_path: Path) -> None:
    whole = frame()
    stored = {
        "numpy": whole,
        "nullable": whole.convert_dtypes(),
        "pyarrow": whole.convert_dtypes(dtype_backend="pyarrow"),
        "small": whole.astype(np.uint8),
    }[backend]
    stored.to_parquet(tmp_path / "t.parquet")
    check_frame(tmp_path / "t.parquet", whole)


@pytest.mark.parametrize("codec", ["zstd", "snappy", "gzip", "lz4", "brotli", "uncompressed"])
@pytest.mark.parametrize("group", [None, 512])
def test_polars(codec: Any, group: int | None, tmp_path: Path) -> None:
    whole = frame()
    path = tmp_path / "t.parquet"
    pl.from_pandas(whole).write_parquet(path, compression=codec, row_group_size=group)
    check_frame(path, whole)
    pl.from_pandas(whole).cast(pl.UInt8).write_parquet(
        path, compression=codec, statistics=False, data_page_size=4096
    )
    check_frame(path, whole)


@pytest.mark.parametrize("codec", ["snappy", "zstd", "gzip", "uncompressed", "lz4_raw", "brotli"])
@pytest.mark.parametrize("version", ["v1", "v2"])
def test_duckdb(codec: str, version: str, tmp_path: Path) -> None:
    whole = frame()
    path = tmp_path / "t.parquet"
    with duckdb.connect() as connection:
        connection.register("whole", whole)
        connection.execute(
            f"COPY whole TO '{path}' (FORMAT parquet, COMPRESSION {codec}, PARQUET_VERSION {version}, "
            "ROW_GROUP_SIZE 1024)"
        )
    check_frame(path, whole)


@pytest.mark.parametrize("writer", ["polars", "duckdb"])
def test_every_number_type_of_other_writers(writer: str, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    whole = numbers()
    if writer == "polars":
        pl.DataFrame(whole).write_parquet(path)
    else:
        with duckdb.connect() as connection:
            connection.register("whole", whole)
            connection.execute(f"COPY whole TO '{path}' (FORMAT parquet, PARQUET_VERSION v2)")
    pq.write_table(whole, tmp_path / "whole.parquet")
    assert_same(stored(path), want(tmp_path / "whole.parquet"))


def test_polars_pictures(tmp_path: Path) -> None:
    pixels = np.random.default_rng(12).integers(0, 256, (100, 784), dtype=np.uint8)
    path = tmp_path / "t.parquet"
    for kind in (pl.Array(pl.UInt8, 784), pl.List(pl.UInt8)):
        pl.DataFrame({"image": pl.Series(pixels).cast(kind), "label": range(100)}).write_parquet(path)
        assert_same(
            TableDataset(path, scale=None, dtype=torch.uint8)[:]["features"], torch.from_numpy(pixels)
        )


def test_pyarrow_datasets_are_folders(tmp_path: Path) -> None:
    whole = frame()
    for i in range(3):
        whole.iloc[i * 1000 : (i + 1) * 1000].to_parquet(tmp_path / f"part-{i}.parquet", index=False)
    check_frame(tmp_path, whole)


# ------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    "column",
    [
        pa.array([b"ab", b"c"]),
        pa.array([1, 2], pa.date32()),
        pa.array([1, 2], pa.timestamp("us")),
        pa.array([1, 2], pa.time64("us")),
        pa.array([{"a": 1}, {"a": 2}]),
        pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int32())),
        pa.array([[[1]], [[2]]]),
        pa.array(["a", "b"]),
    ],
    ids=lambda c: str(c.type),
)
def test_what_is_no_number_is_named(column: Any, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"x": [1, 2], "odd": column}), path)
    with pytest.raises((errors.UnsupportedError, errors.SchemaError), match="odd"):
        stored(path, columns=["x", "odd"])
    assert_same(stored(path, columns=["x"])[:, 0], torch.tensor([1, 2], dtype=torch.float64))


@pytest.mark.parametrize("first", [pa.int64(), pa.float64(), pa.string(), pa.bool_()])
def test_files_whose_types_differ_are_an_error(first: Any, tmp_path: Path) -> None:
    kinds = [pa.int64(), pa.float64(), pa.string(), pa.bool_()]
    for other in kinds:
        for name, kind in (("1.parquet", first), ("2.parquet", other)):
            pq.write_table(
                pa.table({"x": pa.array([1, 2]), "label": pa.array([0, 1]).cast(kind)}), tmp_path / name
            )
        if other == first:
            assert len(TableDataset(tmp_path)) == 4
            continue
        with pytest.raises(errors.SchemaError) as caught:
            TableDataset(tmp_path)
        assert "1.parquet" in str(caught.value) and "2.parquet" in str(caught.value)


def test_duplicate_columns_are_an_error(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], ["x", "x"]), path)
    with pytest.raises(errors.SchemaError, match="x"):
        stored(path)


def test_no_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pq.write_table(numbers(1, 10).slice(0, 0), path)
    assert stored(path).shape == (0, 14)


@pytest.mark.parametrize(
    ("kind", "bad"), [("uint8", 51461), ("int8", -200), ("int8", 200), ("uint16", 70000), ("int16", -40000)]
)
@pytest.mark.parametrize("dictionary", [True, False])
def test_an_integer_beyond_its_type(kind: str, bad: int, dictionary: bool, tmp_path: Path) -> None:
    """Of a damaged file: a wider storage type would hide it."""
    path, mark = tmp_path / "x.parquet", 113
    column = np.where(np.arange(50) == 20, mark, 7).astype(kind)
    table = pa.table({"a": column, "b": np.linspace(0, 1, 50)})
    pq.write_table(table, path, use_dictionary=dictionary, compression="none", write_statistics=False)
    whole = path.read_bytes()
    assert whole.count(mark.to_bytes(4, "little")) == 1
    path.write_bytes(whole.replace(mark.to_bytes(4, "little"), bad.to_bytes(4, "little", signed=bad < 0)))
    for columns in (["a"], ["a", "b"]):
        with pytest.raises(errors.BadValueError, match=f'row 20, column "a".*{kind}.*"{bad}"'):
            TableDataset(path, label=None, columns=columns)


def test_an_integer_beyond_its_logical_type(tmp_path: Path) -> None:
    """The newer annotation says how wide an integer is where the two differ. A width that no type has says
    nothing."""
    path, mark, older = tmp_path / "x.parquet", 113, b"\x25\x1e\x4c"  # field 6: INT_8, and field 10 begins
    pq.write_table(
        pa.table({"a": np.full(50, mark, "int8")}),
        path,
        compression="none",
        store_schema=False,
        write_statistics=False,
    )
    whole, newer = path.read_bytes(), b"\xac\x13\x08"  # in it, field 10: an integer of 8 bits
    assert (whole.count(older), whole.count(newer), whole.count(mark.to_bytes(4, "little"))) == (1, 1, 1)
    wide = whole.replace(older, b"\x25\x22\x4c").replace(
        mark.to_bytes(4, "little"), (200).to_bytes(4, "little")
    )
    path.write_bytes(wide)
    with pytest.raises(errors.BadValueError, match=r'row 0, column "a".*int8.*"200"'):
        TableDataset(path, label=None)
    for width in (0, 7, 128, 255):
        path.write_bytes(wide.replace(newer, newer[:2] + bytes([width])))
        assert TableDataset(path, label=None)[49]["features"].tolist() == [200]


def test_files_of_pictures_are_named(tmp_path: Path) -> None:
    pq.write_table(pa.table({"image": [b"\xff\xd8\xff\xe0"], "label": [1]}), tmp_path / "x.parquet")
    with pytest.raises(errors.SchemaError, match=r"ImageFiles\.from_parquet"):
        TableDataset(tmp_path / "x.parquet")


def test_encrypted_files_say_so(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    path.write_bytes(b"PARE" + bytes(50) + b"PARE")
    with pytest.raises(errors.FormatError, match="encrypted"):
        stored(path)
