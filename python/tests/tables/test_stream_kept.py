"""A stream of tables whose rows fit into its memory decodes them once, and its order stays what it is."""

from __future__ import annotations

import gc
import os
import pickle
import random
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader

import gofast
from gofast import TableDataset, errors
from gofast._tables import blocks, stream_source, window_memory
from gofast.typing import TableStream
from test_stream import SMALL, Stream, equal, mapped, whole
from test_stream import _pieces as _pieces  # its small windows are ours

ROWS = 30_011


@pytest.fixture
def path(tmp_path: Path) -> Path:
    numbers = {"id": np.arange(ROWS), "x": np.random.default_rng(5).normal(size=ROWS)}
    pd.DataFrame({**numbers, "label": np.arange(ROWS) % 7}).to_parquet(
        tmp_path / "t.parquet", row_group_size=500
    )
    return tmp_path / "t.parquet"


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A number for each window whose decoding began."""
    noted, begin = list[int](), stream_source.StreamSource._begin

    def counted(self: Any, pieces: Any, room: Any) -> Any:
        noted.append(0 if pieces is None else len(pieces))
        return begin(self, pieces, room)

    monkeypatch.setattr(stream_source.StreamSource, "_begin", counted)
    return noted


def stream_of(path: Path, memory: float = 3, **options: Any) -> TableStream:
    return Stream(path, memory=int(memory * SMALL), dtype=torch.float64, **options)


# A row takes 24 bytes. Of 1.2 MiB, 0.84 are for rows, and windows take less than a half of that.
@pytest.mark.parametrize(("memory", "windows"), [(3, 1), (1.2, 2)])
@pytest.mark.parametrize("world", [1, 3])
def test_the_order_is_that_of_windows(
    memory: float, windows: int, world: int, path: Path, begun: list[int]
) -> None:
    want, seen = TableDataset(path, dtype=torch.float64), list[list[int]]()
    streams = [
        stream_of(path, memory, shuffle="block", seed=4, rank=rank, world=world) for rank in range(world)
    ]
    for epoch in (0, 1, 2, 0):
        rows = list[int]()
        for stream in streams:
            stream.set_epoch(epoch)
            rows += mapped(stream, want, 1000)
        assert len(set(rows)) == len(rows) == ROWS // world * world
        seen.append(rows)
        if len(seen) == 1:
            assert "decoded once" in gofast.explain(streams[0])
            decoded = len(begun)
            assert len(streams[0]._order(streams[0]._open(), streams[0]._draw()).windows) == windows
    assert len(begun) == decoded
    assert seen[0] == seen[3] != seen[1] != seen[2]


@pytest.mark.parametrize(
    "rows", [0, 1, 2, 127, 128, 129, 256, 257, 65_536, 65_537, *range(1000, 200_000, 9973)]
)
def test_rows_are_permuted_as_numpy_does(rows: int) -> None:
    order = blocks.BlockOrder([3, rows], rows, rows + 5, 7)
    places = np.random.default_rng(rows).integers(-(2**62), 2**62, rows)
    window = blocks.WindowPlan(1, [1], rows)
    words = np.random.SeedSequence([rows + 5, 7, 2])
    want = np.random.Generator(np.random.PCG64(words)).permutation(places)
    got = order.rows(blocks.Stretch(window, 0, rows), places.copy())
    assert got.tolist() == want.tolist()
    some = order.rows(blocks.Stretch(window, rows // 3, rows // 2))
    assert places[some.numpy()].tolist() == want[rows // 3 : rows // 2].tolist()


def test_what_does_not_fit_is_decoded_in_each_epoch(path: Path, begun: list[int]) -> None:
    want = TableDataset(path, dtype=torch.float64)
    for shuffle in ("block", None):
        stream, counts = stream_of(path, 0.8, shuffle=shuffle, seed=4), list[int]()
        assert "decoded once" not in gofast.explain(stream)
        for _ in range(3):
            assert equal(whole(list(gofast.DataLoader(stream, 1000))), want[:]) or shuffle
            counts.append(len(begun))
        assert counts[2] - counts[1] == counts[1] - counts[0] > 1


@pytest.mark.parametrize("memory", [3, 8])
def test_rows_in_the_order_of_the_files_are_kept(memory: float, path: Path, begun: list[int]) -> None:
    want, stream = TableDataset(path, dtype=torch.float64), stream_of(path, memory)
    decoded = set[int]()
    for size in (1000, 333, 4096):
        assert equal(whole(list(gofast.DataLoader(stream, size))), want[:])
        decoded.add(len(begun))
    assert len(decoded) == 1
    assert len(begun) > 2


def test_an_epoch_that_is_left_keeps_nothing_that_is_not_whole(path: Path) -> None:
    want, stream = TableDataset(path, dtype=torch.float64), stream_of(path)
    for _ in range(3):
        next(iter(gofast.DataLoader(stream, 1000)))
    assert equal(whole(list(gofast.DataLoader(stream, 1000))), want[:])


def test_wider_rows_than_the_first_ones_are_not_kept(tmp_path: Path, begun: list[int]) -> None:
    values = np.random.default_rng(0).integers(0, 250, (60_000, 12))
    values[30_000, 0] = 300  # rows take twice as much there
    pd.DataFrame(values).rename(columns=str).to_parquet(tmp_path / "t.parquet", row_group_size=5000)
    want = TableDataset(tmp_path / "t.parquet", label=None)
    stream = Stream(tmp_path / "t.parquet", memory=1_150_000, label=None, shuffle="block", seed=1)
    source = stream._open()
    size = len(want) * stream._row_bytes(stream._found(source))
    assert stream._rooms_most * 15 // 32 < size <= stream._rooms_most * 15 // 16
    for _ in range(2):
        before = len(begun)
        got = whole(list(gofast.DataLoader(stream, 1000)))
        assert len(begun) - before > 1
        assert sorted(got["features"].tolist()) == sorted(want[:]["features"].tolist())
    assert not stream._windows._fits


@pytest.mark.parametrize("shuffle", ["block", None])
def test_a_file_that_changes_is_noticed_when_an_epoch_begins(shuffle: Any, path: Path) -> None:
    stream = stream_of(path, shuffle=shuffle, seed=0)
    for _ in range(2):
        assert len(whole(list(gofast.DataLoader(stream, 1000)))["label"]) == ROWS
    os.utime(path, (1, 1))
    with pytest.raises(errors.ChangedError, match=r"t\.parquet"):
        list(gofast.DataLoader(stream, 1000))


@pytest.mark.parametrize("shuffle", ["block", None])
def test_copies_and_forked_workers(shuffle: Any, path: Path, begun: list[int]) -> None:
    stream = stream_of(path, shuffle=shuffle, seed=0)
    want = whole(list(gofast.DataLoader(stream, 1000)))
    assert len(pickle.dumps(stream)) < 50_000  # no rows
    assert equal(whole(list(gofast.DataLoader(pickle.loads(pickle.dumps(stream)), 1000))), want)
    for _ in range(2):
        got = whole(list(DataLoader(stream, 1000, num_workers=2, multiprocessing_context="fork")))
        assert sorted(got["features"][:, 0].tolist()) == sorted(want["features"][:, 0].tolist())


def test_a_forked_worker_joins_kept_rows_with_its_own(path: Path) -> None:
    """Its batch has rows of two windows: what is left of one, and kept ones, which its parent decoded."""
    want, stream = TableDataset(path, dtype=torch.float64)[:], stream_of(path, 1.2, shuffle="block", seed=1)
    next(iter(gofast.DataLoader(stream, 1000)))
    assert stream._windows._kept
    assert len(stream._order(stream._open(), stream._draw()).windows) == 2
    got = whole(list(DataLoader(stream, 1000, num_workers=1, multiprocessing_context="fork")))
    rows = got["features"][:, 0].long()
    assert equal(got, {key: value[rows] for key, value in want.items()})
    assert sorted(rows.tolist()) == list(range(ROWS))


def test_rows_that_turn_out_not_to_fit_stay_within_memory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    live, seen = weakref.WeakSet[Any](), list[int]()

    class Counted(window_memory.Room):
        def __init__(self, size: int) -> None:
            super().__init__(size)
            live.add(self)

    monkeypatch.setattr(window_memory, "Room", Counted)
    for i in range(40):  # which take nearly nothing as files
        pd.DataFrame(np.full((6000, 9), i + 0.5)).add_prefix("x").to_parquet(tmp_path / f"{i:02}.parquet")
    stream = Stream(tmp_path / "*.parquet", memory=8 * SMALL, label=None)
    assert sum(stamp.size for stamp in stream._stamps) < stream._rooms_most
    want = TableDataset(tmp_path / "*.parquet", label=None)[:]
    gc.collect()
    gc.disable()
    try:
        got = list[Any]()
        for batch in gofast.DataLoader(stream, 500):
            got.append(batch)
            seen.append(sum(room.size for room in live))
    finally:
        gc.enable()
    assert equal(whole(got), want)
    assert stream._rooms_most // 2 < max(seen) <= stream._rooms_most
    assert seen[-1] < max(seen) // 2  # what is not used again is given back
    assert not stream._windows._kept


@pytest.mark.daily(2)
@pytest.mark.parametrize("seed", range(6))
def test_batches_made_ahead_are_those_that_torch_makes_of_the_rows(seed: int, path: Path) -> None:
    choose = random.Random(seed)
    options: dict[str, Any] = {"shuffle": choose.choice(["block", None]), "seed": seed}
    options["output"] = choose.choice(["dict", "tuple"])
    options["batch_transform"] = choose.choice([None, torch.neg])
    loading: dict[str, Any] = {"collate_fn": choose.choice([None, list]), "drop_last": choose.random() < 0.5}
    memory, size = choose.choice([0.8, 1.2, 3]), choose.choice([1, 16, 700, 4096, 50_000])

    loader = gofast.DataLoader(stream_of(path, memory, **options), size, **loading)
    ahead = list(loader)
    assert loader.stats()["batches"] == len(ahead)
    if loading["collate_fn"] is None:
        assert loader.stats()["samples"] == (ROWS // size * size if loading["drop_last"] else ROWS)
    then = list(torch.utils.data.DataLoader(stream_of(path, memory, **options), size, **loading))
    assert len(ahead) == len(then)
    for a, b in zip(ahead, then, strict=True):
        if loading["collate_fn"] is list:
            assert len(a) == len(b)
            assert all(equal(x, y) for x, y in zip(a, b, strict=True))
        else:
            assert equal(a, b)


def test_a_label_without_a_place_is_named_where_its_batch_is(path: Path) -> None:
    stream = stream_of(path, one_hot=6)
    with pytest.raises(errors.GofastError, match="one_hot"):
        list(gofast.DataLoader(stream, 100))
