"""Changed TFRecord files with right checksums: the features that protobuf has, or an error with its place."""

from __future__ import annotations

import random
import struct
from pathlib import Path
from typing import Any

from gofast import errors
from gofast._core.tfrecord_index import TFRecordIndex
from mutations import SEEDS, bounded, changed
from records import Value, example, framed, read_example


def written(rng: random.Random) -> bytes:
    """An Example of a few features."""
    values: list[Value] = [[1, -2, 1 << 40], [0.5, 2.0], [b"one", b""], [b"x" * 130], []]
    names = ["i", "f", "b", "é", "long/name"]
    return example({name: rng.choice(values) for name in rng.sample(names, rng.randint(1, 4))})


def read(path: Path) -> list[dict[str, Any]]:
    """The features of gofast's records; None: a record does not have it."""
    records = TFRecordIndex.open(path, None)
    made = []
    for i in range(records.count):
        each = {}
        for name, column in records.columns.items():
            values = records.contents(column, i) if column.kind == "byte" else column.of(i).tolist()
            each[name] = values if column.has[i] else None
        made.append(each)
    return made


def same(got: Any, want: Any) -> bool:
    """Floats by their bits: a NaN is one."""
    if want and isinstance(want[0], float):
        return bool(got) and struct.pack(f"{len(got)}f", *got) == struct.pack(f"{len(want)}f", *want)
    return bool(got == want)


def compare(seeds: range, path: Path) -> tuple[int, int]:
    """How many files are read, and how many refused."""
    taken = refused = 0
    for seed in seeds:
        rng = random.Random(seed)
        data = [written(rng), written(rng)]
        if seed % 8:
            data[seed % 2] = changed(data[seed % 2], rng, 20)
        path.write_bytes(framed(data))
        try:
            with bounded(seed):
                got = read(path)
        except errors.GofastError as error:
            schema = isinstance(error, errors.SchemaError)  # of records of which one is another's type
            assert error.path == str(path) and (schema or error.offset is not None), (seed, error)
            assert seed % 8 or schema, (seed, error)
            refused += 1
            continue
        taken += 1
        want = [read_example(each) for each in data]
        for ours, theirs in zip(got, want, strict=True):
            assert theirs.keys() <= ours.keys(), seed
            assert all(same(value, theirs.get(name)) for name, value in ours.items()), seed
    return taken, refused


@SEEDS
def test_changed_records(seeds: range, tmp_path: Path) -> None:
    taken, refused = compare(seeds, tmp_path / "a.tfrecord")
    assert taken > len(seeds) // 20 and refused > len(seeds) // 4, (taken, refused)
