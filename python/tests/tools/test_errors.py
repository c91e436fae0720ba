"""Every class of the error catalogue from a real cause, with the places it names."""

from __future__ import annotations

import gc
import gzip
import json
import os
import pickle
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch._utils import ExceptionWrapper
from torch.utils.data import DataLoader

import fresh
import gofast
from gofast import TableDataset, errors
from gofast._core import engine, process_operations
from gofast._core.units import exact
from reference import DIGITS

CLASSES = [
    kind
    for kind in (getattr(errors, name) for name in errors.__all__)
    if issubclass(kind, errors.GofastError) and kind is not errors.GofastError
]


# ------------------------------------------------------------------ the catalogue


def test_go_and_python_have_the_same_catalogue() -> None:
    assert process_operations.about({})["errors"] == list(errors.KINDS)
    assert {*errors.KINDS.values(), errors.EngineError, errors.BadImageError} == set(CLASSES)


@pytest.mark.parametrize("kind", CLASSES)
def test_errors_survive_pickling_and_torchs_worker(kind: type[errors.GofastError]) -> None:
    error = kind("csv t.csv: row 3: something")
    error.path, error.row, error.column, error.offset, error.index = "t.csv", 3, "x", 17, 5
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is kind and str(again) == str(error) and vars(again) == vars(error)
    try:
        raise error
    except errors.GofastError:
        wrapper = ExceptionWrapper(sys.exc_info(), where="in DataLoader worker process 0")
    with pytest.raises(kind, match="something") as caught:
        pickle.loads(pickle.dumps(wrapper)).reraise()
    assert type(caught.value) is kind


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        (errors.NotFoundError, FileNotFoundError),
        (errors.ReadError, OSError),
        (errors.ChangedError, OSError),
        (errors.DamagedError, ValueError),
        (errors.SchemaError, ValueError),
        (errors.LimitError, ValueError),
        (errors.RowIndexError, IndexError),
        (errors.ClosedError, RuntimeError),
    ],
)
def test_errors_are_also_the_builtin_ones(kind: type[Exception], builtin: type[Exception]) -> None:
    assert issubclass(kind, builtin) and issubclass(kind, errors.GofastError)


def test_what_is_not_ours_becomes_internal() -> None:
    for text in ("no json", '{"kind": "Nonsense", "message": "x"}', "[]", '{"message": 1}'):
        assert type(errors.from_native(RuntimeError(text))) is errors.InternalError


# ------------------------------------------------------------------ paths


def raises(kind: type[errors.GofastError], path: Any, **options: Any) -> errors.GofastError:
    with pytest.raises(kind) as caught:
        TableDataset(path, **options)
    assert type(caught.value) is kind
    return caught.value


def test_missing_files(tmp_path: Path) -> None:
    for path in (tmp_path / "no.csv", tmp_path / "*.csv", tmp_path / "no" / "t.csv"):
        error = raises(errors.NotFoundError, path)
        assert error.path == str(path) and str(path) in str(error)
    assert raises(errors.NotFoundError, tmp_path).path == str(tmp_path)
    raises(errors.NotFoundError, [DIGITS, tmp_path / "no.csv"])
    raises(errors.OptionError, [])
    (tmp_path / "link.csv").symlink_to(tmp_path / "gone.csv")
    raises(errors.NotFoundError, tmp_path / "link.csv")


def test_pipes_and_devices_are_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), Path("/dev/null")):
        error = raises(errors.ReadError, path)
        assert error.path == str(path) and "regular file" in str(error)


