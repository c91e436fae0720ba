"""gofast shard: what ImageFolder sees, in files that webdataset and datasets read, whatever comes between."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import sys
import tarfile
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from torchvision.datasets import ImageFolder

import fresh
import gofast
from gofast import errors
from gofast._command import main, shard_writer
from gofast._command.shard_forms import TarShards
from gofast._command.shard_plan import ShardPlan
from gofast._core.patterns import files_of
from image_data import make_folder, photograph
from tars import grouped, write_tar

TAR, PARQUET = "train-{:06d}.tar", "train-{:03d}-of-{:03d}.parquet"
READ: dict[str, Any] = {TAR: gofast.ImageFiles.from_tar, PARQUET: gofast.ImageFiles.from_parquet}


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shards of few pictures."""
    monkeypatch.setattr(shard_writer, "_SMALLEST", 0)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Pictures whose names have dots, capitals and the same stem."""
    root = make_folder(tmp_path / "photos", 25)
    odd = root / "class.ä"
    odd.mkdir()
    names = ("a.b.jpg", "a_b.JPG", "a.png", "a.jpeg", "ß/a.webp", "ß/.hidden.bmp", ".jpg", "..jpg")
    for i, name in enumerate(names):
        (odd / name).parent.mkdir(exist_ok=True)
        picture = photograph(i, 40, 30)
        picture.save(odd / name, "JPEG" if name.lower().endswith("jpg") else None)
    return root


def run(*line: str | Path) -> int:
    return main.main(["shard", *map(str, line)])


def contents(dataset: Any) -> list[bytes]:
    return [*dataset._listing.files.contents]


def shards(form: str, out: Path) -> list[Path]:
    """Without what lies beside them."""
    return sorted(out.glob("*" + Path(form).suffix))


def read(form: str, out: Path) -> Any:
    return READ[form](shards(form, out))


def expected(root: Path) -> list[tuple[bytes, int]]:
    """The files and labels of torchvision's ImageFolder."""
    return [(Path(path).read_bytes(), label) for path, label in ImageFolder(root).samples]


@pytest.mark.parametrize("seed", ["", "7"])
@pytest.mark.parametrize("form", READ)
def test_samples_labels_and_classes_are_image_folders(
    photos: Path, tmp_path: Path, form: str, seed: str, capsys: pytest.CaptureFixture[str]
) -> None:
    want, out = expected(photos), tmp_path / "a" / "out"
    assert run(photos, out / form, "--size", "40kB", "--verify", *(["--shuffle", seed] if seed else [])) == 0
    paths = shards(form, out)
    assert f"{len(want)} pictures in {len(paths)} shards" in capsys.readouterr().err
    indexes = [Path(f"{path}.index") for path in paths] if form == TAR else []
    assert len(paths) > 2 and {*out.iterdir()} == {*paths, *indexes}
    assert files_of(str(out / "*")) == [*map(str, paths)]  # no pattern takes an index for a tar file
    big = {path for path in paths if path.stat().st_size > 40_000}
    assert all(len(READ[form](path)) == 1 for path in big)
    dataset = read(form, out)
    got = [*zip(contents(dataset), dataset.targets, strict=True)]
    assert (got == want) == (not seed) and sorted(got) == sorted(want)
    assert dataset.classes == ImageFolder(photos).classes
    assert dataset.class_to_idx == ImageFolder(photos).class_to_idx
    own = ImageFolder(photos)
    for at in (0, 20):
        number = want.index(got[at])
        assert dataset[at][0].tobytes() == own[number][0].tobytes() and dataset[at][1] == own[number][1]


