"""Many processes and threads in little room: each batch gets its own, one after the other."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader

import gofast
from gofast import errors
from gofast._core import download_cache, pieces_here, shard_pieces
from gofast._core.download_cache import DownloadBudget
from gofast._core.remote_files import Downloads
from gofast._core.remote_shards import RemoteShards
from gofast._core.shard_index import index_of
from served import Served
from test_shard_indexes import TEST, TRAIN, epoch, held, local, remote, same, tars
from test_shard_indexes import kept as kept
from test_shard_indexes import out as out
from test_shard_indexes import sharded as sharded
from test_shard_indexes import web as web

BATCH = 12


@pytest.fixture
def limit(out: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    """Room for a batch and a half, whose pieces are one sample each."""
    monkeypatch.setattr(shard_pieces, "_SHARE", 20)
    most = int(1.3 * sum(sizes(out)[:BATCH]))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(most))
    return most


def sizes(out: Path) -> list[int]:
    """The bytes of samples' pieces, the largest first."""
    states: list[Any] = [{"size": path.stat().st_size, "whole": False} for path in tars(out)]
    pieces = shard_pieces.cut([index_of(str(path)) for path in tars(out)], states, 1, tars=True)
    return sorted(map(pieces.size, range(len(pieces.ends))), reverse=True)


def slow(web: Served) -> None:
    """Batches of several processes come at the same time."""
    web.spoil = lambda request, number: bool(time.sleep(0.01))  # type: ignore[func-returns-value]


def shards_of(dataset: gofast.ImageFiles) -> RemoteShards:
    found = dataset._listing.files.shards
    assert found is not None
    return found


@pytest.mark.filterwarnings("ignore:This DataLoader will create 8 worker processes")
@pytest.mark.parametrize("how", ["fork", pytest.param("spawn", marks=pytest.mark.full)])
def test_eight_workers_share_the_room_of_a_batch(
    how: str, web: Served, out: Path, kept: Path, limit: int
) -> None:
    dataset = remote(web, out)
    assert len(shards_of(dataset)._pieces.ends) == len(dataset)
    slow(web)
    loader = DataLoader(dataset, BATCH, shuffle=True, num_workers=8, multiprocessing_context=how)
    torch.manual_seed(3)
    got = []
    for batch in loader:
        got.append([one.clone() for one in batch])
        assert held(kept) <= limit
    assert same(got, epoch(DataLoader(local(out), BATCH, shuffle=True), 3))


def test_eight_ranks_share_the_room_of_a_batch(web: Served, out: Path, limit: int) -> None:
    dataset, want = remote(web, out, TRAIN), local(out, TRAIN)
    slow(web)

    def rank(number: int) -> None:
        for seed in range(2):
            loaders = [
                gofast.DataLoader(one, BATCH, sampler=gofast.Sampler(one, 8, number, seed=seed))
                for one in (dataset, want)
            ]
            assert same(*(epoch(one, number) for one in loaders))

    assert children(8, rank) == [0] * 8


