"""The gofast command, as a user runs it: exit statuses, JSON, Ctrl-C."""

from __future__ import annotations

import gzip
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

import gofast
import records
from gofast import errors
from gofast._command import cache, doctor, main, output, script_loader, verify
from gofast._core.machine import MemoryUse
from gofast._tables import hdf5_verify
from gofast._tables.column_options import verified
from mds import write_litdata, write_mds
from tars import tar_bytes

COMMAND = [sys.executable, "-c", "import sys; from gofast._command.main import main; sys.exit(main())"]
TESTS = Path(__file__).parents[1]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(gofast.__file__).parents[1])}


def run(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> tuple[int, str, str]:
    """Runs a command line in this process: exit status, stdout, stderr."""
    try:
        status = main.main([str(argument) for argument in arguments])
    except SystemExit as end:
        status = int(str(end.code))
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Six pictures in two classes, of four formats, all whole."""
    draw = np.random.default_rng(0)
    root = tmp_path / "photos"
    for i, ending in enumerate(("jpg", "png", "webp", "bmp", "gif", "jpg")):
        place = root / f"class{i % 2}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = draw.integers(0, 256, (40, 60, 3), np.uint8)
        Image.fromarray(pixels).save(place / f"{i}.{ending}")
    return root


def cut(path: Path) -> None:
    """Leaves two thirds of a file."""
    path.write_bytes(path.read_bytes()[: path.stat().st_size * 2 // 3])


def test_verify_tells_what_pictures_are(
    photos: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    status, said, _ = run(capsys, "verify", photos, "--json", "--threads", "2")
    report = json.loads(said)
    assert status == 0 and report["files"] == report["pictures"] == 6
    (photos / "class0" / "page.jpg").write_text("<html>no picture</html>")
    status, said, _ = run(capsys, "verify", photos)
    assert status == 1 and "page.jpg" in said and "HTML" in said
    monkeypatch.chdir(photos)
    assert "page.jpg" in run(capsys, "verify")[1]  # without a path: this folder


def documented(page: str) -> dict[str, tuple[set[str], set[str]]]:
    """The keys that docs/command.md promises, and those that it says may be left out, by what has them."""
    rows = {}
    for name, text in re.findall(r"^\| `(\w+)` \| (.*) \|$", page, re.MULTILINE):
        outer = re.sub(r"\(.*?\)", "", text)  # in brackets stand the keys of a list's members
        rows[name] = (set(re.findall(r"`(\w+)`", outer)), set(re.findall(r"\[`(\w+)`\]", outer)))
    return rows


def test_json_has_the_keys_of_the_documentation(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    pq.write_table(pa.table({"x": [1, None], "y": ["a", "b"]}), tmp_path / "t.parquet")
    np.savez(tmp_path / "t.npz", np.zeros((4, 2, 2)))
    (tmp_path / "notes.txt").write_text("words")
    promised = documented((TESTS.parents[1] / "docs" / "command.md").read_text())

    def said(*line: str | Path) -> Any:
        return json.loads(run(capsys, *line, "--json")[1])

    made = {
        "verify": [said("verify", tmp_path)],
        "convert": [said("convert", tmp_path / "t.npz", tmp_path / "new.npz", "--label", "")],
        "shard": [said("shard", photos, tmp_path / "{}.tar")],
        "cache": [said("cache", "list"), said("cache", "info", tmp_path)],
        "info": [said("info")],
    }
    assert set(promised) == {*made, "doctor", "demo"}
    for name, found in made.items():
        keys, left_out = promised[name]
        assert found
        for one in found:
            assert keys - left_out <= set(one) <= keys, (name, one)


def test_verify_says_that_it_did_not_read_other_kinds(
    photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "nothing is damaged\n" in run(capsys, "verify", photos)[1]
    (photos / "train.mds").write_bytes(b"without an index.json")
    said = run(capsys, "verify", photos)[1]
    assert (
        "1 of other kinds, which were not read" in said and "nothing is damaged of what was checked" in said
    )


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_verify_reads_tar_files(
    pack: Callable[[bytes], bytes],
    photos: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "kept"))
    path, files = tmp_path / "train.tar", sorted(photos.rglob("*.*"))
    samples = [{file.suffix[1:]: file.read_bytes(), "cls": b"1"} for file in files]
    path.write_bytes(pack(data := tar_bytes(samples)))
    status, said, _ = run(capsys, "verify", path, "--json")
    report = json.loads(said)
    assert status == 0 and (report["tars"], report["pictures"], report["others"]) == (1, 6, 0)
    assert report["by_pillow"] == 2 and report["damaged"] == report["unchecked"] == []
    for name in ("jpg", "bmp"):
        number = next(i for i, file in enumerate(files) if file.suffix[1:] == name)
        samples[number][name] = samples[number][name][: len(samples[number][name]) * 2 // 3]
    path.write_bytes(pack(data := tar_bytes(samples)))
    status, said, _ = run(capsys, "verify", path, "--json")
    damaged = json.loads(said)["damaged"]
    assert status == 1 and {one["path"] for one in damaged} == {str(path)} and len(damaged) == 2
    for one in damaged:
        at = data.index(one["member"].encode()) + 512
        assert one["offset"] == at and f"{at}" in one["reason"] and one["member"] in one["reason"]
    path.write_bytes(pack(data[: data.rindex(b"00005.") + 300]))
    status, said, _ = run(capsys, "verify", path)
    assert status == 1 and "the file ends within a header" in said and "1 tar file" in said


@pytest.mark.parametrize("form", ["mds", "litdata"])
def test_verify_reads_shards_that_an_index_lists(
    form: str, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pictures = [file.read_bytes() for file in sorted(photos.rglob("*.*"))]
    folder = tmp_path / "shards"

    def verified_as(pictures: list[bytes], cut: int = 0, samples: int = 3) -> tuple[int, Any]:
        if form == "mds":
            rows = [{"image": one, "class": i, "other": b"x"} for i, one in enumerate(pictures)]
            columns = {"image": "png", "class": "int", "other": "bytes"}
            write_mds(folder, columns, [rows[:3], rows[3:]])
            path, count = folder / "shard.00001.mds", '"samples": 3'
        else:
            leaves = [(one, b"label") for one in pictures]
            spec = {"type": "builtins.tuple", "context": "null"}
            leaf = {"type": None, "context": None, "children_spec": []}
            write_litdata(
                folder, {**spec, "children_spec": [leaf, leaf]}, ["jpeg", "str"], [leaves[:3], leaves[3:]]
            )
            path, count = folder / "chunk-0-1.bin", '"chunk_size": 3'
        path.write_bytes(path.read_bytes()[: path.stat().st_size - cut])
        index = folder / "index.json"
        index.write_text(index.read_text().replace(count, f"{count[:-1]}{samples}"))
        status, said, _ = run(capsys, "verify", folder, "--json")
        return status, json.loads(said)

    status, report = verified_as(pictures)
    assert (status, report["shards"], report["pictures"], report["others"]) == (0, 2, 6, 0)
    assert report["by_pillow"] == 2 and report["damaged"] == report["unchecked"] == []
    at = next(i for i, one in enumerate(pictures) if one[:2] == b"\xff\xd8")
    status, report = verified_as([*pictures[:at], pictures[at][:-900], *pictures[at + 1 :]])
    (one,) = report["damaged"]
    assert status == 1 and f"sample {at % 3}, column" in one["reason"] and f"{one['offset']}" in one["reason"]
    for options in ({"cut": 5}, {"samples": 4}):
        status, report = verified_as(pictures, **options)
        assert status == 1 and {one["kind"] for one in report["damaged"]} == {"Damaged"}
    verified_as(pictures)
    gone = next(iter(sorted(folder.glob("*0*.[mb]*"))))
    gone.unlink()
    status, said, _ = run(capsys, "verify", folder)
    assert status == 1 and f"{gone}: " in said and "lists it" in said
    for of_others in ("{", "[]", "3", '{"chunks": []}', '{"pages": [{"shards": 1}]}'):
        (folder / "index.json").write_text(of_others)
        _, said, _ = run(capsys, "verify", folder, "--json")
        report = json.loads(said)
        assert report["damaged"] == [] and "index.json" not in str(report["unchecked"]), of_others


def test_verify_asks_pillow(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, said, _ = run(capsys, "verify", photos, "--json")
    report = json.loads(said)
    assert status == 0 and report["by_pillow"] == 2 and report["damaged"] == report["unchecked"] == []
    for name in ("class0/0.jpg", "class1/1.png", "class1/3.bmp"):
        cut(photos / name)
    status, said, _ = run(capsys, "verify", photos)
    assert status == 1
    for name in ("0.jpg", "1.png", "3.bmp"):
        assert name in said
    assert "2.webp" not in said and "4.gif" not in said


def test_verdicts_are_those_of_training(photos: Path) -> None:
    """What verify calls damaged is what the dataset raises on."""
    cut(photos / "class0" / "0.jpg")
    cut(photos / "class1" / "3.bmp")
    found = verify.command_operations.verify_files(
        {"paths": [str(photos)], "shards": [], "threads": 2, "table": verified(), "one_table": False}
    )
    verify.ask_pillow(found, 2)
    damaged = {Path(problem["path"]).name for problem in found["damaged"]}
    dataset = gofast.ImageFiles(sorted(photos.rglob("*.*")))
    raised = set()
    for i, path in enumerate(dataset.paths):
        try:
            dataset[i].load()
        except OSError:
            raised.add(Path(path).name)
    assert damaged == raised == {"0.jpg", "3.bmp"}


@pytest.mark.parametrize("at", [2, 10, 50, 200, 2500])
def test_verify_says_what_opening_says(at: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, row in {"word": "oops,1", "empty": ",1", "label": "1,", "words": "1,x", "short": "1"}.items():
        rows = [f"{i},{i / 2}" for i in range(3000)]
        rows[at] = row
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join(["a,label", *rows]) + "\n")
        with pytest.raises(errors.GofastError) as opened:
            gofast.TableDataset(path)
        with pytest.raises(type(opened.value)) as verified:
            gofast.verify(path)
        assert str(verified.value) == str(opened.value)
    status, said, _ = run(capsys, "verify", tmp_path)
    assert status == 1 and said.count("line ") >= 5
    (tmp_path / "short.csv").unlink()
    assert run(capsys, "verify", tmp_path / "empty.csv", "--fill-value", "0")[0] == 0


Opened = Callable[[Path], object]


def same_error(path: Path, opened: Opened, capsys: pytest.CaptureFixture[str]) -> errors.GofastError:
    """What opening a damaged file raises: verify raises the same, and the command names the file."""
    with pytest.raises(errors.GofastError) as of_opening:
        opened(path)
    with pytest.raises(errors.GofastError) as verified:
        gofast.verify(path)
    assert type(verified.value) is type(of_opening.value)
    assert (str(verified.value), vars(verified.value)) == (str(of_opening.value), vars(of_opening.value))
    status, said, _ = run(capsys, "verify", path, "--json")
    (problem,) = [*(report := json.loads(said))["damaged"], *report["unchecked"]]
    assert problem["path"] == str(path) and errors.KINDS[problem["kind"]] is type(verified.value)
    assert status == bool(report["damaged"])
    return of_opening.value


@pytest.mark.parametrize("compression", [None, "gzip", "zlib"])
def test_verify_says_what_opening_records_says(
    compression: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def written(content: bytes, name: str = "a.tfrecord") -> Path:
        packed = {None: bytes, "gzip": gzip.compress, "zlib": zlib.compress}[compression](content)
        (tmp_path / name).write_bytes(packed)
        return tmp_path / name

    def opened(path: Path) -> object:
        return gofast.TFRecordDataset(path, compression_type=compression)

    examples = [records.example({"x": [n, 7], "y": [0.5], "z": [b"abc"]}) for n in range(5)]
    whole = records.framed(examples)
    each = len(whole) // 5
    gofast.verify(written(whole))
    status, said, _ = run(capsys, "verify", written(whole, "train.tfrec-00000-of-00001"), "--json")
    assert status == 0 and json.loads(said)["tfrecords"] == 1
    for at in (0, 5, 9, 14, each - 2, 3 * each + 3, 3 * each + 20, 5 * each - 1):
        wrong = bytearray(whole)
        wrong[at] ^= 4
        error = same_error(written(wrong), opened, capsys)
        assert (error.row, error.offset) == (at // each, at // each * each)
    for end in (each + 5, each + 30, 5 * each - 1):
        assert type(same_error(written(whole[:end]), opened, capsys)) is errors.DamagedError
    for odd in (b"\xff", records.example({"x": [0.5]})):
        same_error(written(whole + records.framed([odd])), opened, capsys)
    if compression:
        path = written(whole)
        path.write_bytes(path.read_bytes()[:-9])
        same_error(path, opened, capsys)


def test_verify_says_what_opening_hdf5_says(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    h5py = pytest.importorskip("h5py")
    path, random = tmp_path / "a.h5", np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        for name, options in {
            "a/zip": {"compression": "gzip"},
            "lzf": {"compression": "lzf"},
            "sum": {},
        }.items():
            values = random.integers(0, 9, (40, 8))
            file.create_dataset(name, data=values, chunks=(7, 5), fletcher32=name == "sum", **options)
        file["plain"], file["small"] = random.normal(size=(40, 2)), np.arange(4, dtype=">i2")
        places = {name: file[name].id.get_chunk_info(9) for name in ("a/zip", "lzf", "sum")}
    whole = path.read_bytes()
    gofast.verify(path)
    status, said, _ = run(capsys, "verify", tmp_path, "--json")
    assert status == 0 and json.loads(said)["hdf5"] == [str(path)] and not json.loads(said)["unchecked"]
    for name, place in places.items():
        wrong = bytearray(whole)
        wrong[place.byte_offset : place.byte_offset + 9] = bytes(range(250, 241, -1))
        path.write_bytes(wrong)
        error = same_error(path, lambda path, name=name: gofast.ArrayDataset.from_hdf5(path, name), capsys)
        assert type(error) is errors.DamagedError and error.column == name and name in str(error)
    for content in (whole[:-10], whole[:100], b"", b"\x89HDF\r\n\x1a\n"):
        path.write_bytes(content)
        same_error(path, lambda path: gofast.ArrayDataset.from_hdf5(path, "sum"), capsys)
    with h5py.File(path, "w") as file:
        file["words"] = ["a", "b"]
    same_error(
        path, lambda path: gofast.ArrayDataset.from_hdf5(path, "words"), capsys
    )  # nothing else is there
    with h5py.File(path, "a") as file:
        file["x"] = [1, 2]
    gofast.verify(path)
    status, said, _ = run(capsys, "verify", path)
    assert status == 0 and "not checked" in said and "'words': it holds strings" in said


def test_verify_reads_large_chunked_datasets_in_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        data = np.random.default_rng(0).integers(0, 9, (3000, 50))
        file.create_dataset("x", data=data, chunks=(100, 20), fletcher32=True)
        place = file["x"].id.get_chunk_info(70)
    monkeypatch.setattr(hdf5_verify.Machine, "memory", lambda self: MemoryUse(1 << 21, 1 << 21, "machine"))
    gofast.verify(path)
    content = bytearray(path.read_bytes())
    content[place.byte_offset + 50] ^= 1
    path.write_bytes(content)
    with pytest.raises(errors.DamagedError, match=r'"x".*chunk'):
        gofast.verify(path)


def test_verify_says_what_opening_several_files_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [tmp_path / f"{n}.csv" for n in range(3)]
    for wrong in ("a,label\n1,2\noops,3\n", "b,label\n1,2\n", "a,label,c\n1,2,3\n", "a,label\n1\n", ""):
        for path in paths:
            path.write_text("a,label\n" + "1,2\n" * 30)
        for given in (paths, tmp_path, tmp_path / "*.csv"):
            gofast.verify(given)
        assert run(capsys, "verify", tmp_path, "--one-table")[0] == 0
        paths[1].write_text(wrong)
        for given in (paths, tmp_path, tmp_path / "*.csv"):
            with pytest.raises(errors.GofastError) as opened:
                gofast.TableDataset(given)
            with pytest.raises(type(opened.value)) as verified:
                gofast.verify(given)
            assert str(verified.value) == str(opened.value)
        status, said, _ = run(capsys, "verify", *paths, "--one-table")
        assert "1.csv" in said and (status == 1 or "not checked" in said)


def test_verify_of_a_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table, kept = tmp_path / "t.csv", tmp_path / "t.cache"
    table.write_text("label,x\n" + "1,2\n" * 5000)
    gofast.TableDataset(table, cache=kept)
    mine = tmp_path / "mine.npz"
    np.savez(mine, x=np.arange(4))
    assert run(capsys, "verify", table, kept, mine)[0] == 0
    content = bytearray((kept / "features.npy").read_bytes())
    content[1000] ^= 1
    (kept / "features.npy").write_bytes(content)
    for folder in (tmp_path, kept):
        status, said, _ = run(capsys, "verify", folder)
        assert status == 1 and "features.npy" in said and "mine.npz" not in said


def test_convert(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = tmp_path / "t.csv", tmp_path / "t.npz"
    source.write_text("label,x\n1,2\n3,4\n")
    status, said, _ = run(capsys, "convert", source, target, "--json")
    assert status == 0 and json.loads(said)["bytes"] == target.stat().st_size
    with np.load(target) as arrays:
        assert arrays["features"].tolist() == [[2], [4]] and arrays["label"].tolist() == [1, 3]
    assert run(capsys, "convert", source, tmp_path / "t.xls")[0] == 2
    assert run(capsys, "convert", tmp_path / "none.csv", target)[0] == 1
    source.write_text("label,x,y,z\n1,,a,2\n")
    _, _, why = run(capsys, "convert", source, target)
    assert "leave it out with --exclude, or choose the features with --columns" in why
    assert why.endswith("(in Python, gofast.convert has categories=)\n")
    assert "pass --fill-value" in run(capsys, "convert", source, target, "--exclude", "y")[2]
    (tmp_path / "doubtful.csv").write_text("1,2\n3,4\n")
    _, _, why = run(capsys, "convert", tmp_path / "doubtful.csv", target)
    assert "say --header yes if it names the columns, --header no if it is a row" in why
    line = ["--columns", "z", "--skiprows", "0", "--label-type", "float"]
    assert run(capsys, "convert", source, target, *line)[0] == 0
    with np.load(target) as arrays:
        assert arrays["features"].tolist() == [[2]] and arrays["label"].dtype == np.float64


def test_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    kernel = cache.home() / "kernels" / "a.cubin"
    kernel.parent.mkdir(parents=True)
    kernel.write_bytes(b"code")
    data = tmp_path / "data"
    data.mkdir()
    (data / "t.csv").write_text("label,x\n1,2\n")
    gofast.TableDataset(data / "t.csv", cache=data / "t.cache")
    np.savez(data / "mine.npz", gofast=np.arange(4))
    (data / "t.cache" / "own.txt").touch()
    for folders, names in (([data], ["t.cache"]), ([], ["a.cubin"])):
        status, said, _ = run(capsys, "cache", "list", *folders, "--json")
        assert status == 0 and [Path(one["path"]).name for one in json.loads(said)["files"]] == names
    for answer in ("n\n", ""):  # or the end of stdin
        monkeypatch.setattr("sys.stdin", io.StringIO(answer))
        status, said, asked = run(capsys, "cache", "clear", data, "--json")
        assert status == 1 and said == "" and "remove 1 cache of a table?" in asked
        assert (data / "t.cache" / "labels.npy").exists()
    status, said, _ = run(capsys, "cache", "clear", data, data / ".", "--yes", "--json")  # the same folder
    assert status == 0 and len(json.loads(said)["files"]) == 1 and kernel.exists()
    assert sorted(path.name for path in data.rglob("*")) == ["mine.npz", "own.txt", "t.cache", "t.csv"]
    assert run(capsys, "cache", "clear", "--yes")[0] == 0 and not kernel.exists()


def test_info(capsys: pytest.CaptureFixture[str]) -> None:
    status, said, _ = run(capsys, "info", "--json")
    facts = json.loads(said)
    assert status == 0 and facts["versions"]["gofast"] == gofast.__version__
    assert set(facts["processor"]["kernels"].values()) <= {"plain", "avx2", "avx512"}
    assert facts["pictures"]["huffman"] == ("Huffman" in facts["pictures"]["jpeg"])
    assert run(capsys, "info")[0] == 0


def test_wrong_command_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for line in (
        [], ["walk"], ["verify", ".", "--threads", "0"], ["cache"],
        ["cache", "list", tmp_path / "no"], ["completion", "csh"], ["run"], ["convert", "a"],
        ["verify", ".", "--threads", "99999999999"], ["verify", ".", "--nothing"],
    ):  # fmt: skip
        status, said, error = run(capsys, *line)
        assert status == 2 and said == "" and error, line
    for line, why in {
        "verify --nothing": "usage: gofast verify [-h]",
        "cache": "gofast cache: error: the following arguments are required: action\n",
        "doctor": "gofast doctor: error: the following arguments are required: SCRIPT_OR_DATASET\n",
        "run": "usage: gofast run [--cache memory|FOLDER] [--cache-limit BYTES] SCRIPT [ARGUMENT ...]",
    }.items():
        assert why in run(capsys, *line.split())[2], line
    status, said, error = run(capsys, "verify", tmp_path / "no")
    assert status == 1 and said == "" and "no such file" in error


def test_every_command_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    status, said, _ = run(capsys, "--help")
    assert status == 0 and "examples:" in said
    names = main.NAMES
    for name in names:
        status, help, _ = run(capsys, name, "--help")
        assert status == 0 and f"gofast {name}" in help.split("examples:")[1] and name in said
    for shell in ("bash", "zsh", "fish"):
        status, said, _ = run(capsys, "completion", shell)
        assert status == 0 and all(name in said for name in names)


def test_a_command_that_python_m_gofast_was_asked_for(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gofast", "verify", "photos"],
        env=ENVIRONMENT,
        cwd=tmp_path, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.returncode == output.USAGE
    assert done.stderr.endswith("python -m gofast runs scripts; `gofast verify` is a command of its own\n")


SCRIPT = """
import sys, time, torch
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(100.0)), batch_size=4)
for epoch in range(1000):
    for (batch,) in loader:
        time.sleep(0.002)
