"""Who we are at S3, and buckets of moto's and rclone's, if these are there. Signatures are tested in Go."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from torchvision.transforms import Resize, ToTensor

import gofast
from gofast import errors
from gofast._command.main import main
from gofast._core.remote_access import remote_file
from gofast._core.remote_files import local_files
from gofast._core.remote_listings import url_files
from gofast._core.remote_operations import S3Access, download, probe, upload
from gofast._core.s3_access import _session, s3_access
from image_data import make_folder
from mds import write_mds
from same import difference
from served import serving

CSV = b"a,label\n1,0\n2,1\n"


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """No settings but those of a test."""
    for name in [*os.environ]:
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "credentials"))
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "kept"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "indexes"))
    return tmp_path


def access() -> S3Access:
    """Of files as they are now."""
    _session.cache_clear()
    return s3_access()


def test_keys_are_found_in_the_order_of_botocore(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = {"key": "", "secret": "", "token": "", "region": "us-east-1", "endpoint": ""}
    assert access() == nobody
    (alone / "config").write_text("[default]\nregion = eu-west-1\n[profile two]\nregion = eu-west-2\n")
    (alone / "credentials").write_text(
        "[default]\naws_access_key_id = a\naws_secret_access_key = b\naws_session_token = c\n"
        "[two]\naws_access_key_id = d\naws_secret_access_key = e\n"
    )
    assert access() == {"key": "a", "secret": "b", "token": "c", "region": "eu-west-1", "endpoint": ""}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "f")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "g")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-north-1")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://one")
    assert access() == {
        "key": "f",
        "secret": "g",
        "token": "",
        "region": "eu-north-1",
        "endpoint": "http://one",
    }
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://two")
    assert access()["endpoint"] == "http://two"
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.setenv("AWS_PROFILE", "two")
    assert (access()["key"], access()["secret"]) == ("d", "e")
    monkeypatch.setenv("AWS_PROFILE", "none")
    with pytest.raises(errors.OptionError, match="none"):
        access()


def test_a_profile_that_needs_botocore(alone: Path) -> None:
    if importlib.util.find_spec("botocore"):
        pytest.skip("it is installed")
    (alone / "config").write_text("[default]\nrole_arn = arn\n")
    with pytest.raises(errors.OptionError, match="pip install botocore"):
        access()
    (alone / "config").write_text("no section\n")
    with pytest.raises(errors.OptionError, match="config"):
        access()


@pytest.mark.parametrize("key", ["", "someone"])
def test_an_object_is_asked_for_by_its_path_and_signed(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving() as web:
        web.put(**{"t%20%C3%A4.csv": CSV})
        seen: list[tuple[str, str]] = []
        web.spoil = lambda request, _: seen.append((request.path, request.headers.get("Authorization", "")))  # type: ignore[func-returns-value]
        monkeypatch.setenv("AWS_ENDPOINT_URL", web.url)
        monkeypatch.setenv("AWS_REGION", "eu-x-1")
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", key)
        assert len(gofast.TableDataset("s3://bkt/train/t ä.csv", label="label")) == 2
    assert len(seen) == 2
    for path, signature in seen:
        assert path == "/bkt/train/t%20%C3%A4.csv"
        assert (f"Credential={key}/" in signature and "/eu-x-1/s3/" in signature) if key else signature == ""


@pytest.fixture(params=["moto", "rclone"])
def server(request: pytest.FixtureRequest, alone: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """boto3's client of a real server, which has the bucket ``bkt``."""
    boto3 = pytest.importorskip("boto3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    with (moto if request.param == "moto" else rclone)(alone) as url:
        monkeypatch.setenv("AWS_ENDPOINT_URL", url)
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="bkt")
        yield client


@contextlib.contextmanager
def moto(_: Path) -> Iterator[str]:
    made = pytest.importorskip("moto.server").ThreadedMotoServer("127.0.0.1", port=0)
    made.start()
    try:
        yield "http://{}:{}".format(*made.get_host_and_port())
    finally:
        made.stop()


@contextlib.contextmanager
def rclone(alone: Path) -> Iterator[str]:
    """The server that `make test-integrations` has built: it checks signatures."""
    program = os.environ.get("GOFAST_RCLONE")
    if not program:
        pytest.skip("GOFAST_RCLONE names rclone: make test-integrations builds it")
    (alone / "buckets").mkdir()
    place = ["--addr", "127.0.0.1:0", "--auth-key", "testing,testing", "--vfs-cache-mode", "writes"]
    command = [
        program,
        "serve",
        "s3",
        *place,
        "--cache-dir",
        str(alone / "vfs"),
        "--config",
        os.devnull,
        "-v",
    ]
    said, found = alone / "said", None
    with said.open("w") as file:
        child = subprocess.Popen([*command, str(alone / "buckets")], stderr=file)
    try:
        ends = time.monotonic() + 60
        while found is None and child.poll() is None and time.monotonic() < ends:
            time.sleep(0.05)
            found = re.search(r"http://127\.0\.0\.1:\d+", said.read_text())
        assert found is not None, said.read_text()
        yield found[0]
    finally:
        child.kill()
        child.wait()


