"""TFRecordDataset: what was written, and what the tfrecord package and TensorFlow read if they are there."""

from __future__ import annotations

import gc
import gzip
import math
import os
import pickle
import random
import struct
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import fresh
import gofast
from gofast import errors
from gofast._core import engine
from gofast._core import tfrecord_index as core_records
from records import Value, example, framed

Record = dict[str, Value]


def random_value(rng: random.Random) -> Value:
    count = rng.choice((1, 1, 1, 2, 5, 40))
    kind = rng.randrange(3)
    if kind == 0:
        return [rng.choice((0, 1, -1, 127, 128, -(1 << 63), (1 << 63) - 1, 1 << 40)) for _ in range(count)]
    if kind == 1:
        return [rng.choice((0.0, -1.5, math.inf, 1e-40, 3.0)) for _ in range(count)]
    return [rng.randbytes(rng.choice((0, 1, 20, 200))) + b"." for _ in range(count)]


def random_records(seed: int) -> list[Record]:
    """Records whose features keep their types; some are left out of some records."""
    rng = random.Random(seed)
    kinds: Record = {name: random_value(rng) for name in rng.sample(["a", "b", "é", "long/name", "x"], 4)}
    made = []
    for _ in range(rng.randrange(1, 20)):
        record: Record = {}
        for name, like in kinds.items():
            value = random_value(rng)
            while type(value[0]) is not type(like[0]):
                value = random_value(rng)
            if rng.random() < 0.8:
                record[name] = value
        made.append(record)
    return made


def as_given(record: Record) -> dict[str, Any]:
    """What the tfrecord package makes of a record."""
    made: dict[str, Any] = {}
    for name, values in record.items():
        if isinstance(values[0], bytes):
            made[name] = values[0] if len(values) == 1 else np.array(values, dtype=bytes)
        else:
            made[name] = np.array(values, np.float32 if isinstance(values[0], float) else np.int64)
    return made


def same(sample: dict[str, Any], expected: dict[str, Any]) -> bool:
    return sample.keys() == expected.keys() and all(
        type(sample[name]) is type(value)
        and (sample[name] == value if type(value) is bytes else _equal(sample[name], value))
        for name, value in expected.items()
    )


def _equal(ours: Any, theirs: Any) -> bool:
    return ours.dtype == theirs.dtype and ours.shape == theirs.shape and ours.tobytes() == theirs.tobytes()


def written(path: Path, records: list[Record]) -> str:
    path.write_bytes(framed(map(example, records)))
    return str(path)


@pytest.mark.parametrize("seed", range(30))
def test_samples_are_what_was_written(tmp_path: Path, seed: int) -> None:
    records = random_records(seed)
    dataset = gofast.TFRecordDataset(written(tmp_path / "a.tfrecord", records))
    assert len(dataset) == len(records)
    for i, record in enumerate(records):
        assert same(dataset[i], as_given(record))
        assert same(dataset[i - len(records)], as_given(record))
    with pytest.raises(errors.RowIndexError):
        dataset[len(records)]


@pytest.mark.parametrize("seed", range(10))
def test_the_tfrecord_package_reads_the_same(tmp_path: Path, seed: int) -> None:
    theirs = pytest.importorskip("tfrecord.torch.dataset")
    path = written(tmp_path / "a.tfrecord", random_records(seed))
    ours = gofast.TFRecordDataset(path)
    for i, expected in enumerate(theirs.TFRecordDataset(path, None)):
        assert same(ours[i], expected)


def test_tensorflow_reads_the_same(tmp_path: Path) -> None:
    tf = pytest.importorskip("tensorflow")
    records: list[Record] = [{"i": [i, -i], "f": [i / 3], "b": [b"x" * i]} for i in range(5)]
    path = written(tmp_path / "a.tfrecord", records)
    ours = gofast.TFRecordDataset(path)
    kinds = {"i": tf.int64, "f": tf.float32, "b": tf.string}
    wanted = {name: tf.io.VarLenFeature(kind) for name, kind in kinds.items()}
    for i, record in enumerate(tf.data.TFRecordDataset(path)):
        theirs = tf.io.parse_single_example(record, wanted)
        assert _equal(ours[i]["i"], theirs["i"].values.numpy())
        assert _equal(ours[i]["f"], theirs["f"].values.numpy())
        assert [ours[i]["b"]] == theirs["b"].values.numpy().tolist()


