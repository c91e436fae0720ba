"""What TableDataset can be given as path: folders, globs, frames, and what it says of everything else."""

from __future__ import annotations

import io
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

import gofast
from gofast import TableDataset, errors


def frame(rows: int = 6) -> pd.DataFrame:
    return pd.DataFrame({"a": np.arange(rows), "b": np.arange(rows) * 0.5, "label": np.arange(rows) % 2})


# ------------------------------------------------------------------ folders


def write(folder: Path, *names: str) -> None:
    """Tables under these names, of two rows each."""
    folder.mkdir(parents=True, exist_ok=True)
    for i, name in enumerate(names):
        part = frame().iloc[2 * i : 2 * i + 2]
        if ".parquet" in name.lower():
            part.to_parquet(folder / name, index=False)
        else:
            part.to_csv(folder / name, index=False)


def test_a_folder_gives_its_tables_and_says_what_it_leaves_out(tmp_path: Path) -> None:
    write(tmp_path, "1.csv", "2.csv", "3.CSV")
    for name in ("README.md", "notes.txt", "2.csv.crc", "old"):
        (tmp_path / name).write_text("7,7,1\n")
    for name in ("_SUCCESS", "_metadata", ".1.csv.crc", ".DS_Store"):
        (tmp_path / name).write_text("7,7,1\n")
    (tmp_path / "raw").mkdir()
    with pytest.warns(errors.GofastWarning) as caught:
        ds = TableDataset(tmp_path)
    assert ds[:]["label"].tolist() == frame()["label"].tolist()
    text = str(caught[0].message)
    for said in ("README.md", "notes.txt", "2.csv.crc", "old", "raw/", "*.csv"):
        assert said in text
    assert "_SUCCESS" not in text and ".DS_Store" not in text
    assert caught[0].filename == __file__ and len(caught) == 1


def test_markers_and_hidden_files_go_without_a_word(tmp_path: Path) -> None:
    write(tmp_path, "part-00000-1b.c000.snappy.parquet", "part-00001-1b.c000.snappy.parquet")
    for name in ("_SUCCESS", ".part-00000-1b.c000.snappy.parquet.crc"):
        (tmp_path / name).write_bytes(b"\0")
    assert len(TableDataset(tmp_path)) == 4


def test_globs_and_names_take_what_they_name(tmp_path: Path) -> None:
    write(tmp_path, "a.rows", "b.rows", "README")
    assert len(TableDataset(tmp_path / "*.rows")) == 4
    assert len(TableDataset([tmp_path / "README", tmp_path / "a.rows"])) == 4


def test_a_folder_without_tables_lists_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(errors.NotFoundError, match="holds no files"):
        TableDataset(tmp_path / "empty")
    write(tmp_path / "texts", *(f"{i}.txt" for i in range(9)))
    with pytest.raises(errors.NotFoundError, match=r"0\.txt, .*9 in all.*\*\.txt") as caught:
        TableDataset(tmp_path / "texts")
    assert caught.value.path == str(tmp_path / "texts")
    write(tmp_path / "deep" / "below", "a.csv")
    with pytest.raises(errors.NotFoundError, match=r"below/.*\*\*"):
        TableDataset(tmp_path / "deep")


@pytest.mark.parametrize("other", ["2.parquet", "1.csv.gz"])
def test_a_folder_of_two_formats_is_an_error(other: str, tmp_path: Path) -> None:
    """The same table twice, as often as not."""
    write(tmp_path, "1.csv", other)
    with pytest.raises(errors.SchemaError, match=r"2 formats.*1\.csv.*glob") as caught:
        TableDataset(tmp_path)
    assert other in str(caught.value)


def test_partitioned_folders_are_named(tmp_path: Path) -> None:
    for animal in ("cat", "dog"):
        write(tmp_path / f"animal={animal}", "part-0.parquet")
    with pytest.raises(errors.NotFoundError, match=r"partitioned.*animal=cat"):
        TableDataset(tmp_path)
    with pytest.warns(errors.GofastWarning, match=r"animal=cat.*animal is not a column") as caught:
        ds = TableDataset(tmp_path / "*" / "*.parquet")
    assert len(ds) == 4 and caught[0].filename == __file__
    TableDataset(tmp_path / "animal=cat" / "part-0.parquet")  # one file: nothing is lost between files


def test_convert_says_it_too(tmp_path: Path) -> None:
    write(tmp_path / "t", "1.csv")
    (tmp_path / "t" / "README.md").write_text("about")
    with pytest.warns(errors.GofastWarning, match=r"README\.md"):
        gofast.convert(tmp_path / "t", tmp_path / "t.npz")


# ------------------------------------------------------------------ what is no path

NO_PATHS: dict[str, Any] = {
    "pandas.DataFrame": frame(),
    "pandas.Series": frame()["a"],
    "polars.DataFrame": pl.DataFrame({"a": [1]}),
    "polars.LazyFrame": pl.DataFrame({"a": [1]}).lazy(),
    "pyarrow.Table": pa.table({"a": [1]}),
    "numpy.ndarray": np.zeros((3, 2)),
    "torch.Tensor": torch.zeros(3, 2),
}


@pytest.mark.parametrize("kind", NO_PATHS)
def test_frames_and_arrays_are_told_what_to_use(kind: str) -> None:
    for path in (NO_PATHS[kind], [NO_PATHS[kind]]):
        with pytest.raises(errors.OptionError, match=r"gofast\.ArrayDataset\(") as caught:
            TableDataset(path)
        assert kind in str(caught.value)


def test_the_advice_for_frames_works() -> None:
    df, want = frame(), torch.from_numpy(frame()[["a", "b"]].to_numpy("float32", copy=True))
    ds = gofast.ArrayDataset(df.drop(columns="label").to_numpy("float32"), df["label"].to_numpy())
    assert torch.equal(ds[:][0], want) and ds.targets.tolist() == df["label"].tolist()
    lazy = pl.from_pandas(df)
    ds = gofast.ArrayDataset(lazy.drop("label").to_numpy(), lazy["label"].to_numpy())
    assert torch.equal(ds[:][0].float(), want)
    table = pa.Table.from_pandas(df)
    ds = gofast.ArrayDataset(table.drop_columns("label").to_pandas().to_numpy(), table["label"].to_numpy())
    assert torch.equal(ds[:][0].float(), want)


@pytest.mark.parametrize("path", [None, 7, b"t.csv", {"a": [1]}, [["a", 1]], [None], io.StringIO("a,b\n")])
def test_anything_else_is_an_option_error(path: Any) -> None:
    with pytest.raises(errors.OptionError, match=r"give|file"):
        TableDataset(path)


def test_iterators_of_paths_still_work(tmp_path: Path) -> None:
    write(tmp_path, "1.csv", "2.csv")
    ds = TableDataset(sorted(tmp_path.glob("*.csv")).__iter__())
    assert len(ds) == 4
    shutil.copy(tmp_path / "1.csv", tmp_path / "3.csv")
    assert len(TableDataset(tmp_path.glob("*.csv"))) == 6


@pytest.mark.parametrize("mark", ["_delta_log", ".hoodie"])
def test_tables_with_a_log_are_not_read_file_by_file(mark: str, tmp_path: Path) -> None:
    """Their files hold rows that were deleted since."""
    write(tmp_path, "part-0.parquet", "part-1.parquet")
    (tmp_path / mark).mkdir()
    with pytest.raises(errors.FormatError, match=mark):
        TableDataset(tmp_path)
