"""Orders that are cut for ranks: every sample in exactly one of them, as torch's DistributedSampler cuts."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.data import BatchSampler, DistributedSampler, RandomSampler, SequentialSampler
from torch.utils.data.sampler import SubsetRandomSampler, WeightedRandomSampler

from gofast import errors
from gofast._loader.order import Listed, Order, Slice, beginnings
from gofast._loader.schedule import draw_order
from gofast._tables.blocks import BlockOrder, Stretch


def lists_of(order: Order, most: int = 1000) -> list[list[int]]:
    made = list[list[int]]()
    while len(made) < most and (pull := order.pull()) is not None:
        made.append([*(pull.indices.tolist() if pull.index is None else pull.index)])
    return made


def whole(samples: int, batch: int) -> Order:
    order = draw_order(BatchSampler(SequentialSampler(range(samples)), batch, False))
    assert order is not None
    return order


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("samples", [1, 7, 24, 25, 30, 61])
@pytest.mark.parametrize("even", ["drop", "pad"])
def test_as_torchs_sampler_cuts(samples: int, world: int, even: str) -> None:
    for rank in range(world):
        sampler: Any = DistributedSampler(
            range(samples),  # type: ignore[arg-type]
            world, rank, shuffle=False, drop_last=even == "drop",
        )  # fmt: skip
        # torch's own rule of rounding cuts a sample more off where there are fewer samples than ranks
        expected = [] if samples < world and even == "drop" else [*BatchSampler(sampler, 3, False)]
        assert lists_of(Slice(whole(samples, 3 * world), rank, world, even)) == expected


LISTS = [[], [4], [1, 2, 3], [5, 6, 7, 8, 9, 10, 11], [], [12, 13], [14, 15, 16, 17, 18]]


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5])
def test_lists_of_odd_lengths(world: int) -> None:
    """All ranks get as many batches, of as many samples."""
    every = [sample for one in LISTS for sample in one]
    for even in ("drop", "pad"):
        made = [lists_of(Slice(Listed(None, iter(LISTS)), rank, world, even)) for rank in range(world)]
        assert len({tuple(map(len, lists)) for lists in made}) == 1
        given = [sample for lists in made for one in lists for sample in one]
        if even == "pad":
            assert set(given) == set(every)
        else:
            assert len(given) == len(set(given)) == sum(len(one) // world * world for one in LISTS)


@pytest.mark.parametrize("world", [1, 2, 3, 4, 5])
def test_an_error_where_a_list_cannot_be_cut(world: int) -> None:
    even = [[*range(start, start + world * size)] for start, size in ((0, 3), (20, 1), (40, 2))]
    made = [lists_of(Slice(Listed(None, iter(even)), rank, world, "error")) for rank in range(world)]
    assert sorted(s for lists in made for one in lists for s in one) == [s for one in even for s in one]
    for rank in range(world):
        order = Slice(Listed(None, iter([*even, [60] * (world + 1)])), rank, world, "error")
        if world == 1:
            assert lists_of(order)[-1] == [60, 60]
            continue
        for _ in even:
            order.pull()
        with pytest.raises(errors.OptionError, match=f"{world + 1} samples cannot be divided among {world}"):
            order.pull()


BLOCKS = [3, 0, 5, 1, 4, 4, 2]  # rows of each, 19 in all


def blocks(seed: int | None = 5, epoch: int = 2) -> BlockOrder:
    return BlockOrder(BLOCKS, 6, seed, epoch)


def positions(order: Order, most: int = 1000) -> list[tuple[int, int]]:
    """Windows and the positions in them, sample by sample."""
    made = list[tuple[int, int]]()
    while len(made) < most and (pull := order.pull()) is not None:
        assert isinstance(pull, Stretch) and pull.start < pull.stop
        made += [(pull.window.number, at) for at in range(pull.start, pull.stop)]
    return made


@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("world", [1, 2, 3, 7, 19, 23])
def test_blocks_are_cut_in_runs(world: int, seed: int | None) -> None:
    whole = positions(blocks(seed))
    assert len(set(whole)) == len(whole) == sum(BLOCKS)
    for even in ("drop", "pad", None):
        slices = [Slice(blocks(seed), rank, world, even) for rank in range(world)]
        ranks = [positions(one) for one in slices]
        assert [len(rows) for rows in ranks] == [one.samples for one in slices]
        every = [row for rows in ranks for row in rows]
        if even is None:
            assert every == whole and max(map(len, ranks)) - min(map(len, ranks)) <= 1
            continue
        assert len({*map(len, ranks)}) == 1 and abs(len(every) - len(whole)) < world
        assert every == (whole[: len(every)] if even == "drop" else [*whole, *whole, *whole][: len(every)])
        for rank, rows in enumerate(ranks):  # workers of a rank
            cut = [Slice(Slice(blocks(seed), rank, world, even), worker, 3, None) for worker in range(3)]
            assert [row for one in cut for row in positions(one)] == rows
    if sum(BLOCKS) % world:
        with pytest.raises(errors.OptionError, match=f"19 rows cannot be divided among {world} ranks"):
            Slice(blocks(seed), 0, world, "error")
    assert positions(Slice(BlockOrder([], 6, seed, 0), 1, 2, "pad")) == []


def listed(sampler: Any) -> Order:
    begun = beginnings(sampler)
    return Listed(sampler, iter(sampler), begun)


def drawn(sampler: Any) -> Order:
    order = draw_order(BatchSampler(sampler, 6, False))
    assert order is not None
    return order


def seeded() -> torch.Generator:
    return torch.Generator().manual_seed(8)


ORDERS: dict[str, Callable[[], Order]] = {
    "sequential": lambda: whole(25, 6),
    "shuffle": lambda: drawn(RandomSampler(range(25))),
    "own generator": lambda: drawn(RandomSampler(range(25), generator=seeded())),
    "replacement": lambda: drawn(RandomSampler(range(25), True, 40)),
    "subset": lambda: drawn(SubsetRandomSampler(range(3, 25), seeded())),
    "weighted": lambda: drawn(WeightedRandomSampler([1.0 + i % 3 for i in range(25)], 20)),
    "drawn late": lambda: listed(BatchSampler(RandomSampler(range(25), True, 70, seeded()), 6, False)),
}
CUTS: dict[str, Callable[[Order], Order]] = {
    "whole": lambda order: order,
    "rank": lambda order: Slice(order, 1, 4, "pad"),
    "rank, dropped": lambda order: Slice(order, 0, 4, "drop"),
    "worker of a rank": lambda order: Slice(Slice(order, 1, 2, "pad"), 1, 3, None),
}


@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize("name", ORDERS)
def test_it_goes_on_where_it_stood(name: str, cut: str) -> None:
    def make(seed: int) -> Order:
        torch.manual_seed(seed)
        return CUTS[cut](ORDERS[name]())

    expected = lists_of(make(1))
    for stop in range(len(expected) + 1):
        first = make(1)
        assert lists_of(first, stop) == expected[:stop]
        told = pickle.dumps(first.state())
        again = make(2)
        again.load(pickle.loads(told))
        assert lists_of(again) == expected[stop:]
        assert pickle.dumps(first.state()) == told


@pytest.mark.parametrize("cut", CUTS)
def test_blocks_go_on_where_they_stood(cut: str) -> None:
    """Between windows, and anywhere within one."""
    expected = positions(CUTS[cut](blocks()))
    order, at = CUTS[cut](blocks()), 0
    while True:
        again = CUTS[cut](blocks(6, 0))
        again.load(pickle.loads(pickle.dumps(order.state())))
        assert positions(again) == expected[at:]
        if (pull := order.pull()) is None:
            break
        at += pull.samples or 0
    for at in range(len(expected) + 1):
        again = CUTS[cut](blocks(6, 0))
        again.load({**order.state(), "position": at})
        assert positions(again) == expected[at:]


def test_ranks_have_the_same_state() -> None:
    for stop in range(5):
        lists = [Slice(whole(25, 6), rank, 4, "pad") for rank in range(4)]
        runs = [Slice(blocks(), rank, 4, "pad") for rank in range(4)]
        for one, other in zip(lists, runs, strict=True):
            lists_of(one, stop)
            other.position = stop
        for slices in (lists, runs):
            told = [one.state() for one in slices]
            assert told == told[:1] * 4
        again = Slice(whole(25, 6), 3, 4, "pad")
        again.load(lists[0].state())
        assert lists_of(again) == lists_of(lists[3])
        again = Slice(blocks(), 3, 4, "pad")
        again.load(runs[0].state())
        assert positions(again) == positions(runs[3])


@pytest.mark.parametrize("order", [lambda: whole(3, 3), blocks])
def test_ranks_that_are_none(order: Callable[[], Order]) -> None:
    for rank, world, even in ((2, 2, "pad"), (-1, 2, "pad"), (0, 2, "both")):
        with pytest.raises(errors.OptionError, match="even="):
            Slice(order(), rank, world, even)  # type: ignore[arg-type]
