"""Patterns in a bucket: what glob gives of the same files on the disk, in its order."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gofast
import gofast.webdataset as wds
from buckets import Bucket, bucket
from gofast import errors
from gofast._core.remote_files import local_files
from gofast._core.remote_listings import url_files
from tars import tar_bytes

KEYS = """
    a.tar b.tar A.tar .hidden.tar ä.tar a1.tar a10.tar a2.tar in/a.tar in/.h/a.tar
    in/deep/er/b.tar .in/c.tar in/x[1].tar in/deep/a+b.tar in/&lt;.tar in/100%.tar
"""
PATTERNS = """
    *.tar a*.tar ?.tar [ab].tar [!a]*.tar .*.tar in/*.tar */a.tar ** **/*.tar in/**
    in/**/a*.tar **/deep/**/*.tar in/.h/* in/.*/* in/deep/*+*.tar in/x[[]1].tar *r *a[0-9]*
"""


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "kept"))
    return tmp_path / "kept"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket(monkeypatch) as made:
        yield made


def test_patterns_are_globs(store: Bucket, tmp_path: Path) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    store.page = 3
    root = tmp_path / "files"
    for key in [*KEYS.split(), "a space\tand\nline.tar"]:
        (root / key).parent.mkdir(parents=True, exist_ok=True)
        (root / key).write_bytes(key.encode())
        store.put(f"set/{key}", key.encode())
        memory.pipe(f"/gofast-globs/{key}", key.encode())
    store.put("set/", b"")  # what shows a folder, and is no file
    store.put("set/in/", b"")
    for pattern in PATTERNS.split():
        found = sorted(glob.glob(f"{root}/{pattern}", recursive=True))
        want = [path.removeprefix(f"{root}/") for path in found if os.path.isfile(path)]
        assert want
        for before in ("s3://bkt/set/", "memory://gofast-globs/"):
            assert [url.removeprefix(before) for url in url_files(before + pattern)] == want, pattern


def test_many_stars_are_no_slower(store: Bucket) -> None:
    store.put("/".join("abcdefghijklmnopqrstuvwxyz") + ".csv", b"")
    with pytest.raises(errors.NotFoundError):
        url_files("s3://bkt/" + "**/" * 12 + "*.tar")  # took minutes


def test_files_of_a_pattern_are_those_of_the_disk(store: Bucket) -> None:
    for i in (10, 2, 1):
        store.put(f"train-{i}.csv", b"a,label\n%d,0\n" % i)
        store.put(f"t {i}+.tar", tar_bytes([{"txt": b"%d" % i}]))
    table = gofast.TableDataset("s3://bkt/train-*.csv", label="label")
    assert [int(table[i]["features"]) for i in range(3)] == [1, 10, 2]
    assert store.asked == {"GET list": 1, "GET object": 3}  # the listing says enough of them
    assert [sample["txt"] for sample in wds.WebDataset("s3://bkt/t *.tar", shardshuffle=False)] == [
        b"1",
        b"10",
        b"2",
    ]


def test_a_name_that_looks_like_a_pattern(store: Bucket) -> None:
    store.put("x[1].csv", b"one")
    store.put("x1.csv", b"another")
    assert Path(local_files("s3://bkt/x[1].csv")).read_bytes() == b"one"


def test_http_has_no_patterns() -> None:
    with pytest.raises(errors.OptionError, match="no server of HTTP"):
        url_files("https://host/*.csv?a=b")
    signed = "https://host/[a]?.csv?signature=a*b"
    assert url_files(signed) == {signed: None}


def test_what_is_not_there(store: Bucket) -> None:
    store.put("a.csv", b"")
    for url, text in (
        ("s3://bkt/b*.csv", "no file matches"),
        ("s3://none/*.csv", "NoSuchBucket"),
        ("memory://none/*.csv", "no file matches"),
    ):
        with pytest.raises(errors.NotFoundError, match=text) as caught:
            local_files(url)
        assert url[:9] in str(caught.value)


def test_an_object_that_changes_behind_the_listing(store: Bucket) -> None:
    store.put("a.csv", b"a,label\n1,0\n")

    def change(request: Any, key: str) -> bool:
        if key:
            store.put("a.csv", b"a,label\n2,0\n")
        return False

    store.spoil = change
    with pytest.raises(errors.ChangedError, match="another one"):
        local_files("s3://bkt/*.csv")
