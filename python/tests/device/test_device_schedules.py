"""Loaders and prefetch on a device that works at random times: whatever happens, no batch is wrong."""

from __future__ import annotations

import random
import warnings
from typing import Any

import numpy as np
import pytest
import torch

import gofast
from gofast import errors
from gofast._device import device as devices
from standin import LATE, RANDOM, StandIn

CALLS = (
    "cuMemcpyHtoDAsync_v2",
    "cuStreamWaitEvent",
    "cuEventRecord",
    "cuEventCreate",
    "cuEventQuery",
    "cuLaunchKernel",
    "cuMemHostRegister_v2",
)
ROWS = 23
Batch = dict[str, torch.Tensor]


@pytest.fixture(scope="module")
def datasets(tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    path = tmp_path_factory.mktemp("table") / "t.npz"
    rng = np.random.default_rng(0)
    np.savez(path, features=rng.integers(0, 256, (ROWS, 9), np.uint8), label=np.arange(ROWS))
    table = gofast.TableDataset(path, mean=[0.5], std=[0.25], scale="unit")
    array = gofast.ArrayDataset(
        torch.rand(ROWS, 5), torch.arange(ROWS), keys=("image", "label"), output="dict"
    )
    return [table, torch.utils.data.ConcatDataset([table, table]), array]


class Schedule:
    """One random course of events.

    Attributes:
        came: batches of several epochs, with what they must be.
    """

    def __init__(self, standin: StandIn, datasets: list[Any], seed: int) -> None:
        self.standin, self.draw = standin, random.Random(seed)
        self.came: list[tuple[Any, Batch]] = []
        standin.c.standin_seed(seed)
        standin.mode = RANDOM
        dataset = self.draw.choice(datasets)
        options = {
            "batch_size": self.draw.choice((1, 3, 4, 30)),
            "drop_last": self.draw.random() < 0.2,
            "num_workers": self.draw.choice((0, 1, 2)),
        }
        self.want: list[Batch] = list(gofast.DataLoader(dataset, **options))
        if self.draw.random() < 0.25:
            self.loader = gofast.prefetch(
                gofast.DataLoader(dataset, **options), "cuda", ahead=self.draw.randrange(4)
            )
        else:
            resident = self.draw.choice(("auto", False))
            self.loader = gofast.DataLoader(dataset, device="cuda", resident=resident, **options)

    def run(self) -> None:
        if self.draw.random() < 0.3:
            for _ in range(self.draw.choice((1, 2))):
                self.standin.fail(self.draw.choice(CALLS), self.draw.randrange(1, 40))
        for _ in range(self.draw.choice((1, 1, 2, 3))):
            try:
                batches = iter(self.loader)
            except errors.DeviceError:
                continue
            self.epoch(batches)
        self.standin.c.standin_heal()
        self.epoch(iter(self.loader), to_the_end=True)
        self.look_at(len(self.came))

    def epoch(self, batches: Any, to_the_end: bool = False) -> None:
        draw, place = self.draw, 0
        while to_the_end or draw.random() < 0.9:
            try:
                batch = next(batches)
            except StopIteration:
                assert place >= len(self.want), (place, len(self.want))
                return
            except errors.DeviceError:
                assert not to_the_end
                return  # the order of what follows an error is the errors' own test
            self.came.append((batch, self.want[place]))
            place += 1
            doing = draw.random()
            if doing < 0.2:
                self.standin.c.standin_advance(self.standin.stream(), draw.randrange(1, 5))
            elif doing < 0.4:
                self.look_at(draw.randrange(len(self.came) + 1))
            elif doing < 0.5:
                self.came.pop(draw.randrange(len(self.came)))
            elif doing < 0.53 and not to_the_end:
                self.loader.close()
                return

    def look_at(self, n: int) -> None:
        """Looks at n of the batches that are held, in any order, and drops them."""
        for _ in range(n):
            batch, want = self.came.pop(self.draw.randrange(len(self.came)))
            seen = self.standin.seen(batch)
            assert seen.keys() == want.keys()
            assert all(torch.equal(seen[key], want[key]) for key in want)


def play(standin: StandIn, datasets: list[Any], seeds: range) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.GofastWarning)  # of memory that cannot be pinned
        for seed in seeds:
            schedule = Schedule(standin, datasets, seed)
            try:
                schedule.run()
            except BaseException as error:
                error.add_note(f"seed {seed}")
                raise
            del schedule
            wrong = standin.violations()
            assert not wrong, f"seed {seed}: {wrong}"
            if seed % 500 == 499:
                standin.mode = LATE
                standin.c.standin_advance_all()
    assert all(not device._kept for device in devices.all_opened())


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.full)])
def test_random_schedules(standin: StandIn, datasets: list[Any], count: int) -> None:
    """`make soak` plays 50,000 more."""
    play(standin, datasets, range(count))


@pytest.mark.soak
@pytest.mark.parametrize("part", range(20))
def test_many_random_schedules(standin: StandIn, datasets: list[Any], part: int) -> None:
    """1,000 take 3.5 s on two cores."""
    play(standin, datasets, range(part * 2500 + 1000, part * 2500 + 3500))
