"""The room of downloads: what gives way, what waits, and what is trusted."""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gofast import errors
from gofast._core import download_cache, download_locks, remote_files
from gofast._core.atomic_files import dropped, locked_now
from gofast._core.download_cache import DownloadBudget, DownloadCache
from gofast._core.remote_files import Downloads, local_files
from served import Served, serving


@pytest.fixture
def web() -> Iterator[Served]:
    with serving() as made:
        made.put(**{f"{i}.bin": bytes([i]) * 400 for i in range(5)})
        yield made


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "kept"))
    monkeypatch.delenv("GOFAST_DOWNLOADS_LIMIT", raising=False)
    return tmp_path / "kept"


def files(folder: Path) -> list[str]:
    return sorted(path.name[33:] for path in folder.iterdir() if path.name != "lock")


def of(web: Served, name: str, limit: int | None = None) -> Downloads:
    return Downloads([web.url + name], DownloadBudget.of(limit=limit))


def first_byte(downloads: Downloads) -> int:
    return Path(downloads.result()[0]).read_bytes()[0]


def test_what_cannot_fit_leaves_the_others(web: Served, kept: Path) -> None:
    web.put(**{"more.bin": bytes(700), "most.bin": bytes(2000)})
    of(web, "0.bin").result()
    used = of(web, "1.bin")
    used.result()
    for name in ("more.bin", "most.bin"):
        more = of(web, name, 1000)
        more.start()
        with pytest.raises(errors.LimitError, match=name):
            more.result()
        assert files(kept) == ["0.bin", "1.bin"]
    used.release()


