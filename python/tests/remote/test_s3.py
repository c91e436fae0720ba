"""Who we are at S3, and a bucket of moto's where that is installed. The signature itself is tested in Go."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

import gofast
from gofast import errors
from gofast._core.remote_access import remote_file
from gofast._core.remote_files import local_files
from gofast._core.remote_listings import url_files
from gofast._core.remote_operations import S3Access, probe, upload
from gofast._core.s3_access import _session, s3_access
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


def test_a_bucket_of_moto(alone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = pytest.importorskip("moto.server")
    boto3 = pytest.importorskip("boto3")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "testing")
    made = server.ThreadedMotoServer("127.0.0.1", port=0)
    made.start()
    try:
        host, port = made.get_host_and_port()
        monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="bkt")
        client.put_object(Bucket="bkt", Key="a b/t.csv", Body=CSV)
        assert len(gofast.TableDataset("s3://bkt/a b/t.csv", label="label")) == 2
        client.put_object(Bucket="bkt", Key="empty", Body=b"")
        assert Path(local_files("s3://bkt/empty")).read_bytes() == b""
        client.put_object(Bucket="bkt", Key="a b/ä+.csv", Body=CSV)
        client.put_object(Bucket="bkt", Key="a b/in/t.csv", Body=CSV)
        assert [*url_files("s3://bkt/a b/*.csv")] == ["s3://bkt/a b/t.csv", "s3://bkt/a b/ä+.csv"]
        assert len(gofast.TableDataset("s3://bkt/a b/*.csv", label="label")) == 4
        (alone / "big").write_bytes(os.urandom(66 << 20))  # two parts
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
    finally:
        made.stop()
