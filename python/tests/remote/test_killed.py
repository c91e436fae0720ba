"""Processes that are killed while they download: what they leave is right and locks nothing."""

from __future__ import annotations

import fcntl
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch

from gofast._core import shard_pieces
from gofast._core.download_locks import claims, locking, opened
from gofast._core.remote_files import Downloads
from gofast._core.remote_shards import RemoteShards
from served import Served
from test_shard_indexes import held, local, remote, tars
from test_shard_indexes import kept as kept
from test_shard_indexes import out as out
from test_shard_indexes import sharded as sharded
from test_shard_indexes import web as web
from test_shared_limit import alone


def downloads(dataset: Any, urls: list[str]) -> None:
    """Whole shards, and pieces, until it is killed."""
    while True:
        if random.random() < 0.3:
            whole = Downloads(random.sample(urls, 2))
            whole.start()
            if random.random() < 0.5:
                whole.result()
            whole.release()
        else:
            dataset.__getitems__(random.sample(range(len(dataset)), random.randrange(1, 9)))


@pytest.mark.parametrize("times", [5, pytest.param(30, marks=pytest.mark.full)])
def test_kill_9_anywhere(
    times: int, web: Served, out: Path, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = int(4.5 * max(path.stat().st_size for path in tars(out)))
    monkeypatch.setenv("GOFAST_DOWNLOADS_LIMIT", str(limit))
    monkeypatch.setattr(shard_pieces, "_SHARE", 20)
    web.put(**{"all.bin": os.urandom(limit)})
    web.spoil = lambda request, number: bool(time.sleep(random.random() / 200))  # type: ignore[func-returns-value]
    dataset, want = remote(web, out), local(out)
    shards = dataset._listing.files.shards
    assert isinstance(shards, RemoteShards)
    pieces = {}
    for piece, path in enumerate(shards.asked.paths):
        begin, end = shards._pieces.span(piece)
        pieces[os.path.basename(path)] = web.files[tars(out)[shards._pieces.shards[piece]].name][begin:end]
    urls = [web.url + path.name for path in tars(out)]
    for turn in range(times):
        pids = list[int]()
        for _ in range(2):
            if not (pid := os.fork()):
                try:
                    alone()
                    random.seed()
                    downloads(dataset, urls)
                except BaseException as error:
                    os.write(2, f"{error!r}\n".encode())
                finally:
                    os._exit(1)
            pids.append(pid)
        for pid in pids:
            time.sleep(0.2 + random.random() / 2)
            assert os.waitpid(pid, os.WNOHANG) == (0, 0)  # it has met no error
            os.kill(pid, signal.SIGKILL)
            assert os.waitpid(pid, 0)[1] == signal.SIGKILL
        assert held(kept) <= limit
        # Nobody claims the file of all indexes: some turn's downloads remove it, if not those of the first.
        there = [path for path in kept.glob("*-*") if path.suffix not in (".part", ".index")]
        assert there or turn
        for path in there:
            assert path.read_bytes() == pieces.get(path.name, web.files[path.name[33:]]), path
        assert (str(kept), False) not in claims
        fd = opened(str(kept))
        assert locking(fd, fcntl.F_WRLCK, 0, count=0)
        os.close(fd)
        if turn % 2:
            whole = Downloads([web.url + "all.bin"])
            assert Path(whole.result()[0]).read_bytes() == web.files["all.bin"]
            assert held(kept) == limit  # no byte is lost
            whole.release()
    for number in random.sample(range(len(want)), 20):
        assert torch.equal(dataset[number][0], want[number][0])
