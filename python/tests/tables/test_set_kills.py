"""gofast.preprocess is killed at any moment, and goes on."""

from __future__ import annotations

import fcntl
import multiprocessing
import os
import random
import signal
import time
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import Dataset

import gofast
from gofast import errors
from gofast._sets import samples_writer, writer
from gofast._tables import array_folder


class Slow(Dataset[Any]):
    """Each sample takes a moment, and says that it was made, in memory that processes share."""

    def __init__(self) -> None:
        self.made = torch.zeros(200, dtype=torch.int32).share_memory_()

    def __len__(self) -> int:
        return 200

    def __getitem__(self, index: int) -> Any:
        self.made[index] += 1
        time.sleep(0.0003)
        return torch.full((40,), index, dtype=torch.int16), index * 7


def make(of: Slow, path: Path) -> None:
    torch.set_num_threads(1)
    gofast.preprocess(of, path)


def check(path: Path) -> None:
    made = gofast.ArrayDataset.open(path)
    index = torch.arange(200)
    assert torch.equal(made.tensors[0], index.to(torch.int16)[:, None].expand(200, 40))
    assert torch.equal(made.tensors[1], index * 7)
    gofast.verify(path)


@pytest.mark.parametrize(
    "kills", [8, pytest.param(20, marks=pytest.mark.full), pytest.param(1000, marks=pytest.mark.soak)]
)
def test_killed_at_any_moment(kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_BLOCK", 88 * 30)
    monkeypatch.setattr(samples_writer, "_BATCH", 88 * 7)
    monkeypatch.setattr(writer, "_OFTEN", 0)
    d, fork = random.Random(kills), multiprocessing.get_context("fork")
    of, path, killed, resumed = Slow(), tmp_path / "0", 0, 0
    while killed < kills:
        of.made.zero_()
        path = tmp_path / str(killed)
        while True:
            process = fork.Process(target=make, args=(of, path))
            process.start()
            target = int(of.made.sum()) + d.randint(0, 220)  # a whole one makes 203
            while process.is_alive() and int(of.made.sum()) < target:
                time.sleep(0.0005)
            process.join(d.random() * d.choice([0.001, 0.02]))
            if process.exitcode is None:
                assert process.pid is not None
                os.kill(process.pid, signal.SIGKILL)
                process.join()
                killed += 1
            elif process.exitcode == 0:
                break
            assert process.exitcode in (0, -signal.SIGKILL)
            try:
                check(path)
            except errors.NotFoundError:
                resumed += bool((path / array_folder.PART).exists())
        check(path)
        assert sorted(os.listdir(path)) == ["arrays.jsonl", "features.npy", "label.npy"]
    assert resumed > kills // 4


def test_what_is_written_is_not_made_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(samples_writer, "_BATCH", 88 * 7)
    monkeypatch.setattr(writer, "_OFTEN", 0)
    of, path = Slow(), tmp_path / "set"
    process = multiprocessing.get_context("fork").Process(target=make, args=(of, path))
    process.start()
    while of.made[100] == 0:
        time.sleep(0.001)
    assert process.pid is not None
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    of.made.zero_()
    gofast.preprocess(of, path)
    again = of.made[1:90] > 0
    assert int(again.sum()) <= 16  # those that are compared, before and behind
    check(path)


def test_others_wait_while_a_set_becomes_an_unfinished_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of, path, replace, tried = Slow(), tmp_path / "set", os.replace, list[str]()

    def replaced(source: str, target: str) -> None:
        for name in (source, target) if target.endswith(array_folder.PART) else ():
            fd = os.open(name, os.O_RDWR)
            with pytest.raises(BlockingIOError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.close(fd)
            tried.append(Path(name).name)
        replace(source, target)

    gofast.preprocess(of, path)
    monkeypatch.setattr(os, "replace", replaced)
    gofast.preprocess(of, path, overwrite=True)
    assert tried == [array_folder.WHOLE, array_folder.PART]
    check(path)


def overwrite(of: Slow, path: Path, starts: Any) -> None:
    """Opens what it has made, or another, and reads it."""
    torch.set_num_threads(1)
    starts.wait()
    made = gofast.preprocess(of, path, overwrite=True)
    for index in (0, 99, 199):
        assert made[index][1] == index * 7


@pytest.mark.parametrize("there", [False, True])
def test_calls_at_once_overwrite_once(there: bool, tmp_path: Path) -> None:
    fork, of = multiprocessing.get_context("fork"), Slow()
    for turn in range(3):
        path = tmp_path / str(turn)
        if there:
            gofast.preprocess(of, path)
        of.made.zero_()
        starts = fork.Barrier(5)
        processes = [fork.Process(target=overwrite, args=(of, path, starts)) for _ in range(5)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * 5
        made = of.made[10:90]  # none of the eight that each call compares
        assert int((made == 1).sum()) > 70
        check(path)
        assert sorted(os.listdir(path)) == ["arrays.jsonl", "features.npy", "label.npy"]
