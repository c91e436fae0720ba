"""gofast.convert from HDF5 files and into them."""

from __future__ import annotations

import os
import random
import resource
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import torch

import gofast
from gofast import ArrayDataset, TableDataset, convert, errors
from gofast._command import main
from same import difference


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Features and labels of several kinds."""
    d = np.random.default_rng(0)
    with h5py.File(tmp_path / "in.h5", "w") as file:
        file["x"] = d.integers(0, 256, (50, 4, 3), np.uint8)
        file.create_dataset(
            "in/packed", data=d.normal(size=(50, 4)).astype("<f4"), chunks=(7, 3), compression="gzip"
        )
        file["label"] = d.integers(0, 9, 50)
        file["words"] = [["cat", "dog", "Maus"][i] for i in d.integers(0, 3, 50)]
        file["one"] = 3
    return tmp_path / "in.h5"


def arrays(path: Path) -> dict[str, Any]:
    """The datasets of numbers."""
    made: dict[str, Any] = {}
    with h5py.File(path) as file:
        file.visititems(
            lambda name, one: made.update({name: one[()]}) if getattr(one, "shape", None) else None
        )
    return made


@pytest.mark.parametrize("seed", range(40))
def test_random_datasets_keep_their_values(seed: int, tmp_path: Path) -> None:
    d, path = random.Random(seed), tmp_path / "in.h5"
    kinds = ["u1", "i1", "<u2", ">i2", "<i4", "<u4", ">i8", "<u8", "<f2", ">f4", "<f8", "?", "<c8", ">c16"]
    with h5py.File(path, "w", userblock_size=d.choice([0, 512])) as file:
        for i in range(4):
            shape = tuple(d.choice([0, 1, 2, 5, 9]) for _ in range(d.randint(1, 4)))
            x = np.random.default_rng(d.getrandbits(32)).integers(0, 200, shape).astype(d.choice(kinds))
            chunks = d.choice([None, True, tuple(d.randint(1, max(n, 1)) for n in shape)])
            file.create_dataset(f"{i}" if i % 2 else f"in/{i}", data=x, chunks=chunks if x.size else None)
    convert(path, tmp_path / "out.h5")
    want, got = arrays(path), arrays(tmp_path / "out.h5")
    assert want.keys() == got.keys()
    for name, x in want.items():
        x = x.astype(x.dtype.newbyteorder("="))
        assert (got[name].dtype, got[name].shape, got[name].tobytes()) == (x.dtype, x.shape, x.tobytes())
        ours = ArrayDataset.from_hdf5(tmp_path / "out.h5", name)
        assert gofast.explain(ours).lines[0][1] == ("C" if x.size else "h5py")  # mapped where it lies


def test_into_another_file(source: Path, tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="'one', 'words'"):
        convert(source, tmp_path / "all.h5")
    assert arrays(tmp_path / "all.h5").keys() == {"x", "in/packed", "label"}
    convert(source, tmp_path / "some.hdf5", columns=["/x"])
    assert arrays(tmp_path / "some.hdf5").keys() == {"x", "label"}
    convert(source, tmp_path / "some.hdf5", exclude=["x", "words", "one"], label=None)
    assert arrays(tmp_path / "some.hdf5").keys() == {"in/packed", "label"}
    assert sorted(p.name for p in tmp_path.iterdir()) == ["all.h5", "in.h5", "some.hdf5"]


@pytest.mark.parametrize("end", ["npz", "parquet", "npy"])
def test_into_a_table(end: str, source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / f"out.{end}", columns=["x"])
    ds = TableDataset(tmp_path / f"out.{end}", label=0 if end == "npy" else "label", shape=(4, 3), scale=None)
    with h5py.File(source) as file:
        want = [torch.from_numpy(file[name][()]) for name in ("x", "label")]
    features, labels = ds[:].values()
    assert difference([features, labels], [want[0].float(), want[1]], strides=False) == ""


def test_words_as_labels(source: Path, tmp_path: Path) -> None:
    convert(source, tmp_path / "out.parquet", columns=["in/packed"], label="words")
    frame = pd.read_parquet(tmp_path / "out.parquet")
    with h5py.File(source) as file:
        assert frame["words"].tolist() == file["words"].asstr()[()].tolist()
        assert frame.iloc[:, 1:].to_numpy(np.float32).tobytes() == file["in/packed"][()].tobytes()
    convert(tmp_path / "out.parquet", tmp_path / "back.h5", label="words")
    with h5py.File(tmp_path / "back.h5") as file:
        assert file["classes"].asstr()[()][file["words"][()]].tolist() == frame["words"].tolist()
        assert file["features"].dtype == np.float32 and file["words"].dtype == np.int64


@pytest.mark.parametrize("kind", ["uint8", "int16", "int32", "int64", "float32", "float64", "bool"])
def test_a_table_into_hdf5(kind: str, tmp_path: Path) -> None:
    x = (np.random.default_rng(2).standard_normal((50, 4)) * 1e3).astype(kind)
    if kind.startswith("int"):
        x[0, 0] = np.iinfo(kind).min
    frame = pd.DataFrame(x, columns=list("wxyz")).assign(label=np.arange(50) % 7, other=np.arange(50) / 4)
    frame.to_parquet(tmp_path / "in.parquet")
    convert(tmp_path / "in.parquet", tmp_path / "out.h5", label=["label", "other"])
    got = arrays(tmp_path / "out.h5")
    assert {name: one.dtype.name for name, one in got.items()} == {
        "features": kind,
        "label": "int64",
        "other": "float64",
    }
    assert got["features"].tobytes() == x.tobytes()
    assert (got["label"] == frame["label"]).all() and (got["other"] == frame["other"]).all()
    ours = ArrayDataset.from_hdf5(tmp_path / "out.h5", "features", "label")
    assert [line[1] for line in gofast.explain(ours).lines[:2]] == ["C", "C"]


def test_what_cannot_be_converted(source: Path, tmp_path: Path) -> None:
    for options, kind, why in (
        ({"columns": [0]}, errors.OptionError, "names"),
        ({"columns": ["none"]}, errors.SchemaError, "none of this name"),
        ({"columns": ["words"]}, errors.UnsupportedError, "strings"),
        ({"columns": ["x"], "label": "none"}, errors.SchemaError, "none of this name"),
    ):
        for end in ("h5", "npz"):
            with pytest.raises(kind, match=why):
                convert(source, tmp_path / f"out.{end}", **options)
    with h5py.File(tmp_path / "short.h5", "w") as file:
        file["x"], file["y"] = np.zeros(3), np.zeros(4)
    with pytest.raises(errors.GofastError) as caught:
        convert(tmp_path / "short.h5", tmp_path / "out.npz")
    assert "/proc/self" not in str(caught.value) and "short.h5" in str(caught.value)
    with pytest.raises(errors.OptionError, match="one such file"):
        convert([source, source], tmp_path / "out.h5")
    with pytest.raises(errors.OptionError, match="itself"):
        convert(source, source)
    for end in ("h5", "npz"):
        with pytest.raises(errors.ReadError, match="No such file"):
            convert(source, tmp_path / "none" / f"out.{end}")
    pd.DataFrame({"features": [1], "x": [2]}).to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(errors.OptionError, match="cannot be called"):
        convert(tmp_path / "t.csv", tmp_path / "out.h5", label="features")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.h5", "short.h5", "t.csv"]


def test_a_damaged_source(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "in.h5", "w") as file:
        made = file.create_dataset("x", data=np.arange(900), chunks=(100,), compression="gzip")
        place = made.id.get_chunk_info(4)
    with open(tmp_path / "in.h5", "r+b") as raw:
        raw.seek(place.byte_offset)
        raw.write(b"\xff" * place.size)
    for end in ("h5", "npz"):
        with pytest.raises(errors.DamagedError, match=r"'x'|chunk") as caught:
            convert(tmp_path / "in.h5", tmp_path / f"out.{end}")
        assert (caught.value.path, caught.value.column) == (str(tmp_path / "in.h5"), "x")
    assert [p.name for p in tmp_path.iterdir()] == ["in.h5"]


def test_a_full_disk_leaves_what_was_there(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out.h5").write_text("before")
    with h5py.File(tmp_path / "big.h5", "w") as file:
        file["x"] = np.zeros(1 << 18)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, before[1]))
    try:
        with pytest.raises(errors.ReadError, match="File too large"):
            convert(tmp_path / "big.h5", tmp_path / "out.h5")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert (tmp_path / "out.h5").read_text() == "before"
    assert not (tmp_path / "out.h5.part").exists()


def test_a_file_larger_than_the_memory_allowed(tmp_path: Path) -> None:
    """What the error of ArrayDataset.from_hdf5 says to do."""
    path = tmp_path / "in.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset(
            "x", data=np.arange(1 << 17).reshape(512, 256), chunks=(30, 70), compression="gzip"
        )
    with pytest.raises(errors.LimitError, match=r"gofast\.convert\('.*in\.h5', \"new\.h5\"\)"):
        ArrayDataset.from_hdf5(path, "x", limits={"memory": 1 << 19})
    convert(path, tmp_path / "new.h5", limits={"memory": 1 << 19})
    assert (
        ArrayDataset.from_hdf5(tmp_path / "new.h5", "x", limits={"memory": 1 << 19})[:][0]
        .flatten()
        .equal(torch.arange(1 << 17))
    )


def test_the_rest_of_a_writer_that_died(source: Path, tmp_path: Path) -> None:
    (tmp_path / "out.h5.part").write_bytes(b"x" * 100_000)
    convert(source, tmp_path / "out.h5", columns=["x"])
    assert arrays(tmp_path / "out.h5").keys() == {"x", "label"}
    os.symlink(tmp_path / "elsewhere", tmp_path / "other.h5.part")
    with pytest.raises(errors.ReadError):
        convert(source, tmp_path / "other.h5", columns=["x"])


def test_the_command(source: Path, tmp_path: Path) -> None:
    words = ["convert", str(source), str(tmp_path / "out.h5"), "--columns", "x", "--label", "label"]
    assert main.main(words) == 0
    assert arrays(tmp_path / "out.h5").keys() == {"x", "label"}


@pytest.mark.parametrize("name", ["a.json", "a.csv", "a", "a.feather"])
def test_endings_that_cannot_be_written_name_all_that_can(name: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("label,x\n1,2\n")
    with pytest.raises(errors.OptionError, match=r"\.npy, \.npz, \.parquet or \.h5"):
        gofast.convert(tmp_path / "t.csv", tmp_path / name)
