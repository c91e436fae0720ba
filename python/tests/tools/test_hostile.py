"""Damaged files: a typed error, or a table of the declared shape. Never a crash, a hang or an internal error.

Small valid files of every format are cut at every length, and every byte is changed; then they are spliced.
The normal run changes a byte in one way and opens a file in one of two; the soak in all 255, and in both.
"""

from __future__ import annotations

import gzip
import io
import itertools
import random
import resource
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from gofast import TableDataset, errors

LIMIT = 64 << 20


def csv_bytes() -> bytes:
    return b'label,a,"b ""x"""\n1,2,3.5\n-4,"5",6e1\r\n\n7,NA,9\n0,11,12'


def text_labels() -> bytes:
    return b'\xef\xbb\xbflabel;x;y\ncat;1;2\n"d;og";3;4\n'


def npy(order: str = "C", kind: str = "<i2") -> bytes:
    out = io.BytesIO()
    np.save(out, np.arange(12).reshape(4, 3).astype(kind, order=order))  # type: ignore[call-overload]
    return out.getvalue()


def npz(compressed: bool) -> bytes:
    out = io.BytesIO()
    write = np.savez_compressed if compressed else np.savez
    write(out, x=np.arange(12, dtype=np.uint8).reshape(4, 3), label=np.array(["a", "b", "a", "c"]))
    return out.getvalue()


def frame() -> pd.DataFrame:
    return pd.DataFrame({"label": ["a", "b", "a", "c", None][:4] * 2, "x": range(8), "y": [0.5] * 8})


def pyarrow_file(**options: object) -> bytes:
    out = io.BytesIO()
    pq.write_table(pa.Table.from_pandas(frame()).replace_schema_metadata(), out, **options)
    return out.getvalue()


def lists() -> bytes:
    out = io.BytesIO()
    vector = pa.array([[1, 2, 3]] * 4, pa.list_(pa.uint8()))
    pq.write_table(pa.table({"list": vector, "label": [1, 2, 3, 4]}), out, compression="none")
    return out.getvalue()


def arrow_file(new: Any, codec: str | None) -> bytes:
    out = io.BytesIO()
    made = pa.table(frame()).replace_schema_metadata()
    with new(out, made.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as file:
        file.write_table(made, max_chunksize=3)
    return out.getvalue()


def polars_file() -> bytes:
    out = io.BytesIO()
    pl.from_pandas(frame()).write_parquet(out, compression="zstd")
    return out.getvalue()


FILES = {
    "csv": csv_bytes,
    "csv with text": text_labels,
    "csv.gz": lambda: gzip.compress(csv_bytes(), mtime=0),
    "csv.zst": lambda: pa.compress(csv_bytes(), "zstd", asbytes=True),
    "npy": npy,
    "npy fortran": lambda: npy("F", ">f4"),
    "npz": lambda: npz(False),
    "npz deflated": lambda: npz(True),
    "parquet": lambda: pyarrow_file(compression="none", use_dictionary=["label"]),
    "parquet snappy": lambda: pyarrow_file(compression="snappy", data_page_version="2.0", row_group_size=3),
    "parquet delta": lambda: pyarrow_file(
        use_dictionary=False,
        compression="gzip",
        column_encoding={"label": "DELTA_BYTE_ARRAY", "x": "DELTA_BINARY_PACKED", "y": "BYTE_STREAM_SPLIT"},
    ),
    "parquet lists": lists,
    "parquet polars": polars_file,
    "arrow": lambda: arrow_file(pa.ipc.new_file, None),
    "arrow stream": lambda: arrow_file(pa.ipc.new_stream, "lz4"),
}


ALL_COLUMNS, LAST_COLUMN = None, [-1]


def try_open(path: Path, data: bytes, what: str, *ways: list[int] | None) -> None:
    path.write_bytes(data)
    for columns in ways or (ALL_COLUMNS, LAST_COLUMN):
        try:
            ds = TableDataset(
                path, missing_label=-1, fill_value=0, columns=columns, limits={"memory": LIMIT}, threads=2
            )
        except errors.InternalError as error:
            raise AssertionError(f"{what}: {error}\n{error.debug}") from None
        except errors.GofastError as error:
            assert len(str(error)) < 1000 + len(str(path)), what
            continue
        assert len(ds) < 10_000, what
        if len(ds):
            batch = ds[:]
            assert (
                batch["features"].shape == (len(ds), *ds.shape) and batch["features"].dtype == torch.float32
            ), what
            assert len(batch["label"]) == len(ds), what
            if ds.classes is not None:
                assert int(ds.targets.min()) >= 0 and int(ds.targets.max()) < len(ds.classes), what


def flips(data: bytes, patterns: list[int], each: int) -> Iterator[tuple[str, bytes]]:
    """Changes every byte, by each of the patterns in turn."""
    for at in range(len(data)):
        for pattern in (patterns[at % len(patterns) :] + patterns)[:each]:
            yield f"byte {at} ^ {pattern:#x}", data[:at] + bytes([data[at] ^ pattern]) + data[at + 1 :]


def splices(data: bytes, count: int) -> Iterator[tuple[str, bytes]]:
    rng = random.Random(1)
    varints = [b"\x80" * 8 + b"\x40", b"\xff" * 4 + b"\x07"]
    interesting = [b"\xff" * 8, b"\0" * 8, *varints, b"\n", b'"']
    for n in range(count):
        a, b, c = sorted(rng.randrange(len(data) + 1) for _ in range(3))
        made = {
            0: data[:a] + data[b:],
            1: data[:b] + data[a:],
            2: data[:a] + rng.choice(interesting) + data[a:],
            3: data[:a] + rng.choice(interesting) + data[min(a + 8, len(data)) :],
            4: data[:a] + data[b:c] + data[a:b] + data[c:],
            5: data[:a] + rng.randbytes(b - a) + data[b:],
        }[n % 6]
        yield f"splice {n} at {a}, {b}, {c}", made


@pytest.mark.parametrize("step", [4, pytest.param(1, marks=pytest.mark.full)])
@pytest.mark.parametrize("name", FILES)
def test_every_truncation_and_a_few_flips_of_every_byte(name: str, step: int, tmp_path: Path) -> None:
    data = FILES[name]()
    (tmp_path / "t").write_bytes(data)
    assert len(TableDataset(tmp_path / "t", missing_label=-1, fill_value=0)) in (2, 4, 8)
    ways = itertools.cycle([ALL_COLUMNS, LAST_COLUMN])
    for length in range(0, len(data), step):
        try_open(tmp_path / "t", data[:length], f"{name} cut to {length}", next(ways))
    for what, damaged in itertools.islice(flips(data, [0x01, 0x80, 0xFF], each=1), 0, None, step):
        try_open(tmp_path / "t", damaged, f"{name}, {what}", next(ways))
    for what, damaged in splices(data, 60):
        try_open(tmp_path / "t", damaged, f"{name}, {what}")


@pytest.mark.soak
@pytest.mark.timeout(3000)
@pytest.mark.parametrize("name", FILES)
def test_all_flips_of_every_byte(name: str, tmp_path: Path) -> None:
    data = FILES[name]()
    for length in range(len(data)):
        try_open(tmp_path / "t", data[:length], f"{name} cut to {length}")
    for what, damaged in flips(data, list(range(1, 256)), each=255):
        try_open(tmp_path / "t", damaged, f"{name}, {what}")
    for what, damaged in splices(data, 20_000):
        try_open(tmp_path / "t", damaged, f"{name}, {what}")


def test_memory_stayed_within_bounds() -> None:
    """Runs after the others of this file: no damaged file has made the process large."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
    assert peak < 2 << 30