def test_a_bucket_of_a_real_server(server: Any, alone: Path) -> None:
    def put(key: str, body: bytes = CSV) -> None:
        server.put_object(Bucket="bkt", Key=key, Body=body)

    put("a b/t.csv")
    assert len(gofast.TableDataset("s3://bkt/a b/t.csv", label="label")) == 2
    put("empty", b"")
    assert Path(local_files("s3://bkt/empty")).read_bytes() == b""
    put("a b/ä+%20&=#.csv")
    put("a b/in/t.csv")
    assert [*url_files("s3://bkt/a b/*.csv")] == ["s3://bkt/a b/t.csv", "s3://bkt/a b/ä+%20&=#.csv"]
    assert len(gofast.TableDataset("s3://bkt/a b/*.csv", label="label")) == 4
    (alone / "big").write_bytes(os.urandom(66 << 20))  # two parts, and several ranges
    sent = {"path": str(alone / "big"), "told": "pictures"}
    upload({"file": remote_file("s3://bkt/up/b ä+.bin"), **sent})
    assert Path(local_files("s3://bkt/up/*")).read_bytes() == (alone / "big").read_bytes()
    assert probe([remote_file("s3://bkt/up/b ä+.bin")])[0]["told"] == "pictures"
    (alone / "big").write_bytes(CSV)
    upload({"file": remote_file("s3://bkt/up/small"), **sent})
    assert Path(local_files("s3://bkt/up/small")).read_bytes() == CSV
    with pytest.raises(errors.ChangedError, match="is there"):
        upload({"file": remote_file("s3://bkt/up/small"), **sent})
    with pytest.raises(errors.NotFoundError, match="NoSuchBucket"):
        gofast.TableDataset("s3://another/*.csv")
    with pytest.raises(errors.NotFoundError, match="NoSuchKey"):
        gofast.TableDataset("s3://bkt/none.csv")


def test_a_listing_of_more_than_a_page(server: Any) -> None:
    keys = [f"many/{i:04} +ä.csv" for i in range(1030)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda key: server.put_object(Bucket="bkt", Key=key, Body=CSV), keys))
    assert [*url_files("s3://bkt/many/*.csv")] == [f"s3://bkt/{key}" for key in keys]


def test_an_object_that_changes_and_one_for_others(
    server: Any, alone: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """What was asked for is the object as it was; a wrong secret is an error that names the object."""
    server.put_object(Bucket="bkt", Key="t.csv", Body=CSV)
    file = remote_file("s3://bkt/t.csv")
    (state,) = probe([file])
    server.put_object(Bucket="bkt", Key="t.csv", Body=CSV[::-1])
    (alone / "part").touch()
    target = {
        "file": file,
        "state": state,
        "begin": 0,
        "end": state["size"],
        "part": str(alone / "part"),
        "path": str(alone / "t"),
        "read": False,
    }
    with pytest.raises(errors.ChangedError, match=r"t\.csv"):
        download([target])  # type: ignore[list-item]
    assert not (alone / "t").exists()
    if "rclone" in request.node.name:  # moto asks for no signature
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "another")
        _session.cache_clear()
        with pytest.raises(errors.ReadError, match=r"t\.csv.*403|403.*t\.csv"):
            gofast.TableDataset("s3://bkt/t.csv")


def test_photographs_are_sharded_into_a_bucket(server: Any, alone: Path) -> None:
    """A shard of two parts, and one of one: the batches are those of the folder."""
    folder = make_folder(alone / "photos", 6)
    for path in sorted(folder.glob("*/*"))[:2]:
        path.write_bytes(path.read_bytes() + bytes(34 << 20))  # behind its end
    assert main(["shard", str(folder), "s3://bkt/out a/train-{:03d}.tar", "--size", "70MB", "--verify"]) == 0
    tar = gofast.ImageFiles.from_tar("s3://bkt/out a/train-*.tar", transform=ToTensor())
    want = gofast.ImageFolder(folder, ToTensor())
    assert tar.classes == want.classes
    for got, expected in zip(gofast.DataLoader(tar), gofast.DataLoader(want), strict=True):
        assert difference(got, expected) == ""


def test_sets_and_shards_of_a_real_server(server: Any, alone: Path) -> None:
    """A preprocessed set, and MDS shards of which one has an odd name."""
    photos, odd = make_folder(alone / "photos", 6), "in/sh #1%41+ä&.mds"
    small = gofast.ImageFolder(photos, Resize((12, 12)))
    want = gofast.preprocess(small, alone / "a.set")
    samples = [{"image": Path(path).read_bytes(), "class": label} for path, label in small.samples]
    write_mds(alone / "mds", {"image": "jpeg", "class": "int"}, [samples[:2], samples[2:]])
    (alone / "mds/in").mkdir()
    (alone / "mds/shard.00001.mds").rename(alone / "mds" / odd)
    told = (alone / "mds/index.json").read_text().replace("shard.00001.mds", odd)
    (alone / "mds/index.json").write_text(told)
    for path in [*(alone / "a.set").iterdir(), *(alone / "mds").rglob("*.*")]:
        server.upload_file(str(path), "bkt", f"a b/{path.relative_to(alone)}")
    got = gofast.ArrayDataset.open("s3://bkt/a b/a.set")
    assert got.classes == want.classes and difference([*got.tensors], [*want.tensors]) == ""
    shards = gofast.ImageFiles.from_mds("s3://bkt/a b/mds", transform=ToTensor())
    local = gofast.ImageFiles.from_mds(alone / "mds", transform=ToTensor())
    assert difference([*gofast.DataLoader(shards)], [*gofast.DataLoader(local)]) == ""
