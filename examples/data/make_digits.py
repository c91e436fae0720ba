"""Writes digits.parquet, the 3,000 real digits that come with gofast: the first rows of MNIST's test set.

Usage: python make_digits.py MNIST_TEST_PARQUET   (a table of `label`, `pixel0` .. `pixel783`; needs pyarrow)

The layout is that of the source (int64 columns, one row group). Byte-stream-split pages with zstd store it in
635 kB; dictionary pages with the same codec need 779 kB, and the source takes 386 bytes a row (1.16 MB).
"""

import pathlib
import sys

import pyarrow as pa
import pyarrow.parquet as pq

ROWS = 3_000


def main(source: str) -> None:
    """Cuts the first ROWS rows of source and writes them beside this script."""
    table = pq.read_table(source).slice(0, ROWS)
    schema = pa.schema([pa.field(name, pa.int64(), nullable=False) for name in table.schema.names])
    target = pathlib.Path(__file__).resolve().with_name("digits.parquet")
    pq.write_table(
        table.cast(schema),
        target,
        compression="zstd",
        compression_level=22,
        use_dictionary=False,
        column_encoding="BYTE_STREAM_SPLIT",
        write_statistics=False,
        store_schema=False,
    )
    print(f"{target.name}: {ROWS} rows, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
