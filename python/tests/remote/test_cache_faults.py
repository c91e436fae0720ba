"""What others do to the folder of downloads while it is used: batches stay right, or the error has a type."""

from __future__ import annotations

import errno
import os
import random
import shutil
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader

import gofast
from gofast import errors
from gofast._core import pieces_here, shard_pieces
from gofast._core.download_cache import DownloadBudget
from gofast._core.download_locks import claims
from gofast._core.remote_files import Downloads
from served import Served
from test_shard_indexes import epoch, held, local, remote, same, tars
from test_shard_indexes import kept as kept
from test_shard_indexes import out as out
from test_shard_indexes import sharded as sharded
from test_shard_indexes import web as web


def limited(out: Path, monkeypatch: pytest.MonkeyPatch, shards: float) -> int:
    limit = int(shards * max(path.stat().st_size for path in tars(out)))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(limit))
    monkeypatch.setattr(shard_pieces, "_SHARE", 20)
    return limit


def test_two_limits_in_one_folder(
    web: Served, out: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits = [limited(out, monkeypatch, shards) for shards in (1.5, 4)]
    datasets = []
    for limit in limits:
        monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(limit))
        datasets.append(remote(web, out))
    want = local(out)
    for number in random.sample(range(len(want)), 40):
        which = random.randrange(2)
        assert torch.equal(datasets[which][number][0], want[number][0])
        assert held(kept) <= max(limits)


def test_a_folder_that_is_removed_under_the_run(
    web: Served, out: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limited(out, monkeypatch, 2.5)
    dataset, over, failed = remote(web, out), threading.Event(), list[errors.GofastError]()
    want = epoch(gofast.DataLoader(local(out), 4))

    def remove() -> None:
        while not over.wait(0.03):
            shutil.rmtree(kept, ignore_errors=True)

    removing = threading.Thread(target=remove)
    removing.start()
    try:
        for _ in range(5):
            try:
                assert same(epoch(gofast.DataLoader(dataset, 4)), want)
            except (errors.ReadError, errors.NotFoundError) as error:
                failed.append(error)
    finally:
        over.set()
        removing.join()
    for error in failed:
        assert str(kept) in str(error)
    assert same(epoch(gofast.DataLoader(dataset, 4)), want)


def test_what_is_used_stays_in_a_folder_that_was_made_again(web: Served, kept: Path) -> None:
    web.put(**{name: bytes(400) for name in ("0.bin", "1.bin")})
    budget = DownloadBudget.of(limit=500)
    used = Downloads([web.url + "0.bin"], budget)
    used.result()
    shutil.rmtree(kept)
    again = Downloads([web.url + "0.bin"], budget)
    (place,) = again.result()
    with pytest.raises(errors.LimitError, match=r"1\.bin"):
        Downloads([web.url + "1.bin"], budget).result()
    assert os.path.exists(place)
    for each in (used, again):
        each.release()
    assert (str(kept), False) not in claims
    assert Downloads([web.url + "1.bin"], budget).result()


def test_a_disk_that_is_full_for_a_moment(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(out, monkeypatch, 4)
    dataset, ends = remote(web, out), time.monotonic() + 0.5
    allocate = os.posix_fallocate

    def full(fd: int, start: int, size: int) -> None:
        if time.monotonic() < ends:
            raise OSError(errno.ENOSPC, "the disk is full")
        allocate(fd, start, size)

    monkeypatch.setattr(os, "posix_fallocate", full)
    assert torch.equal(dataset[0][0], local(out)[0][0])
    assert time.monotonic() > ends


def test_a_disk_that_holds_a_few_shards(
    web: Served, out: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit allows for more than the disk has: what is needed takes the room of what rests."""
    room, allocate = 4 * max(path.stat().st_size for path in tars(out)), os.posix_fallocate

    def disk(_: Any) -> Any:
        return SimpleNamespace(f_bavail=max(0, room - held(kept)), f_frsize=1)

    def full(fd: int, start: int, size: int) -> None:
        if held(kept) + size > room:
            raise OSError(errno.ENOSPC, "the disk is full")
        allocate(fd, start, size)

    monkeypatch.setattr(os, "posix_fallocate", full)
    monkeypatch.setattr(os, "statvfs", disk)
    monkeypatch.setattr(pieces_here, "PATIENCE", 20)
    for kind, options in ((gofast.DataLoader, {}), (DataLoader, {"num_workers": 2, "shuffle": True})):
        dataset, want = remote(web, out), epoch(kind(local(out), 4, **options))
        for _ in range(2):
            assert same(epoch(kind(dataset, 4, **options)), want)


def link(kept: Path, outside: Path) -> None:
    for number, target in enumerate((outside, outside / "file", kept, Path("nowhere"))):
        (kept / f"{number:032x}-link").symlink_to(target)


def scribble(kept: Path, outside: Path) -> None:
    """Times that nobody wrote: some lie in the future, and some are no numbers."""
    (kept / "lock").write_bytes(random.Random(1).randbytes(8 << 16))


def litter(kept: Path, outside: Path) -> None:
    for number in range(20):
        (kept / f"{number:032x}-old{'.part' * (number % 2)}").write_bytes(bytes(1000))
        (kept / f"{number + 20:032x}-folder").mkdir()
    (kept / "notes").write_text("not ours")


@pytest.mark.parametrize("spoil", [link, scribble, litter])
def test_what_others_left_in_the_folder(
    spoil: Callable[[Path, Path], None],
    web: Served,
    out: Path,
    kept: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limit = limited(out, monkeypatch, 1.5)
    dataset, outside = remote(web, out), tmp_path / "outside"
    outside.mkdir()
    (outside / "file").write_bytes(bytes(10))
    spoil(kept, outside)
    for _ in range(2):
        assert same(epoch(gofast.DataLoader(dataset, 4)), epoch(gofast.DataLoader(local(out), 4)))
    assert (outside / "file").read_bytes() == bytes(10)
    assert sum(each.lstat().st_size for each in kept.glob("*-*") if not each.is_symlink()) <= limit
    assert spoil is not litter or (kept / "notes").exists()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # it may fall into a finalizer
def test_ctrl_c_at_any_moment(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limited(out, monkeypatch, 1.5)
    web.spoil = lambda request, number: bool(time.sleep(0.002))  # type: ignore[func-returns-value]
    dataset, want = remote(web, out), epoch(gofast.DataLoader(local(out), 4))
    shards: Any = dataset._listing.files.shards
    came = 0
    for turn in range(20):
        timer = threading.Timer(
            random.random() * 0.3, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)
        )
        try:
            timer.start()
            try:
                (epoch(gofast.DataLoader(dataset, 4)) if turn % 2 else [dataset[i] for i in range(0, 90, 4)])
                timer.join()
            finally:
                timer.cancel()
                timer.join()
            time.sleep(0.001)
        except KeyboardInterrupt:
            came += 1
        assert not shards.here().users
    assert came > 5
    web.spoil = None
    assert same(epoch(gofast.DataLoader(dataset, 4)), want)
