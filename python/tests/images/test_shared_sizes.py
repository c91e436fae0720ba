"""The sizes of a large folder's pictures are in a file that all processes of a host share.

They are hints: whatever becomes of the file, batches are torchvision's.
"""

from __future__ import annotations

import errno
import multiprocessing
import os
import random
import resource
import shutil
import stat
import time
from array import array
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest
import torch
import torchvision
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from gofast import errors
from gofast._images import file_index
from image_data import photograph

TRAIN = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
COUNT = 24


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder whose times say that it has not changed since."""
    root = tmp_path_factory.mktemp("settled")
    fill(root, 1)
    time.sleep(2.2)
    return root


@pytest.fixture
def root(settled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The same, which counts as large, and a cache of its own."""
    monkeypatch.setattr("gofast._images.file_index._KEPT_FROM", 1)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fill(settled, 1)
    return settled


def fill(root: Path, seed: int) -> None:
    (root / "class").mkdir(exist_ok=True, parents=True)
    for i in range(COUNT):
        photograph(i + seed, 30 + (i + seed) % 5, 40 - (i * seed) % 7).save(root / "class" / f"{i:02}.png")


def files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "cache" / "gofast" / "sizes").glob("*"))


def opened(root: Path) -> Any:
    return gofast.ImageFolder(root, TRAIN)


def epoch(dataset: Any, loader: Any = gofast.DataLoader, **options: Any) -> list[torch.Tensor]:
    torch.manual_seed(1)
    return [pictures for pictures, _ in loader(dataset, 4, shuffle=True, **options)]


def assert_torchs(root: Path, dataset: Any, **options: Any) -> None:
    theirs = epoch(torchvision.datasets.ImageFolder(root, TRAIN), DataLoader, **options)
    for a, b in zip(theirs, epoch(dataset, **options), strict=True):
        assert torch.equal(a, b)


def known(dataset: Any) -> int:
    return int((dataset._files.sizes != 0).all(1).sum())


def _other(root: Path, what: str, cache: str, pipe: Connection) -> None:
    file_index._KEPT_FROM = 1
    os.environ["XDG_CACHE_HOME"] = cache
    dataset = opened(root)
    pipe.send(known(dataset))
    pipe.recv()
    if what == "epoch":
        epoch(dataset)
    else:
        dataset[3]
    pipe.send(known(dataset))


def other(root: Path, what: str = "epoch") -> Connection:
    """Another process, which inherits nothing: it says what it knows, and does that when it is told to."""
    ours, theirs = multiprocessing.Pipe()
    arguments = root, what, os.environ["XDG_CACHE_HOME"], theirs
    multiprocessing.get_context("forkserver").Process(target=_other, args=arguments, daemon=True).start()
    return ours


def test_processes_of_a_host_find_sizes_for_each_other(root: Path, tmp_path: Path) -> None:
    dataset = opened(root)
    process = other(root)
    assert process.recv() == 0
    list(gofast.DataLoader(torch.utils.data.Subset(dataset, range(4)), 4))
    assert known(dataset) == 4
    process.send("go on")
    assert process.recv() == COUNT
    assert known(dataset) == COUNT
    (file,) = files(tmp_path)
    assert file.stat().st_size == 8 * COUNT and stat.S_IMODE(file.stat().st_mode) == 0o600
    assert os.fstat(dataset._files._shared.fd).st_ino == file.stat().st_ino
    assert_torchs(root, dataset)


def test_a_picture_that_another_rank_has_found_changed(root: Path) -> None:
    """This rank has drawn by the old size, and both know the new one: the draws hold the old one."""
    dataset = opened(root)
    process = other(root, "one")
    assert process.recv() == 0
    compiled, indices = dataset._here(), array("q", range(COUNT))
    records = compiled.view.new_draws(None)(indices)
    photograph(99, 61, 47).save(root / "class" / "03.png")
    process.send("go on")
    assert process.recv() == COUNT
    assert dataset._files.sizes[3].tolist() == [61, 47]
    with pytest.raises(errors.ChangedError, match="is 61x47 and was"):
        compiled.batcher.batch(indices, records)
    assert_torchs(root, dataset)


def _child(dataset: Any, inode: int) -> None:
    assert os.fstat(dataset._files._shared.fd).st_ino == inode
    dataset[5]


