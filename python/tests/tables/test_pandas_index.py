"""The index of a pandas frame, in Parquet and in CSV: what pandas reads as the index is no feature."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

import gofast
from gofast import TableDataset, errors


def frame() -> pd.DataFrame:
    return pd.DataFrame({"a": [1.5, 2.5, 3.5, 4.5], "b": [10, 20, 30, 40], "label": [0, 1, 0, 1]})


INDEXES: dict[str, Any] = {
    "range": lambda f: f,
    "named range": lambda f: f.rename_axis("row"),
    "stepped range": lambda f: f.iloc[::2],
    "shuffled": lambda f: f.iloc[[2, 0, 3, 1]],
    "named": lambda f: f.assign(id=[7, 5, 3, 1]).set_index("id"),
    "text": lambda f: f.assign(city=list("wxyz")).set_index("city"),
    "two": lambda f: f.assign(city=list("wxyz"), year=[1, 2, 3, 4]).set_index(["city", "year"]),
    "dates": lambda f: f.set_index(pd.date_range("2020", periods=4, name="day")),
}


@pytest.mark.parametrize("kind", INDEXES)
def test_parquet_has_the_columns_that_pandas_reads(kind: str, tmp_path: Path) -> None:
    INDEXES[kind](frame()).to_parquet(tmp_path / "t.parquet")
    want = pd.read_parquet(tmp_path / "t.parquet")
    ds = TableDataset(tmp_path / "t.parquet", output="tuple", dtype=torch.float64)
    layout = ds._memory.layout
    assert (*layout.features, *layout.labels) == tuple(want.columns)
    assert torch.equal(ds[:][0], torch.from_numpy(want[["a", "b"]].to_numpy(np.float64, copy=True)))
    stored = pq.read_schema(tmp_path / "t.parquet").names
    assert list(layout.dropped) == [name for name in stored if name not in want.columns]


WRITERS: dict[str, Any] = {
    "t.parquet": lambda f, path: f.to_parquet(path),
    "t.arrow": lambda f, path: write_arrow(pa.Table.from_pandas(f), path),
    "bare.parquet": lambda f, path: pq.write_table(
        pa.Table.from_pandas(f).replace_schema_metadata(None), path
    ),
    "bare.arrow": lambda f, path: write_arrow(pa.Table.from_pandas(f).replace_schema_metadata(None), path),
    "t.csv": lambda f, path: f.to_csv(path),
}


def write_arrow(table: pa.Table, path: Path) -> None:
    with pa.ipc.new_file(path, table.schema) as out:
        out.write_table(table)


@pytest.mark.parametrize("name", WRITERS)
def test_the_index_asked_for_by_name(name: str, tmp_path: Path) -> None:
    path, want = tmp_path / name, frame().iloc[[2, 0, 3, 1]]
    WRITERS[name](want, path)
    index = "Unnamed: 0" if path.suffix == ".csv" else "__index_level_0__"
    plain = TableDataset(path)
    assert plain.columns == ["a", "b"] and plain._memory.layout.dropped == (index,)
    ds = TableDataset(path, columns=["b", index], output="tuple", dtype=torch.float64)
    assert ds.columns == ["b", index] and ds._memory.layout.dropped == ()
    assert torch.equal(ds[:][0], torch.tensor(want.reset_index()[["b", "index"]].to_numpy(np.float64)))
    ds = TableDataset(path, label=index, output="tuple", dtype=torch.float64)
    assert ds.columns == ["a", "b", "label"] and torch.equal(ds.targets, torch.tensor(want.index.to_numpy()))
    assert TableDataset(path, label=["label", index]).targets.tolist() == [[0, 2], [0, 0], [1, 3], [1, 1]]
    assert TableDataset(path, columns=[0, -1], label=None).columns == [
        "a",
        "label",
    ]  # positions do not count it
    with pytest.raises(errors.SchemaError, match="columns=3 is not a column"):
        TableDataset(path, columns=[3], label=None)
    assert TableDataset(path, exclude=index).columns == ["a", "b"]
    both = TableDataset([path, path], columns=[index], label=None)
    assert both[:]["features"].flatten().tolist() == [2, 0, 3, 1] * 2


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_named_index_of_texts_or_dates(suffix: str, tmp_path: Path) -> None:
    path, texts = tmp_path / f"t.{suffix}", frame().assign(city=list("wxyz")).set_index("city")
    texts.to_parquet(path) if suffix == "parquet" else texts.rename_axis(None).to_csv(path)
    name = "city" if suffix == "parquet" else "Unnamed: 0"
    assert TableDataset(path, label=name, exclude="label").classes == list("wxyz")
    assert TableDataset(path, columns=["a"], text=name)[1][name] == "x"
    numbered = TableDataset(path, columns=[name, "a"], categories={name: list("zyxw")})
    assert numbered[:]["features"].tolist() == [[3, 1.5], [2, 2.5], [1, 3.5], [0, 4.5]]
    with pytest.raises(errors.SchemaError, match="text, which cannot be a feature"):
        TableDataset(path, columns=[name, "a"])
    with pytest.raises(errors.SchemaError, match="not a feature"):
        TableDataset(path, categories={name: list("zyxw")})
    days = frame().set_index(pd.date_range("2020", periods=4))
    days.to_parquet(path) if suffix == "parquet" else days.to_csv(path)
    name = "__index_level_0__" if suffix == "parquet" else "Unnamed: 0"
    dated = TableDataset(path, columns=[name], dates={name: "D"}, dtype=torch.int64)
    assert dated[:]["features"].flatten().tolist() == [18262, 18263, 18264, 18265]


def test_the_default_label_in_the_index(tmp_path: Path) -> None:
    frame().set_index("label").to_parquet(tmp_path / "t.parquet")
    ds = TableDataset(tmp_path / "t.parquet")
    assert ds.columns == ["a", "b"] and ds.targets.tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("suffix", ["parquet", "csv"])
def test_a_file_with_only_an_index(suffix: str, tmp_path: Path) -> None:
    path, only = tmp_path / f"t.{suffix}", frame()[[]].iloc[[2, 0, 3, 1]]
    only.to_parquet(path) if suffix == "parquet" else path.write_text("Unnamed: 0\n2\n0\n3\n1\n")
    with pytest.raises(errors.SchemaError, match=r"only the index.*columns="):
        TableDataset(path, label=None)
    name = "__index_level_0__" if suffix == "parquet" else "Unnamed: 0"
    assert TableDataset(path, columns=[name], label=None)[:]["features"].flatten().tolist() == [2, 0, 3, 1]


def test_files_with_different_indexes(tmp_path: Path) -> None:
    frame().to_parquet(tmp_path / "a.parquet")
    frame().iloc[[2, 0, 3, 1]].to_parquet(tmp_path / "b.parquet")
    frame().set_index(pd.Index(list("wxyz"))).to_parquet(tmp_path / "c.parquet")
    a, b, c = (tmp_path / f"{name}.parquet" for name in "abc")
    assert len(TableDataset([a, b, c])) == 12  # what nobody asks for need not agree
    index = {"columns": ["__index_level_0__"], "label": None}
    with pytest.raises(errors.SchemaError, match="is not a column"):
        TableDataset([b, a], **index)
    with pytest.raises(errors.SchemaError, match="text") as caught:
        TableDataset([b, c], **index)
    assert str(c) in str(caught.value)


def test_an_index_by_its_name_in_any_format(tmp_path: Path) -> None:
    """A CSV with an index that was read and written again."""
    (tmp_path / "t.csv").write_text(",Unnamed: 0,a\n5,6,7\n")
    read = pd.read_csv(tmp_path / "t.csv")
    read.to_parquet(tmp_path / "t.parquet")
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        ds = TableDataset(path, label=None)
        assert ds.columns == ["a"] and ds._memory.layout.dropped == tuple(read.columns[:2])
        got = TableDataset(path, label=None, columns=list(read.columns))[:]["features"]
        assert got.tolist() == read.to_numpy().tolist()


NOT_INDEXES = [
    "Unnamed: 1",
    "Unnamed: 0.x",
    "Unnamed: 0.",
    "Unnamed: 01",
    "__index_level_x__",
    "__index_level___",
    "index",
]


@pytest.mark.parametrize("name", NOT_INDEXES)
def test_names_that_are_no_index(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({name: [1, 2], "a": [3, 4]}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_text(f"{name},a\n1,3\n2,4\n")
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        assert TableDataset(path, label=None).columns == [name, "a"]


def test_a_cache_keeps_what_was_dropped(tmp_path: Path) -> None:
    frame().rename_axis("id").iloc[[2, 0, 3, 1]].to_parquet(tmp_path / "t.parquet")
    for _ in range(2):
        ds = TableDataset(tmp_path / "t.parquet", cache=tmp_path / "t.cache")
        assert ds._memory.layout.dropped == ("id",)
    gofast.verify(tmp_path / "t.cache")


NOTES = {
    "no index": ('{"columns": []}', ()),
    "an old description": ('{"index_columns": [{"kind": "serialized", "field_name": "b"}]}', ("b",)),
    "behind others": ('{"columns": [{"a": [1, {}]}], "index_columns": ["b"]}', ("b",)),
    "none of the columns": ('{"index_columns": ["z"]}', ()),
    "null": ('{"index_columns": [null, {"kind": "range", "start": 0}]}', ()),
}


@pytest.mark.parametrize("kind", NOTES)
def test_other_writers_notes(kind: str, tmp_path: Path) -> None:
    note, dropped = NOTES[kind]
    table = pa.table({"a": [1, 2], "b": [3, 4]}).replace_schema_metadata({"pandas": note})
    pq.write_table(table, tmp_path / "t.parquet")
    assert TableDataset(tmp_path / "t.parquet", label=None)._memory.layout.dropped == dropped


@pytest.mark.parametrize("note", ["", "[", '{"index_columns": 7}', '{"index_columns": [[]]}', "[" * 100_000])
def test_broken_notes_are_an_error(note: str, tmp_path: Path) -> None:
    table = pa.table({"a": [1, 2]}).replace_schema_metadata({"pandas": note})
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(errors.DamagedError, match="pandas"):
        TableDataset(tmp_path / "t.parquet", label=None)
