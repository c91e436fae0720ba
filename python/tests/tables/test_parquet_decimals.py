"""Decimals in Parquet, however they are stored: the float64 that Python's float(Decimal) gives."""

from __future__ import annotations

import decimal
import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from gofast import TableDataset, errors
from reference import stored

KINDS = [
    pa.decimal32(9, 2),
    pa.decimal64(18, 18),
    pa.decimal128(1, 0),
    pa.decimal128(5, 0),
    pa.decimal128(15, 4),
    pa.decimal128(18, 1),
    pa.decimal128(19, 0),
    pa.decimal128(38, 0),
    pa.decimal128(38, 19),
    pa.decimal128(38, 38),
    pa.decimal256(76, 40),
]


def values_of(kind: Any, count: int, seed: int = 3) -> list[decimal.Decimal]:
    """Numbers of every length that the kind holds, and its ends."""
    draw = random.Random(seed)
    with decimal.localcontext(prec=kind.precision):
        top = 10**kind.precision - 1
        whole = [draw.randrange(-(10**d), 10**d) for d in range(kind.precision) for _ in range(count)]
        return [decimal.Decimal(n).scaleb(-kind.scale) for n in [0, 1, -1, top, -top, *whole]]


WRITTEN: dict[str, dict[str, Any]] = {
    "default": {},
    "plain": {"use_dictionary": False},
    "integers": {"store_decimal_as_integer": True},
    "split": {"use_dictionary": False, "column_encoding": {"x": "BYTE_STREAM_SPLIT"}},
    "delta": {"use_dictionary": False, "column_encoding": {"x": "DELTA_BYTE_ARRAY"}},
    "pages": {"data_page_size": 64, "data_page_version": "2.0"},
}


@pytest.mark.parametrize("written", WRITTEN)
@pytest.mark.parametrize("kind", KINDS, ids=str)
def test_every_decimal_is_rounded_once(kind: Any, written: str, tmp_path: Path) -> None:
    values = values_of(kind, 40)
    options = WRITTEN[written]
    pq.write_table(pa.table({"x": pa.array(values, kind)}), tmp_path / "t.parquet", **options)
    assert stored(tmp_path / "t.parquet")[:, 0].tolist() == [float(v) for v in values]


def test_nulls_lists_and_labels(tmp_path: Path) -> None:
    kind = pa.decimal128(30, 5)
    values = values_of(kind, 2)
    rows = list(zip(values, reversed(values), strict=True))
    table = pa.table(
        {
            "x": pa.array([None if i % 7 == 3 else v for i, v in enumerate(values)], kind),
            "label": pa.array(values, kind),
        }
    )
    pq.write_table(table, tmp_path / "t.parquet")
    ds = TableDataset(tmp_path / "t.parquet", fill_value=0.25, dtype=torch.float64, output="tuple")
    want = [0.25 if i % 7 == 3 else float(v) for i, v in enumerate(values)]
    assert ds[:][0][:, 0].tolist() == want
    assert ds.targets.tolist() == [float(v) for v in values]
    pq.write_table(pa.table({"x": pa.array(rows, pa.list_(kind))}), tmp_path / "l.parquet")
    assert stored(tmp_path / "l.parquet").tolist() == [[float(a), float(b)] for a, b in rows]


def test_whole_decimals_are_integers_by_their_type(tmp_path: Path) -> None:
    """18 digits without a fraction are integers, as when they are stored in 64 bits; more are floats."""
    for digits, kind in ((18, "uint8"), (19, "float32")):
        table = pa.table({"x": pa.array([1, 2], pa.decimal128(digits, 0))})
        pq.write_table(table, tmp_path / "t.parquet")
        assert TableDataset(tmp_path / "t.parquet", label=None)._memory.layout.type == kind
    with pytest.raises(errors.SchemaError, match="integers"):
        pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "u.parquet")
        TableDataset([tmp_path / "t.parquet", tmp_path / "u.parquet"], label=None)


def test_duckdb_writes_hugeint_decimals(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rows = "SELECT (range * 123456789.987654321)::DECIMAL(38, 12) AS x FROM range(500)"
    duckdb.sql(f"COPY ({rows}) TO '{path}' (FORMAT parquet)")
    want = [float(v) for v in pq.read_table(path)["x"].to_pylist()]
    assert stored(path)[:, 0].tolist() == want
