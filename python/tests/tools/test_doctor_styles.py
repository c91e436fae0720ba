"""Faults that are planted in other ways: the doctor knows them by what they do, however they are written."""

from __future__ import annotations

import io
import mmap
import multiprocessing
import os
import time
from collections.abc import Callable, Iterator
from os import read as read_bytes  # taken by its name
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
import torch
from PIL.Image import open as open_image
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, TensorDataset

import planted
from gofast._core.machine import Machine
from gofast._doctor import apart, diagnosis, trials
from gofast._doctor.anatomy import Anatomy
from gofast._doctor.between import Between
from gofast._doctor.consume import Run, consume, nothing
from gofast._doctor.diagnosis import diagnose
from gofast._doctor.facts import Facts
from gofast._doctor.loaders import starting
from gofast._doctor.records import Batch
from gofast._doctor.rules import judge
from gofast._doctor.variants import larger_batches
from gofast._doctor.verdicts import Remedy

pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


class TakenByName(planted.Photos):
    """Pillow's function is in this module by a name of its own, and reads a file that is in memory."""

    def __getitem__(self, index: int) -> Any:
        with open_image(io.BytesIO(self.file)) as picture:
            return torch.from_numpy(np.asarray(picture.crop((0, 0, 8, 8))).copy())

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.file = Path(self.path).read_bytes()


class Methods(planted.Numbers):
    def _decode_row(self, index: int) -> Any:
        time.sleep(0.01)
        return super().__getitem__(index)

    def __getitem__(self, index: int) -> Any:
        return self._decode_row(index)


class Augments(planted.Numbers):
    @staticmethod
    def augment(sample: Any) -> Any:
        time.sleep(0.01)
        return sample

    def __getitem__(self, index: int) -> Any:
        return self.augment(super().__getitem__(index))


class Wrapper(planted.Numbers):
    def __init__(self) -> None:
        super().__init__()
        self.train_transform = planted.SlowAugment()

    def __getitem__(self, index: int) -> Any:
        return self.train_transform(super().__getitem__(index))


class Throttled:
    """What has a file's methods and is none."""

    def __init__(self, path: str) -> None:
        self.file = open(path, "rb")  # noqa: SIM115

    def read(self, size: int) -> bytes:
        time.sleep(0.01)
        return self.file.read(size)


class Lines(Dataset[Any]):
    def __init__(self, path: Path) -> None:
        self.path = str(path / "lines")
        Path(self.path).write_bytes(bytes(1000))

    def __len__(self) -> int:
        return planted.LONG

    def __getitem__(self, index: int) -> Any:
        file = Throttled(self.path)
        with file.file:
            return torch.tensor(list(file.read(16)))


class Pieces(Lines):
    def _read_all(self) -> bytes:
        descriptor, parts = os.open(self.path, os.O_RDONLY), []
        while part := read_bytes(descriptor, 200):
            parts.append(part)
            time.sleep(0.002)
        os.close(descriptor)
        return b"".join(parts)

    def __getitem__(self, index: int) -> Any:
        return torch.tensor(list(self._read_all()[:16]))


class SlowMap(mmap.mmap):
    def __getitem__(self, key: Any) -> Any:
        time.sleep(0.01)
        return super().__getitem__(key)


class Mapped(Lines):
    def __getitem__(self, index: int) -> Any:
        with open(self.path, "rb") as file, SlowMap(file.fileno(), 0, access=mmap.ACCESS_READ) as rows:
            return torch.tensor(list(rows[:16]))


class Stream(IterableDataset[Any]):
    def __init__(self, path: Path) -> None:
        self.lines = Lines(path)

    def __iter__(self) -> Iterator[Any]:
        return (self.lines[index] for index in range(planted.LONG))


class SlowEpoch(Sampler[int]):
    """All of an epoch's order is drawn before its first sample."""

    def __iter__(self) -> Iterator[int]:
        end = time.thread_time() + 0.2
        while time.thread_time() < end:
            pass
        return iter(range(128))

    def __len__(self) -> int:
        return 128


class Rare(planted.Numbers):
    """One sample in many takes far longer than all others of its batch, which are quick."""

    def __getitem__(self, index: int) -> Any:
        if index % 40 == 17:
            time.sleep(0.05)
        return torch.zeros(self.width)


class Pairs:
    def __iter__(self) -> Iterator[list[int]]:
        return ([index, index + 1] for index in range(0, 1 << 14, 2))

    def __len__(self) -> int:
        return 1 << 13


class Ones(IterableDataset[Any]):
    def __iter__(self) -> Iterator[Any]:
        return (torch.ones(4) for _ in range(1 << 20))


