"""A stream of tables stays within its memory, in every epoch, of any format, for any ranks and workers."""

from __future__ import annotations

import gzip
import itertools
import os
import random
import re
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from torch.utils.data import DataLoader

import gofast
from gofast import TableDataset, errors
from gofast._tables import blocks, stream_options, stream_windows, window_memory
from test_stream import SMALL, equal, whole

MOST = 64 * SMALL  # that decoding may take: what is looked at is the memory of rows


@pytest.fixture
def limit(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The bytes that rooms of a process may have together. Blocks are small, windows as usual."""
    monkeypatch.setattr(stream_options, "_LEAST", 1)
    monkeypatch.setattr(blocks, "_BLOCK", 1 << 12)
    live, most = weakref.WeakSet[Any](), [0]

    class Counted(window_memory.Room):
        def __init__(self, size: int) -> None:
            super().__init__(size)
            self.pid = os.getpid()
            live.add(self)
            total = sum(room.size for room in live if room.pid == self.pid)
            assert total <= most[0], f"{total} bytes of {most[0]}"

        def empty(self) -> None:
            super().empty()
            live.discard(self)

    monkeypatch.setattr(window_memory, "Room", Counted)
    return most


def numbers(choose: random.Random, rows: int, width: int) -> np.ndarray[Any, Any]:
    """Values that are stored as bytes, as floats, or as bytes with some floats, anywhere."""
    rng = np.random.default_rng(choose.randrange(2**32))
    values = rng.integers(0, 250, (rows, width)).astype(float)
    kind = choose.choice(["bytes", "floats", "one", "most"])
    if kind == "floats":
        return rng.normal(size=(rows, width))
    if kind == "one":
        values[choose.randrange(rows)] = 1e9 + 0.1
    if kind == "most":
        values[rows // 20 : -rows // 20] += 0.1
    return values


def written(choose: random.Random, values: np.ndarray[Any, Any], folder: Path) -> list[Path]:
    """The rows in one file or several, of one format. Columns of whole numbers are stored as such."""
    ending = choose.choice(["npy", "csv", "csv.gz", "parquet", "arrow"])
    inner = sorted(choose.sample(range(1, len(values)), choose.choice([0, 0, 2])))
    frame, paths = pd.DataFrame(values).add_prefix("c"), list[Path]()
    whole_numbers = [name for name in frame if (frame[name] % 1 == 0).all()]
    frame = frame.astype(dict.fromkeys(whole_numbers, "int64"))
    for start, stop in itertools.pairwise([0, *inner, len(values)]):
        path, some = folder / f"{start}.{ending}", frame[start:stop]
        if ending == "npy":
            np.save(path, values[start:stop])
        elif ending == "csv":
            some.to_csv(path, index=False)
        elif ending == "csv.gz":
            path.write_bytes(gzip.compress(some.to_csv(index=False).encode(), 1))
        elif ending == "parquet":
            some.to_parquet(path, row_group_size=choose.choice([100, 700]))
        else:
            table, half = pa.Table.from_pandas(some, preserve_index=False), len(some) // 2
            with pa.ipc.new_file(path, table.schema) as out:
                out.write_table(table.slice(0, half), max_chunksize=100)
                out.write_table(table.slice(half), max_chunksize=choose.choice([100, 700]))
        paths.append(path)
    return sorted(paths, key=lambda path: int(path.name.split(".")[0]))


def sorted_rows(features: torch.Tensor) -> list[bytes]:
    return sorted(row.tobytes() for row in features.numpy())


@pytest.mark.daily(12)
@pytest.mark.parametrize("seed", range(60))
def test_each_epoch_has_each_row_once_within_the_memory(seed: int, limit: list[int], tmp_path: Path) -> None:
    choose = random.Random(seed)
    rows, width = choose.randrange(3000, 9000), choose.choice([1, 7, 40])
    paths = written(choose, numbers(choose, rows, width), tmp_path)
    want = TableDataset(paths, label=None, dtype="float64")[:]["features"]
    rows_memory = choose.uniform(0.3, 2.5) * rows * width * 8
    memory = int(max(rows_memory, 1.3 * 8 * width * 700, 4096 * 30) / 0.7)
    if paths[0].suffix == ".gz" or len(paths) > 1:  # they are blocks of their own
        memory = max(memory, int(rows * width * 8 * 1.1 / 0.7 + 4096 * 8))
    shuffle, even = choose.choice(["block", None]), choose.choice(["drop", "pad"])
    world, workers = choose.choice([1, 2, 3]), choose.choice([0, 0, 0, 2])
    options: dict[str, Any] = {"memory": memory, "shuffle": shuffle, "even": even, "seed": seed}
    ranks = [
        gofast.IterableDataset.from_table(
            paths, label=None, dtype="float64", rank=i, world=world, limits={"memory": MOST}, **options
        )
        for i in range(world)
    ]
    limit[0] = ranks[0]._rooms_most
    size, epochs = choose.choice([17, 64, 1000, 20_000]), list[list[torch.Tensor]]()
    for epoch in (0, 1, 0):
        parts = list[torch.Tensor]()
        for stream in ranks:
            stream.set_epoch(epoch)
            if choose.random() < 0.3:
                next(iter(gofast.DataLoader(stream, size)))  # an epoch that is left
            loader: Any = gofast.DataLoader if workers == 0 else DataLoader
            fork = {"num_workers": workers, "multiprocessing_context": "fork"} if workers else {}
            parts.append(whole(list(loader(stream, size, **fork)))["features"])
            stream._windows._kept = []  # the next rank is of another process
        assert len({len(part) for part in parts}) == 1
        got = torch.cat(parts)
        over = len(got) - rows
        if even == "pad":
            assert 0 <= over < world
            assert equal([got[rows:]], [got[:over]]) or workers
            got = got[:rows] if not workers else got
        else:
            assert -world < over <= 0
        if over == 0 or (even == "pad" and not workers):
            assert sorted_rows(got) == sorted_rows(want)
        if shuffle is None and not workers:
            assert equal([got], [want[: len(got)]])
        epochs.append(parts)
    assert all(map(torch.equal, epochs[0], epochs[2]))
    assert shuffle is None or width == 1 or not all(map(torch.equal, epochs[0], epochs[1]))


@pytest.mark.parametrize("ending", ["npy", pytest.param("csv", marks=pytest.mark.full), "parquet"])
def test_ranks_in_the_order_of_the_files_are_bounded_by_the_memory(ending: str, tmp_path: Path) -> None:
    values = np.random.default_rng(0).normal(size=(4000, 802))
    path = tmp_path / f"t.{ending}"
    frame = pd.DataFrame(values).add_prefix("c")
    if ending == "npy":
        np.save(path, values)
    elif ending == "csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, row_group_size=200)
    want = TableDataset(path, label=None, dtype="float64")[:]
    for rank in range(2):
        stream = gofast.IterableDataset.from_table(
            path, memory="36MB", rank=rank, world=2, label=None, dtype="float64"
        )
        for _ in range(3):
            got = whole(list(gofast.DataLoader(stream, 64)))
            assert equal(got, {"features": want["features"][rank * 2000 : rank * 2000 + 2000]})


@pytest.mark.parametrize("shuffle", ["block", None])
def test_a_window_that_is_wider_than_memory(
    shuffle: Any, limit: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows come some at a time, in the order that more memory would give; errors name their place."""
    rows, width, calls = 6000, 30, list[int]()
    values = np.random.default_rng(0).integers(0, 250, (rows, width)).astype(object)
    values[rows // 2, 3] = 1e9 + 0.1  # the rows beside it take eight times as much
    path = tmp_path / "t.csv"
    pd.DataFrame(values).add_prefix("c").assign(label=np.arange(rows)).to_csv(path, index=False)
    passes = stream_windows.passes

    def counted(*args: Any) -> Any:
        for one in passes(*args):
            calls.append(len(one[1]))
            yield one

    monkeypatch.setattr(stream_windows, "passes", counted)
    options: dict[str, Any] = {"dtype": "float64", "limits": {"memory": MOST}, "world": 1, "rank": 0}
    memory = rows * width * 4
    stream = gofast.IterableDataset.from_table(path, memory=memory, shuffle=shuffle, seed=2, **options)
    if shuffle is None:
        stream = gofast.IterableDataset.from_table(
            path, memory=memory, seed=2, **{**options, "world": 2}, even="pad"
        )
    limit[0] = stream._rooms_most
    want = TableDataset(path, dtype="float64")
    for _ in range(2):
        calls.clear()
        got = whole(list(gofast.DataLoader(stream, 100)))
        assert len(calls) > 1
        assert equal(got, want[got["label"]])
        assert len(set(got["label"].tolist())) == len(got["label"]) == (rows if shuffle else rows // 2)
    pieces = stream._found(None).pieces
    order = stream._order(stream._open(), stream._draw())
    first = np.cumsum([0, *(piece["rows"] for piece in pieces)])
    expected = list[int]()
    for stretch in stream._stretches(order):
        held = np.concatenate([np.arange(first[b], first[b + 1]) for b in stretch.window.blocks])
        expected += held[order.rows(stretch).numpy()].tolist()
    assert got["label"].tolist() == expected
    with pytest.raises(errors.BadValueError) as caught:
        narrow = gofast.IterableDataset.from_table(
            path, memory=memory, shuffle="block", seed=2, **{**options, "dtype": "int64", "world": 1}
        )
        list(gofast.DataLoader(narrow, 100))
    assert (caught.value.line, caught.value.column) == (rows // 2 + 2, "c3")


@pytest.mark.parametrize(
    ("ending", "shuffle"),
    [("parquet", "block"), ("parquet", None), ("arrow", "block"), ("arrow", None), ("csv.gz", "block")],
)
def test_the_memory_that_an_error_names_suffices(ending: str, shuffle: Any, tmp_path: Path) -> None:
    """What must be decoded together is an error before the first row, whichever epoch would meet it first."""
    small, large = np.full((2000, 60), 1.5), np.full((60_000, 60), 0.1)
    paths = [tmp_path / f"{i}.{ending}" for i in range(3)]
    for path, values in zip(paths, [small, large, small], strict=True):
        frame = pd.DataFrame(values).add_prefix("c")
        if ending == "parquet":
            frame.to_parquet(path, row_group_size=len(frame), compression=None)
        elif ending == "arrow":
            frame.to_feather(path, chunksize=len(frame))
        else:
            head, row = frame[:1].to_csv(index=False).splitlines()
            path.write_bytes(gzip.compress(f"{head}\n{(row + chr(10)) * len(values)}".encode(), 1))
    options: dict[str, Any] = {"label": None, "shuffle": shuffle, "seed": 0}
    rows, memory, tries = list[Any](), "36MB", 0
    while not rows:
        stream, given = gofast.IterableDataset.from_table(paths, memory=memory, **options), 0
        try:
            for batch in gofast.DataLoader(stream, 999):
                given += len(batch["features"])
            rows = [given]
        except errors.LimitError as error:
            assert given == 0 or shuffle is None
            found = re.search(r'memory="(\d+MB)" suffices', str(error))
            assert found, str(error)
            memory, tries = found[1], tries + 1
    assert rows == [64_000]
    assert tries == 1
    if ending == "parquet":  # more memory would not raise this limit
        with pytest.raises(errors.LimitError) as caught:
            list(
                gofast.DataLoader(
                    gofast.IterableDataset.from_table(
                        paths, memory=memory, limits={"memory": SMALL}, **options
                    ),
                    999,
                )
            )
        assert "suffices" not in str(caught.value)
