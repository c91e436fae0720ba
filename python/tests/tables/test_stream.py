"""IterableDataset.from_table beside TableDataset: the same rows, in its order, with the same errors."""

from __future__ import annotations

import bz2
import functools
import gc
import gzip
import os
import pickle
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils.data import DataLoader

import gofast
import gofast.stream
from gofast import TableDataset, errors
from gofast._core.memory import Room
from gofast._tables import blocks, stream_options, stream_pieces, stream_source, window_memory
from gofast._tables.blocks import BlockPermutation
from gofast.typing import TableStream
from same import difference

SMALL = 1 << 20


def Stream(path: Any, **options: Any) -> TableStream:
    """A stream whose windows are small, and whose decoding is not."""
    return gofast.IterableDataset.from_table(path, limits={"memory": 64 * SMALL}, **options)


@pytest.fixture(autouse=True)
def _pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows that test files have several of."""
    monkeypatch.setattr(stream_options, "_LEAST", 1)
    monkeypatch.setattr(blocks, "USUAL", 1 << 16)
    monkeypatch.setattr(blocks, "_BLOCK", 1 << 12)


def whole(batches: list[Any]) -> Any:
    """The rows of all batches."""
    first = batches[0]
    if isinstance(first, dict):
        return {key: torch.cat([batch[key] for batch in batches]) for key in first}
    if isinstance(first, torch.Tensor):
        return torch.cat(batches)
    return [torch.cat([batch[i] for batch in batches]) for i in range(len(first))]


def parts(rows: Any) -> list[torch.Tensor]:
    return list(rows.values() if isinstance(rows, dict) else rows)


def frame(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Numbers of many kinds, so that windows are stored as different types."""
    columns: dict[str, Any] = {}
    for i in range(int(rng.integers(1, 6))):
        kind = rng.integers(4)
        if kind == 0:
            columns[f"c{i}"] = rng.integers(0, 256, rows)
        elif kind == 1:
            columns[f"c{i}"] = np.where(rng.random(rows) < 1e-4, 70_000, rng.integers(0, 200, rows))
        elif kind == 2:
            columns[f"c{i}"] = rng.integers(-(2**20), 2**20, rows)
        else:
            columns[f"c{i}"] = rng.normal(size=rows).astype("float32" if rng.random() < 0.5 else "float64")
    columns["label"] = rng.integers(0, 10, rows) if rng.random() < 0.7 else rng.normal(size=rows)
    return pd.DataFrame(columns)


def write(frame: pd.DataFrame, path: Path, rng: np.random.Generator) -> None:
    if path.suffix == ".parquet":
        groups = int(rng.integers(100, 3000))
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path, row_group_size=groups)
        return
    if path.suffix.startswith(".arrow"):
        table = pa.Table.from_pandas(frame, preserve_index=False)
        new = pa.ipc.new_stream if path.suffix == ".arrows" else pa.ipc.new_file
        options = pa.ipc.IpcWriteOptions(compression=[None, "lz4", "zstd"][int(rng.integers(3))])
        with new(path, table.schema, options=options) as out:
            out.write_table(table, max_chunksize=int(rng.integers(100, 3000)))
        return
    end = ["\n", "\r\n"][int(rng.integers(2))]
    text = frame.to_csv(index=False, lineterminator=end, quoting=int(rng.integers(3))).encode()
    if rng.random() < 0.3:
        text = text.rstrip()
    packers: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".zst": lambda text: pa.compress(text, "zstd", asbytes=True),
        ".csv": bytes,
    }
    path.write_bytes(packers[path.suffix](text))