raise AssertionError("the script was not stopped")
"""


def test_a_script_is_watched(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    script = tmp_path / "train.py"
    script.write_text(SCRIPT)
    arguments = sys.argv[:]
    found = script_loader.loader_of(str(script), ["--epochs", "3"])
    loader = found.loader
    assert loader.batch_size == 4 and sys.argv == arguments
    with found.as_main():  # where workers that are not forked find the classes of their dataset
        assert sys.modules["__main__"].__file__ == str(script)
    assert getattr(sys.modules["__main__"], "__file__", None) != str(script)
    began = time.perf_counter()
    found.step(None)
    assert time.perf_counter() - began >= 0.002
    assert len(list(loader)) == 25  # and is watched no more
    script.write_text("print('no loader')")
    with pytest.raises(gofast.errors.OptionError, match="without a loop"):
        script_loader.loader_of(str(script), [])
    script.write_text("raise SystemExit(3)")
    with pytest.raises(SystemExit):
        script_loader.loader_of(str(script), [])
    assert "ended with status 3, without a loop" in capsys.readouterr().err


SPAWNED = """
import torch
class Mine(torch.utils.data.Dataset):
    def __len__(self):
        return 1 << 12
    def __getitem__(self, index):
        return torch.zeros(2)
if __name__ == "__main__":
    loader = torch.utils.data.DataLoader(Mine(), 4, num_workers=1, multiprocessing_context="spawn")
    for batch in loader:
        pass
