"""Datasets whose files a server has: the same as from the disk, downloaded once, within the budget."""

from __future__ import annotations

import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from torchvision.transforms import ToTensor

import gofast
import gofast.webdataset as wds
from gofast import errors
from gofast._core import atomic_files, download_cache, download_locks, remote_files
from gofast._core.download_cache import DownloadBudget
from gofast._core.download_locks import claims
from gofast._core.remote_files import Downloads, local_files
from picture_files import contents
from records import example, framed
from served import Served, serving
from tars import tar_bytes

CSV = b"a,b,label\n" + b"".join(b"%d,%d,%d\n" % (i, i * i, i % 3) for i in range(50))
FETCH = "import sys; from gofast._core.remote_files import local_files; print(local_files(sys.argv[1]))"


@pytest.fixture
def web() -> Iterator[Served]:
    with serving() as made:
        yield made


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("GOFAST_DOWNLOADS", str(tmp_path / "kept"))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "1GB")  # what `keep` sets ends with the test
    return tmp_path / "kept"


def files(folder: Path) -> list[str]:
    return sorted(path.name[33:] for path in folder.iterdir() if path.name != "lock")


def budget(folder: Path, limit: int) -> DownloadBudget:
    return DownloadBudget.of(folder, limit)


def parquet(path: Path) -> bytes:
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    pq.write_table(pa.table({"a": range(30), "label": [i % 2 for i in range(30)]}), path)
    return path.read_bytes()


def tfrecords(path: Path) -> bytes:
    return framed(example({"a": [i, 2 * i], "label": [i % 2]}) for i in range(9))


def tar(path: Path) -> bytes:
    return tar_bytes([{"png": content, "cls": b"%d" % i} for i, content in enumerate(contents(5))])