@pytest.mark.parametrize("method", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_children_have_the_same_file(root: Path, method: str) -> None:
    dataset = opened(root)
    inode = os.fstat(dataset._files._shared.fd).st_ino
    process = multiprocessing.get_context(method).Process(target=_child, args=(dataset, inode))
    process.start()
    process.join()
    assert process.exitcode == 0 and known(dataset) == 1


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("what", ["stale", "noise", "negative", "huge", "torn"])
def test_sizes_that_are_wrong_cost_a_draw_and_no_pixel(
    root: Path, tmp_path: Path, what: str, workers: int
) -> None:
    epoch(opened(root))
    (file,) = files(tmp_path)
    right = file.read_bytes()
    if what == "stale":
        fill(root, 2)
    else:
        file.write_bytes(
            {
                "noise": random.Random(1).randbytes(len(right)),
                "negative": b"\xff" * len(right),
                "huge": b"\xff\xff\xff\x7f" * (len(right) // 4),
                "torn": bytes(b if i % 5 else 0 for i, b in enumerate(right)),
            }[what]
        )
    dataset = opened(root)
    assert_torchs(root, dataset, num_workers=workers)
    assert files(tmp_path) == [file]
    assert_torchs(root, dataset, num_workers=workers)


def _write_for_ever(root: Path, ready: Any) -> None:
    dataset = opened(root)
    while True:
        dataset._files.forget(range(COUNT))
        epoch(dataset)
        ready.set()


def test_processes_that_are_killed_while_they_write(root: Path, tmp_path: Path) -> None:
    fork = multiprocessing.get_context("fork")
    for seconds in (0.0, 0.003, 0.01, 0.03):
        ready = [fork.Event() for _ in range(2)]
        writers = [fork.Process(target=_write_for_ever, args=(root, one), daemon=True) for one in ready]
        for writer in writers:
            writer.start()
        assert all(one.wait(60) for one in ready)
        time.sleep(seconds)
        for writer in writers:
            writer.kill()
            writer.join()
        assert_torchs(root, opened(root))
    assert len(files(tmp_path)) == 1


def test_one_that_was_killed_before_the_file_had_its_size(root: Path, tmp_path: Path) -> None:
    opened(root)
    (file,) = files(tmp_path)
    for size in (0, 8 * COUNT - 3):
        os.truncate(file, 0)
        os.truncate(file, size)
        dataset = opened(root)
        assert file.stat().st_size == 8 * COUNT and known(dataset) == 0
        assert_torchs(root, dataset)


def _longer(file: Path) -> None:
    os.truncate(file, 8 * COUNT + 1)


def _fifo(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def _link(file: Path) -> None:
    file.rename(file.with_name("target"))
    file.symlink_to(file.with_name("target"))


def _folder(file: Path) -> None:
    file.unlink()
    file.mkdir()


def _no_folder(file: Path) -> None:
    file.unlink()
    file.parent.rmdir()
    file.parent.write_text("")


@pytest.mark.parametrize("damage", [_longer, _fifo, _link, _folder, _no_folder])
def test_a_place_that_is_no_file_of_ours_is_left_alone(
    root: Path, tmp_path: Path, damage: Callable[[Path], None]
) -> None:
    opened(root)
    damage(files(tmp_path)[0])
    dataset = opened(root)
    assert dataset._files._shared is None
    assert_torchs(root, dataset)
    assert known(dataset) == COUNT


def test_a_cache_that_can_only_be_read(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened(root)
    before = os.open

    def read_only(path: Any, flags: int, *more: Any, **others: Any) -> int:
        if "/sizes/" in os.fspath(path) and flags & (os.O_RDWR | os.O_CREAT):
            raise OSError(errno.EROFS, "Read-only file system", path)
        return before(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", read_only)
    dataset = opened(root)
    assert dataset._files._shared is None
    assert_torchs(root, dataset)


def test_no_cache_at_all(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "")
    monkeypatch.setenv("HOME", "nowhere")
    dataset = opened(root)
    assert dataset._files._shared is None
    assert_torchs(root, dataset)


def test_a_write_that_fails_makes_the_sizes_this_process_own(root: Path, tmp_path: Path) -> None:
    """As on a full disk: no signal, and no size is lost for long."""
    dataset = opened(root)
    list(gofast.DataLoader(torch.utils.data.Subset(dataset, range(4)), 4))
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    (file,) = files(tmp_path)
    before = file.read_bytes()
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, limits[1]))
    try:
        for i in range(COUNT):
            dataset[i]
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert file.read_bytes() == before and known(dataset) >= COUNT - 4
    fill(root, 2)
    assert_torchs(root, dataset)
    assert file.read_bytes() == before


def test_a_descriptor_that_became_another_files(root: Path, tmp_path: Path) -> None:
    """A daemon closes all that it inherits: nothing is written to what has the number then."""
    dataset = opened(root)
    mine = tmp_path / "mine"
    mine.write_bytes(b"mine" * 100)
    taken = os.open(mine, os.O_RDWR)
    os.dup2(taken, dataset._files._shared.fd)
    dataset._files.forget([1])
    assert_torchs(root, dataset)
    assert mine.read_bytes() == b"mine" * 100
    number = dataset._files._shared.fd
    del dataset
    assert os.path.samestat(os.fstat(number), os.fstat(taken))
    os.close(number)
    os.close(taken)


def test_sizes_of_an_earlier_list_are_removed(root: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(root, tmp_path / "root"))
    first = opened(root)
    epoch(first)
    (before,) = files(tmp_path)
    photograph(1, 20, 30).save(root / "class" / "more.png")
    second = opened(root)
    (after,) = files(tmp_path)
    assert before != after and known(second) == 0
    assert_torchs(root, second)
    assert known(first) == COUNT


def test_a_small_folder_and_a_list_have_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    fill(tmp_path / "root", 1)
    for dataset in (
        opened(tmp_path / "root"),
        gofast.ImageFiles([tmp_path / "root/class/00.png"], transform=TRAIN),
    ):
        assert dataset._files._shared is None
    assert files(tmp_path) == []
