"""A folder of classes in a bucket: batches, classes and order of that on the disk, downloaded once."""

from __future__ import annotations

import glob
import itertools
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import torch
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

import fresh
import gofast
from buckets import Bucket, bucket
from gofast import errors
from gofast._core import remote_files, remote_folders
from gofast._core.download_cache import DownloadBudget, DownloadCache
from gofast._core.download_locks import claims
from gofast._core.remote_files import local_files
from gofast._core.remote_folders import local_folder
from image_data import make_folder

OPEN = "import sys, gofast; print(gofast.ImageFolder(sys.argv[1]).root)"
CROP = T.Compose([T.RandomResizedCrop(24), T.RandomHorizontalFlip(), T.ToTensor()])


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "kept"))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "1GB")
    return tmp_path / "kept"


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with bucket(monkeypatch) as made:
        made.page = 7
        yield made


@pytest.fixture
def photos(tmp_path: Path, store: Bucket) -> Path:
    """Pictures in folders within folders, in both places."""
    root = make_folder(tmp_path / "photos", 30)
    one = next(root.rglob("*.jpg"))
    for name in ("Zoë/b.JPG", "Zoë/in/a.jpg", "Zoë/in.x/a.jpg", "Zoë/in/.hidden.jpg", "a b+%41/x [1].jpg"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(one, root / name)
    (root / "Zoë" / "notes.txt").write_bytes(b"no picture")
    for path in root.rglob("*"):
        if path.is_file():
            store.put(f"train/{path.relative_to(root)}", path.read_bytes())
    store.put("train/readme.txt", b"in no class")
    store.put("training/c/x.jpg", one.read_bytes())  # another folder's
    return root


def same(remote: gofast.ImageFolder[Any], root: Path) -> None:
    local = ImageFolder(root, CROP)
    assert remote.classes == local.classes
    assert remote.class_to_idx == local.class_to_idx
    assert remote.targets == local.targets
    inside = [os.path.relpath(path, remote.root) for path, _ in remote.samples]
    assert inside == [os.path.relpath(path, root) for path, _ in local.samples]
    batches = []
    for dataset in (remote, local):
        torch.manual_seed(3)
        loader = torch.utils.data.DataLoader(dataset, 8, shuffle=True)
        batches.append([*loader])
    for (got, labels), (want, numbers) in zip(*batches, strict=True):
        assert torch.equal(got, want)
        assert torch.equal(labels, numbers)


def test_a_folder_in_a_bucket_is_that_of_the_disk(store: Bucket, photos: Path, kept: Path) -> None:
    count = len(ImageFolder(photos).samples)
    for _ in range(2):
        same(gofast.ImageFolder("s3://bkt/train", CROP), photos)
    assert store.asked["GET object"] == count  # no request but one for a picture, once
    assert store.connections < 64 + 16  # which they are used again for
    assert [path.name[33:] for path in kept.iterdir() if path.name != "lock"] == ["train"]
    opened = [os.path.realpath(link) for link in Path("/proc/self/fd").iterdir()]
    assert not [path for path in opened if path.startswith(str(kept)) and path.endswith("g")]
    store.put("train/Zoë/new.jpg", store.objects["train/Zoë/b.JPG"].content)
    assert len(gofast.ImageFolder("S3://bkt/train/")) == count + 1


@pytest.mark.parametrize("many", [False, True])
def test_a_list_of_urls_is_that_of_the_disk(
    many: bool, store: Bucket, photos: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_files, "_MANY", 3 if many else 1000)
    paths = [path for path, _ in ImageFolder(photos).samples][::-1]
    want = gofast.ImageFiles(paths, transform=CROP)
    urls = [f"s3://bkt/train/{os.path.relpath(path, photos)}" for path in paths]
    for _ in range(2):
        got = gofast.ImageFiles(urls, transform=CROP)
        for i in range(len(paths)):
            torch.manual_seed(i)
            sample = got[i]
            torch.manual_seed(i)
            assert torch.equal(sample, want[i])
    listed = sum(map(glob.has_magic, urls))
    assert store.asked["GET object"] == 3 * len(paths) - 2 * listed  # what each is, twice, and each once
    there = [path for path in kept.iterdir() if path.name != "lock"]
    assert len(there) == (1 if many else len(paths))


def test_other_schemes_are_fsspecs(photos: Path) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.put(str(photos), "/gofast-folder", recursive=True)
    same(gofast.ImageFolder("memory://gofast-folder", CROP), photos)


def test_a_folder_of_pictures_without_classes(store: Bucket, photos: Path) -> None:
    local = gofast.ImageFiles(photos, recursive=True, transform=T.ToTensor())
    remote = gofast.ImageFiles("s3://bkt/train/", recursive=True, transform=T.ToTensor())
    assert len(local) == len(remote)
    assert all(torch.equal(remote[i], local[i]) for i in range(len(local)))


def test_an_empty_class_and_a_check_of_the_users(store: Bucket, photos: Path) -> None:
    store.put("train/empty/", b"")
    (photos / "empty").mkdir()
    for root in (str(photos), "s3://bkt/train"):
        with pytest.raises(FileNotFoundError, match="Found no valid file for the classes empty"):
            gofast.ImageFolder(root)
        made = gofast.ImageFolder(root, is_valid_file=lambda path: path.endswith("txt"), allow_empty=True)
        assert [os.path.basename(path) for path, _ in made.samples] == ["notes.txt"]


@pytest.mark.parametrize(
    ("url", "kind", "text"),
    [
        ("s3://bkt/none", errors.NotFoundError, "no such folder"),
        ("memory://none", errors.NotFoundError, "no such f"),
        ("https://host/train", errors.OptionError, "no server of HTTP lists a folder"),
    ],
)
def test_what_is_no_folder(url: str, kind: type[Exception], text: str, store: Bucket) -> None:
    with pytest.raises(kind, match=text) as caught:
        gofast.ImageFolder(url)
    assert url in str(caught.value)


@pytest.mark.parametrize(
    "key", ["../x.jpg", "a/../../x.jpg", "a//x.jpg", "/x.jpg", "a/./x.jpg", "a/b.jpg/c.jpg", "x" * 260]
)
def test_keys_that_are_no_files(key: str, store: Bucket, kept: Path) -> None:
    store.put("train/a/b.jpg", b"")
    store.put(f"train/{key}", b"x")
    with pytest.raises(errors.UnsupportedError, match="on a disk"):
        local_folder("s3://bkt/train")
    assert not kept.exists() or not [path for path in kept.parent.rglob("x*") if path.is_file()]


def test_a_key_that_is_called_as_anothers_download(store: Bucket) -> None:
    store.put("train/a.bin", b"a")
    store.put("train/a.bin.part", b"b")
    with pytest.raises(errors.UnsupportedError, match="another's download"):
        local_folder("s3://bkt/train")
    assert os.listdir(local_folder("s3://bkt/train", ".bin")) == ["a.bin"]
    del store.objects["train/a.bin"]
    assert os.listdir(local_folder("s3://bkt/train")) == ["a.bin.part"]


def test_one_that_another_process_completes_between_two_looks(
    store: Bucket, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.put("train/c/a.jpg", b"a")
    locked = remote_folders._locked

    def late(part: str) -> int | None:
        monkeypatch.setattr(remote_folders, "_locked", locked)
        local_folder("s3://bkt/train")
        return locked(part)

    monkeypatch.setattr(remote_folders, "_locked", late)
    assert Path(local_folder("s3://bkt/train"), "c/a.jpg").read_bytes() == b"a"
    assert store.asked["GET object"] == 1
    assert sorted(path.name[33:] for path in kept.iterdir()) == ["", "train"]


def test_a_fork_while_a_thread_downloads_keeps_nobody_waiting(store: Bucket) -> None:
    store.put("train/c/a.jpg", b"a")
    asked, forked = threading.Event(), threading.Event()

    def refuse(request: Any, key: str) -> bool:
        if key:
            asked.set()
            forked.wait(60)
            request.say(403)
        return bool(key)

    store.spoil = refuse
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(local_folder, "s3://bkt/train")
        assert asked.wait(60)
        if not (child := os.fork()):
            time.sleep(120)
            os._exit(0)
        try:
            forked.set()
            assert isinstance(first.exception(60), errors.ReadError)
            store.spoil = None
            assert os.listdir(pool.submit(local_folder, "s3://bkt/train").result(60)) == ["c"]
        finally:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def test_the_budget_is_asked_before_the_first_download(
    store: Bucket, photos: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "9kB")
    with pytest.raises(errors.LimitError, match=r"s3://bkt/train/: .* asked for together.*gofast shard"):
        gofast.ImageFolder("s3://bkt/train")
    assert store.asked["GET object"] == 0
    total = sum(each.content and len(each.content) for key, each in store.objects.items() if "train/" in key)
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(total + 100))
    fresh.run(["-c", OPEN, "s3://bkt/train"], check=True)  # nobody uses it any more
    store.put("big.bin", bytes(200_000 if total > 200_000 else total))
    local_files("s3://bkt/big.bin")
    assert [path.name[33:] for path in kept.iterdir() if path.name != "lock"] == ["big.bin"]
    with pytest.raises(errors.LimitError, match="do not fit beside what is in use"):
        gofast.ImageFolder("s3://bkt/train")


def test_processes_share_it_and_a_killed_one_is_gone_on_with(store: Bucket, photos: Path, kept: Path) -> None:
    count = len(ImageFolder(photos).samples)
    half, over = threading.Event(), threading.Event()

    def hold(request: Any, key: str) -> bool:
        if store.asked["GET object"] > count // 2 and not over.is_set() and key:
            half.set()
            over.wait(60)
        return False

    store.spoil = hold
    child = subprocess.Popen([sys.executable, "-c", OPEN, "s3://bkt/train"])
    try:
        assert half.wait(60)
        while not [path for path in kept.rglob("*.jpg") if path.is_file()]:
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
    finally:
        over.set()
        child.wait()
    before = store.asked["GET object"]
    with ThreadPoolExecutor(3) as pool:
        command = ["-c", OPEN, "s3://bkt/train"]
        roots = {*pool.map(lambda _: fresh.run(command, check=True).stdout, range(3))}
    assert len(roots) == 1
    assert 0 < store.asked["GET object"] - before < count
    same(gofast.ImageFolder("s3://bkt/train", CROP), photos)


def test_ctrl_c_behind_any_call_releases_all(store: Bucket, kept: Path) -> None:
    """But a claim of a folder that is whole: it stays until this process ends."""
    store.put("train/c/a.jpg", b"a")
    cache, before = DownloadCache(DownloadBudget.of()), left(kept)
    for nth in itertools.count(1):
        calls = 0

        def behind(frame: Any, event: str, _: Any, nth: int = nth) -> None:
            nonlocal calls
            calls += event.endswith("return") and frame.f_code.co_filename == remote_folders.__file__
            if calls == nth:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

        try:
            sys.setprofile(behind)
            local_folder("s3://bkt/train")
        except KeyboardInterrupt:
            for path in kept.glob("*-train"):
                cache.release(path.name, lasts=True)
            assert left(kept) == before, nth
            shutil.rmtree(kept, ignore_errors=True)
        else:
            break
        finally:
            sys.setprofile(None)
    assert nth > 30


def left(kept: Path) -> list[str]:
    """What this process holds of the folder of downloads."""
    fds = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    return [fd for fd in fds if fd.startswith(str(kept))] + [*claims]


def test_a_picture_that_changes_behind_the_listing(store: Bucket, photos: Path) -> None:
    def change(request: Any, key: str) -> bool:
        if key:
            store.put(key, b"another")
        return False

    store.spoil = change
    with pytest.raises(errors.ChangedError, match="another one"):
        gofast.ImageFolder("s3://bkt/train")
    store.spoil = None
    assert gofast.ImageFolder("s3://bkt/train").classes == ImageFolder(photos).classes
