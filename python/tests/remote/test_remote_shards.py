"""WebDataset's shards behind a server: the samples of the disk, downloaded ahead, by any process."""

from __future__ import annotations

import gc
import os
import random
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import gofast.webdataset as wds
from gofast import errors
from gofast._webdataset import opened_shards
from served import Served, serving
from tars import tar_bytes


@pytest.fixture
def web(tmp_path: Path) -> Iterator[Served]:
    with serving() as made:
        for i in range(5):
            data = tar_bytes([{"cls": b"%d" % (10 * i + k)} for k in range(6)], stem=f"{i}-")
            made.put(**{f"{i}.tar": data})
            (tmp_path / f"{i}.tar").write_bytes(data)
        yield made


def labels(urls: Any, workers: int = 0, how: str | None = None, **options: Any) -> list[int]:
    data = wds.WebDataset(urls, shardshuffle=False, **options).decode().to_tuple("cls")
    loader = wds.WebLoader(data, batch_size=None, num_workers=workers, multiprocessing_context=how)
    return [int(label) for (label,) in loader]


@pytest.mark.parametrize(("workers", "how"), [(0, None), (2, "fork"), (2, "forkserver")])
def test_samples_are_those_of_the_disk(workers: int, how: str | None, web: Served, tmp_path: Path) -> None:
    want = labels(f"{tmp_path}/{{0..4}}.tar", workers, how and "fork")
    assert len(want) == 30
    for _ in range(2):
        assert labels(f"{web.url}{{0..4}}.tar", workers, how, cache_dir=str(tmp_path / "kept")) == want
    assert set(web.whole.values()) == {1}  # the second epoch read what is kept
    assert not [*(tmp_path / "kept").glob("*.part")]


def large(web: Served) -> list[bytes]:
    """A shard of 4 MB."""
    contents = [random.randbytes(100_000) for _ in range(40)]
    web.put(**{"large.tar": tar_bytes([{"bin": each} for each in contents])})
    return contents


def held(web: Served, over: threading.Event, behind: int = 2 << 20) -> None:
    """The server sends what is behind some bytes later."""

    def hold(request: Any, number: int) -> bool:
        first = int(request.headers["Range"].partition("=")[2].partition("-")[0])
        return first >= behind and not over.wait(60)

    web.spoil = hold


def test_a_shard_is_read_while_it_comes(web: Served, tmp_path: Path) -> None:
    contents, over = large(web), threading.Event()
    held(web, over)
    data = wds.WebDataset(web.url + "large.tar", shardshuffle=False, cache_dir=str(tmp_path / "kept"))
    samples = iter(data)
    assert [next(samples)["bin"] for _ in range(15)] == contents[:15]
    assert not [*(tmp_path / "kept").glob("*-large.tar")]
    over.set()
    assert [sample["bin"] for sample in samples] == contents[15:]
    assert len([*(tmp_path / "kept").glob("*-large.tar")]) == 1
    asked = web.asked["large.tar"]
    assert [sample["bin"] for sample in data] == contents
    assert web.asked["large.tar"] == asked + 1  # what it is: it is kept


def test_a_reader_that_stops_early_ends_the_download(web: Served, tmp_path: Path) -> None:
    large(web)
    over, kept = threading.Event(), tmp_path / "kept"
    held(web, over)
    gc.disable()
    try:
        samples = iter(wds.WebDataset(web.url + "large.tar", shardshuffle=False, cache_dir=str(kept)))
        next(samples)
        assert [*kept.glob("*.part")]
        del samples
        assert not [*kept.glob("*.part")]
    finally:
        gc.enable()
        over.set()


def test_a_fork_goes_on_with_a_shard_that_comes(web: Served, tmp_path: Path) -> None:
    contents, over = large(web), threading.Event()
    held(web, over)
    kept = str(tmp_path / "kept")
    samples = iter(wds.WebDataset(web.url + "large.tar", shardshuffle=False, cache_dir=kept))
    next(samples)
    child = os.fork()
    if child == 0:
        os._exit([sample["bin"] for sample in samples] != contents[1:])
    over.set()
    assert [sample["bin"] for sample in samples] == contents[1:]
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("stays", [False, True])
def test_a_shard_that_changes_while_it_is_read(stays: bool, web: Served, tmp_path: Path) -> None:
    contents, over = large(web), threading.Event()
    held(web, over)
    handler = wds.ignore_and_continue if stays else wds.reraise_exception
    urls = [web.url + "large.tar", web.url + "0.tar"]
    data = wds.WebDataset(urls, shardshuffle=False, cache_dir=str(tmp_path / "kept"), handler=handler)
    samples = iter(data)
    assert next(samples)["bin"] == contents[0]
    web.files["large.tar"] += b"more"
    over.set()
    if not stays:
        with pytest.raises(errors.ChangedError, match=r"large\.tar.*another one"):
            list(samples)
        return
    rest = [*samples]
    assert [sample["cls"] for sample in rest[-6:]] == [b"%d" % i for i in range(6)]
    assert [sample["bin"] for sample in rest[:-6]] == contents[1 : len(rest) - 5]
    assert 6 <= len(rest) < 30  # what had come, and the other shard


def test_a_shard_that_nobody_knows_is_read_when_it_is_there(web: Served, tmp_path: Path) -> None:
    contents = large(web)
    web.tags, cut = False, [*range(2)]

    def spoil(request: Any, number: int) -> bool:
        if number == 2:  # another one half of which came is no part of it
            request.send_response(200)
            request.send_header("Content-Length", str(len(web.files["large.tar"])))
            request.end_headers()
            request.wfile.write(b"x" * 3_000_000)
            request.close_connection = True
            cut.pop()
        return number == 2

    web.spoil = spoil
    data = wds.WebDataset(web.url + "large.tar", shardshuffle=False, cache_dir=str(tmp_path / "kept"))
    assert [sample["bin"] for sample in data] == contents
    assert len(cut) == 1