@pytest.mark.daily(10)
@pytest.mark.parametrize("seed", range(40))
def test_the_rows_are_those_of_a_table_dataset(seed: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(seed)
    ending = [".csv", ".csv", ".parquet", ".csv.gz", ".csv.zst", ".csv.bz2", ".arrow", ".arrows"][
        int(rng.integers(8))
    ]
    all_rows = frame(rng, int(rng.integers(1, 20_000)))
    cuts = sorted(rng.integers(0, len(all_rows) + 1, int(rng.integers(1, 4))).tolist())
    files = []
    for i, (start, stop) in enumerate(zip([0, *cuts], [*cuts, len(all_rows)], strict=True)):
        if start < stop:
            files.append(tmp_path / f"part{i}{ending}")
            write(all_rows.iloc[start:stop], files[-1], rng)
    options: dict[str, Any] = {"output": ["dict", "tuple"][int(rng.integers(2))]}
    if rng.random() < 0.3:
        options["dtype"] = torch.float64
    if rng.random() < 0.3:
        options |= {"mean": 3.0, "std": 2.0}
    want = TableDataset(files, **options)
    batch = int(rng.integers(1, 3000))
    memory = int(rng.integers(SMALL, 8 * SMALL))
    stream = Stream(files, memory=memory, **options)
    got = list(gofast.DataLoader(stream, batch_size=batch))
    assert equal(whole(got), want[:])
    assert [len(parts(b)[0]) for b in got[:-1]] == [batch] * (len(got) - 1)
    dropped = list(
        gofast.DataLoader(stream, batch_size=batch, drop_last=True, num_workers=int(rng.integers(3)))
    )
    assert len(dropped) == len(want) // batch

    shuffled = Stream(files, memory=memory, shuffle="block", seed=seed, **options)
    order = mapped(shuffled, want, batch)
    assert sorted(order) == list(range(len(want)))
    assert len(want) < 100 or order != sorted(order)
    assert len(shuffled) == len(want)


def equal(a: Any, b: Any) -> bool:
    """To the last bit: NaN too."""
    return difference(a, b, strides=False) == ""


def mapped(stream: TableStream, want: TableDataset, batch: int, **options: Any) -> list[int]:
    """The rows of the table, by what comes out of the stream. They must be those that its order says."""
    loader = gofast.DataLoader(stream, batch_size=batch, **options)
    got = whole(list(loader))
    source = stream._open()
    order = stream._order(source, stream._draw())
    pieces = stream._found(source).pieces
    first = np.cumsum([0] + [piece["rows"] for piece in pieces])
    rows = list[int]()
    for stretch in stream._stretches(order):
        held = np.concatenate([np.arange(first[b], first[b + 1]) for b in stretch.window.blocks])
        rows += held[order.rows(stretch).numpy()].tolist()
    assert equal(got, want[rows])
    return rows


@pytest.fixture
def table(tmp_path: Path) -> Iterator[tuple[Path, TableDataset]]:
    rng = np.random.default_rng(5)
    path = tmp_path / "t.csv"
    rows = 10_007
    pd.DataFrame({"id": np.arange(rows), "x": rng.normal(size=rows), "label": np.arange(rows) % 7}).to_csv(
        path, index=False
    )
    yield path, TableDataset(path, dtype=torch.float64)


def streamed(path: Path, **options: Any) -> TableStream:
    return Stream(path, memory=SMALL // 3, dtype=torch.float64, **options)


def test_the_order_is_the_seeds_and_the_epochs(table: tuple[Path, TableDataset]) -> None:
    path, want = table
    stream = streamed(path, shuffle="block", seed=9)
    first = mapped(stream, want, 100)
    assert mapped(stream, want, 333) == first
    stream.set_epoch(1)
    second = mapped(stream, want, 100)
    assert second != first
    assert mapped(streamed(path, shuffle="block", seed=8), want, 100) != first
    again = pickle.loads(pickle.dumps(stream))
    assert mapped(again, want, 100) == second
    assert len(stream._order(stream._open(), blocks.BlockPermutation(9, 0)).windows) > 1


def test_functions_of_the_users_run(table: tuple[Path, TableDataset]) -> None:
    path, _ = table

    def both(rows: Any) -> Any:
        return torch.stack([row["features"] for row in rows]) + 1

    cases: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({"transform": torch.neg}, {}),
        ({"target_transform": lambda label: label + 1}, {}),
        ({"batch_transform": lambda x: x - x.mean()}, {}),
        ({"batch_transform": lambda x: x - x.mean(), "transform": torch.neg}, {}),
        ({}, {"collate_fn": both}),
        ({"batch_transform": torch.neg}, {"collate_fn": both}),
        ({"one_hot": 7}, {}),
        ({"label": None}, {}),
    ]
    for options, loading in cases:
        want = TableDataset(path, dtype=torch.float64, **options)
        a = list(gofast.DataLoader(want, batch_size=1000, **loading))
        b = list(gofast.DataLoader(streamed(path, **options), batch_size=1000, **loading))
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert equal(x, y) if isinstance(x, dict) else torch.equal(x, y)


def error_of(act: Callable[[], Any]) -> errors.GofastError:
    with pytest.raises(errors.GofastError) as caught:
        act()
    return caught.value


@pytest.mark.parametrize("ending", [".csv", ".csv.gz"])
@pytest.mark.parametrize("shuffle", ["block", None])
@pytest.mark.parametrize(
    "bad",
    [
        "7,abc,1",  # no number
        "7,1.5",  # a cell is missing
        "7,,1",  # it is empty
        "7,1.5,red",  # no label
        '7,"1.5,1',  # a quote that is never closed
    ],
)
def test_an_error_names_the_line(bad: str, shuffle: Any, ending: str, tmp_path: Path) -> None:
    lines = ["id,x,label", *(f"{i},{i / 3:.3f},{i % 5}" for i in range(20_000))]
    lines[15_000] = bad
    path = tmp_path / f"bad{ending}"
    text = ("\n".join(lines) + "\n").encode()
    path.write_bytes(gzip.compress(text) if ending.endswith("gz") else text)
    want = error_of(lambda: TableDataset(path))

    def read() -> None:
        list(gofast.DataLoader(Stream(path, memory=2 * SMALL, shuffle=shuffle, seed=0), batch_size=64))

    got = error_of(read)
    assert type(got) is type(want)
    assert (got.path, got.row, got.line, got.column) == (want.path, want.row, want.line, want.column)
    assert str(got) == str(want)


@pytest.mark.parametrize("shuffle", ["block", None])
def test_what_does_not_fit_the_samples_type_is_an_error(shuffle: Any, tmp_path: Path) -> None:
    values = np.arange(20_000) % 250
    values[17_000] = 300
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": values, "label": 0}).to_csv(path, index=False)
    for options in ({"dtype": torch.uint8}, {"shape": (1, 1, 1)}):
        want = error_of(functools.partial(TableDataset, path, **options))
        stream = functools.partial(Stream, path, memory=2 * SMALL, shuffle=shuffle, **options)
        got = error_of(lambda stream=stream: list(gofast.DataLoader(stream(), batch_size=64)))
        assert (type(got), str(got), got.line) == (type(want), str(want), want.line)
    floats = tmp_path / "f.csv"
    lines = ["x,label", *("1,0" for _ in range(20_000))]
    lines[15_000] = "1.5,0"
    floats.write_text("\n".join(lines))
    with pytest.raises(errors.GofastError, match="int64"):
        list(gofast.DataLoader(Stream(floats, memory=2 * SMALL, dtype=torch.int64), batch_size=64))


def test_text_labels_need_their_classes(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    pd.DataFrame({"x": range(9000), "label": ["red", "a,b\nc", "blue"] * 3000}).to_csv(path, index=False)
    with pytest.raises(errors.OptionError, match="classes="):
        gofast.IterableDataset.from_table(path)
    names = ["a,b\nc", "blue", "red"]
    stream = Stream(path, memory=2 * SMALL, classes=names)
    want = TableDataset(path, classes=names)
    assert stream.classes == want.classes
    assert stream.class_to_idx == want.class_to_idx
    assert equal(whole(list(gofast.DataLoader(stream, batch_size=100))), want[:])
    assert mapped(Stream(path, memory=2 * SMALL, classes=names, shuffle="block", seed=1), want, 100)
    with pytest.raises(errors.UnknownLabelError, match="red"):
        list(gofast.DataLoader(Stream(path, memory=2 * SMALL, classes=names[:2]), batch_size=100))


def test_long_records_and_empty_tables(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("x,label\n")
    assert list(gofast.DataLoader(Stream(path, memory=2 * SMALL), batch_size=4)) == []
    assert list(gofast.DataLoader(Stream(path, memory=2 * SMALL, shuffle="block"), batch_size=4)) == []
    long = "9" * 10 + "." + "0" * 900_000
    path.write_text(f"x,label\n{long},1\n2,3\n" * 1 + f"{long},5\n")
    want = TableDataset(path)
    assert equal(whole(list(gofast.DataLoader(Stream(path, memory=2 * SMALL), batch_size=4))), want[:])


def test_length_and_attributes(table: tuple[Path, TableDataset]) -> None:
    path, want = table
    stream = streamed(path)
    with pytest.raises(TypeError, match="index"):
        len(stream)
    assert stream
    stream.index()
    assert len(stream) == len(want)
    assert len(gofast.DataLoader(stream, batch_size=1000)) == 11
    for name in ("shape", "dtype", "keys", "columns", "classes", "mean", "categories", "dates"):
        assert getattr(stream, name) == (
            getattr(want, name) or ({} if name in ("categories", "dates") else None)
        )
    assert "10,007 rows" in repr(stream)
    with pytest.raises(AttributeError, match="'nothing'"):
        stream.nothing  # noqa: B018
    parquet = path.with_suffix(".parquet")
    pd.read_csv(path).to_parquet(parquet)
    assert len(gofast.IterableDataset.from_table(parquet)) == len(want)


def test_options_that_make_no_sense(table: tuple[Path, TableDataset]) -> None:
    path, _ = table
    for options, said in [
        ({"memory": "lots"}, "lots"),
        ({"memory": True}, "memory=True"),
        ({"even": "odd"}, "odd"),
        ({"rank": 0}, "world=None"),
        ({"mean": "auto"}, "all rows"),
    ]:
        with pytest.raises(errors.OptionError, match=said):
            gofast.IterableDataset.from_table(path, **options)
    assert Stream(path, memory="1.5 GiB").memory == 3 << 29
    assert Stream(path, memory="32MB").memory == 32_000_000


def test_a_row_group_that_is_too_large(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rng = np.random.default_rng(0)
    pd.DataFrame(rng.normal(size=(50_000, 20))).rename(columns=str).to_parquet(path)
    for shuffle in (None, "block"):
        with pytest.raises(errors.LimitError, match="memory="):
            list(
                gofast.DataLoader(Stream(path, memory=2 * SMALL, label=None, shuffle=shuffle), batch_size=64)
            )


@pytest.mark.daily(2)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shuffle", [None, "block"])
def test_windows_stay_within_memory_without_a_garbage_collection(
    shuffle: Any, seed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rng, live, seen = np.random.default_rng(seed), weakref.WeakSet[Any](), list[int]()
    for i in range(60):  # so that windows differ
        numbers = rng.normal(size=(rng.integers(500, 3000), 12)).round(2)
        pd.DataFrame(numbers).add_prefix("x").to_csv(tmp_path / f"{i}.csv", index=False)

    class Counted(window_memory.Room):
        def __init__(self, size: int) -> None:
            super().__init__(size)
            live.add(self)

    monkeypatch.setattr(window_memory, "Room", Counted)
    stream = Stream(tmp_path / "*.csv", memory=2 * SMALL, label=None, shuffle=shuffle, seed=seed)
    list(gofast.DataLoader(stream, 500))  # what the rows are counted with
    gc.collect()
    gc.disable()
    try:
        for i, _ in enumerate(gofast.DataLoader(stream, 500)):
            if i % 10 == 0:
                seen.append(sum(room.size for room in live))
    finally:
        gc.enable()
    assert len(seen) > 10 and max(seen) <= stream._rooms_most


def test_the_next_window_is_decoded_while_batches_go_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, begun, size = tmp_path / "a.parquet", set[int](), 70  # no window has whole batches
    numbers = np.random.default_rng(0).normal(size=(60_000, 4))
    pd.DataFrame(numbers).add_prefix("x").to_parquet(path, row_group_size=500)
    stream = Stream(path, memory=SMALL, label=None, shuffle="block", seed=0)
    order = stream._order(stream._open(), BlockPermutation(0, 0))
    ends = np.cumsum([window.rows for window in order.windows])
    begin = stream_source.StreamSource._begin

    def watched(source: stream_source.StreamSource, pieces: Any, room: Room) -> Any:
        begun.add(pieces[0]["from"])
        return begin(source, pieces, room)

    monkeypatch.setattr(stream_source.StreamSource, "_begin", watched)
    for i, _ in enumerate(gofast.DataLoader(stream, size)):
        window = int(np.searchsorted(ends, i * size, "right"))  # of its first row
        assert len(begun) >= min(window + 2, len(ends))
    assert len(begun) == len(ends) > 3


@pytest.mark.parametrize("seed", [None, 4])
def test_workers_that_live_on_have_another_order_in_each_epoch(
    seed: int | None, table: tuple[Path, TableDataset]
) -> None:
    stream = streamed(table[0], shuffle="block", seed=seed)
    loader = DataLoader(stream, batch_size=500, num_workers=2, persistent_workers=True)

    def ids() -> list[int]:
        return whole(list(loader))["features"][:, 0].tolist()

    epochs = [ids(), ids()]
    assert (epochs[0] == epochs[1]) == (seed is not None)
    for epoch in (5, 6, 5):
        stream.set_epoch(epoch)
        epochs.append(ids())
    assert epochs[2] == epochs[4] != epochs[3]
    assert all(sorted(epoch) == sorted(epochs[0]) for epoch in epochs)


@pytest.mark.parametrize("method", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers_count_the_rows_once(
    method: str, table: tuple[Path, TableDataset], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, want = table
    stream = streamed(path)
    pieces = stream_pieces.StreamPieces._write

    def noted(self: stream_pieces.StreamPieces, found: stream_pieces.CountedPieces) -> None:
        with path.with_suffix(".counts").open("a") as file:
            file.write("counted\n")
        pieces(self, found)

    monkeypatch.setattr(stream_pieces.StreamPieces, "_write", noted)
    loader = DataLoader(stream, batch_size=500, num_workers=2, multiprocessing_context=method)
    for _ in range(2):
        assert len(whole(list(loader))["label"]) == len(want)
    if method == "fork":  # others have not what was patched
        assert path.with_suffix(".counts").read_text() == "counted\n"
    assert len(stream) == len(want)  # the parent knows it too


def test_a_forked_child_has_its_own_rows_and_no_more(table: tuple[Path, TableDataset]) -> None:
    path, want = table
    iterator = iter(gofast.DataLoader(streamed(path), batch_size=100))
    got, (reader, writer) = [next(iterator)], os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.read(reader, 1)  # the parent has decoded more by now
            rows = [*got, next(iterator)]
            assert equal(whole(rows), want[: 100 * len(rows)])
            list(iterator)
        except errors.EngineError as error:
            os._exit(0 if "forked" in str(error) else 1)
        finally:
            os._exit(2)
    got += list(iterator)
    os.write(writer, b"x")
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert equal(whole(got), want[:])


def test_floats_for_an_integer_type_are_named(tmp_path: Path) -> None:
    lines = ["x,y,label", *(f"{i},{-i},1" for i in range(20_000))]
    lines[15_000] = "7,1.5,1"
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines))
    for shuffle in (None, "block"):
        stream = Stream(path, memory=2 * SMALL, dtype="int64", shuffle=shuffle, seed=0)
        got = error_of(lambda stream=stream: list(gofast.DataLoader(stream, batch_size=64)))
        assert (type(got), got.line, got.column) == (errors.BadValueError, 15_001, "y")
        assert "float32" in str(got)
    path.write_text("\n".join(lines).replace("7,1.5,1", "7,1.0,1"))
    got = error_of(lambda: list(gofast.DataLoader(Stream(path, memory=2 * SMALL, dtype="int64"), 64)))
    assert (type(got), got.path, got.column) == (
        errors.BadValueError,
        str(path),
        None,
    )  # not the window's first cell
    assert "written as a float" in str(got)


def test_explain_tells_files_whose_labels_stand_together(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    said = {}
    for name, label in [
        ("sorted", np.arange(60_000) // 15_000),
        ("mixed", rng.integers(0, 10, 60_000)),
        ("rising", np.arange(60_000) + 0.5),
        ("one", np.zeros(60_000)),
    ]:
        path = tmp_path / f"{name}.csv"
        pd.DataFrame({"x": rng.normal(size=60_000), "label": label}).to_csv(path, index=False)
        said[name] = gofast.explain(Stream(path, memory=SMALL, shuffle="block", seed=0))
    assert {name for name, text in said.items() if "stand together" in text} == {"sorted", "rising"}
    assert "vary 1.0 times" in said["mixed"]
    assert "vary" not in said["one"]


def test_explain_says_how_well_it_mixes(table: tuple[Path, TableDataset]) -> None:
    path, _ = table
    text = gofast.explain(gofast.DataLoader(streamed(path, shuffle="block", seed=0), batch_size=64))
    assert "in memory together" in text
    assert "of all rows on average" in text
    assert "10,007 rows" in text
    plain = gofast.explain(streamed(path))
    assert "rows not counted" in plain