def test_what_comes_ahead_gives_way(web: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, waited, never = threading.Event(), threading.Event(), threading.Event()

    def hold(request: Any, number: int) -> bool:
        if "0.bin" in request.path and number == 2:
            asked.set()
            waited.wait(60)
        return False

    def sleep(seconds: float) -> None:
        waited.set()
        never.wait(seconds)

    web.spoil = hold
    monkeypatch.setattr(time, "sleep", sleep)
    ahead, now = of(web, "0.bin", 500), of(web, "1.bin", 500)
    assert ahead.start()
    assert asked.wait(60)
    assert not now.start()  # neither takes room from another that is ahead
    assert first_byte(now) == 1  # waits until the other one is there, and removes it
    now.release()
    assert first_byte(ahead) == 0  # comes once more


def test_a_full_disk_has_what_nobody_uses(web: Served, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    local = [of(web, f"{i}.bin") for i in range(3)]
    for each in local:
        each.result()
    for each in local[:2]:
        each.release()

    def allocate(fd: int, start: int, size: int) -> None:
        if len(files(kept)) > 2:
            raise OSError(errno.ENOSPC, "the disk is full")

    monkeypatch.setattr(os, "posix_fallocate", allocate)
    last = of(web, "3.bin")
    assert first_byte(last) == 3
    assert files(kept) == ["2.bin", "3.bin"]
    with pytest.raises(errors.ReadError, match="the disk is full"):
        of(web, "0.bin").result()
    assert files(kept) == ["2.bin", "3.bin"]


def test_many_files_have_their_room_at_once(web: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    scans: list[Any] = []
    scandir = os.scandir

    def counted(folder: Any) -> Any:
        scans.append(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", counted)
    assert len(Downloads([f"{web.url}{i}.bin" for i in range(5)]).result()) == 5
    assert len(scans) == 1


def test_what_is_there_is_counted_once_and_when_there_may_be_too_much(
    web: Served, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else thousands of files take the square of their number."""
    scans, scandir = list[Any](), os.scandir

    def counted(folder: Any) -> Any:
        scans.append(folder)
        return scandir(folder)

    monkeypatch.setattr(os, "scandir", counted)
    for i in range(4):
        each = of(web, f"{i}.bin", 1700)
        each.result()
        each.release()
    assert len(scans) == 1
    for path in kept.glob("*-[01].bin"):
        path.unlink()
    scans.clear()
    of(web, "4.bin", 1700).result()
    assert len(scans) == 1 and len([*kept.glob("*-*")]) == 3  # what somebody removed had counted
    scans.clear()
    with open(kept / "lock", "r+b") as lock:  # as where a process was killed while it made room
        lock.truncate(8 << 16)
    of(web, "0.bin", 1700).result()
    of(web, "1.bin", 1700).result()
    assert len(scans) == 2 and sum(path.stat().st_size for path in kept.glob("*-*")) <= 1700


def test_a_child_has_no_part_of_its_parent(web: Served) -> None:
    over = threading.Event()
    web.spoil = lambda _, number: number == 2 and not over.wait(60)
    downloads = of(web, "1.bin")
    assert downloads.start()
    ((_, fd),) = downloads._mine.values()  # which has the part's lock
    child = os.fork()
    if not child:
        os._exit(Path(f"/proc/self/fd/{fd}").is_symlink())
    try:
        assert os.waitpid(child, 0)[1] == 0
    finally:
        over.set()
    assert first_byte(downloads) == 1


def test_a_child_that_is_forked_while_room_is_made_keeps_none() -> None:
    """Else nobody would get room while it lives."""
    pids, cache = list[int](), DownloadCache(DownloadBudget.of())
    with open(cache.path("given"), "wb") as file:

        def fork(fd: int, size: int) -> None:
            if (pid := os.fork()) == 0:
                time.sleep(60)
                os._exit(0)
            pids.append(pid)

        cache.reserve([("a", file.fileno(), 10)], allocate=fork)
        try:
            thread = threading.Thread(target=cache.reserve, args=([("b", file.fileno(), 10)],), daemon=True)
            thread.start()
            thread.join(20)
            assert not thread.is_alive()
        finally:
            os.kill(pids[0], signal.SIGKILL)
            os.waitpid(pids[0], 0)


def test_who_waits_for_a_removal_keeps_nobody_waiting(web: Served) -> None:
    """Else a finalizer of the thread that removes would wait for it, and both for ever."""
    cache, names = DownloadCache(DownloadBudget.of()), [32 * i + "-a" for i in "12"]
    cache.claim(names[0])
    with download_locks.locks(cache.folder) as lock:
        assert download_locks.locking(lock, fcntl.F_WRLCK, download_locks.byte_of(names[1]))
        claiming = threading.Thread(target=cache.claim, args=(names[1],), daemon=True)
        claiming.start()
        claiming.join(0.1)
        assert claiming.is_alive()
        releasing = threading.Thread(target=cache.release, args=(names[0],), daemon=True)
        releasing.start()
        releasing.join(20)
        ended = not releasing.is_alive()
    claiming.join(20)
    assert ended and not claiming.is_alive()
    cache.release(names[1])


def test_no_child_closes_what_its_parent_has_closed(
    web: Served, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number may be that of another file by then, in a fork of another thread."""
    close, closed, ours = os.close, list[int](), list[int]()

    def look(fd: int) -> None:
        closed.append(fd)
        ours.extend(one.fd for one in download_locks.claims.values() if one.fd == fd)
        close(fd)

    used = of(web, "0.bin")
    used.result()
    mine = download_locks.claims[str(kept), False]
    with monkeypatch.context() as patch:
        patch.setattr(os, "close", look)
        used.release()
    assert mine.fd in closed and not ours


def test_a_turn_is_waited_for_while_something_comes(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A large file that comes slowly changes nothing in the folder for longer than anybody waits."""
    monkeypatch.setattr(download_cache, "PATIENCE", 0.3)
    cache, failed = DownloadCache(DownloadBudget.of()), list[errors.LimitError]()

    def wait() -> None:
        try:
            with cache.turn():
                pass
        except errors.LimitError as error:
            failed.append(error)

    part = kept / f"{0:032x}-slow.part"
    for comes in (True, False):
        fd = locked_now(str(part))
        assert fd is not None
        with cache.turn():
            waiting = threading.Thread(target=wait)
            waiting.start()
            for _ in range(30):
                time.sleep(0.05)
                if comes:
                    os.write(fd, b"x")
        waiting.join(20)
        dropped(str(part), fd)
        assert not waiting.is_alive() and bool(failed) != comes


def test_what_fsspec_writes_counts(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It cuts the part first: who looks then sees a small file."""
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe("/gofast/slow.bin", bytes(600))
    cache, get = DownloadCache(DownloadBudget.of(limit=1000)), remote_files._get

    def reserve(number: int, size: int) -> None:
        with open(kept / f"{number:032x}-a", "wb") as file:
            cache.reserve([("a", file.fileno(), size)])

    def slow(wanted: Any, path: str) -> None:
        os.truncate(path + ".part", 0)
        os.truncate(kept / "lock", 8 << 16)  # as where a process was killed while it made room
        reserve(1, 300)
        get(wanted, path)

    monkeypatch.setattr(remote_files, "_get", slow)
    downloads = Downloads(["memory://gofast/slow.bin"], DownloadBudget.of(limit=1000))
    downloads.result()
    downloads.release()
    reserve(2, 400)
    assert sum(path.stat().st_size for path in kept.glob("*-*")) <= 1000


def test_a_folder_of_others_is_refused(web: Served, kept: Path) -> None:
    kept.mkdir()
    kept.chmod(0o777)
    with pytest.raises(errors.OptionError, match="others could"):
        local_files(web.url + "1.bin")
    kept.chmod(0o755)
    local_files(web.url + "1.bin")


def test_what_has_no_version_comes_in_one_piece_each_start(web: Served) -> None:
    web.put(**{"big.bin": bytes(20 << 20)})
    web.tags = False
    place = local_files(web.url + "big.bin")
    assert local_files(web.url + "big.bin") == place
    assert web.whole["big.bin"] == 1
    code = f"from gofast._core.remote_files import local_files; print(local_files({web.url + 'big.bin'!r}))"
    other = subprocess.check_output([sys.executable, "-c", code], timeout=100)
    assert web.whole["big.bin"] == 2
    assert other.decode().strip() != place
