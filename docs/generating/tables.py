"""Which files TableDataset reads: each is written by another library's writer, and opened."""

from __future__ import annotations

import io
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

import gofast
from generating.markdown import table

FRAME = pd.DataFrame({"a": [0.5, 1.5, 2.5], "b": [1, 2, 3], "label": [0, 1, 0]})


def markdown() -> str:
    """The table of formats and what opening one gives."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for what, name, write in _formats():
            path = Path(folder) / name
            write(path)
            rows.append([what, f"`{name}`", _opened(path)])
    return table(["file", "tried as", "read by"], rows)


def _opened(path: Path) -> str:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            made = gofast.TableDataset(path)
    except gofast.errors.GofastError as error:
        return f"`{type(error).__name__}`: {str(error).replace(f'open {path}: ', '')}"
    assert [float(row["features"].sum()) for row in made] == [1.5, 3.5, 5.5], path
    return "Go and C"


def _formats() -> Iterator[tuple[str, str, Callable[[Path], Any]]]:
    arrow = pa.Table.from_pandas(FRAME)
    yield "CSV", "t.csv", lambda path: FRAME.to_csv(path, index=False)
    yield "CSV, semicolons", "t2.csv", lambda path: FRAME.to_csv(path, index=False, sep=";")
    yield "TSV", "t.tsv", lambda path: FRAME.to_csv(path, index=False, sep="\t")
    for ending, codec in (("gz", "gzip"), ("zst", "zstd"), ("bz2", "bz2")):
        yield f"CSV, {codec}", f"t.csv.{ending}", lambda path, codec=codec: _packed(path, codec)
    yield "CSV, lz4", "t.csv.lz4", lambda path: _packed(path, "lz4")
    for codec in ("none", "snappy", "gzip", "zstd", "brotli", "lz4"):
        yield (
            f"Parquet, {codec}",
            f"t-{codec}.parquet",
            lambda path, codec=codec: pq.write_table(arrow, path, compression=codec),
        )
    yield "npz", "t.npz", lambda path: np.savez(path, features=FRAME[["a", "b"]], label=FRAME["label"])
    yield (
        "npz, compressed",
        "u.npz",
        lambda path: np.savez_compressed(path, features=FRAME[["a", "b"]], label=FRAME["label"]),
    )
    for codec in ("uncompressed", "lz4", "zstd"):
        yield (
            f"Arrow, Feather 2, {codec}",
            f"t-{codec}.feather",
            lambda path, codec=codec: pyarrow.feather.write_feather(arrow, path, compression=codec),
        )
    yield "Arrow stream", "t.arrows", _streamed
    yield "Feather 1", "t.feather", lambda path: path.write_bytes(b"FEA1" + bytes(100))
    yield "JSON lines", "t.jsonl", lambda path: FRAME.to_json(path, orient="records", lines=True)
    yield "pickle", "t.pkl", lambda path: FRAME.to_pickle(path)


def _streamed(path: Path) -> None:
    arrow = pa.Table.from_pandas(FRAME)
    with pa.ipc.new_stream(path, arrow.schema) as file:
        file.write_table(arrow)


def _packed(path: Path, codec: str) -> None:
    text = io.BytesIO()
    FRAME.to_csv(text, index=False)
    with pa.CompressedOutputStream(str(path), codec) as file:
        file.write(text.getvalue())