"""


@pytest.mark.full
def test_a_script_whose_workers_are_spawned(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text(SPAWNED)
    child = started("doctor", "--seconds", "0.5", script, stdout=subprocess.PIPE)
    said, noted = child.communicate(timeout=300)
    assert child.returncode == output.DONE, said + noted
    assert "of Mine" in noted


def test_the_loader_of_a_dataset(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torchvision")
    for name in ("a", "b"):
        (tmp_path / f"{name}.csv").write_text("label,x\n1,2\n")
    assert type(doctor.dataset_loader(str(tmp_path / "a.csv"), None, 0).dataset) is gofast.TableDataset
    loader = doctor.dataset_loader(str(photos), 2, 0)  # GIF is none of torchvision's
    assert next(iter(loader))[0].shape == (2, 3, 224, 224)
    assert type(doctor.dataset_loader(str(photos / "class0"), None, 0).dataset) is gofast.ImageFiles
    assert "5 samples" in capsys.readouterr().err


def started(*arguments: str | Path, **options: Any) -> subprocess.Popen[str]:
    """The command in a process of its own, which says when it has begun on stderr."""
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)],
        env={**ENVIRONMENT, "PYTHONUNBUFFERED": ""},
        stderr=subprocess.PIPE, text=True, **options,
    )  # fmt: skip


def test_it_starts_without_torch(photos: Path) -> None:
    """torch takes seconds to import, and only what loads batches needs it."""
    program = """
