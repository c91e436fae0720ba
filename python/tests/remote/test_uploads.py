"""gofast shard into a bucket: the files of a folder, complete or not there, and going on after a kill."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from torchvision.datasets import ImageFolder

import gofast
from buckets import Bucket, Stored, bucket
from gofast._command import main, shard_writer
from image_data import make_folder

DST = "s3://bkt/sets/train-{:03d}.tar"
RUN = """import sys
from gofast._command import main, shard_writer
shard_writer._SMALLEST = 0
sys.exit(main.main(sys.argv[1:]))"""


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "kept"))
    monkeypatch.setattr(shard_writer, "_SMALLEST", 0)  # shards of few pictures


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket(monkeypatch) as made:
        yield made


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return make_folder(tmp_path / "photos", 25)


def shard(photos: Path, dst: str, *more: str) -> int:
    return main.main(["shard", str(photos), dst, "--size", "40kB", *more])


@pytest.mark.parametrize("name", ["train-{:03d}.tar", "train-{:03d}-of-{:03d}.parquet"])
def test_shards_are_those_of_a_folder(
    name: str, store: Bucket, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shard(photos, str(tmp_path / "out" / name)) == 0
    assert shard(photos, f"s3://bkt/sets/{name}", "--verify", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    end = Path(name).suffix
    there = {path.name: path.read_bytes() for path in (tmp_path / "out").glob(f"*{end}")}
    assert len(there) > 3
    sent = {key: each.content for key, each in store.objects.items() if key.endswith(end)}
    assert sent == {f"sets/{k}": v for k, v in there.items()}
    assert len(store.objects) == len(sent) * (2 if end == ".tar" else 1)
    assert said["shards"] == [f"s3://bkt/{key}" for key in sorted(sent)]
    assert said["bytes"] == sum(map(len, there.values()))
    opened = gofast.ImageFiles.from_tar if name.endswith("tar") else gofast.ImageFiles.from_parquet
    dataset, want = opened("s3://bkt/sets/train-*"), ImageFolder(photos)
    assert dataset.classes == want.classes
    assert dataset.targets == want.targets
    assert all(dataset[i][0].tobytes() == want[i][0].tobytes() for i in range(len(want)))
    before = dict(store.asked)
    assert shard(photos, f"s3://bkt/sets/{name}", "--json") == 0
    assert json.loads(capsys.readouterr().out)["kept"] == len(there)
    assert store.asked["PUT object"] == before["PUT object"] == len(store.objects)


def test_others_are_refused(store: Bucket, photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert shard(photos, DST) == 0
    whole = dict(store.objects)
    assert shard(photos, DST, "--shuffle", "1") == 1
    assert "no whole shard" in capsys.readouterr().err
    store.put("sets/train-999.tar", b"more")
    assert shard(photos, DST) == 1
    assert "train-999.tar" in capsys.readouterr().err
    del store.objects["sets/train-999.tar"]
    store.put("sets/train-001.tar", whole["sets/train-001.tar"].content)  # says nothing of itself
    assert shard(photos, DST) == 1
    assert main.main(["shard", str(photos), "gs://bkt/train-{}.tar"]) == 2
    assert main.main(["shard", "s3://bkt/x", DST]) == 2


def test_one_that_comes_meanwhile_stays(
    store: Bucket, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def meanwhile(request: Any, key: str) -> bool:
        if request.command == "PUT" and key.endswith("000.tar") and key not in store.objects:
            store.put(key, b"another's")
        return False

    store.spoil = meanwhile
    assert shard(photos, DST) == 1
    assert "a file of this name is there" in capsys.readouterr().err
    assert store.objects["sets/train-000.tar"].content == b"another's"


def test_what_passes_is_repeated(store: Bucket, photos: Path) -> None:
    lost: list[str] = []

    def spoil(request: Any, key: str) -> bool:
        if request.command != "PUT" or key in lost:
            return False
        lost.append(key)
        if len(lost) == 1:  # all has come, and nobody knows
            store.objects[key] = Stored(request.body, '"tag"', request.headers["x-amz-meta-gofast"])
            request.close_connection = True
            request.connection.close()
            return True
        request.say(503)
        return True

    store.spoil = spoil
    assert shard(photos, DST, "--verify") == 0
    assert len(lost) == len(store.objects) > 3


@pytest.mark.parametrize(("status", "text"), [(412, "a file of this name is there"), (404, "no such file")])
def test_an_answer_that_is_lost_and_one_that_lies(
    status: int, text: str, store: Bucket, photos: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def spoil(request: Any, key: str) -> bool:
        if request.command == "PUT":
            if came:
                store.objects[key] = Stored(request.body, '"tag"', request.headers["x-amz-meta-gofast"])
            request.say(status)
        return bool(request.command == "PUT")

    store.spoil, came = spoil, False
    assert shard(photos, DST) == 1
    assert text in capsys.readouterr().err
    came = True
    assert shard(photos, DST, "--verify") == 0


def test_a_killed_one_is_gone_on_with(store: Bucket, photos: Path) -> None:
    second, over = threading.Event(), threading.Event()

    def hold(request: Any, key: str) -> bool:
        if request.command == "PUT" and key.endswith("002.tar") and not over.is_set():
            second.set()
            over.wait(60)
            return True
        return False

    store.spoil = hold
    line = ["shard", str(photos), DST, "--size", "40kB"]
    child = subprocess.Popen([sys.executable, "-c", RUN, *line])
    try:
        assert second.wait(60)
        child.send_signal(signal.SIGKILL)
        child.wait()
    finally:
        over.set()
    there = {*store.objects}
    assert "sets/train-002.tar" not in there
    asked = store.asked["PUT object"]
    assert main.main([*line, "--verify"]) == 0
    assert store.asked["PUT object"] - asked == len(store.objects) - len(there)


def test_several_are_sent_at_a_time(
    store: Bucket, photos: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    together = threading.Barrier(3)

    def hold(request: Any, key: str) -> bool:
        if request.command == "PUT" and key[-7:-4] in ("000", "001", "002"):
            together.wait(60)
        return False

    store.spoil = hold
    assert shard(photos, DST) == 0
    assert len(store.objects) > 3
    store.spoil = None
    largest = max(len(each.content) for each in store.objects.values())
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(2 * largest))
    assert shard(photos, DST, "--verify") == 0  # not all shards at once
    first = store.objects["sets/train-001.tar"]
    broken = first.content[:5000] + bytes([first.content[5000] ^ 1]) + first.content[5001:]
    store.objects["sets/train-001.tar"] = first._replace(content=broken, tag='"broken"')
    assert shard(photos, DST, "--verify") == 1
    assert "train-001.tar" in capsys.readouterr().err