def test_unreadable_files(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    path.chmod(0)
    if os.access(path, os.R_OK):
        pytest.skip("this user may read everything")
    assert raises(errors.ReadError, path).path == str(path)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("empty", b"", "empty"),
        ("bom", b"\xef\xbb\xbf", "empty"),
        ("blank", b"\n\n  \n", "blank"),
        ("nul", b"a,b\n1,\x002\n", "NUL"),
        ("noise", bytes(range(1, 9)) * 100, "control"),
        ("jpeg", b"\xff\xd8\xff\xe0" + bytes(100), "JPEG"),
    ],
)
def test_what_is_no_table_is_said(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    error = raises(errors.FormatError, tmp_path / name)
    assert said in str(error) and error.path == str(tmp_path / name)


def test_formats_are_found_by_content(tmp_path: Path) -> None:
    (tmp_path / "parquet.csv").write_bytes(DIGITS.read_bytes())
    (tmp_path / "csv.parquet").write_text("label,x\n1,2\n")
    assert len(TableDataset(tmp_path / "parquet.csv")) == 3000
    assert len(TableDataset(tmp_path / "csv.parquet")) == 1


# ------------------------------------------------------------------ rows and columns


def test_places_in_csv(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    lines = ["label,a,b"] + ["1,2,3"] * 200_000
    for row, column, cell, kind in [
        (0, "a", "x", errors.BadValueError),
        (150_000, "b", "x" * 500, errors.BadValueError),
        (199_999, "b", "", errors.MissingValueError),
        (99_999, "label", "NA", errors.MissingValueError),
    ]:
        cells = ["1", "2", "3"]
        cells[["label", "a", "b"].index(column)] = cell
        path.write_text("\n".join([*lines[: row + 1], ",".join(cells), *lines[row + 2 :]]))
        error = raises(kind, path)
        assert error.path == str(path) and error.column == column
        assert (error.row, error.line) == (row, row + 2)
        assert f": line {row + 2}, column" in str(error)
        assert len(str(error)) < 400 + len(str(path))
    for row, line in [(5, "1,2"), (150_000, "1,2,3,4"), (199_999, "1")]:
        path.write_text("\n".join([*lines[: row + 1], line, *lines[row + 2 :]]))
        error = raises(errors.DamagedError, path)
        assert (error.row, error.line) == (row, row + 2)


def test_duplicate_headers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("a,b,a\n1,2,3\n")
    error = raises(errors.SchemaError, path)
    assert error.column == "a" and "0 and 2" in str(error)


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Torch waits five seconds for a worker whose batch has raised, with any dataset."""
    monkeypatch.setattr(torch.utils.data._utils, "MP_STATUS_CHECK_INTERVAL", 0.2)
    yield
    gc.collect()  # the loader's iterator, which the error's traceback has kept


@pytest.mark.usefixtures("impatient")
def test_rows_that_do_not_exist() -> None:
    ds = TableDataset(DIGITS)
    for workers in (0, 1):
        with pytest.raises(errors.RowIndexError, match="3000") as caught:
            list(DataLoader(ds, batch_size=2, sampler=[0, 3000], num_workers=workers))
        assert type(caught.value) is errors.RowIndexError
        assert workers or caught.value.index == 3000
    loader = gofast.DataLoader(ds, batch_size=2, sampler=[0, 1, 2, -3001, 4, 5])
    batches = iter(loader)
    next(batches)
    with pytest.raises(errors.RowIndexError) as caught:
        next(batches)
    assert caught.value.index == -3001
    assert len(next(batches)["label"]) == 2  # the engine goes on


class Opening(torch.utils.data.Dataset[Any]):
    """Opens its file in the worker."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> Any:
        return TableDataset(self.path)[index]


@pytest.mark.usefixtures("impatient")
def test_errors_of_workers_keep_their_class(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("label,a\n1,2\n1,\n")
    with pytest.raises(errors.MissingValueError, match="line 3") as caught:
        list(DataLoader(Opening(path), num_workers=1, multiprocessing_context="fork"))
    assert type(caught.value) is errors.MissingValueError


# ------------------------------------------------------------------ limits


def csv_of(rows: int, columns: int = 4) -> bytes:
    return (
        ",".join(f"c{i}" for i in range(columns)) + "\n" + (",".join("1" * columns) + "\n") * rows
    ).encode()


@pytest.mark.parametrize("form", ["csv", "csv.gz", "csv.zst", "parquet", "npy", "npz"])
def test_the_memory_limit_names_cache(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{form}"
    rows = 1_000_000
    x = np.ones((rows, 8), np.uint8)
    if form.startswith("csv"):
        raw = csv_of(rows, 8)
        packed = {
            "csv": lambda: raw,
            "csv.gz": lambda: gzip.compress(raw, 1),
            "csv.zst": lambda: pa.compress(raw, "zstd", asbytes=True),
        }
        path.write_bytes(packed[form]())
    elif form == "parquet":
        pq.write_table(pa.table({f"c{i}": x[:, i] for i in range(8)}), path)
    else:
        np.save(path, x) if form == "npy" else np.savez_compressed(path, x)
    error = raises(errors.LimitError, path, limits={"memory": 6 << 20})
    assert "cache=" in str(error) and "memory" in str(error)
    assert len(TableDataset(path, label=None, limits=gofast.typing.Limits(memory=64 << 20))) == rows


def test_bombs(tmp_path: Path) -> None:
    path = tmp_path / "bomb"
    line = b"1" * (64 << 20)  # one cell
    for packed in (gzip.compress(line, 1), pa.compress(line, "zstd", asbytes=True)):
        path.write_bytes(packed)
        assert len(packed) < 1 << 20
        assert "cell" in str(raises(errors.LimitError, path))
    pq.write_table(
        pa.table({"x": np.zeros(20_000_000, np.int64)}), path, compression="zstd", use_dictionary=False
    )
    assert path.stat().st_size < 1 << 18
    raises(errors.LimitError, path, limits={"memory": 4 << 20})
    raises(errors.LimitError, path, limits={"page": 1 << 10})


def test_too_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(csv_of(2, 100_000))
    assert "columns" in str(raises(errors.LimitError, path))
    assert TableDataset(path, label=None, limits={"columns": 100_000}).shape == (100_000,)
    names = [f"c{i}" for i in range(20_000)]
    pq.write_table(pa.table([pa.array([1])] * len(names), names=names), tmp_path / "t.parquet")
    assert "columns" in str(raises(errors.LimitError, tmp_path / "t.parquet", limits={"columns": 10_000}))
    assert TableDataset(tmp_path / "t.parquet", label=None).shape == (20_000,)


def test_long_cells_and_headers(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("label,x\n" + "a" * 5000 + ",1\n")
    raises(errors.LimitError, path, limits={"cell": 1000})
    assert TableDataset(path).classes == ["a" * 5000]
    pq.write_table(
        pa.table({f"a long name of a column {i}": [1] for i in range(500)}), tmp_path / "t.parquet"
    )
    raises(errors.LimitError, tmp_path / "t.parquet", limits={"metadata": 1000})


NONSENSE: dict[str, list[Any]] = {
    "limits": [{"memory": -1}, {"memori": 5}, {"memory": "1"}, {"memory": 1.5}, {"rows": 1}],
    "threads": [0, -3],
    "label": [1.5], "columns": [[None]], "dtype": [torch.int8], "output": ["list"], "scale": ["x"],
    "one_hot": [0], "fill_value": [float("inf")], "shape": [(3, 3)], "mean": [1],
}  # fmt: skip


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_options(name: str) -> None:
    for value in NONSENSE[name]:
        raises(errors.OptionError, DIGITS, **{name: value})


# ------------------------------------------------------------------ files that change


def written(form: str, path: Path, rows: int) -> None:
    rng = np.random.default_rng(1)
    x = rng.integers(0, 256, (rows, 40), dtype=np.uint8)
    if form == "csv":
        pd.DataFrame(x, columns=[f"c{i}" for i in range(40)]).to_csv(path, index=False)
    elif form == "parquet":
        pq.write_table(
            pa.table({f"c{i}": x[:, i] for i in range(40)}), path, compression="none", use_dictionary=False
        )
    else:
        np.save(path, x)


@pytest.mark.parametrize("form", ["csv", "parquet", "npy"])
def test_a_file_that_shrinks_or_changes_while_it_is_read(form: str, tmp_path: Path) -> None:
    path = tmp_path / f"t.{form}"
    written(form, path, 300_000 if form != "csv" else 100_000)
    whole = path.read_bytes()
    outcomes = []
    for attempt in range(20):
        path.write_bytes(whole)
        start = threading.Event()

        def damage(
            delay: float = 0.0008 * attempt, ready: threading.Event = start, how: int = attempt % 2
        ) -> None:
            ready.wait()
            time.sleep(delay)
            os.truncate(path, len(whole) // 2) if how else os.utime(path)

        thread = threading.Thread(target=damage)
        thread.start()
        try:
            start.set()
            ds = TableDataset(path, label=None, threads=2)
            outcomes.append("read")
            assert len(ds) == (300_000 if form != "csv" else 100_000)
        except errors.ChangedError as error:
            outcomes.append("changed")
            assert error.path == str(path)
        except (errors.DamagedError, errors.FormatError):
            outcomes.append("damaged")  # it was cut before it was opened
        finally:
            thread.join()
    assert "changed" in outcomes, outcomes


# ------------------------------------------------------------------ the engine


def run(script: str) -> str:
    done = fresh.run(["-c", "import warnings\nwarnings.simplefilter('error')\n" + script])
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_a_library_that_is_missing_says_what_to_do() -> None:
    said = run(
        "import pathlib, gofast\n"
        "from gofast import errors\nfrom gofast._core import engine\n"
        "engine._LIBRARY = pathlib.Path('/nowhere/_native.abi3.so')\n"
        f"try: gofast.TableDataset({str(DIGITS)!r})\n"
        "except errors.EngineError as e: print(e)\n"
    )
    assert "is missing" in said and "pip" in said


def test_a_closed_engine_says_so() -> None:
    said = run(
        "import numpy, gofast\n"
        "from gofast import errors\nfrom gofast._core import engine\n"
        "ds = gofast.ArrayDataset(numpy.zeros((5000, 784), numpy.float32))\n"
        "loader = gofast.DataLoader(ds, batch_size=500)\n"
        "next(iter(loader))\n"
        "engine.call('close', {})\n"
        "try: next(iter(loader))\n"
        "except errors.ClosedError as e: print('closed:', e)\n"
    )
    assert said.startswith("closed:")


def test_unknown_work_is_an_option_error() -> None:
    with pytest.raises(errors.OptionError, match="nonsense"):
        engine.run("nonsense", {})
    with pytest.raises(errors.OptionError, match="nonsense"):
        engine.call("nonsense", {})


def test_a_cancelled_open_is_a_cancelled_error(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(csv_of(1_000_000, 40))
    task = next(engine.numbers)
    config = {"paths": [str(path)], "label": [], "limits": {}, "threads": 1}
    go = engine.native()
    engine.cross(go.pybind_Begin, task, "open", json.dumps(config))
    engine.cross(go.pybind_Abort, task)
    with pytest.raises(errors.CanceledError):
        engine.cross(go.pybind_Result, task)


def test_a_misspelt_name_is_answered_as_python_does() -> None:
    with pytest.raises(AttributeError, match="module 'gofast' has no attribute 'ImageFodler'") as caught:
        gofast.ImageFodler  # noqa: B018
    assert (caught.value.name, caught.value.obj) == ("ImageFodler", gofast)
    done = fresh.run(["-c", "import gofast; gofast.ImageFodler"])
    assert "Did you mean: 'ImageFolder'?" in done.stderr


def test_the_doctor_takes_no_path() -> None:
    with pytest.raises(TypeError, match="takes a DataLoader or another iterable of batches, not str"):
        gofast.doctor("photos")


def test_sizes_in_errors_have_units_and_the_number_to_set(tmp_path: Path) -> None:
    """The core's and Python's are written alike; gofast/internal/errs/bytes_test.go has the same numbers."""
    pairs = {999: "999 bytes", 1000: "1.0 kB (1000 bytes)", 25_664_768: "25.7 MB (25664768 bytes)"}
    assert {count: exact(count) for count in pairs} == pairs
    np.save(tmp_path / "a.npy", np.zeros((1000, 1000)))
    with pytest.raises(
        errors.LimitError, match=r"needs .* (MB|kB) \(\d+ bytes\), the limit is 5\.0 kB \(5000 bytes\)"
    ):
        TableDataset(tmp_path / "a.npy", label=None, limits={"memory": 5000})