@pytest.mark.parametrize("small", [False, True])
def test_the_next_two_are_on_their_way_or_more_small_ones(
    small: bool, web: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not small:
        monkeypatch.setattr(opened_shards, "_BYTES_AHEAD", 1)
    there = [threading.Event() for _ in range(5)]

    def seen(request: Any, number: int) -> bool:
        if number == (1 if small else 2):  # the probe, and what is behind it
            there[int(request.path[1])].set()
        return False

    web.spoil = seen
    data = wds.WebDataset(f"{web.url}{{0..4}}.tar", shardshuffle=False, cache_dir=str(tmp_path / "kept"))
    samples = iter(data)
    next(samples)
    assert all(each.wait(60) for each in there[: 5 if small else 3])
    if not small:
        assert web.asked["3.tar"] <= 1  # what it is
        assert web.asked["4.tar"] == 0
    samples.close()  # type: ignore[attr-defined]
    assert not [*(tmp_path / "kept").glob("*.part")]


def test_large_ones_behind_a_small_one_are_not_all_ahead(
    web: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.put(**{f"{i}.tar": tar_bytes([{"bin": bytes(10 if i == 0 else 90_000)}]) for i in range(5)})
    monkeypatch.setattr(opened_shards, "_BYTES_AHEAD", 100_000)
    data = wds.WebDataset(f"{web.url}{{0..4}}.tar", shardshuffle=False, cache_dir=str(tmp_path / "kept"))
    samples = iter(data)
    for number in range(5):
        next(samples)
        ahead = {
            name for name in map(str, (tmp_path / "kept").iterdir()) for i in range(5) if f"{i}.tar" in name
        }
        assert len(ahead) <= number + 3
    assert not [*samples]


def test_a_folder_of_downloads_that_goes_away_behind_an_opened_shard(web: Served, tmp_path: Path) -> None:
    data = wds.WebDataset(f"{web.url}0.tar", shardshuffle=False, cache_dir=str(tmp_path / "kept"))
    samples = iter(data)
    next(samples)
    while [*(tmp_path / "kept").glob("*.part")]:
        time.sleep(0.01)
    shutil.rmtree(tmp_path / "kept")
    assert len([*samples]) == 5


def test_a_shard_of_room_is_enough(web: Served, tmp_path: Path) -> None:
    size = len(web.files["0.tar"])
    kept = str(tmp_path / "kept")
    assert len(labels(f"{web.url}{{0..4}}.tar", cache_dir=kept, cache_size=size)) == 30
    assert sum(each.stat().st_size for each in (tmp_path / "kept").iterdir() if each.name != "lock") == size
    with pytest.raises(errors.LimitError, match=r"0\.tar"):
        labels(f"{web.url}{{0..4}}.tar", cache_dir=kept, cache_size=size - 1)


@pytest.mark.parametrize("shuffled", [False, True])
def test_an_epoch_over_more_than_fits_reads_what_is_not_kept(
    shuffled: bool, web: Served, tmp_path: Path
) -> None:
    numbers, size, came = [*range(20)], len(web.files["0.tar"]), list[int]()
    web.put(**{f"{i}.tar": web.files["0.tar"] for i in numbers})
    for _ in range(4):
        if shuffled:
            random.shuffle(numbers)
        before = web.whole.total()
        urls = [f"{web.url}{i}.tar" for i in numbers]
        assert len(labels(urls, cache_dir=str(tmp_path / "kept"), cache_size=10 * size)) == 120
        came.append(web.whole.total() - before)
    assert came[0] == 20
    assert sum(came[1:]) <= 36  # of 60, of which 30 are kept; drawn by chance, some 50 come


def test_a_small_shard_does_not_take_the_room_of_the_next(web: Served, tmp_path: Path) -> None:
    size = len(web.files["0.tar"])
    web.files["1.tar"] += bytes(size)
    kept = str(tmp_path / "kept")
    assert len(labels(f"{web.url}{{0..2}}.tar", cache_dir=kept, cache_size=2 * size)) == 18


def test_what_lies_in_the_way_is_the_handlers(web: Served, tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    labels(web.url + "0.tar", cache_dir=str(kept))
    (name,) = kept.glob("*-0.tar")
    name.unlink()
    name.with_suffix(".tar.part").mkdir()
    urls = f"{web.url}{{0..1}}.tar"
    assert len(labels(urls, cache_dir=str(kept), handler=wds.ignore_and_continue)) == 6
    with pytest.raises(errors.ReadError, match=r"0\.tar\.part"):
        labels(urls, cache_dir=str(kept))


def test_a_missing_shard_is_the_handlers(web: Served, tmp_path: Path) -> None:
    del web.files["1.tar"]
    urls = [f"{web.url}{i}.tar" for i in range(3)] + ["http:///"]
    kept = str(tmp_path / "kept")
    with pytest.raises(errors.NotFoundError, match=r"1\.tar"):
        labels(urls, cache_dir=kept)
    assert len(labels(urls, cache_dir=kept, handler=wds.ignore_and_continue)) == 12


def test_the_environment_of_webdataset(web: Served, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WDS_CACHE", str(tmp_path / "wds"))
    monkeypatch.setenv("WDS_CACHE_SIZE", "1000000")
    assert len(labels(web.url + "0.tar")) == 6
    assert len([*(tmp_path / "wds").glob("*-0.tar")]) == 1