def test_a_file_that_is_cut_in_a_header_is_no_end(tmp_path: Path) -> None:
    path = tmp_path / "a.tfrecord"
    path.write_bytes(framed([example({"i": [1]})]) + b"\5\0\0")
    with pytest.raises(
        errors.DamagedError, match=r"row 1, offset .*within the record's header, after 3 of 12"
    ):
        gofast.TFRecordDataset(path)
    path.write_bytes(struct.pack("<QI", 1 << 40, 0))
    with pytest.raises(errors.DamagedError, match="is this a TFRecord file"):
        gofast.TFRecordDataset(path)


def test_description(tmp_path: Path) -> None:
    records: list[Record] = [{"i": [1], "f": [0.5], "b": [b"x"]}, {"i": [2], "f": [1.5]}]
    path = written(tmp_path / "a.tfrecord", records)
    of = gofast.TFRecordDataset
    assert same(of(path, None, {"f": "float", "i": None})[1], as_given({"f": [1.5], "i": [2]}))
    assert same(of(path, description=["i"])[0], as_given({"i": [1]}))
    assert of(path).features == {"i": "int", "f": "float", "b": "byte"}
    assert of(path, None, ["i"], lambda sample: int(sample["i"][0]))[1] == 2
    with pytest.raises(
        errors.SchemaError, match="no record has a feature 'no'; the first one has 'i', 'f', 'b'"
    ):
        of(path, description=["i", "no"])
    with pytest.raises(errors.SchemaError, match="says 'int' of 'f', which is of type 'float'"):
        of(path, description={"f": "int"})
    with pytest.raises(errors.MissingValueError, match=r"a\.tfrecord\[1\]: the record has no feature 'b'"):
        of(path, description=["b"])[1]
    for wrong in ("i", {"i": "int64"}, {1: "int"}):
        with pytest.raises(errors.OptionError):
            of(path, description=wrong)  # type: ignore[arg-type]


def test_columns(tmp_path: Path) -> None:
    records: list[Record] = [
        {"x": [i / 2, 1.0], "y": [i], "odd": [0] * (i + 1), "b": [b"x"]} for i in range(9)
    ]
    dataset = gofast.TFRecordDataset(written(tmp_path / "a.tfrecord", records))
    assert _equal(dataset.column("x"), np.array([r["x"] for r in records], np.float32))
    assert _equal(dataset.column("y"), np.arange(9)[:, None])
    for name in ("odd", "b"):
        with pytest.raises(errors.SchemaError, match="it is no column"):
            dataset.column(name)
    rows = gofast.ArrayDataset(dataset.column("x"), dataset.column("y")[:, 0])
    assert rows[3][1] == 3


def test_files(tmp_path: Path) -> None:
    for i in range(3):
        written(tmp_path / f"{2 - i}.tfrecord", [{"i": [i, j]} for j in range(i)])
    pattern = gofast.TFRecordDataset(str(tmp_path / "*.tfrecord"))
    assert [sample["i"].tolist() for sample in pattern] == [[2, 0], [2, 1], [1, 0]]
    given = gofast.TFRecordDataset([tmp_path / "1.tfrecord", tmp_path / "0.tfrecord"])
    assert [given[i]["i"].tolist() for i in range(3)] == [[1, 0], [2, 0], [2, 1]]
    assert len(gofast.TFRecordDataset(tmp_path / "2.tfrecord")) == 0
    with pytest.raises(FileNotFoundError):
        gofast.TFRecordDataset(tmp_path / "no.tfrecord")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        gofast.TFRecordDataset(str(tmp_path / "no*"))
    for wrong in ([], b"x", [3], {"a"}):
        with pytest.raises(errors.OptionError):
            gofast.TFRecordDataset(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["gzip", "zlib"])