PLANTS: dict[str, tuple[Callable[[Path], Any], str]] = {
    "a decoder taken by its name": (lambda f: DataLoader(TakenByName(f), 4), "slow_decode"),
    "a method that decodes": (lambda f: DataLoader(Methods(), 4, num_workers=2), "slow_decode"),
    "a method that augments": (lambda f: DataLoader(Augments(), 4, num_workers=2), "slow_transform"),
    "a transform of another name": (lambda f: DataLoader(Wrapper(), 4), "slow_transform"),
    "an object that reads": (lambda f: DataLoader(Lines(f), 4, num_workers=2), "slow_storage"),
    "small pieces": (lambda f: DataLoader(Pieces(f), 4), "slow_storage"),
    "a map": (lambda f: DataLoader(Mapped(f), 4), "slow_storage"),
    "a stream that reads": (lambda f: DataLoader(Stream(f), 4, num_workers=2), "slow_storage"),
    "an order that is drawn at once": (
        lambda f: DataLoader(planted.Numbers(length=128), 16, sampler=SlowEpoch()),
        "slow_sampler",
    ),
    "a rare straggler": (lambda f: DataLoader(Rare(), 4), "straggler"),
    "tiny batches of a batch_sampler": (
        lambda f: DataLoader(planted.Numbers(), batch_sampler=cast(Any, Pairs()), num_workers=2),
        "tiny_batches",
    ),
    "tiny batches of a stream": (lambda f: DataLoader(Ones(), 1, num_workers=2), "tiny_batches"),
    "tiny batches without workers": (
        lambda f: DataLoader(TensorDataset(torch.rand(1 << 14, 16), torch.arange(1 << 14)), 1),
        "tiny_batches",
    ),
}


@pytest.mark.parametrize("name", PLANTS)
def test_planted(name: str, tmp_path: Path) -> None:
    make, code = PLANTS[name]
    roomy = Machine(planted.machine(tmp_path / "root", used=500))
    for _ in range(3):  # so short a look meets what else a busy machine does
        report = diagnose(make(tmp_path), lambda batch: time.sleep(1e-4), 0.5, roomy, "tiny" in name)
        if report.code == code:
            break
    assert report.code == code, str(report)


@pytest.mark.parametrize(("interval", "keeps_up"), [(5e-5, True), (5e-4, False)])
def test_a_loader_that_could_make_ten_batches_a_step(interval: float, keeps_up: bool) -> None:
    run = Run([1.4e-4] * 100, [1.1e-3] * 100, [1e-3], batches=100, samples=100)
    flat_out = Run([interval] * 100, [0.0] * 100, seconds=100 * interval, batches=100, samples=100)
    facts = Facts(None, 2, None, True, run, Anatomy(0, True, flat_out, engine={"gather": interval}))
    assert (judge(facts, lambda key: None).code == "healthy") == keeps_up


def test_eight_batches_are_joined() -> None:
    loader = larger_batches(DataLoader(planted.Numbers(length=20), batch_sampler=cast(Any, [[0, 1]] * 10)))
    assert [len(batch) for batch in loader] == [16, 4]


def test_a_slow_sample_in_a_batch_that_was_timed_as_a_whole() -> None:
    lost = [0.0, 0.0]
    between = Between(lambda: lost[0])
    between.learn(Batch(4, 0.001, 0.0, {}, [], 0.0002, 0.0008))
    for took in (0.0011, 0.0010, 0.0510):
        between.add(4, took)
    lost[0] = 0.04  # this one had to wait for a processor
    between.add(4, 0.0411)
    found = between.take()
    assert between.samples == 0
    assert found.samples == 16
    assert found.slowest == [pytest.approx(0.0502)]
    assert found.fetch == pytest.approx(0.0011 + 0.0010 + 0.0510 + 0.0011)


def test_the_start_of_spawned_workers_is_no_part_of_the_time() -> None:
    class Late:
        def __iter__(self) -> Iterator[Any]:
            time.sleep(0.3)
            for _ in range(50):
                yield torch.zeros(2)

    assert len(consume(Late(), nothing, 0.0, least=20, most=0.2).steps) == 20
    spawned = DataLoader(planted.Numbers(), num_workers=3, multiprocessing_context="spawn")
    assert starting(spawned) == 3
    assert starting(DataLoader(planted.Numbers(), num_workers=3, multiprocessing_context="fork")) == 0


def test_trials_end_when_they_have_taken_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]

    def rate_of(*_: Any) -> tuple[float, str]:
        now[0] += 10
        return 1.0, ""

    monkeypatch.setattr(trials, "rate_of", rate_of)
    monkeypatch.setattr(trials, "time", SimpleNamespace(monotonic=lambda: now[0]))
    changes = [(Remedy(name, name), list) for name in "abc"]
    first, *others = trials.compare([], changes, nothing, 2.0)
    assert (first.gain, first.rounds) == (1.0, 1)
    assert all(other.gain is None and "more seconds=" in other.untried for other in others)


def test_a_busy_machine_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis.os, "cpu_count", lambda: 2)
    facts = Facts([], 2, None, True, Run(starts=[4.0]))
    diagnosis._say_how_busy(facts, 0.1)
    diagnosis._say_how_long(facts, 10, 20)
    assert facts.notes == []
    diagnosis._say_how_busy(facts, 1.4)
    diagnosis._say_how_long(facts, 10, 60)
    assert "other programs kept 1.4 of 2 processors" in facts.notes[0]
    assert "this took 60 s in the place of 10. The first batch came 4000 ms" in facts.notes[1]


def _from_a_fork_server(send: apart.Send) -> None:
    child = multiprocessing.get_context("forkserver").Process(target=time.sleep, args=(0,))
    child.start()
    child.join()
    send(child.exitcode)


def test_a_process_that_has_a_fork_server_already() -> None:
    def work(send: apart.Send) -> None:
        _from_a_fork_server(send)
        outcome = apart.apart(_from_a_fork_server, 5)
        send(outcome.error or outcome.last)

    assert apart.apart(work, 10).messages == [0, 0]
