"""Changed Parquet and Arrow files of pictures: the values that pyarrow sees, or an error."""

from __future__ import annotations

import random
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

import gofast
from gofast import errors
from mutations import SEEDS, bounded, changed

# How a file is written: that of an Arrow file or stream, else options of Parquet.
WRITERS: tuple[dict[str, Any] | str, ...] = (
    {"compression": "none", "use_dictionary": False},
    {"compression": "snappy", "use_dictionary": False},
    {"compression": "snappy", "data_page_size": 60, "write_batch_size": 2, "row_group_size": 3},
    {
        "compression": "none",
        "data_page_version": "2.0",
        "column_encoding": {"image": "DELTA_LENGTH_BYTE_ARRAY"},
        "use_dictionary": False,
    },
    "file",
    "stream",
)


def table(rng: random.Random) -> pa.Table:
    """A few rows, as the hub has them or with a plain column."""
    count = rng.randint(1, 7)
    values = [rng.randbytes(rng.choice([0, 5, 40])) * rng.randint(1, 3) for _ in range(count)]
    if count > 1 and rng.random() < 0.1:
        values[-1] = None  # type: ignore[call-overload]
    pictures: Any = pa.array(values, rng.choice([pa.binary(), pa.large_binary()]))
    if rng.random() < 0.5:
        paths = pa.array([f"{i}.jpg" for i in range(count)])
        pictures = pa.StructArray.from_arrays([pa.array(values, pa.binary()), paths], ["bytes", "path"])
    return pa.table({"image": pictures, "label": [rng.randrange(-5, 9) for _ in range(count)]})


def write(path: Path, rows: pa.Table, how: dict[str, Any] | str) -> None:
    if isinstance(how, dict):
        struct = pa.types.is_struct(rows.schema.field("image").type)
        if "column_encoding" in how and struct:
            how = {**how, "column_encoding": {"image.bytes": "DELTA_LENGTH_BYTE_ARRAY"}}
        pq.write_table(rows, path, store_schema=False, **how)  # a third of the file, which nobody needs
        return
    with (pa.ipc.new_stream if how == "stream" else pa.ipc.new_file)(path, rows.schema) as out:
        out.write_table(rows, max_chunksize=3)


def read(data: bytes, how: dict[str, Any] | str, image: str) -> list[tuple[Any, Any]] | str:
    """What pyarrow reads, or why it does not."""
    try:
        if isinstance(how, dict):
            rows = pq.ParquetFile(pa.BufferReader(data)).read([image, "label"], use_threads=False)
        else:
            rows = (pa.ipc.open_stream if how == "stream" else pa.ipc.open_file)(data).read_all()
        rows.validate(full=True)
        pictures = rows["image"].to_pylist()
        if pa.types.is_struct(rows.schema.field("image").type):
            pictures = [None if one is None else one["bytes"] for one in pictures]
        return [*zip(pictures, rows["label"].to_pylist(), strict=True)]
    except (pa.ArrowException, OSError, ValueError, KeyError, MemoryError) as error:
        return repr(error)


def compare(seeds: range, path: Path) -> tuple[int, int]:
    """How many files are read, and how many refused."""
    taken = refused = 0
    for seed in seeds:
        rng = random.Random(seed)
        how = WRITERS[seed % len(WRITERS)]
        rows = table(rng)
        write(path, rows, how)
        data = path.read_bytes()
        if not (whole := seed // len(WRITERS) % 8 == 0):
            data = changed(data, rng, 400)
            path.write_bytes(data)
        try:
            with bounded(seed):
                dataset = gofast.ImageFiles.from_parquet(path)
                got = [*zip(dataset._listing.files.contents or (), dataset.targets, strict=True)]
        except errors.GofastError as error:
            assert str(path) in str(error), (seed, error)
            assert not whole or isinstance(error, errors.MissingValueError), (seed, error)
            refused += 1
            continue
        taken += 1
        want = read(data, how, "image.bytes" if pa.types.is_struct(rows["image"].type) else "image")
        if isinstance(want, str):  # of what pyarrow looks at, and we do not: the values are those of the file
            assert not whole, (seed, want)
            continue
        assert got == want, seed
    return taken, refused


def test_empty_values_of_a_buffer_that_points_anywhere(tmp_path: Path) -> None:
    """Found by the soak: an error that blamed an index, where nothing is wrong but the buffer's place."""
    compare(range(25241, 25242), tmp_path / "a.parquet")
    compare(range(28636, 28637), tmp_path / "a.parquet")


@SEEDS
def test_changed_files(seeds: range, tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        taken, refused = compare(seeds, tmp_path / "a.parquet")
    assert taken > len(seeds) // 8 and refused > len(seeds) // 4, (taken, refused)
