"""TableDataset(cache=), gofast.verify and gofast.convert, through the public names."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils.data import DataLoader

import gofast
from gofast import TableDataset, convert, errors
from reference import DIGITS, assert_same, assert_same_batches


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A table with text labels, floats and a gap."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"label": rng.choice(["dog", "cat", "zürich"], 500), "a": rng.standard_normal(500)})
    frame["b"] = rng.integers(0, 9, 500).astype(float)
    frame.loc[17, "b"] = np.nan
    frame.to_csv(tmp_path / "t.csv", index=False)
    return tmp_path / "t.csv"


def stamp(path: Path) -> tuple[int, int]:
    """Changes whenever the cache is built again."""
    info = (path / "arrays.jsonl").stat()
    return info.st_ino, info.st_mtime_ns


# ------------------------------------------------------------------ cache=


def test_a_cached_table_is_the_table(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "t.cache"
    want = TableDataset(source, fill_value=0.5)
    first = TableDataset(source, fill_value=0.5, cache=cache)
    built = stamp(cache)
    second = TableDataset(source, fill_value=0.5, cache=cache)
    assert stamp(cache) == built
    for ds in (first, second):
        assert_same(ds[:], want[:])
        assert_same(ds[17], want[17])
        assert_same(ds.targets, want.targets)
        assert ds.classes == want.classes and ds.class_to_idx == want.class_to_idx
        assert repr(ds) == repr(want)
    assert_same_batches(second, want, batch_size=64, shuffle=True, num_workers=1)
    assert [p.name for p in tmp_path.iterdir() if p.name not in ("t.csv", "t.cache")] == []


def test_pictures_many_labels_and_no_label(tmp_path: Path) -> None:
    np.savez(
        tmp_path / "x.npz", image=np.arange(240, dtype=np.uint8).reshape(4, 5, 12), label=np.arange(4) * 0.5
    )
    for i, options in enumerate(
        [{}, {"label": None, "columns": ["image"]}, {"label": ["label"]}, {"shape": (1, 5, 12)}]
    ):
        want = TableDataset(tmp_path / "x.npz", **options)
        for _ in range(2):
            ds = TableDataset(tmp_path / "x.npz", cache=tmp_path / f"{i}.cache", **options)
            assert ds.shape == want.shape
            assert_same(ds[:], want[:])


CHANGES: dict[str, Callable[[Path], dict[str, Any]]] = {
    "touched": lambda source: os.utime(source) or {},
    "appended": lambda source: source.write_text(source.read_text() + "cat,1,2\n") and {},
    "replaced": lambda source: (
        source.with_suffix(".new").write_bytes(source.read_bytes())
        and source.with_suffix(".new").replace(source)
        and {}
    ),
    "other fill": lambda source: {"fill_value": 7},
    "other label": lambda source: {"label": "a", "columns": ["b"]},
    "other columns": lambda source: {"columns": ["b"]},
    "other order": lambda source: {"columns": ["b", "a"]},
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_stale_cache_is_built_again(change: str, source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "t.cache"
    options: dict[str, Any] = {"fill_value": 0.5}
    TableDataset(source, cache=cache, **options)
    built = stamp(cache)
    options |= CHANGES[change](source)
    ds = TableDataset(source, cache=cache, **options)
    assert stamp(cache) != built
    assert_same(ds[:], TableDataset(source, **options)[:])
    built = stamp(cache)
    TableDataset(source, cache=cache, **options)
    assert stamp(cache) == built


def test_options_of_the_samples_need_no_other_cache(tmp_path: Path) -> None:
    cache = tmp_path / "t.cache"
    TableDataset(DIGITS, cache=cache)
    built = stamp(cache)
    options = {"shape": (1, 28, 28), "dtype": torch.float16, "mean": 0.1, "std": 0.3, "output": "tuple"}
    ds = TableDataset(DIGITS, cache=cache, threads=1, limits={"page": 1 << 20}, **options)
    assert stamp(cache) == built
    assert_same(ds[0:5], TableDataset(DIGITS, **options)[0:5])


@pytest.mark.parametrize("name", ["arrays.jsonl", "features.npy", "labels.npy"])
def test_any_damage_of_a_header_means_rebuild(name: str, source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "t.cache"
    want = TableDataset(source, fill_value=0.5, cache=cache)[:]
    path = cache / name
    whole = path.read_bytes()
    places = [*range(0, len(whole) if name == "arrays.jsonl" else 128, 37)]
    for damaged in [
        whole[:-1],
        whole[: len(whole) // 2],
        b"",
        b"PK",
        b"label,x\n1,2\n",
        bytes(len(whole)),
    ] + [whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :] for at in places]:
        path.write_bytes(damaged)
        assert_same(TableDataset(source, fill_value=0.5, cache=cache)[:], want)
    assert path.read_bytes() == whole


@pytest.mark.parametrize("given", ["t.csv", "../{}/t.csv", "link.csv"])
def test_the_cache_never_replaces_its_source(given: str, source: Path, tmp_path: Path) -> None:
    content = source.read_bytes()
    os.link(source, tmp_path / "link.csv")
    with pytest.raises(errors.OptionError, match="a source itself"):
        TableDataset(source, fill_value=0, cache=tmp_path / given.format(tmp_path.name))
    assert source.read_bytes() == content


def test_a_cache_among_its_sources_is_not_one_of_them(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "all.cache"
    want = TableDataset(source, fill_value=0)[:]
    for path in (tmp_path, tmp_path, str(tmp_path / "*"), tmp_path):
        assert_same(TableDataset(path, fill_value=0, cache=cache)[:], want)
    built = stamp(cache)
    TableDataset(tmp_path, fill_value=0, cache=cache)
    assert stamp(cache) == built


def test_errors_of_a_build_leave_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("label,a\n1,2\n3,\n")
    with pytest.raises(errors.MissingValueError) as caught:
        TableDataset(tmp_path / "t.csv", cache=tmp_path / "t.cache")
    assert caught.value.row == 1
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.csv"]
    with pytest.raises(errors.GofastError) as caught:
        TableDataset(DIGITS, cache=tmp_path / "no" / "t.cache")
    assert str(tmp_path / "no") in str(caught.value)


def test_a_table_larger_than_the_memory_limit(tmp_path: Path) -> None:
    x = np.random.default_rng(1).integers(0, 256, (200_000, 100), dtype=np.uint8)
    pd.DataFrame(x, columns=[f"c{i}" for i in range(100)]).to_csv(tmp_path / "t.csv", index=False)
    limits = {"memory": 12 << 20}
    with pytest.raises(errors.LimitError, match="pass cache="):
        TableDataset(tmp_path / "t.csv", label=None, limits=limits)
    with pytest.raises(errors.LimitError, match="raise limits") as caught:
        TableDataset(tmp_path / "t.csv", label=None, limits={"memory": 1000}, cache=tmp_path / "t.cache")
    assert "cache=" not in str(caught.value)
    with pytest.raises(errors.LimitError, match="raise limits") as caught:
        convert(tmp_path / "t.csv", tmp_path / "t.npy", label=None, limits=limits)
    assert "cache=" not in str(caught.value)
    ds = TableDataset(
        tmp_path / "t.csv", label=None, limits=limits, cache=tmp_path / "t.cache", dtype=torch.uint8
    )
    assert_same(ds[199_990:]["features"], torch.from_numpy(x[199_990:]))


def test_nothing_of_somebody_else_is_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "own.npz").touch()
    (tmp_path / "features.npy").touch()
    for path in (tmp_path / "pipe", tmp_path):
        with pytest.raises(errors.OptionError, match="not a file"):
            gofast.convert(DIGITS, path)
    for path in (tmp_path / "pipe", tmp_path / "own.npz"):
        with pytest.raises(errors.OptionError, match="not a folder"):
            TableDataset(DIGITS, cache=path)
    with pytest.raises(errors.OptionError, match=r"holds other files, such as features\.npy"):
        TableDataset(DIGITS, cache=tmp_path)
    made = tmp_path / "set"
    gofast.preprocess(TableDataset(DIGITS), made)
    with pytest.raises(errors.OptionError, match="a preprocessed set lies there"):
        TableDataset(DIGITS, cache=made)
    with pytest.raises(errors.FormatError, match="ArrayDataset"):
        TableDataset(made)
    gofast.verify(made)
    TableDataset(DIGITS, cache=tmp_path / "t.cache")
    with pytest.raises(errors.FormatError, match="TableDataset"):
        gofast.ArrayDataset.open(tmp_path / "t.cache")
    assert (tmp_path / "pipe").is_fifo() and (tmp_path / "features.npy").exists()


def build(source: str, cache: str, start: Any, out: Any) -> None:
    start.wait()
    ds = TableDataset(source, cache=cache, fill_value=0.5)
    out.put((len(ds), float(ds[:]["features"].sum())))


def test_ten_processes_at_once(source: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("fork")
    start, out = context.Event(), context.Queue()
    cache = tmp_path / "t.cache"
    children = [context.Process(target=build, args=(str(source), str(cache), start, out)) for _ in range(10)]
    for child in children:
        child.start()
    start.set()
    want = TableDataset(source, fill_value=0.5)
    seen = [out.get(timeout=60) for _ in children]
    for child in children:
        child.join(60)
        assert child.exitcode == 0
    assert seen == [(500, float(want[:]["features"].sum()))] * 10
    gofast.verify(cache)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["t.cache", "t.csv"]


def test_verify_finds_a_flipped_byte(tmp_path: Path) -> None:
    cache = tmp_path / "t.cache"
    TableDataset(DIGITS, cache=cache)
    gofast.verify(cache)
    features = np.load(cache / "features.npy", mmap_mode="r+")
    features[1000, 300] ^= 4
    features.flush()
    TableDataset(DIGITS, cache=cache)  # the headers are as they were
    with pytest.raises(errors.DamagedError, match="features") as caught:
        gofast.verify(cache)
    assert caught.value.path == str(cache / "features.npy")
    with pytest.raises(errors.NotFoundError):
        gofast.verify(tmp_path / "none")
    gofast.verify(DIGITS)  # a table is read
    with pytest.raises(errors.GofastError):
        gofast.verify(tmp_path)


def test_numpy_reads_the_cache(source: Path, tmp_path: Path) -> None:
    ds = TableDataset(source, fill_value=0.5, cache=tmp_path / "t.cache", dtype=torch.float64, scale=None)
    features, labels = (np.load(tmp_path / "t.cache" / f"{name}.npy") for name in ("features", "labels"))
    assert_same(torch.from_numpy(features), ds[:]["features"])
    assert_same(torch.from_numpy(labels)[:, 0], ds.targets)


def test_a_cached_dataset_pickles_and_outlives_its_cache(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "t.cache"
    ds = TableDataset(source, fill_value=0.5, cache=cache)
    want = ds[:]
    assert_same(pickle.loads(pickle.dumps(ds))[:], want)
    shutil.rmtree(cache)
    assert_same(ds[:], want)
    assert_same(next(iter(DataLoader(ds, batch_size=500, num_workers=1))), want)


# ------------------------------------------------------------------ convert


@pytest.mark.parametrize("end", ["npy", "npz", "parquet"])
def test_digits_there_and_back(end: str, tmp_path: Path) -> None:
    target = tmp_path / f"digits.{end}"
    gofast.convert(DIGITS, target)
    want = TableDataset(DIGITS, shape=(1, 28, 28))
    ds = TableDataset(target, shape=(1, 28, 28), label=0 if end == "npy" else "label")
    assert "stored as uint8" in repr(ds)
    assert_same(ds[:], want[:])
    again = tmp_path / "again.parquet"
    gofast.convert(target, again, label=0 if end == "npy" else "label")
    assert_same(TableDataset(again, label=0, shape=(1, 28, 28))[:], want[:])
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([target.name, again.name])


def test_other_libraries_read_what_was_converted(source: Path, tmp_path: Path) -> None:
    want = pd.read_csv(source).fillna(0.5)
    gofast.convert(source, tmp_path / "t.parquet", fill_value=0.5)
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "t.parquet"), want)
    assert pq.read_table(tmp_path / "t.parquet").column_names == ["label", "a", "b"]
    gofast.convert(source, tmp_path / "t.npz", fill_value=0.5)
    with np.load(tmp_path / "t.npz") as arrays:
        np.testing.assert_array_equal(arrays["features"], want[["a", "b"]].to_numpy())
        classes = sorted(want["label"].unique())
        labels = arrays["label"]
        if labels.dtype.kind == "i":
            assert arrays["classes"].tolist() == classes
            labels = np.array(classes)[labels]
        assert labels.tolist() == want["label"].tolist()
    gofast.convert(source, tmp_path / "t.npy", fill_value=0.5, label=None, columns=["a", "b"])
    np.testing.assert_array_equal(np.load(tmp_path / "t.npy"), want[["a", "b"]].to_numpy())
    with pytest.raises(errors.OptionError, match=r"npz|parquet"):
        gofast.convert(source, tmp_path / "u.npy", fill_value=0.5)  # a text label has no place in an array


@pytest.mark.parametrize("kind", ["uint8", "int16", "int32", "int64", "float32", "float64", "bool"])
@pytest.mark.parametrize("end", ["npy", "npz", "parquet"])
def test_every_storage_type(kind: str, end: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(2)
    x = (
        (rng.standard_normal((50, 4)) * 1e9).astype(kind)
        if "float" in kind
        else rng.integers(0, 2, (50, 4)).astype(kind)
    )
    if kind.startswith("int"):
        x[0, 0] = np.iinfo(kind).min
    frame = pd.DataFrame(x, columns=list("wxyz"))
    frame.to_parquet(tmp_path / "in.parquet")
    convert(tmp_path / "in.parquet", tmp_path / f"out.{end}")
    before, after = (TableDataset(tmp_path / name, label=None) for name in ("in.parquet", f"out.{end}"))
    assert_same(after[:], before[:])
    assert f"stored as {'uint8' if kind == 'bool' else kind}" in repr(after)


def test_pictures_keep_their_shape(tmp_path: Path) -> None:
    x = np.arange(600, dtype=np.uint8).reshape(10, 5, 12)
    np.savez(tmp_path / "in.npz", image=x, label=np.arange(10))
    for end in ("npy", "npz", "parquet"):
        convert(tmp_path / "in.npz", tmp_path / f"out.{end}", label=None, columns=["image"])
        ds = TableDataset(tmp_path / f"out.{end}", label=None, shape=(5, 12), dtype=torch.uint8, scale=None)
        assert_same(ds[:]["image"], torch.from_numpy(x))


def test_what_cannot_be_converted(source: Path, tmp_path: Path) -> None:
    for target in ("t.txt", "t", "t.csv.gz"):
        with pytest.raises(errors.OptionError, match="npy"):
            gofast.convert(source, tmp_path / target)
    with pytest.raises(errors.MissingValueError):
        gofast.convert(source, tmp_path / "t.parquet")
    with pytest.raises(errors.GofastError):
        gofast.convert(source, tmp_path / "no" / "t.parquet", fill_value=0)
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"]


def test_a_file_is_not_converted_into_itself(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.arange(6).reshape(2, 3))
    before = (tmp_path / "t.npy").read_bytes()
    with pytest.raises(errors.OptionError, match="itself"):
        convert(tmp_path / "t.npy", tmp_path / "t.npy")
    assert (tmp_path / "t.npy").read_bytes() == before


# ------------------------------------------------------------------ a cache as the path


def test_a_cache_opens_by_itself(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "t.cache"
    want = TableDataset(source, fill_value=0.5, cache=cache)
    source.unlink()
    got = TableDataset(cache)
    assert_same(got[:], want[:])
    assert got.classes == want.classes and got.class_to_idx == want.class_to_idx
    assert got._memory.layout.features == want._memory.layout.features
    assert_same_batches(got, want, batch_size=64, shuffle=True, num_workers=1)
    assert_same(pickle.loads(pickle.dumps(got))[7], want[7])
    assert_same(TableDataset(cache, label="label")[3], want[3])
    assert list(TableDataset(cache, label=None)[3]) == [want.keys[0]]


def test_a_cache_by_itself_keeps_its_label(tmp_path: Path) -> None:
    pd.DataFrame({"a": [1, 2], "target": [0.5, 1.5]}).to_csv(tmp_path / "t.csv", index=False)
    want = TableDataset(tmp_path / "t.csv", label="target", cache=tmp_path / "t.cache")
    assert_same(TableDataset(tmp_path / "t.cache")[:], want[:])
    with pytest.raises(errors.SchemaError, match="target"):
        TableDataset(tmp_path / "t.cache", label="a")


@pytest.mark.parametrize("options", [{"columns": ["a"]}, {"fill_value": 0}, {"delimiter": ";"}])
def test_a_cache_by_itself_is_decoded_already(options: dict[str, Any], source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "t.cache"
    TableDataset(source, fill_value=0.5, cache=cache)
    with pytest.raises(errors.OptionError, match="is a cache"):
        TableDataset(cache, **options)


def test_a_cache_beside_others_or_damaged_is_named(source: Path, tmp_path: Path) -> None:
    cache = tmp_path / "t.cache"
    TableDataset(source, fill_value=0.5, cache=cache)
    with pytest.raises(errors.FormatError, match="a cache of gofast"):
        TableDataset([cache, cache])
    with pytest.raises(errors.FormatError, match="a cache of gofast"):
        gofast.IterableDataset.from_table(cache)
    path = cache / "arrays.jsonl"
    data = bytearray(path.read_bytes())
    data[data.index(b'"arrays"') + 17] ^= 1
    path.write_bytes(data)
    with pytest.raises(errors.DamagedError, match="make it again"):
        TableDataset(cache)