def alone() -> None:
    """What a forked process of a test begins with: it ends, and waits for no thread of its parent."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(80)
    torch.set_num_threads(1)


def children(count: int, work: Callable[[int], None]) -> list[int]:
    """How forked processes, which all work at the same time, ended."""
    pids = []
    for number in range(count):
        pid = os.fork()
        if not pid:
            status = 1
            try:
                alone()
                work(number)
                status = 0
            except BaseException as error:
                os.write(2, f"{number}: {error!r}\n".encode())
            finally:
                os._exit(status)
        pids.append(pid)
    return [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in pids]


def test_threads_and_datasets_take_turns(web: Served, out: Path, kept: Path, limit: int) -> None:
    """Two datasets in a batch, each of which could wait for what the other one has."""
    slow(web)
    half = len(tars(out)) // 2
    names = [f"{web.url}train-{i:03d}.tar" for i in range(len(tars(out)))]
    parts = [gofast.ImageFiles.from_tar(part, transform=TEST) for part in (names[:half], names[half:])]
    want, failed = local(out), list[BaseException]()

    def read(seed: int) -> None:
        try:
            both = ConcatDataset(parts if seed % 2 else parts[::-1])
            expected = ConcatDataset([local_part(want, one, parts) for one in both.datasets])
            rows = np.random.default_rng(seed).permutation(len(both))[: 4 * BATCH].tolist()
            loaders = [gofast.DataLoader(one, BATCH, sampler=rows) for one in (both, expected)]
            assert same(*(epoch(one) for one in loaders))
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not failed and held(kept) <= limit


def local_part(want: gofast.ImageFiles, one: Any, parts: list[Any]) -> Any:
    first = len(parts[0])
    rows = range(first) if one is parts[0] else range(first, len(want))
    return torch.utils.data.Subset(want, rows)


def test_who_waits_in_vain_says_for_what(
    web: Served, out: Path, kept: Path, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (pieces_here, download_cache):
        monkeypatch.setattr(module, "PATIENCE", 0.3)
    web.put(**{"other.bin": bytes(limit - sizes(out)[0])})
    other = Downloads([web.url + "other.bin"], DownloadBudget.of())
    other.result()
    dataset, began = remote(web, out), time.monotonic()
    with pytest.raises(errors.LimitError) as raised:
        next(iter(DataLoader(dataset, 2 * BATCH)))
    assert 0.3 < time.monotonic() - began < 20
    for said in (
        "raise cache_limit= by",
        f"{limit} bytes",
        f" of {2 * BATCH} pieces of a batch are here",
        "0.3 s",
    ):
        assert said in str(raised.value)
    assert torch.equal(dataset[0][0], local(out)[0][0])  # it has kept nothing
    other.release()
    assert same([next(iter(DataLoader(dataset, 2 * BATCH)))], [next(iter(DataLoader(local(out), 2 * BATCH)))])


def test_a_batch_that_can_never_fit_costs_nothing(web: Served, out: Path, kept: Path, limit: int) -> None:
    dataset = remote(web, out)
    for number in range(BATCH):
        dataset[number]
    shards = shards_of(dataset)
    before, there = [*shards.here().held], sorted(path.name for path in kept.iterdir())
    with pytest.raises(errors.LimitError, match=r"are asked for together.* or make smaller batches"):
        next(iter(DataLoader(dataset, len(dataset))))
    assert [*shards.here().held] == before and before
    assert sorted(path.name for path in kept.iterdir()) == there


def test_what_rests_gives_another_process_its_room(web: Served, out: Path, kept: Path, limit: int) -> None:
    """And comes again."""
    dataset, want = remote(web, out), local(out)
    number, size = 5, limit - 10
    batch = next(iter(gofast.DataLoader(dataset, BATCH)))
    web.put(**{"other.bin": bytes(size)})

    def take(_: int) -> None:
        Downloads([web.url + "other.bin"], DownloadBudget.of()).result()

    assert children(1, take) == [0]
    assert [path.stat().st_size for path in kept.glob("*-*")] == [size]
    assert torch.equal(dataset[number][0], want[number][0])
    assert same([batch], [next(iter(DataLoader(want, BATCH)))])


def test_a_process_that_dies_keeps_no_room_in_its_children(web: Served, kept: Path) -> None:
    web.put(**{name: bytes(400) for name in ("0.bin", "1.bin")})
    budget = DownloadBudget.of(limit=500)
    reading, writing = os.pipe()

    def die(_: int) -> None:
        used = Downloads([web.url + "0.bin"], budget)
        used.result()
        with pieces_here.DownloadCache(budget).turn():
            child = os.fork()
            if not child:
                time.sleep(100)
                os._exit(0)
            os.write(writing, b"%d" % child)
            os.kill(os.getpid(), signal.SIGKILL)

    assert children(1, die) == [-signal.SIGKILL]
    child = int(os.read(reading, 20))
    try:
        assert Downloads([web.url + "1.bin"], budget).result()
        with pieces_here.DownloadCache(budget).turn():
            pass
    finally:
        os.kill(child, signal.SIGKILL)
        for fd in (reading, writing):
            os.close(fd)


def test_who_does_not_wait_never_does(web: Served, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another thread waits for the server, for what seemed to be here."""
    dataset, asked, over = remote(web, out), threading.Event(), threading.Event()
    shards, rows = shards_of(dataset), np.arange(1)

    def stall(request: Any, number: int) -> bool:
        asked.set()
        return not over.wait(60)

    web.spoil = stall
    waiting = threading.Thread(target=lambda: dataset[0])
    waiting.start()
    try:
        assert asked.wait(60)
        answers = list[bool]()
        with monkeypatch.context() as patch:
            patch.setattr(Downloads, "arrived", lambda _: True)
            looking = threading.Thread(target=lambda: answers.append(shards.fetch(rows)), daemon=True)
            looking.start()
            looking.join(20)
        assert answers == [False]
    finally:
        over.set()
        waiting.join()
    assert shards.fetch(rows)
