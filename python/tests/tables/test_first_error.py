"""Of many bad cells the error names the first in row order, whatever the number of threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import gofast
from gofast import TableDataset, errors

ROWS, WIDTH, EACH = 2000, 24, 50


def write(frame: pd.DataFrame, path: Path) -> Path:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".parquet":
            pq.write_table(table, path, row_group_size=EACH)
        case ".npy":
            np.save(path, frame.drop(columns="label").to_numpy())
        case ".npz":
            np.savez(path, **{name: frame[name].to_numpy() for name in frame})
        case kind:
            new = pa.ipc.new_stream if kind == ".arrows" else pa.ipc.new_file
            with new(path, table.schema) as out:
                out.write_table(table, max_chunksize=EACH)
    return path


def frame_of(bad: list[tuple[int, int]], floats: frozenset[int] = frozenset()) -> pd.DataFrame:
    """Numbers beyond a byte, so that decoding begins anew; missing cells make a column one of floats."""
    values = np.arange(ROWS * WIDTH, dtype=np.float64).reshape(ROWS, WIDTH) % 70_001
    for row, column in bad:
        values[row, column] = np.nan
    frame = pd.DataFrame({f"c{i}": values[:, i] for i in range(WIDTH)})
    for name in frame.columns:
        if not frame[name].isna().any() and int(name[1:]) not in floats:
            frame[name] = frame[name].astype(np.int64)
    return frame.assign(label=np.arange(ROWS) % 3)


def refused(path: Any, threads: int, **options: Any) -> tuple[str, Any, Any]:
    with pytest.raises(errors.GofastError) as caught:
        TableDataset(path, threads=threads, **options)
    return type(caught.value).__name__, caught.value.path, caught.value.row


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".arrows", ".npy", ".npz"])
def test_the_first_of_many_bad_cells(suffix: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    for trial in range(2):
        rows = np.sort(rng.choice(np.arange(150, ROWS), 60, replace=False))
        bad = [(int(row), int(rng.integers(WIDTH))) for row in rows]
        path = write(frame_of(bad), tmp_path / f"b{trial}{suffix}")
        good = write(frame_of([], frozenset(column for _, column in bad)), tmp_path / f"a{suffix}")
        label = None if suffix == ".npy" else "label"
        for threads in (1, 2, 8):
            for files in (path, [good, path], [path, path]):
                for _ in range(2):
                    found = refused(files, threads, label=label)
                    assert found == ("MissingValueError", str(path), bad[0][0]), (threads, files)


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".arrows", ".npz"])
@pytest.mark.parametrize("first", ["label", "feature"])
def test_labels_and_features(suffix: str, first: str, tmp_path: Path) -> None:
    """Which of them is looked at first says nothing."""
    rows = {"label": (163, 1550), "feature": (1550, 163)}[first]
    frame = frame_of([(rows[1], 7), (1700, 2)])
    frame["label"] = np.where(frame.index.isin([rows[0], 1800]), 9, frame["label"])
    path = write(frame, tmp_path / f"a{suffix}")
    want = {"label": "UnknownLabelError", "feature": "MissingValueError"}[first]
    for threads in (1, 2, 8):
        for _ in range(2):
            found = refused(path, threads, label="label", classes=[0, 1, 2])
            assert found == (want, str(path), 163), threads


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".arrows"])
@pytest.mark.parametrize("first", ["label", "feature"])
def test_text_labels_and_features(suffix: str, first: str, tmp_path: Path) -> None:
    rows = {"label": (163, 1550), "feature": (1550, 163)}[first]
    frame = frame_of([(rows[1], 7), (1700, 2)])
    words = frame["label"].map({0: "red", 1: "green", 2: "blue"}).astype(object)
    words[[rows[0], 1800]] = "black"
    path = write(frame.assign(label=words), tmp_path / f"a{suffix}")
    want = {"label": "UnknownLabelError", "feature": "MissingValueError"}[first]
    for threads in (1, 2, 8):
        for _ in range(2):
            found = refused(path, threads, label="label", classes=["red", "green", "blue"])
            assert found == (want, str(path), 163), threads


@pytest.mark.parametrize("suffix", [".csv", ".parquet", ".arrow", ".npz"])
def test_windows_of_a_stream(suffix: str, tmp_path: Path) -> None:
    path = write(frame_of([(1200, 20), (1205, 1), (1950, 3), (1990, 0)]), tmp_path / f"a{suffix}")
    for threads in (1, 2, 8):
        stream = gofast.IterableDataset.from_table(path, label="label", threads=threads)
        with pytest.raises(errors.MissingValueError) as caught:
            list(gofast.DataLoader(stream, batch_size=64))
        assert caught.value.row == 1200