MADE: dict[str, tuple[Callable[[Path], bytes], Callable[[Any], Any]]] = {
    "t.csv": (lambda path: CSV, lambda path: gofast.TableDataset(path, label="label")),
    "t.parquet": (parquet, lambda path: gofast.TableDataset([path], label="label")),
    "t.tfrecord": (tfrecords, gofast.TFRecordDataset),
    "t.tar": (
        tar,
        lambda path: gofast.ImageFiles.from_tar(path, "png", transform=ToTensor()),
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_a_dataset_is_that_of_the_disk(name: str, web: Served, tmp_path: Path) -> None:
    write, opened = MADE[name]
    data = write(tmp_path / name)
    (tmp_path / name).write_bytes(data)
    web.put(**{name: data})
    want, got = opened(str(tmp_path / name)), opened(web.url + name)
    assert len(want) == len(got) > 3
    for i in range(len(want)):
        assert str(want[i]) == str(got[i])
    opened(web.url + name)
    assert web.whole[name] == 1  # the second time it was there


def test_braces_and_lists_come_in_their_order(web: Served, kept: Path, tmp_path: Path) -> None:
    (tmp_path / "own.csv").write_bytes(b"a,label\n9,0\n")
    web.put(**{f"t{i}.csv": b"a,label\n%d,0\n" % i for i in range(3)})
    table = gofast.TableDataset([f"{web.url}t{{2..0}}.csv", str(tmp_path / "own.csv")], label="label")
    assert [int(table[i]["features"]) for i in range(4)] == [2, 1, 0, 9]
    assert files(kept) == ["t0.csv", "t1.csv", "t2.csv"]


@pytest.mark.parametrize(
    ("url", "kind", "text"),
    [
        ("none.csv", errors.NotFoundError, "404"),
        ("t*.csv", errors.OptionError, "braces"),
        ("t{1.csv", errors.OptionError, "braces"),
        ("http:///x", errors.OptionError, "no host"),
        ("s3:///key", errors.OptionError, "no bucket"),
        ("nobody-knows://x/y", errors.UnsupportedError, "fsspec"),
        ("memory://none.csv", errors.NotFoundError, "no such file"),
    ],
)
def test_what_cannot_be_read_is_named(url: str, kind: type[Exception], text: str, web: Served) -> None:
    whole = url if "://" in url else web.url + url
    with pytest.raises(kind, match=text) as caught:
        gofast.TableDataset(whole)
    assert url in str(caught.value)


SECRETS = {
    "http://user:SECRET@{host}/t.csv?signature=SECRET": errors.LimitError,
    "http://user:SECRET@{host}/none.csv?signature=SECRET": errors.NotFoundError,
    "HTTP://user:SECRET@{host}/none.csv": errors.NotFoundError,
    "http://user:SECRET%zz@{host}/t.csv": errors.OptionError,
    "http://user:SECRET@host:99999999/t.csv": errors.OptionError,
    "http://user:SECRET@host:bad/t.csv?SECRET": errors.OptionError,
    "http://user:SECRET/@host/t.csv": errors.OptionError,
    "http://user:SECRET@/t.csv": errors.OptionError,
    "http://{host}/t*.csv?signature=SECRET": errors.OptionError,
    "http://{host}/t.csv?signature=SECRET*": errors.NotFoundError,
    "http://{host}/t{{.csv?signature=SECRET": errors.OptionError,
    "memory://none.csv?signature=SECRET": errors.NotFoundError,
    "nobody-knows://user:SECRET@host/x": errors.UnsupportedError,
}


@pytest.mark.parametrize("url", SECRETS)
def test_no_error_has_a_secret(url: str, web: Served, kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web.put(**{"t.csv?signature=SECRET": CSV})
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "10")
    with pytest.raises(SECRETS[url]) as caught:
        local_files(url.format(host=web.url[7:-1]))
    text = "".join(traceback.format_exception(caught.value))
    assert "SECRET" not in text.replace(repr(url), "")
    assert "SECRET" not in f"{caught.value.path} {files(kept) if kept.exists() else ''}"


def test_no_file_name_has_a_secret(web: Served, kept: Path) -> None:
    web.put(**{"": CSV})
    local_files(web.url[:-1].replace("//", "//user:SECRET@"))
    assert files(kept) == [web.url[7:-1].replace(":", "_")]


def test_a_damaged_shard_is_named_without_its_signature(web: Served) -> None:
    web.put(**{"t.tar?SECRET": b"no tar" * 200})
    with pytest.raises(errors.DamagedError, match=r"t\.tar") as caught:
        list(wds.WebDataset(web.url + "t.tar?SECRET", shardshuffle=False))
    assert "SECRET" not in f"{caught.value} {caught.value.path}"


def test_a_scheme_in_capitals_and_a_fragment(web: Served, kept: Path) -> None:
    web.put(**{"t.csv": CSV})
    assert local_files(web.url + "t.csv") == local_files("HTTP" + web.url[4:] + "t.csv#part")
    assert web.whole["t.csv"] == 1


def test_proxies_are_those_of_python(web: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    web.put(**{"t.csv": CSV})
    monkeypatch.setenv("http_proxy", web.url[7:-1])
    monkeypatch.setenv("no_proxy", "")
    assert Path(local_files("http://nowhere.invalid/t.csv")).read_bytes() == CSV
    monkeypatch.setenv("http_proxy", "http://user:SECRET@%zz")
    with pytest.raises(errors.OptionError, match="proxy") as caught:
        local_files(web.url + "t.csv")
    assert "SECRET" not in str(caught.value)
    monkeypatch.setenv("no_proxy", web.url[7:-1])
    assert Path(local_files(web.url + "t.csv")).read_bytes() == CSV


def test_other_schemes_are_those_of_fsspec(kept: Path) -> None:
    memory = pytest.importorskip("fsspec").filesystem("memory")
    memory.pipe("/gofast/t.csv", CSV)
    assert len(gofast.TableDataset("memory://gofast/t.csv", label="label")) == 50
    assert len(gofast.TableDataset("memory://gofast/t.csv", label="label")) == 50
    assert files(kept) == ["t.csv"]


def test_a_file_that_changed_is_another_one(web: Served, kept: Path) -> None:
    web.put(**{"t.csv": CSV})
    before = gofast.TableDataset(web.url + "t.csv", label="label")
    web.put(**{"t.csv": CSV + b"7,7,0\n"})
    assert len(gofast.TableDataset(web.url + "t.csv", label="label")) == len(before) + 1
    assert files(kept) == ["t.csv", "t.csv"]


def test_one_that_changes_on_the_way_is_an_error(web: Served, kept: Path) -> None:
    web.put(**{"t.csv": CSV})

    def change(_: Any, number: int) -> bool:
        if number == 2:
            web.files["t.csv"] = CSV + b"7,7,0\n"
        return False

    web.spoil = change
    with pytest.raises(errors.ChangedError, match="another one"):
        gofast.TableDataset(web.url + "t.csv", label="label")
    assert files(kept) == []


def test_nobody_waits_for_a_download_that_failed_ahead(web: Served, kept: Path) -> None:
    """Who began it asks for it no more, and has its lock."""
    web.put(**{"a.bin": bytes(5000), "b.bin": bytes(70000)})
    urls = [web.url + name for name in ("a.bin", "b.bin")]
    ahead = Downloads(urls)
    assert ahead._probe is not None
    ahead._probe.part(60_000)
    content = web.files.pop("a.bin")
    assert ahead.start()
    assert ahead.begun is not None
    while ahead.begun.part(100) < 1:
        pass
    web.put(**{"a.bin": content})
    paths = Downloads(urls).result()
    assert [Path(path).read_bytes() for path in paths] == [content, bytes(70000)]
    with pytest.raises(errors.NotFoundError, match=r"a\.bin"):
        ahead.result()
    assert not [*kept.glob("*.part")]


def test_many_files_come_ahead(web: Served, kept: Path) -> None:
    """More than are downloaded together."""
    web.put(**{f"{i:03}.bin": b"%d" % i for i in range(150)})
    ahead, end = Downloads(web.url + name for name in [*web.files]), time.monotonic() + 60
    while not ahead.arrived() and time.monotonic() < end:
        ahead.start(wait=False)
        time.sleep(0.01)
    assert ahead.arrived()
    assert [Path(path).read_bytes() for path in ahead.result()] == [*web.files.values()]


def test_processes_share_a_download(web: Served) -> None:
    web.put(**{"big.bin": bytes(20 << 20)})
    started = threading.Barrier(3)
    web.spoil = lambda request, number: number <= 3 and bool(started.wait(60) < 0)  # all have asked
    command = [sys.executable, "-c", FETCH, web.url + "big.bin"]
    with ThreadPoolExecutor(3) as pool:
        paths = set(pool.map(lambda _: subprocess.check_output(command, timeout=100), range(3)))
    assert len(paths) == 1
    assert web.whole["big.bin"] == 3  # ranges of 8 MiB, each once


def test_a_process_that_is_killed_leaves_nothing_wrong(web: Served, kept: Path) -> None:
    content = os.urandom(20 << 20)
    web.put(**{"big.bin": content})
    half, over = threading.Event(), threading.Event()

    def hold(_: Any, number: int) -> bool:
        if number == 3:
            half.set()
            over.wait(60)
        return False

    web.spoil = hold
    child = subprocess.Popen([sys.executable, "-c", FETCH, web.url + "big.bin"])
    try:
        assert half.wait(60)
        child.send_signal(signal.SIGKILL)
    finally:
        over.set()
        child.wait()
    assert files(kept) == ["big.bin.part"]
    downloads = Downloads([web.url + "big.bin"])
    assert Path(downloads.result()[0]).read_bytes() == content
    assert files(kept) == ["big.bin"]


def test_what_a_killed_process_left_gives_way(web: Served, kept: Path) -> None:
    kept.mkdir()
    (kept / f"{'0' * 32}-old.part").write_bytes(bytes(900))
    web.put(**{"a.bin": bytes(500)})
    Downloads([web.url + "a.bin"], budget(kept, 1000)).result()
    assert files(kept) == ["a.bin"]


def test_the_budget_is_kept_and_what_is_in_use_stays(web: Served, kept: Path) -> None:
    web.put(**{f"{i}.bin": bytes([i]) * 400 for i in range(6)})
    used = [Downloads([f"{web.url}{i}.bin"], budget(kept, 1000)) for i in range(2)]
    places = [Path(each.result()[0]) for each in used]
    third = Downloads([web.url + "2.bin"], budget(kept, 1000))
    third.start()  # there is no room, which is no error yet
    with pytest.raises(
        errors.LimitError, match=r"2\.bin: its 400 bytes do not fit .* raise cache_limit= by 200"
    ):
        third.result()
    with pytest.raises(errors.LimitError, match=r"\(1200 bytes\) are asked for together"):
        Downloads([f"{web.url}{i}.bin" for i in range(3)], budget(kept, 1000)).result()
    assert [place.read_bytes()[0] for place in places] == [0, 1]
    used[0].release()
    for i in (2, 3, 4, 5):
        more = Downloads([f"{web.url}{i}.bin"], budget(kept, 1000))
        assert Path(more.result()[0]).read_bytes() == bytes([i]) * 400
        assert files(kept) == ["1.bin", f"{i}.bin"]
        more.release()
    used[1].release()
    assert not [link for link in Path("/proc/self/fd").iterdir() if str(kept) in os.path.realpath(link)]


def test_urls_in_an_array(web: Served) -> None:
    web.put(**{f"{i}.png": content for i, content in enumerate(contents(2))})
    urls = [f"{web.url}{i}.png" for i in range(2)]
    want = gofast.ImageFiles(urls, [0, 1], transform=ToTensor())
    for given in (np.array(urls), np.array(urls, object), pd.Series(urls)):
        got = gofast.ImageFiles(given, [0, 1], transform=ToTensor())
        assert [str(got[i]) for i in range(2)] == [str(want[i]) for i in range(2)]


def test_a_file_is_used_until_its_last_process_ends(web: Served, kept: Path) -> None:
    web.put(**{"0.bin": bytes(400), "1.bin": bytes(400)})
    child = subprocess.Popen(
        [sys.executable, "-c", FETCH + "\nsys.stdout.flush(); input()", web.url + "0.bin"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with child:
        assert child.stdout is not None
        assert child.stdin is not None
        child.stdout.readline()
        with pytest.raises(errors.LimitError):
            Downloads([web.url + "1.bin"], budget(kept, 500)).result()
        child.stdin.close()
        child.wait()
    Downloads([web.url + "1.bin"], budget(kept, 500)).result()
    assert files(kept) == ["1.bin"]


def test_a_download_that_nobody_wants_ends(web: Served, kept: Path) -> None:
    web.put(**{"big.bin": bytes(20 << 20)})
    asked, over = threading.Event(), threading.Event()

    def hold(_: Any, number: int) -> bool:
        if number > 1:
            asked.set()
            over.wait(60)
        return False

    web.spoil = hold
    downloads = Downloads([web.url + "big.bin"])
    downloads.start()
    assert asked.wait(60)
    del downloads
    gc.collect()
    over.set()
    assert files(kept) == []


def test_ctrl_c_at_any_line_releases_all(web: Served, kept: Path) -> None:
    """A lock of which nobody knows would let this process wait for itself for ever."""
    web.put(**{"a.bin": b"1" * 1000})
    ours = {each.__file__ for each in (remote_files, download_cache, download_locks, atomic_files)}

    def left() -> list[Any]:
        fds = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
        return [fd for fd in fds if fd.startswith(str(kept))] + [*claims]

    before = left()
    for nth in itertools.count(step=3):
        lines = 0

        def trace(frame: Any, event: str, _: Any, nth: int = nth) -> Any:
            nonlocal lines
            if frame.f_code.co_filename not in ours:
                return None
            if event == "line":
                if lines == nth:
                    signal.raise_signal(signal.SIGINT)
                lines += 1
            return trace

        downloads = Downloads([web.url + "a.bin"])
        try:
            sys.settrace(trace)
            downloads.result()
        except KeyboardInterrupt:
            sys.settrace(None)
            assert left() == before, nth
        else:
            sys.settrace(None)
            assert lines <= nth  # the last one: none was swallowed
            break
        for one in kept.glob("*.bin"):
            one.unlink()
    assert nth > 100


INTERRUPTED = """
import gc, json, os, sys, time
from gofast._core.download_locks import claims
from gofast._core.remote_files import Downloads

url, kept = sys.argv[1:]

def held():
    fds = [os.path.realpath(f"/proc/self/fd/{fd}") for fd in os.listdir("/proc/self/fd")]
    return [fd for fd in fds if fd.startswith(kept)], [*claims], len(os.listdir("/proc/self/task"))

Downloads([url + "small.bin"]).result()
threads = held()[2]
for _ in range(5):
    downloads = Downloads([url + "small.bin", url + "big.bin"])
    try:
        print("waits", flush=True)
        downloads.result()
    except KeyboardInterrupt:
        ends = time.monotonic() + 5
        while held()[0] and time.monotonic() < ends:  # the core's threads end what they are at
            time.sleep(0.01)
        fds, claims, more = held()
        print(json.dumps([fds, claims, more - threads < 5]), flush=True)
    input()
print([os.path.getsize(path) for path in Downloads([url + "big.bin"]).result()])
"""


@pytest.mark.parametrize("where", ["state", "ranges", "other"])
def test_ctrl_c_releases_all_that_a_download_holds(where: str, web: Served, kept: Path) -> None:
    """While a server says nothing, or another process downloads: at once, and what is held is still there."""
    web.put(**{"small.bin": b"1", "big.bin": bytes(20 << 20)})
    over, asked = threading.Event(), threading.Event()

    def hold(request: Any, _: int) -> bool:
        whole = request.headers.get("Range", "") not in ("", "bytes=0-0")
        if "big" in request.path and whole == (where == "ranges") and where != "other":
            asked.set()
            over.wait(60)
        return False

    web.spoil = hold
    other = Downloads([web.url + "big.bin"])
    if where == "other":
        other._begin()
        other.begun = None  # it has the lock, and brings nothing
        asked.set()
    child = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED, web.url, str(kept)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with child:
        assert child.stdin is not None
        assert child.stdout is not None
        try:
            for attempt in range(5):
                assert child.stdout.readline() == "waits\n"
                assert asked.wait(30)
                time.sleep(0.02 * attempt)  # also before it waits
                child.send_signal(signal.SIGINT)
                began = time.monotonic()
                assert child.stdout.readline() == "[[], [], true]\n"
                assert time.monotonic() - began < 10
                assert ("big.bin.part" in files(kept)) == (where == "other")
                asked.clear() if where != "other" else None
                over.set() if attempt == 4 else None
                other.release() if attempt == 4 else None
                child.stdin.write("\n")
                child.stdin.flush()
            assert child.stdout.readline() == f"[{20 << 20}]\n"
        finally:
            over.set()
            child.kill()


def test_ctrl_c_at_the_end_closes_no_file_twice(
    web: Served, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its number may belong to another file by then."""
    web.put(**{f"{i}.bin": b"1" for i in range(3)})
    closed = list[int]()

    class Interrupting:
        def __getattr__(self, name: str) -> Any:
            return getattr(os, name)

        def close(self, fd: int) -> None:
            os.close(fd)
            closed.append(fd)
            if len(closed) == 1:
                raise KeyboardInterrupt

    for module in ("remote_files", "atomic_files"):
        monkeypatch.setattr(f"gofast._core.{module}.os", Interrupting())
    downloads = Downloads([f"{web.url}{i}.bin" for i in range(3)])
    with pytest.raises(KeyboardInterrupt):
        downloads.result()
    assert len(closed) == len({*closed}) == 3
    assert (str(kept), False) not in claims and files(kept) == [f"{i}.bin" for i in range(3)]


def test_where_and_how_much(web: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    web.put(**{"t.csv": CSV})
    gofast.downloads.keep(tmp_path / "there", "1kB")
    assert len(gofast.TableDataset(web.url + "t.csv", label="label")) == 50
    assert files(tmp_path / "there") == ["t.csv"]
    gofast.downloads.keep(tmp_path / "there", 10)
    web.put(**{"u.csv": CSV})
    with pytest.raises(errors.LimitError, match="10 bytes"):
        gofast.TableDataset(web.url + "u.csv", label="label")
    for limit in ("much", 0, -1):
        with pytest.raises(errors.OptionError, match="cache_limit"):
            gofast.downloads.keep(cache_limit=limit)
    gofast.downloads.keep(tmp_path / "elsewhere")
    assert DownloadBudget.of().limit == 10  # as it was
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", "much")
    with pytest.raises(errors.OptionError, match="GOFAST_DOWNLOADS_LIMIT='much'"):
        DownloadBudget.of()
    monkeypatch.delenv("GOFAST_DOWNLOADS_LIMIT")
    (tmp_path / "file").touch()
    gofast.downloads.keep(tmp_path / "file")
    with pytest.raises(errors.ReadError, match="the folder of downloads"):
        gofast.TableDataset(web.url + "t.csv", label="label")


def test_a_fork_has_no_idle_connection(web: Served, kept: Path) -> None:
    web.put(**{"t.csv": CSV})
    local_files(web.url + "t.csv")

    def connections() -> int:
        port = f":{int(web.url.rsplit(':', 1)[1].strip('/')):04X}"
        rows = [line.split() for line in Path("/proc/self/net/tcp").read_text().splitlines()[1:]]
        there = {f"socket:[{row[9]}]" for row in rows if row[2].endswith(port)}
        own = [f"/proc/self/fd/{fd}" for fd in os.listdir("/proc/self/fd")]
        return sum(os.readlink(fd) in there for fd in own if os.path.exists(fd) or os.path.islink(fd))

    assert connections() == 1
    child = os.fork()
    if child == 0:
        os._exit(connections())
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
