"""Tar files that are compressed: the samples of the same files unpacked, which are kept once for all."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
import gofast.webdataset as wds
from gofast import errors
from gofast._core import tfrecord_operations
from gofast._core.download_cache import DownloadBudget, DownloadCache
from gofast._core.download_locks import claims
from picture_files import contents
from served import serving
from tars import tar_bytes

TRAIN = T.Compose([T.RandomResizedCrop(16), T.ToTensor()])


def zstd(content: bytes) -> bytes:
    """Without its size, as a pipe writes it."""
    pyarrow = pytest.importorskip("pyarrow")
    stream = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(stream, "zstd") as packed:
        packed.write(content)
    return bytes(stream.getvalue())


PACK: dict[str, Callable[[bytes], bytes]] = {
    ".tar.gz": gzip.compress,
    ".tgz": lambda data: gzip.compress(data[:5000]) + gzip.compress(data[5000:]) + bytes(512),
    ".tar.zst": zstd,
    ".tar.bz2": bz2.compress,
}


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "kept"))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "1GB")
    return tmp_path / "kept"


def written(folder: Path, ending: str, count: int = 3, zeros: int = 0) -> list[Path]:
    """Files of some pictures, of which only the second is not compressed."""
    pictures = contents(4 * count)
    paths = []
    for i in range(count):
        samples = [
            {"jpg": pictures[4 * i + k], "cls": b"%d" % (4 * i + k), "bin": bytes(zeros)} for k in range(4)
        ]
        data = tar_bytes(samples)
        paths.append(folder / f"{i}{ending}")
        paths[-1].write_bytes(data if i == 1 else PACK[ending](data))
        (folder / f"{i}.plain").write_bytes(data)
    return paths


def epoch(dataset: gofast.ImageFiles, loader: Any = gofast.DataLoader, **options: Any) -> list[Any]:
    torch.manual_seed(3)
    return [[one.clone() for one in batch] for batch in loader(dataset, 5, shuffle=True, **options)]


def same(got: list[Any], want: list[Any]) -> bool:
    pairs = zip(got, want, strict=True)
    return all(torch.equal(a, b) for one, other in pairs for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("ending", PACK)
def test_samples_are_those_of_the_files_unpacked(tmp_path: Path, kept: Path, ending: str) -> None:
    paths = written(tmp_path, ending, zeros=500_000)  # which are packed to less than was thought
    want = gofast.ImageFiles.from_tar(tmp_path / "*.plain", transform=TRAIN)
    dataset = gofast.ImageFiles.from_tar(tmp_path / f"*{ending}", transform=TRAIN)
    assert dataset.targets == want.targets
    assert dataset.paths == [f"{path}[{i}]" for path in paths for i in range(4)]
    assert same(epoch(dataset), epoch(want))
    there = {entry.name: entry.stat().st_ino for entry in os.scandir(kept) if entry.name != "lock"}
    assert sorted(name[33:] for name in there) == [paths[0].name, paths[2].name]
    again = pickle.loads(pickle.dumps(gofast.ImageFiles.from_tar(paths, transform=TRAIN)))
    assert same(epoch(again), epoch(want))
    assert there == {entry.name: entry.stat().st_ino for entry in os.scandir(kept) if entry.name != "lock"}


def test_workers_of_any_kind_read_them(tmp_path: Path) -> None:
    written(tmp_path, ".tar.gz")
    want = epoch(gofast.ImageFiles.from_tar(tmp_path / "*.plain", transform=TRAIN), DataLoader, num_workers=1)
    dataset = gofast.ImageFiles.from_tar(tmp_path / "*.tar.gz", transform=TRAIN)
    for method in ("fork", "forkserver"):
        got = epoch(dataset, DataLoader, num_workers=1, multiprocessing_context=method)
        assert same(got, want)


def test_a_file_that_changes_is_unpacked_anew(tmp_path: Path) -> None:
    path = written(tmp_path, ".tar.gz", 1)[0]
    dataset = gofast.ImageFiles.from_tar(path)
    told = pickle.dumps(dataset)
    path.write_bytes(gzip.compress(tar_bytes([{"jpg": contents(1)[0], "cls": b"77"}])))
    assert gofast.ImageFiles.from_tar(path).targets == [77]
    assert dataset[3][1] == 3
    with pytest.raises(errors.ChangedError, match="when the dataset was pickled"):
        pickle.loads(told)


def test_from_a_server(tmp_path: Path) -> None:
    paths = written(tmp_path, ".tar.gz")
    with serving() as web:
        web.put(**{path.name: path.read_bytes() for path in paths})
        dataset = gofast.ImageFiles.from_tar(f"{web.url}{{0..2}}.tar.gz")
        assert dataset.targets == [*range(12)]
        assert dataset[11][0].tobytes() == gofast.ImageFiles.from_tar(paths)[11][0].tobytes()


def test_the_limit_is_hard(tmp_path: Path, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small file may hold any number of bytes."""
    path = written(tmp_path, ".tar.bz2", 1, zeros=3_000_000)[0]
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "2MB")
    assert path.stat().st_size < 200_000
    with pytest.raises(errors.LimitError, match=r"0\.tar\.bz2: .*limited to 2") as error:
        gofast.ImageFiles.from_tar(path)
    assert error.value.path == str(path)
    assert sum(path.stat().st_size for path in kept.glob("*-*")) <= 2_000_000
    assert not [*kept.glob("*.part")]