def test_compressed_files(tmp_path: Path, kind: str) -> None:
    records = random_records(7)
    packed = {"gzip": gzip.compress, "zlib": zlib.compress}[kind](framed(map(example, records)))
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(packed)
    dataset = gofast.TFRecordDataset(paths, compression_type=kind)
    assert len(dataset) == 2 * len(records)
    assert all(same(dataset[i], as_given(record)) for i, record in enumerate(2 * records))
    with pytest.raises(errors.DamagedError, match=f'say compression_type="{kind}"'):
        gofast.TFRecordDataset(paths)
    paths[1].write_bytes(packed[:-1])
    with pytest.raises(errors.DamagedError, match=r"damaged or cut|not a whole zlib file"):
        gofast.TFRecordDataset(paths, compression_type=kind)
    with pytest.raises(errors.OptionError, match='is not "gzip", "zlib" or None'):
        gofast.TFRecordDataset(paths, compression_type="GZIP")


def some(path: Path) -> gofast.TFRecordDataset:
    return gofast.TFRecordDataset(
        written(path, [{"i": [i, 1], "f": [i / 3], "b": [b"%d" % i]} for i in range(11)])
    )


def test_pickles(tmp_path: Path) -> None:
    dataset = some(tmp_path / "a")
    again = pickle.dumps(dataset)
    written(tmp_path / "a", [{"i": [1]}])
    with pytest.raises(errors.ChangedError, match="other records than when the dataset was pickled"):
        pickle.loads(again)
    with pytest.raises(errors.ChangedError, match="changed since it was indexed"):
        dataset[0]
    os.unlink(tmp_path / "a")
    with pytest.raises(errors.NotFoundError):
        dataset[0]


def test_the_index_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    some(tmp_path / "a")
    kept, of_others = tmp_path / "kept", tmp_path / "a.tfindex"
    of_others.write_text("0 65\n65 65\n")
    time.sleep(2.1)  # of a file that is as young, no index is kept

    def reused(index: Path | None) -> bool:
        dataset = gofast.TFRecordDataset(tmp_path / "a", index)
        assert dataset[4]["b"] == b"4"
        return dataset._records.schema["reused"]

    assert [reused(kept), reused(kept)] == [False, True]
    os.truncate(kept, 50)
    assert [reused(kept), reused(kept)] == [False, True]
    with pytest.raises(errors.OptionError, match="no index of gofast: it will not be replaced"):
        reused(tmp_path / "a")
    assert [reused(of_others), reused(None), reused(None)] == [False] * 3
    assert of_others.read_text().startswith("0 65")
    assert not (tmp_path / "cache").exists()
    monkeypatch.setattr(core_records, "_KEPT_FROM", 0)
    assert [reused(None), reused(None), reused(of_others)] == [False, True, True]
    monkeypatch.setenv("XDG_CACHE_HOME", "/proc/nothing")
    assert not reused(None)
    with pytest.raises(errors.ReadError):
        gofast.TFRecordDataset(tmp_path / "a", "/proc/nothing/index")


def test_an_index_that_nobody_waits_for(tmp_path: Path) -> None:
    """One that was just made, and is kept, is given back."""
    some(tmp_path / "a")
    time.sleep(2.1)
    asked = gofast.TFRecordDataset(tmp_path / "a")._records.asked
    gc.collect()
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(2):  # it is made, then found
        running = engine.Running("tfrecord", asked.request(str(tmp_path / "kept")))
        while running.part(10) < 1:
            pass
        running.stop()
        assert (tmp_path / "kept").exists() and len(os.listdir("/proc/self/fd")) == before


def test_an_index_that_is_not_written_is_said(tmp_path: Path) -> None:
    path = written(tmp_path / "a", [{"i": [1]}])
    with pytest.warns(errors.GofastWarning, match=r"kept' was not written: .* last two seconds"):
        gofast.TFRecordDataset(path, tmp_path / "kept")
    Path(path).write_bytes(gzip.compress(Path(path).read_bytes()))
    with pytest.warns(errors.GofastWarning, match=r"kept' was not written: of compressed files"):
        gofast.TFRecordDataset(path, tmp_path / "kept", compression_type="gzip")
    assert not (tmp_path / "kept").exists()


