"""Labels that are lists of numbers: a column of lists in Parquet and Arrow, an array [n, k] in an .npz."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from gofast import TableDataset, errors

ROWS = [[1, 0, 7], [0, 1, -2], [5, 5, 5], [0, 0, 1]]
TYPES: dict[str, Any] = {
    "list": pa.list_(pa.int64()),
    "large": pa.large_list(pa.int32()),
    "fixed": pa.list_(pa.int8(), 3),
    "floats": pa.list_(pa.float32()),
    "doubles": pa.large_list(pa.float64()),
}


def write(path: Path, labels: pa.Array, **more: Any) -> Path:
    table = pa.table({"a": pa.array(np.arange(len(labels))), "y": labels, **more})
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=3)
    else:
        with pa.ipc.new_file(path, table.schema) as out:
            out.write_table(table, max_chunksize=3)
    return path


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("kind", TYPES)
def test_lists(kind: str, suffix: str, tmp_path: Path) -> None:
    labels = pa.array(ROWS, TYPES[kind])
    path = write(tmp_path / f"t.{suffix}", labels, z=pa.array([4, 3, 2, 1]))
    real = kind in ("floats", "doubles")
    want = torch.tensor(labels.to_pylist(), dtype=torch.float32 if real else torch.int64)
    options: dict[str, Any] = {"columns": ["a"], "output": "tuple"}
    ds = TableDataset(path, label="y", **options)
    assert ds.targets.dtype == want.dtype and torch.equal(ds.targets, want)
    assert torch.equal(ds[2][1], want[2]) and torch.equal(ds[[3, 0]][1], want[[3, 0]])
    assert ds._memory.layout.labels == ("y[0]", "y[1]", "y[2]")
    both = TableDataset(path, label=["z", "y"], **options)
    assert torch.equal(
        both.targets, torch.cat([torch.tensor([[4.0], [3], [2], [1]]).to(want.dtype), want], 1)
    )
    cached = [TableDataset(path, label="y", cache=tmp_path / "c.cache", **options) for _ in range(2)]
    assert all(torch.equal(one.targets, want) for one in cached)
    two = TableDataset([path, path], label="y", **options)
    assert torch.equal(two.targets, torch.cat([want, want]))


BAD: dict[str, Any] = {
    "longer": ([[1, 0], [0, 1, 2], [1, 1]], errors.SchemaError, "more than 2"),
    "shorter": ([[1, 0], [0], [1, 1]], errors.SchemaError, "less than 2|1 values"),
    "empty": ([[1, 0], [], [1, 1]], errors.SchemaError, "less than 2"),
    "null": ([[1, 0], None, [1, 1]], errors.MissingValueError, "null"),
    "null inside": ([[1, 0], [1, None], [1, 1]], errors.MissingValueError, "null"),
    "nan inside": ([[1.0, 0], [1, np.nan], [1, 1]], errors.MissingValueError, "NaN"),
}


@pytest.mark.parametrize("suffix", ["parquet", "arrow"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_lists_name_their_row(kind: str, suffix: str, tmp_path: Path) -> None:
    rows, error, says = BAD[kind]
    path = write(tmp_path / f"t.{suffix}", pa.array(rows))
    with pytest.raises(error, match=says) as caught:
        TableDataset(path, label="y", columns=["a"], fill_value=0)
    assert caught.value.row == 1 and str(path) in str(caught.value)


def test_files_and_options_that_do_not_fit(tmp_path: Path) -> None:
    two, three = (write(tmp_path / f"{n}.parquet", pa.array([[0] * n] * 2)) for n in (2, 3))
    with pytest.raises(errors.SchemaError, match="shape"):
        TableDataset([two, three], label="y")
    with pytest.raises(errors.SchemaError, match="one label a row"):
        TableDataset(two, label="y", classes=[0, 1])
    with pytest.raises(errors.LimitError, match="3 values a row"):
        TableDataset(three, label="y", limits={"columns": 2})
    binary = write(tmp_path / "b.arrow", pa.array([b"ab", b"cd"], pa.binary(2)))
    with pytest.raises(errors.GofastError, match="binary"):
        TableDataset(binary, label="y")
    one = write(tmp_path / "1.parquet", pa.array([[3], [4]]))
    assert TableDataset(one, label="y").targets.tolist() == [3, 4]  # as a column of numbers


@pytest.mark.parametrize("dtype", ["int64", "uint8", "float32", ">f8", "bool"])
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays(save: Any, order: str, dtype: str, tmp_path: Path) -> None:
    y = np.array(np.abs(ROWS), dtype, order=order)
    save(tmp_path / "t.npz", x=np.zeros((4, 2), np.float32), y=y)
    got = TableDataset(tmp_path / "t.npz", label="y").targets
    want = torch.tensor(y.tolist(), dtype=torch.float32 if "f" in dtype else torch.int64)
    assert got.dtype == want.dtype and torch.equal(got, want)


def test_arrays_of_more_dimensions(tmp_path: Path) -> None:
    np.savez(tmp_path / "t.npz", x=np.zeros(4), y=np.zeros((4, 2, 2)))
    with pytest.raises(errors.SchemaError, match=r"shape \[2 2\]"):
        TableDataset(tmp_path / "t.npz", label="y")