import contextlib, sys
from gofast._command.main import main
for line in sys.stdin.read().splitlines():
    with contextlib.suppress(SystemExit):
        main(line.split(" "))
    assert "torch" not in sys.modules, line
"""
    lines = ["--version", "--help", "doctor --help", "convert --help", "demo --help", "cache list",
             f"verify {photos}", "completion bash"]  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-c", program], input="\n".join(lines), text=True, capture_output=True, timeout=100,
        env=ENVIRONMENT,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_output_that_is_not_read(photos: Path) -> None:
    """As after `| head`: no traceback, and the status that a shell shows for SIGPIPE."""
    reader, writer = os.pipe()
    os.close(reader)
    for line in (["verify", photos, "--json"], ["--help"]):
        child = started(*line, stdout=writer)
        assert (child.communicate(timeout=60)[1], child.returncode) == ("", output.PIPE_CLOSED)
    os.close(writer)


def test_output_that_cannot_be_written(photos: Path) -> None:
    with open("/dev/full", "w") as full:
        for line in (["verify", photos], ["info", "--json"], ["--help"]):
            child = started(*line, stdout=full)
            said = child.communicate(timeout=60)[1]
            assert said == "gofast: cannot write to standard output: No space left on device\n"
            assert child.returncode == output.FAILED
    child = started("verify", photos, preexec_fn=lambda: os.close(1))
    assert "standard output is closed" in child.communicate(timeout=60)[1]
    assert child.returncode == output.FAILED


def test_names_cannot_speak_to_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    name = os.fsdecode(b"a\x1b[31m\n\xff.cache")
    (tmp_path / "t.csv").write_text("label,x\n1,2\n")
    gofast.TableDataset(tmp_path / "t.csv", cache=tmp_path / "t.cache")
    os.rename(tmp_path / "t.cache", tmp_path / name)
    for line in (
        ["cache", "list", tmp_path], ["verify", tmp_path],
        ["verify", tmp_path / f"{name}.none"], ["convert", tmp_path / name, tmp_path / f"{name}.xls"],
    ):  # fmt: skip
        _, said, error = run(capsys, *line)
        assert "\x1b" not in said + error, line
    status, said, _ = run(capsys, "cache", "list", tmp_path, "--json")
    assert status == 0 and json.loads(said)["files"][0]["path"] == str(tmp_path / name)


def test_ctrl_c(tmp_path: Path) -> None:
    """130 at once, and no traceback."""
    Image.effect_noise((900, 900), 90).save(tmp_path / "0.png", compress_level=0)
    for i in range(1, 400):
        os.link(tmp_path / "0.png", tmp_path / f"{i}.png")
    program = COMMAND[2].replace("sys.exit", "print('begun', flush=True); sys.exit")
    command = [sys.executable, "-c", program, "verify", str(tmp_path), "--threads", "1"]
    child = subprocess.Popen(
        command, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert child.stdout is not None and child.stdout.readline() == "begun\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    said, error = child.communicate(timeout=60)
    assert (child.returncode, said, error) == (output.INTERRUPTED, "", "gofast: interrupted\n")


def test_ctrl_c_while_pillow_decodes(tmp_path: Path) -> None:
    """Pillow looks for a marker byte by byte, for minutes."""
    path = tmp_path / "zeros.jpg"
    path.write_bytes(b"\xff\xd8\xff\xe0")
    os.truncate(path, 3 << 30)
    program = COMMAND[2].replace(
        "import sys;", "import sys, signal, threading; threading.Timer(2, signal.raise_signal, [2]).start();"
    )
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", program, "verify", str(path)],
        env=ENVIRONMENT,
        capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (output.INTERRUPTED, "gofast: interrupted\n")
    assert time.monotonic() - began < 30