def test_what_is_said_of_it(tmp_path: Path) -> None:
    path = written(tmp_path / "a", [{"i": [1], "f": [0.5], "b": [b"x"]}])
    of = gofast.TFRecordDataset
    assert repr(of(path)) == f"TFRecordDataset({path!r}: 1 record of i int, f float, b byte)"
    assert repr(of([path, path], description=["f"])) == "TFRecordDataset(2 files: 2 records of f float)"
    assert repr(of(written(tmp_path / "b", [{}]))).endswith("1 record of no features)")
    many: Record = {f"f{i:02}": [i] for i in range(20)}
    assert repr(of(written(tmp_path / "c", [many]))).endswith("f06 int, f07 int, ...)")


def test_names_of_any_bytes(tmp_path: Path) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9 \xff")
    folder.mkdir()
    path = folder / os.fsdecode(b"\xfe.tfrecord")
    records: list[Record] = [{"i": [i], "b": [b"%d" % i]} for i in range(3)]
    written(path, records)
    time.sleep(2.1)
    for given in (path, str(folder / "*.tfrecord")):
        dataset = gofast.TFRecordDataset(given, folder / "kept")
        assert [same(dataset[i], as_given(records[i])) for i in range(3)] == [True] * 3
    assert (folder / "kept").exists()
    assert same(pickle.loads(pickle.dumps(dataset))[1], as_given(records[1]))
    path.unlink()
    with pytest.raises(errors.NotFoundError) as refused:
        dataset[0]
    assert refused.value.path == str(path)


@pytest.mark.parametrize("packed", [False, True])
def test_a_record_is_read_at_once(tmp_path: Path, packed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    far = b"f" * 9000
    record: Record = {
        "a": [b"%d" % i for i in range(50)],
        "big": [far],
        "b": [b"", b"x"],
        "i": [3],
        "c": [b"last"],
    }
    path = written(tmp_path / "a", [record, record])
    if packed:
        Path(path).write_bytes(gzip.compress(Path(path).read_bytes()))
    dataset = gofast.TFRecordDataset(path, compression_type="gzip" if packed else None)
    some = gofast.TFRecordDataset(path, None, ["a", "c", "b"], compression_type="gzip" if packed else None)
    calls: list[str] = []
    gc.collect()  # what other tests have left closes its files now
    for name in ("open", "fstat", "pread", "close"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, name=name, real=real: (calls.append(name), real(*a))[1])
    assert same(dataset[1], as_given(record))
    assert calls == ([] if packed else ["open", "fstat", "pread", "close"])
    calls.clear()
    assert same(some[0], as_given({name: record[name] for name in ("a", "c", "b")}))
    assert calls == ([] if packed else ["open", "fstat", "pread", "pread", "close"])  # not what is between


MEMORY = """
import sys, gofast
from gofast._core import engine
engine.threads(), gofast.TFRecordDataset(sys.argv[1])

def status(name):
    return int(open("/proc/self/status").read().partition(name)[2].split()[0]) >> 10

before = status("VmHWM:")
dataset = gofast.TFRecordDataset(sys.argv[2], compression_type=sys.argv[3] or None)
print(status("VmHWM:") - before, len(dataset))
"""


@pytest.mark.parametrize(("kind", "most"), [("gzip", 170), ("", 300)])
def test_memory_at_its_most(tmp_path: Path, kind: str, most: int) -> None:
    """Inflated content is there once beside some blocks, numbers twice: 128 MB of either are read here."""
    small = written(tmp_path / "small", [{"i": [1]}])
    if kind:
        record = framed([example({"b": [b"0123456789abcdef" * 8192]})])
        with gzip.open(tmp_path / "a", "wb", 1) as file:
            for _ in range(1000):
                file.write(record)
    else:
        (tmp_path / "a").write_bytes(framed([example({"f": [0.5] * 16384})]) * 2000)
    nowhere = os.environ | {"XDG_CACHE_HOME": "/proc/nothing"}
    said = fresh.run(["-c", MEMORY, small, tmp_path / "a", kind], check=True, env=nowhere)
    grown, records = map(int, said.stdout.split())
    assert records == (1000 if kind else 2000)
    assert grown < most