def test_tars_are_grouped_by_the_number(photos: Path, tmp_path: Path) -> None:
    assert run(photos, tmp_path / TAR, "--size", "1MB", "--shuffle", "1") == 0
    samples, ends = grouped((tmp_path / "train-000000.tar").read_bytes())
    assert ends == "" and all(len(sample) == 2 for sample in samples)
    want = expected(photos)
    keys = shard_keys(tmp_path / "train-000000.tar")
    assert sorted(map(int, keys)) == [*range(len(want))] and len({*keys}) == len(keys)
    for key, sample in zip(keys, samples, strict=True):
        assert (next(iter(sample.values())), int(sample["cls"])) == want[int(key)]
    write_tar(tmp_path / "z.tar", [{"jpg": b"", "cls": b"0"}])
    with pytest.raises(errors.SchemaError, match="the classes are None, those of"):
        gofast.ImageFiles.from_tar(tmp_path / "*.tar")


def shard_keys(path: Path) -> list[str]:
    with tarfile.open(path) as tar:
        return [name.partition(".")[0] for name in tar.getnames() if name.endswith(".cls")]


def test_parquet_is_as_the_hub_has_it(photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gofast._command.shard_forms._GROUP", 30_000)
    assert run(photos, tmp_path / "t-{}.parquet", "--size", "1MB") == 0
    file = pq.ParquetFile(tmp_path / "t-0.parquet")
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    assert len(groups) > 2 and all(group.column(0).total_uncompressed_size < 31_000 for group in groups)
    column = groups[0].column(0)
    assert (column.path_in_schema, column.compression) == ("image.bytes", "UNCOMPRESSED")
    assert column.has_offset_index and not column.has_dictionary_page
    features = json.loads(file.schema_arrow.metadata[b"huggingface"])["info"]["features"]
    assert features["image"] == {"_type": "Image"}
    assert features["label"] == {"_type": "ClassLabel", "names": ImageFolder(photos).classes}
    paths = [row["path"] for row in file.read()["image"].to_pylist()]
    assert paths == [os.path.relpath(path, photos) for path, _ in ImageFolder(photos).samples]


KILLED = """
import os, signal, sys
from gofast._command import main, shard_plan, shard_writer
shard_writer._SMALLEST = 0
own, left = shard_plan.ShardPlan.content, [17]
def content(plan, number):
    left[0] -= 1
    if not left[0]:
        os.kill(os.getpid(), signal.SIGKILL)
    return own(plan, number)
shard_plan.ShardPlan.content = content
main.main(["shard", *sys.argv[1:]])
"""


@pytest.mark.parametrize("form", READ)
def test_a_killed_run_goes_on(photos: Path, tmp_path: Path, form: str) -> None:
    options = [str(photos), str(tmp_path / "out" / form), "--size", "40kB", "--shuffle", "3"]
    assert fresh.run(["-c", KILLED, *options]).returncode == -signal.SIGKILL
    there = sorted((tmp_path / "out").glob("train*"))
    assert there[-1].suffix == ".part" and len(there) > 1
    before = {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in there[:-1]}
    assert run(*options) == 0
    assert before == {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in before}
    options[1] = str(tmp_path / "whole" / form)
    assert run(*options) == 0
    files = {path.name: path.read_bytes() for path in (tmp_path / "out").iterdir()}
    assert files == {path.name: path.read_bytes() for path in (tmp_path / "whole").iterdir()}


def test_one_run_writes_at_a_time(
    photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line, own, ended = [photos, tmp_path / "out" / TAR, "--size"], ShardPlan.content, list[int]()

    def content(plan: ShardPlan, number: int) -> bytes:
        if not ended:
            ended.append(0)
            ended[0] = run(photos, tmp_path / "out" / "train-{}.tar", "--size", "1MB")
        return own(plan, number)

    monkeypatch.setattr(ShardPlan, "content", content)
    assert run(*line, "40kB") == 0 and ended == [1]
    assert "another gofast shard writes there" in capsys.readouterr().err
    assert len(read(TAR, tmp_path / "out")) == len(expected(photos))
    assert run(*line, "40kB") == 0 and not [*(tmp_path / "out").glob(".*")]
    assert run(*line, "1MB") == 1


@pytest.mark.parametrize("form", READ)
def test_what_has_changed_is_noticed(
    photos: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    line = [photos, out / form, "--size", "40kB"]

    def cut(path: Path) -> None:
        os.truncate(path, path.stat().st_size - 1024)  # a tar without its end is one that is read

    def stale() -> None:  # "train-*" would read it
        last = shards(form, out)[-1]
        last.with_name(last.name.replace("0", "7")).write_bytes(last.read_bytes())

    for change in (
        lambda: os.utime(ImageFolder(photos).samples[0][0], (1, 1)),
        lambda: (photos / "class.ä" / "z.jpg").write_bytes(b"x"),
        lambda: (photos / "class.ä").rename(photos / "class.b"),
        lambda: shards(form, out)[0].write_bytes(b"something else"),
        lambda: cut(shards(form, out)[0]),
        lambda: (path := shards(form, out)[0]).unlink() or os.mkfifo(path),
        lambda: line.append("--shuffle=3"),
        stale,
    ):
        shutil.rmtree(out, ignore_errors=True)
        assert run(*line) == 0 and run(*line) == 0
        capsys.readouterr()
        change()
        assert run(*line) == 1 and "it is there, and is no whole shard of these" in capsys.readouterr().err


def test_a_picture_that_changes_meanwhile_is_an_error(photos: Path) -> None:
    plan = ShardPlan(str(photos), 1 << 20, None, skip=True)
    Path(plan.path(3)).write_bytes(b"other")
    with pytest.raises(errors.ChangedError) as error:
        list(plan.pictures(0))
    assert error.value.path == plan.path(3)
    Path(plan.path(2)).unlink()
    with pytest.raises(errors.NotFoundError):
        list(plan.pictures(0))


def test_files_that_cannot_be_opened(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    want = expected(photos)
    os.mkfifo(photos / "class 0" / "0.jpg")
    (photos / "class 1" / "0.jpg").symlink_to("nowhere")
    line = [photos, tmp_path / "out" / TAR, "--size", "1MB"]
    assert run(*line) == 1 and "0.jpg: not a regular file" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
    assert run(*line, "--on-error", "skip", "--verify", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert [Path(one["path"]).parent.name for one in said["skipped"]] == ["class 0", "class 1"]
    dataset = read(TAR, tmp_path / "out")
    assert [*zip(contents(dataset), dataset.targets, strict=True)] == want
    monkeypatch.setattr("gofast._command.shard_plan._MOST", 0)
    assert run(*line, "--on-error", "skip") == 1 and "no picture that can be" in capsys.readouterr().err


@pytest.mark.parametrize("form", READ)
def test_verify_notices_one_byte(
    photos: Path, tmp_path: Path, form: str, capsys: pytest.CaptureFixture[str]
) -> None:
    line = [photos, tmp_path / "out" / form, "--size", "1MB", "--verify"]
    assert run(*line) == 0
    (path,) = shards(form, tmp_path / "out")
    found, data = contents(read(form, tmp_path / "out"))[11], bytearray(path.read_bytes())
    at = data.index(found)
    data[at + len(found) // 2] ^= 1
    path.write_bytes(data)
    capsys.readouterr()
    assert run(*line) == 1 and "[11]" in capsys.readouterr().err


def test_an_index_is_that_of_its_shard(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    out, line = tmp_path / "out", [photos, tmp_path / "out" / TAR, "--size", "1MB", "--verify"]
    assert run(*line) == 0
    index, shard = out / "train-000000.tar.index", out / "train-000000.tar"
    whole = index.read_bytes()
    index.unlink()  # a kill between the two
    assert run(*line) == 0 and index.read_bytes() == whole
    index.write_bytes(whole[:-1])
    assert run(*line) == 0 and index.read_bytes() == whole
    shard.unlink()
    assert run(*line, "--shuffle", "1") == 0  # as long, in another order
    assert (len(index.read_bytes()), index.read_bytes() == whole) == (len(whole), False)
    monkeypatch.setattr("gofast._command.shard_plan.write_index", lambda *_: None)
    index.write_bytes(whole)
    assert run(*line, "--shuffle", "1") == 1 and "it is not the index of" in capsys.readouterr().err
    monkeypatch.undo()
    monkeypatch.setattr(shard_writer, "_SMALLEST", 0)
    index.write_bytes(b"a file of the user's")
    assert run(*line, "--shuffle", "1") == 2 and "is no index of gofast" in capsys.readouterr().err


def test_wrong_options(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.undo()  # of `small`
    monkeypatch.chdir(tmp_path)
    (tmp_path / "link").symlink_to(photos)
    for line in (
        ["t.tar"], ["{:06d}/t.tar"], ["t-{:q}.tar"], ["t-{x}.tar"], ["t-{.tar"], ["t-{0.x}.tar"],
        ["t-{:.1g}.tar"], ["t-{:c}.tar"], ["t-{:0{}d}.tar"], ["{{x}}-{:d}.tar"],
        ["t-{:6d}.tar"], ["{}{}{}.tar"], ["t-{}.zip"], ["t-{}.tar", "--size", "much"],
        ["t-{}.tar", "--size", "999kB"],
        ["photos/t-{}.tar"], ["photos/out/t-{}.tar"], ["link/out/t-{}.tar"],
    ):  # fmt: skip
        assert run(photos, tmp_path / line[0], *line[1:]) == 2, line
    assert run(photos, tmp_path / "photos2" / TAR, "--size", "1MB") == 0
    for src, dst in ((photos, "gs://b/t-{}.tar"), ("https://a/b", TAR), (photos, "file:///b/t-{}.tar")):
        assert run(src, dst) == 2 and "is a URL" in capsys.readouterr().err
    assert not [*Path().glob("*:*")]
    with pytest.raises(SystemExit):
        run(photos, tmp_path / TAR, "--shuffle", "-1")
    assert run(tmp_path / "none", tmp_path / TAR) == 1
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert run(photos, tmp_path / PARQUET) == 1 and "pip install pyarrow" in capsys.readouterr().err
    (tmp_path / "file").write_bytes(b"")
    assert run(photos, tmp_path / "file" / TAR) == 1 and "cannot write shards" in capsys.readouterr().err


NAMED = '{"info": {"features": {"cls": {"names": ["a"]}}}}'


def test_what_a_tar_says_of_classes_may_be_anything(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    cases = {"": None, "\xff{": None, '{"info": 3}': None, "[" * 99_999: None, NAMED: ["a"]}
    for told, names in cases.items():
        with path.open("wb") as file:
            TarShards.write(file, told, [])
        assert gofast.ImageFiles.from_tar(path).classes == names
    with path.open("wb") as file:
        TarShards.write(file, " " * ((16 << 20) + 1), [])
    with pytest.raises(errors.LimitError, match="__features__") as error:
        gofast.ImageFiles.from_tar(path)
    assert (error.value.path, error.value.offset) == (str(path), 512)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
def test_webdataset_and_datasets_read_them(photos: Path, tmp_path: Path) -> None:
    webdataset = pytest.importorskip("webdataset", reason="the package webdataset is not installed")
    datasets = pytest.importorskip("datasets", reason="the package datasets is not installed")
    want = expected(photos)
    for form in READ:
        assert run(photos, tmp_path / form, "--size", "40kB") == 0
    tars, tables = (sorted(map(str, tmp_path.glob(f"*.{end}"))) for end in ("tar", "parquet"))
    got = [*webdataset.WebDataset(tars, shardshuffle=False)]
    gc.collect()  # it leaves its files to the collector
    assert [(next(v for k, v in one.items() if k in IMAGES), int(one["cls"])) for one in got] == want
    options = {"split": "train", "cache_dir": str(tmp_path / "cache")}
    found = datasets.load_dataset("parquet", data_files={"train": tables}, **options)
    assert found.features["label"].names == ImageFolder(photos).classes
    plain = found.cast_column("image", datasets.Image(decode=False))
    assert [(one["image"]["bytes"], one["label"]) for one in plain] == want


IMAGES = ("jpg", "jpeg", "png", "webp", "bmp")