def test_what_a_child_reads_outlives_its_parent(tmp_path: Path, kept: Path) -> None:
    code = f"""if True:
        import gofast, os, time
        gofast.ImageFiles.from_tar({str(written(tmp_path, ".tar.gz", 1)[0])!r})
        child = os.fork()
        if child:
            print(child, flush=True)
        else:
            os.close(1)
            time.sleep(100)
        os._exit(0)"""
    child = int(subprocess.check_output([sys.executable, "-c", code], timeout=100))
    (there,) = kept.glob("*-*")
    needed = there.stat().st_size + 1000
    cache = DownloadCache(DownloadBudget.of(limit=needed))
    with open(kept / f"{1:032x}-other.part", "wb") as file:
        try:
            with pytest.raises(errors.LimitError):
                cache.reserve([("other", file.fileno(), needed)])
        finally:
            os.kill(child, signal.SIGKILL)
        ends = time.monotonic() + 20
        while there.exists() and time.monotonic() < ends:
            with contextlib.suppress(errors.LimitError):  # it takes a moment to end
                cache.reserve([("other", file.fileno(), needed)])
    assert not there.exists()


def test_damage_is_said_of_the_file_that_was_given(tmp_path: Path, kept: Path) -> None:
    path = written(tmp_path, ".tar.gz", 1)[0]
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    for policy in ("raise", "zero"):
        with pytest.raises(errors.DamagedError, match="damaged or cut") as error:
            gofast.ImageFiles.from_tar(path, on_error=policy)
        assert error.value.path == str(path)
    assert not [name for name in os.listdir(kept) if name != "lock"]
    assert (str(kept), True) not in claims
    path.write_bytes(gzip.compress(gzip.decompress(whole)[:700]))
    with pytest.raises(errors.DamagedError, match="the file ends") as error:
        gofast.ImageFiles.from_tar(path)
    assert error.value.path == str(path) and str(kept) not in str(error.value)


def test_processes_and_threads_unpack_a_file_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path, ".tar.gz", 1)[0]
    unpack, done = tfrecord_operations.unpack, list[str]()

    def count(asked: Any, label: str | None = None) -> list[bool]:
        done.extend(each["from"] for each in asked["files"])
        return unpack(asked, label)

    monkeypatch.setattr(tfrecord_operations, "unpack", count)
    threads = [threading.Thread(target=gofast.ImageFiles.from_tar, args=(path,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert done == [str(path)]


def test_a_first_member_may_be_called_like_a_packed_file(tmp_path: Path) -> None:
    path = tmp_path / "a.tar"
    path.write_bytes(tar_bytes([{"jpg": contents(1)[0], "cls": b"5"}], stem="BZh91AY"))
    assert gofast.ImageFiles.from_tar(path).targets == [5]
    assert [sample["cls"] for sample in wds.WebDataset(str(path), shardshuffle=False)] == [b"5"]
