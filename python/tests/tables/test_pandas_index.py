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


def test_the_index_asked_for_by_name(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame().set_index("label").to_parquet(path)
    for options in ({}, {"label": "label"}, {"columns": ["a", "label"], "label": None}):
        with pytest.raises(errors.SchemaError, match="reset_index") as caught:
            TableDataset(path, **options)
        assert str(path) in str(caught.value)
    frame()[["a"]].set_index("a").to_parquet(path)
    with pytest.raises(errors.GofastError, match="only the index"):
        TableDataset(path, label=None)


def test_csv_says_what_it_leaves_out(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "t.csv")
    assert TableDataset(tmp_path / "t.csv")._memory.layout.dropped == ("Unnamed: 0",)
    with pytest.raises(errors.SchemaError, match="index of the pandas frame"):
        TableDataset(tmp_path / "t.csv", columns=["Unnamed: 0", "a"])


def test_a_cache_keeps_what_was_dropped(tmp_path: Path) -> None:
    frame().rename_axis("id").iloc[[2, 0, 3, 1]].to_parquet(tmp_path / "t.parquet")
    for _ in range(2):
        ds = TableDataset(tmp_path / "t.parquet", cache=tmp_path / "t.npz")
        assert ds._memory.layout.dropped == ("id",)
    gofast.verify(tmp_path / "t.npz")


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
