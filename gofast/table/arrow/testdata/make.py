"""Writes the small files of this folder. Usage: python make.py (needs pyarrow; 26.0.1 wrote them)."""

from __future__ import annotations

import datetime
import decimal
from pathlib import Path
from typing import Any

import pyarrow as pa

HERE = Path(__file__).parent
ROWS = 6


def file(name: str, table: pa.Table, codec: str | None = None, rows: int = 4, **options: Any) -> None:
    """A stream where the name ends so, else a file; batches of at most so many rows."""
    new = pa.ipc.new_stream if name.endswith(".arrows") else pa.ipc.new_file
    with new(HERE / name, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec, **options)) as out:
        out.write_table(table, max_chunksize=rows)


file(
    "numbers.arrow",
    pa.table(
        {
            "a": pa.array([*range(ROWS)], pa.uint8()),
            "b": pa.array([1, None, 3, None, -5, 6], pa.int16()),
            "c": pa.array([0.5, 1.5, None, 3.5, 4.5, 5.5]),
            "d": pa.array([True, None, False, True, True, False]),
            "e": pa.array([decimal.Decimal("1.25"), None] * 3, pa.decimal128(20, 2)),
            "n": pa.nulls(ROWS),
        }
    ),
)
file(
    "lists.arrow",
    pa.table(
        {
            "f": pa.array([[i, i + 1, 7] for i in range(ROWS)], pa.list_(pa.int16(), 3)),
            "l": pa.array([[1, 2], None, [3, None], [4, 5], [6, 7], [8, 9]], pa.list_(pa.uint8())),
            "p": pa.array([bytes([i, 9]) for i in range(ROWS)], pa.binary(2)),
            "s": pa.array([{"x": i, "y": "t"} for i in range(ROWS)]),
            "when": pa.array([datetime.date(2024, 1, i + 1) for i in range(ROWS)]),
        }
    ),
    "lz4",
)
WORDS = ["red", "cat", "a text that is longer than a view", "", None, "red"]
TEXTS = pa.table(
    {
        "t": pa.array(WORDS),
        "v": pa.array(WORDS, pa.string_view()),
        "d": pa.array(WORDS).dictionary_encode(),
        "i": pa.array([5, 70000, 5, None, 5, 5]).dictionary_encode(),
    }
)
file("texts.arrow", TEXTS)
file("texts.arrows", TEXTS, "zstd", 3)
file("old.arrows", TEXTS, None, 3, use_legacy_format=True, metadata_version=pa.ipc.MetadataVersion.V4)
BYTES = [b"one", None, b"", b"four", b"5", b"six"]
PICTURES = pa.StructArray.from_arrays(
    [pa.array(["a", None] * 3), pa.array(BYTES, pa.binary())],
    ["path", "bytes"],
    mask=pa.array([False] * 5 + [True]),
)
file("pictures.arrows", pa.table({"image": PICTURES, "l": pa.array(BYTES, pa.large_binary())}))
