"""gofast.Sampler: what torch's DistributedSampler gives, any number of ranks, keyed orders, mixes."""

from __future__ import annotations

import copy
import itertools
import json
import math
import os
import pickle
import random
import socket
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, DistributedSampler

import fresh
import gofast
from gofast._core.permutation import Permutation
from gofast.errors import OptionError, UnsupportedError
from image_data import make_folder

Loader = Callable[..., Any]
LOADERS = [DataLoader, gofast.DataLoader]


def numbers(n: int, writable: bool = True) -> gofast.ArrayDataset:
    rows = np.arange(n)
    rows.flags.writeable = writable
    return gofast.ArrayDataset(rows)


def ranks(n: int, world: int, **options: Any) -> list[gofast.Sampler]:
    return [gofast.Sampler(range(n), world, rank, **options) for rank in range(world)]


def batches(loader: Any) -> list[list[int]]:
    return [batch[0].tolist() for batch in loader]


@pytest.mark.parametrize("shuffle", [True, False])
@pytest.mark.parametrize("drop_last", [True, False])
def test_it_equals_torchs(shuffle: bool, drop_last: bool) -> None:
    for n, world in itertools.product((1, 2, 3, 7, 12, 100, 5001), (1, 2, 3, 4, 8)):
        for seed, epoch in ((0, 0), (3, 0), (-5, 2), (1 << 40, 7)):
            for rank in {0, world // 2, world - 1}:
                options: Any = {"shuffle": shuffle, "seed": seed, "drop_last": drop_last}
                theirs = DistributedSampler(range(n), world, rank, **options)  # type: ignore[arg-type]
                ours = gofast.Sampler(range(n), world, rank, **options)
                assert isinstance(ours, DistributedSampler)
                for one in (theirs, ours):
                    one.set_epoch(epoch)
                assert list(ours) == list(theirs)
                for name in ("num_samples", "total_size", "drop_last", "epoch", "seed", "shuffle"):
                    assert getattr(ours, name) == getattr(theirs, name), name
                assert len(ours) == len(theirs)


@pytest.mark.parametrize("order", ["torch", "keyed"])
@pytest.mark.parametrize("sharding", ["strided", "contiguous"])
def test_exact_gives_each_sample_once(order: str, sharding: str) -> None:
    for n, world, size in itertools.product((0, 1, 5, 12, 31, 100), (1, 2, 3, 5), (1, 4)):
        found = [
            list(one)
            for one in ranks(n, world, order=order, sharding=sharding, uneven="exact", batch_size=size)
        ]
        assert sorted(itertools.chain(*found)) == list(range(n))
        assert max(map(len, found)) - min(map(len, found)) <= 1
        assert [len(one) for one in ranks(n, world, sharding=sharding, uneven="exact", batch_size=size)] == [
            *map(len, found)
        ]


def in_order(n: int, seed: int, epoch: int, order: str) -> list[int]:
    whole = gofast.Sampler(range(n), 1, 0, seed=seed, order=order)  # type: ignore[arg-type]
    whole.set_epoch(epoch)
    return list(whole)


@pytest.mark.parametrize("order", ["torch", "keyed"])
@pytest.mark.parametrize("sharding", ["strided", "contiguous"])
@pytest.mark.parametrize("uneven", ["pad", "drop", "exact"])
def test_global_batches_are_the_same_for_any_number_of_ranks(order: str, sharding: str, uneven: str) -> None:
    for n, every in ((96, 24), (101, 24), (50, 12)):
        want = in_order(n, 4, 2, order)
        for world in (1, 2, 3, 4, 6, 12):
            size = every // world
            samplers = ranks(n, world, seed=4, order=order, sharding=sharding, uneven=uneven, batch_size=size)
            lists = []
            for one in samplers:
                one.set_epoch(2)
                lists.append(list(one))
            for step in range(n // every):
                parts = [part[step * size : (step + 1) * size] for part in lists]
                here = want[step * every : (step + 1) * every]
                if sharding == "contiguous":
                    assert [*itertools.chain(*parts)] == here
                else:
                    assert [*itertools.chain(*zip(*parts, strict=True))] == here
            tail = sorted(itertools.chain(*(part[n // every * size :] for part in lists)))
            rest = want[n // every * every :]
            if uneven == "exact":
                assert tail == sorted(rest)
            elif uneven == "drop":
                assert len(tail) == len(rest) // world * world and set(tail) <= set(rest)
            else:
                assert tail == sorted(rest + want[: -len(rest) % world])


# ------------------------------------------------------------------ keyed orders


def test_a_keyed_order_is_a_permutation() -> None:
    for n in [*range(1, 300), 65_535, 65_536, 65_537, 131_072, 200_003]:
        order = Permutation(n, 1, 2, 0).at(np.arange(n))
        assert np.array_equal(np.sort(order), np.arange(n))


@pytest.mark.parametrize("n", [10**9, 2**40 + 1])
def test_a_part_of_a_large_one_has_no_number_twice(n: int) -> None:
    order = Permutation(n, 1, 2, 0)
    found = order.at(np.arange(n // 2, n // 2 + 200_000))
    assert len(np.unique(found)) == len(found) and found.min() >= 0 and found.max() < n
    some = np.array([n - 1, 0, n // 2 + 5])
    assert order.at(some.copy()).tolist() == [int(order.at(np.array([one]))[0]) for one in some]
    assert order.at(np.array([n // 2 + 5]))[0] == found[5]


@pytest.mark.parametrize("n", [5, 37, 70_000])
def test_every_number_stands_anywhere_alike_often(n: int) -> None:
    """chi-square of the numbers at a few places, and of the differences of neighbours, over many keys."""
    keys = 20_000 if n < 100 else 3_000
    places = [0, 1, n // 2, n - 1]
    found = np.array([Permutation(n, 9, key, 0).at(np.array(places)) for key in range(keys)])
    cases = [*((column, n) for column in found.T), ((found[:, 1] - found[:, 0]) % n - 1, n - 1)]
    for values, kinds in cases:
        bins = min(kinds, 50)
        counts = np.bincount(values * bins // kinds, minlength=bins)
        want = np.diff(-(-np.arange(bins + 1) * kinds // bins)) / kinds * keys
        chi, freedom = float(((counts - want) ** 2 / want).sum()), bins - 1
        assert abs(chi - freedom) < 5 * math.sqrt(2 * freedom), (n, chi, freedom)


def test_seeds_and_epochs_give_other_orders() -> None:
    found = {tuple(in_order(200, seed, epoch, "keyed")) for seed in (0, 1, -1, 1 << 50) for epoch in range(3)}
    assert len(found) == 12


def test_a_billion_samples_begin_at_once() -> None:
    def begin(seed: int) -> float:
        began = time.perf_counter()
        next(iter(gofast.Sampler(range(10**9), 8, 3, order="keyed", seed=seed)))
        return time.perf_counter() - began

    assert min(begin(seed) for seed in range(20)) < 0.001
    order = Permutation(10**9, 0, 0, 0)

    def batch(step: int) -> float:
        places = np.arange(step * 512, (step + 1) * 512)
        began = time.perf_counter()
        order.at(places)
        return time.perf_counter() - began

    assert min(map(batch, range(50))) < 60e-6


class Billion(torch.utils.data.Dataset[torch.Tensor]):
    """Its samples are their numbers."""

    def __len__(self) -> int:
        return 10**9

    def __getitem__(self, index: int) -> torch.Tensor:
        return torch.tensor(index)


@pytest.mark.parametrize("kind", LOADERS)
def test_a_loader_pulls_a_billion_batch_by_batch(kind: Loader) -> None:
    sampler = gofast.Sampler(Billion(), 2, 1, order="keyed")
    want = list(itertools.islice(sampler, 64))
    found = itertools.islice(kind(Billion(), 16, sampler=sampler), 4)
    assert [one for batch in found for one in batch.tolist()] == want


def test_the_engine_pulls_a_billion_batch_by_batch() -> None:
    row = torch.zeros(1).expand(10**9)  # one number in memory
    for array in (row, np.broadcast_to(np.float32(3), (10**9,))):  # only one may be written to
        loader = gofast.DataLoader(
            gofast.ArrayDataset(array), 512, sampler=gofast.Sampler(range(10**9), order="keyed")
        )
        began = time.perf_counter()
        assert len(next(iter(loader))[0]) == 512
        assert time.perf_counter() - began < 2  # a permutation takes minutes


# ------------------------------------------------------------------ loaders

OPTIONS: list[dict[str, Any]] = [
    {},
    {"order": "keyed"},
    {"shuffle": False},
    {"sharding": "contiguous", "batch_size": 4},
    {"order": "keyed", "uneven": "exact"},
    {"uneven": "drop"},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("writable", [True, False])
def test_loaders_give_what_it_gives(options: dict[str, Any], workers: int, writable: bool) -> None:
    data = numbers(45, writable)
    for drop_last in (False, True):
        sampler = gofast.Sampler(data, 2, 1, **options)
        theirs = DataLoader(data, 4, sampler=sampler, drop_last=drop_last)
        ours = gofast.DataLoader(data, 4, sampler=sampler, drop_last=drop_last, num_workers=workers)
        for epoch in range(3):
            ours.set_epoch(epoch)
            want = batches(theirs)
            torch.manual_seed(epoch)
            assert batches(ours) == want
            state = torch.get_rng_state()
            torch.manual_seed(epoch)
            list(DataLoader(data, 4, sampler=sampler))
            assert torch.equal(state, torch.get_rng_state())
            assert len(ours) == len(theirs) == len(want)


def test_a_loader_with_another_batch_size() -> None:
    sampler = gofast.Sampler(range(9), 1, 0, sharding="contiguous", batch_size=4)
    loader = gofast.DataLoader(numbers(9), 3, sampler=sampler)
    with pytest.raises(OptionError, match="batch_size=3, and its Sampler batch_size=4"):
        next(iter(loader))


def test_a_change_in_the_middle() -> None:
    data = numbers(40)
    sampler = gofast.Sampler(data, 2, 0, order="keyed")
    want = list(sampler)
    loader = gofast.DataLoader(data, 4, sampler=sampler)
    iterator = iter(loader)
    found = next(iterator)[0].tolist()
    loader.batch_sampler.batch_size = 3  # type: ignore[union-attr]
    assert found + [one for batch in batches(iterator) for one in batch] == want
    del iterator
    with pytest.raises(UnsupportedError, match="batch size was changed"):
        sampler.state_dict()


def test_a_subclass_of_yours_is_asked() -> None:
    class Backwards(gofast.Sampler):
        def __iter__(self) -> Any:
            return iter(list(super().__iter__())[::-1])

    data = numbers(12)
    sampler = Backwards(data, 2, 0, shuffle=False)
    assert batches(gofast.DataLoader(data, 3, sampler=sampler)) == [[10, 8, 6], [4, 2, 0]]


# ------------------------------------------------------------------ going on


@pytest.mark.parametrize("options", [*OPTIONS, {"weights": [3, 1]}], ids=str)
@pytest.mark.parametrize(("before", "after"), [(2, 2), (1, 2), (2, 1), (4, 2), (2, 3), (3, 4)])
def test_another_number_of_ranks_goes_on(options: dict[str, Any], before: int, after: int) -> None:
    """Nothing is lost and nothing comes twice, in torch's iteration and in the loaders' batches."""
    data = ConcatDataset([numbers(70), numbers(26)]) if "weights" in options else numbers(96)

    def make(world: int, rank: int) -> gofast.Sampler:
        return gofast.Sampler(data, world, rank, seed=3, **{"uneven": "exact", **options})

    def once(world: int, sampler: Callable[[int, int], gofast.Sampler]) -> Counter[int]:
        return Counter(itertools.chain(*(sampler(world, rank) for rank in range(world))))

    alone = make(1, 0)
    alone.set_epoch(2)
    want = list(alone)
    states, had = [], []
    for rank in range(before):
        sampler = make(before, rank)
        sampler.set_epoch(2)
        had += list(itertools.islice(iter(sampler), 8))
        states.append(sampler.state_dict())
    assert all(state == states[0] for state in states)
    assert states[0]["position"] == 8 * before and sorted(had) == sorted(want[: 8 * before])

    def loaded(world: int, rank: int) -> gofast.Sampler:
        sampler = make(world, rank)
        sampler.load_state_dict(pickle.loads(pickle.dumps(states[-1])))
        assert sampler.state_dict() == states[0]
        return sampler

    found, rest = once(after, loaded), want[8 * before :]
    if options.get("uneven") == "drop":
        assert sum(found.values()) == len(rest) // after * after and found <= Counter(rest)
    else:
        assert found == Counter(rest)


@pytest.mark.parametrize("options", [*OPTIONS, {"weights": [3, 1]}], ids=str)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(("before", "after"), [(1, 1), (2, 2), (2, 1), (4, 2), (2, 3)])
def test_loaders_go_on(options: dict[str, Any], workers: int, before: int, after: int) -> None:
    """Resumed runs are resumed too. By the loader's state, and by the sampler's alone."""
    n, size = 80, 4
    data = ConcatDataset([numbers(60), numbers(20)]) if "weights" in options else numbers(n)

    def make(world: int, rank: int) -> gofast.DataLoader[Any]:
        sampler = gofast.Sampler(data, world, rank, seed=3, **options)
        loader = gofast.DataLoader(data, size, sampler=sampler, num_workers=workers)
        loader.set_epoch(1)
        return loader

    def rest(world: int, state: Any, alone: bool) -> list[list[list[int]]]:
        loaders = [make(world, rank) for rank in range(world)]
        for loader in loaders:
            (loader.sampler if alone else loader).load_state_dict(copy.deepcopy(state))
        return [batches(loader) for loader in loaders]

    for stop in (1, 3, 10 if before == 2 else 5):
        loaders = [make(before, rank) for rank in range(before)]
        iterators = [iter(loader) for loader in loaders]
        for _ in range(stop):
            for iterator in iterators:
                next(iterator)
        state, own = loaders[0].state_dict(), loaders[-1].sampler.state_dict()
        assert own == state["epoch"]["order"]["sampler"] and own["position"] == min(stop * size * before, n)
        found = rest(after, state, False)
        assert found == rest(after, own, True)
        if before == after:
            assert found == [batches(iterator) for iterator in iterators]
        loaders = [make(after, rank) for rank in range(after)]
        for loader in loaders:
            loader.load_state_dict(state)
        iterators = [iter(loader) for loader in loaders]
        if min(map(len, found)):
            assert [next(iterator)[0].tolist() for iterator in iterators] == [one[0] for one in found]
            again = rest(after, loaders[0].state_dict(), False)
            assert again == [one[1:] for one in found]
            assert again == rest(after, loaders[0].sampler.state_dict(), True)


@pytest.mark.parametrize("kind", LOADERS)
def test_three_places_and_the_next_epoch(kind: Loader) -> None:
    data = numbers(20)
    sampler = gofast.Sampler(data, 2, 1, order="keyed")
    loader = kind(data, 5, sampler=sampler)
    first = sampler.state_dict()
    assert (first["epoch"], first["position"]) == (0, 0)
    whole = batches(loader)
    last = sampler.state_dict()
    assert last["position"] == 20
    sampler.set_epoch(0)
    assert batches(loader) == whole
    sampler.set_epoch(1)
    assert (sampler.state_dict()["epoch"], sampler.state_dict()["position"]) == (1, 0)
    other = batches(loader)
    assert other != whole
    again = gofast.Sampler(data, 2, 1, order="keyed")
    loader = kind(data, 5, sampler=again)
    again.load_state_dict(first)
    assert batches(loader) == whole
    again.load_state_dict(last)
    again.set_epoch(0)
    assert batches(loader) == [] and batches(loader) == whole
    again.load_state_dict({"epoch": 0, "position": 10})
    again.set_epoch(1)
    assert batches(loader) == other
    again.load_state_dict({"epoch": 1, "position": 10})
    gofast.explain(loader)  # has no effect
    assert batches(loader) == other[1:] and batches(loader) == other
    again.load_state_dict({})
    with pytest.raises(UnsupportedError, match="seed=3"):
        again.load_state_dict({**first, "seed": 3})


def test_an_iterator_that_was_dropped_has_left_its_place() -> None:
    data = numbers(20)
    sampler = gofast.Sampler(data, 1, 0)
    for _ in zip(gofast.DataLoader(data, 5, sampler=sampler), range(2), strict=False):
        pass
    assert sampler.state_dict()["position"] in (10, 15)
    copied = pickle.loads(pickle.dumps(sampler))
    assert list(copied) == list(sampler) and repr(copied) == repr(sampler)


def test_torchs_workers_ask_ahead() -> None:
    data = numbers(40)
    sampler = gofast.Sampler(data, 1, 0)
    iterator = iter(DataLoader(data, 4, sampler=sampler, num_workers=1))
    next(iterator)
    assert sampler.state_dict()["position"] == 12


# ------------------------------------------------------------------ mixes


def mixed(sizes: list[int], weights: list[float], **options: Any) -> gofast.Sampler:
    return gofast.Sampler(ConcatDataset([range(n) for n in sizes]), weights=weights, **options)  # type: ignore[list-item]


def epochs(sampler: gofast.Sampler, count: int, first: int = 0) -> list[int]:
    found = []
    for epoch in range(first, first + count):
        sampler.set_epoch(epoch)
        found += list(sampler)
    return found


def by_part(found: list[int], sizes: list[int]) -> list[list[int]]:
    ends = np.cumsum(sizes)
    return [[one for one in found if end - size <= one < end] for size, end in zip(sizes, ends, strict=True)]


@pytest.mark.parametrize("shuffle", [True, False])
def test_parts_come_by_weight_and_none_twice_in_a_pass(shuffle: bool) -> None:
    sizes, weights = [1000, 300, 77, 0], [0.7, 0.2, 0.1, 0.0]
    found = epochs(mixed(sizes, weights, shuffle=shuffle, seed=5), 6)
    assert len(found) == 6 * sum(sizes)
    for size, weight, part in zip(sizes, weights, by_part(found, sizes), strict=True):
        assert abs(len(part) - weight * len(found)) <= 1024 * weight + 1
        passes = [part[at : at + size] for at in range(0, len(part), size)] if size else []
        assert all(len(set(one)) == len(one) for one in passes)
        for one, other in itertools.pairwise(passes[:-1]):
            assert sorted(one) == sorted(other) and (one == other) is not shuffle
    starts = Counter(int(np.searchsorted(np.cumsum(sizes), one, side="right")) for one in found[:512])
    assert len(starts) == 3  # they are mixed


def test_each_block_has_its_share() -> None:
    sizes = [500, 500]
    found = epochs(mixed(sizes, [1, 3]), 9)
    counts = [len(by_part(found[at : at + 1024], sizes)[0]) for at in range(0, 8192, 1024)]
    assert counts == [256] * 8
    rare = epochs(mixed([10, 50_000], [1, 20_000]), 2)
    assert len(by_part(rare, [10, 50_000])[0]) in range(3, 8)


def test_other_weights_hold_from_where_it_stood() -> None:
    sizes = [400, 150, 60]
    sampler = mixed(sizes, [1, 1, 1], seed=2)
    had = epochs(sampler, 2)
    sampler.set_epoch(2)
    had += list(itertools.islice(sampler, 333))
    state = sampler.state_dict()
    other = mixed(sizes, [8, 1, 1], seed=2, num_replicas=1, rank=0)
    other.load_state_dict(state)
    now = list(other)
    assert len(now) == sum(sizes) - 333
    state = other.state_dict()
    now += epochs(other, 3, 3)
    third = mixed(sizes, [8, 1, 1], seed=2)
    third.load_state_dict({**state, "position": 500})
    assert list(third) == now[500 - 333 : sum(sizes) - 333]
    assert len(by_part(now, sizes)[0]) == pytest.approx(0.8 * len(now), abs=820)
    for size, part in zip(sizes, by_part(had + now, sizes), strict=True):
        for at in range(0, len(part), size):
            assert len(set(part[at : at + size])) == len(part[at : at + size])
    with pytest.raises(OptionError, match="lies before"):
        epochs(other, 1)


def test_a_loader_goes_on_with_other_weights_between_epochs() -> None:
    sizes = [40, 20]
    data = ConcatDataset([gofast.ArrayDataset(np.arange(40)), gofast.ArrayDataset(np.arange(40, 60))])

    def make(weights: list[float]) -> gofast.DataLoader[Any]:
        return gofast.DataLoader(data, 6, sampler=gofast.Sampler(data, weights=weights))

    loader, had = make([1, 1]), list[int]()
    for epoch in range(2):
        loader.set_epoch(epoch)
        had += [one for batch in loader for one in batch[0].tolist()]
    assert len(had) == 120
    other = make([1, 9])
    other.load_state_dict(loader.state_dict())
    for epoch in range(2, 6):
        other.set_epoch(epoch)
        had += [one for batch in other for one in batch[0].tolist()]
        third = make([1, 9])
        third.load_state_dict(other.state_dict())
        other = third
    for size, part in zip(sizes, by_part(had, sizes), strict=True):
        for at in range(0, len(part), size):
            assert len(set(part[at : at + size])) == len(part[at : at + size])


def test_random_mixes() -> None:
    draw = random.Random(7)
    for _ in range(30):
        sizes = [draw.randint(1, 300) for _ in range(draw.randint(1, 5))]
        weights = [draw.random() + 0.01 for _ in sizes]
        world, seed = draw.randint(1, 4), draw.randint(0, 99)
        whole = epochs(mixed(sizes, weights, seed=seed), 3)
        parts = [
            epochs(mixed(sizes, weights, seed=seed, num_replicas=world, rank=rank, uneven="exact"), 3)
            for rank in range(world)
        ]
        assert Counter(itertools.chain(*parts)) == Counter(whole)


# ------------------------------------------------------------------ who is which rank


def test_nobody_is_divided_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE"):
        monkeypatch.delenv(name, raising=False)
    assert (gofast.Sampler(range(4)).num_replicas, gofast.Sampler(range(4)).rank) == (1, 0)
    with pytest.raises(OptionError, match="neither a process group nor RANK"):
        gofast.Sampler(range(4), rank="auto")
    monkeypatch.setenv("RANK", "2")
    monkeypatch.setenv("WORLD_SIZE", "3")
    for options in ({"rank": "auto"}, {"num_replicas": "auto"}, {"rank": "auto", "num_replicas": "auto"}):
        found = gofast.Sampler(range(4), **options)  # type: ignore[arg-type]
        assert (found.num_replicas, found.rank) == (3, 2)
    with pytest.raises(OptionError, match='3 ranks here: give rank="auto"'):
        gofast.Sampler(range(4))
    assert gofast.Sampler(range(4), 1, 0).num_replicas == 1


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"num_replicas": 2}, "give both"),
    ({"rank": 0}, "give both"),
    ({"num_replicas": 2, "rank": "auto"}, "give both"),
    ({"num_replicas": 2, "rank": 2}, "give 0 to 1"),
    ({"num_replicas": 0, "rank": 0}, "num_replicas=0"),
    ({"uneven": "some"}, "'pad', 'drop', 'exact'"),
    ({"drop_last": True, "uneven": "pad"}, "drop_last=True"),
    ({"order": "random"}, "order='random'"),
    ({"sharding": "batches"}, "sharding='batches'"),
    ({"sharding": "contiguous"}, "give batch_size="),
    ({"weights": [1.0]}, "ConcatDataset"),
    ({"seed": 0.5}, "seed=0.5"),
    ({"shuffle": "no"}, "shuffle='no'"),
]


@pytest.mark.parametrize(("options", "said"), WRONG, ids=str)
def test_what_makes_no_sense(options: dict[str, Any], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        gofast.Sampler(range(4), **options)


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ([1], "for each"),
        ([0, 0], "not all"),
        ([1, -1], "from 0 on"),
        ([1, "a"], "from 0 on"),
        ([1, 1e-9], "millionth"),
    ],
)
def test_weights_that_make_no_sense(weights: Any, said: str) -> None:
    with pytest.raises(OptionError, match=said):
        list(mixed([5, 5], weights))


def test_weights_and_an_empty_part_or_torchs_order() -> None:
    with pytest.raises(OptionError, match="empty part"):
        mixed([5, 0], [1, 1])
    with pytest.raises(OptionError, match="torch has no such order"):
        mixed([5, 5], [1, 1], order="torch")


def test_a_dataset_that_has_grown() -> None:
    data = [1, 2, 3]
    sampler = gofast.Sampler(data, 1, 0)
    data.append(4)
    with pytest.raises(UnsupportedError, match="has 4 now"):
        list(sampler)


class Mesh:
    """As much of a DeviceMesh as is asked: no test of one process can have a larger one."""

    def __init__(self, shape: tuple[int, ...], where: list[int] | None) -> None:
        self.mesh, self.where = torch.zeros(shape), where

    def get_coordinate(self) -> list[int] | None:
        return self.where


def test_ranks_of_a_mesh() -> None:
    one = gofast.Sampler(range(24), rank=Mesh((2, 3), [1, 2]))  # type: ignore[arg-type]
    assert (one.num_replicas, one.rank) == (6, 5)
    with pytest.raises(OptionError, match="not in the DeviceMesh"):
        gofast.Sampler(range(24), rank=Mesh((2, 3), None))  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="DeviceMesh has 6 ranks"):
        gofast.Sampler(range(24), 4, Mesh((2, 3), [1, 2]))  # type: ignore[arg-type]


# ------------------------------------------------------------------ real ranks

RANK = """
import json, sys
import torch, torchvision
from torch import distributed
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from torchvision import transforms as T
import gofast

def train(folder, loader, sampler):
    torch.manual_seed(3)
    cut = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
    data = folder(root, cut)
    order = sampler(data)
    batches = loader(data, 5, sampler=order, num_workers=workers)
    model = DistributedDataParallel(torch.nn.Linear(3 * 16 * 16, 3))
    steps = torch.optim.SGD(model.parameters(), 0.1)
    said = []
    for epoch in range(2):
        order.set_epoch(epoch)
        for pictures, labels in batches:
            loss = torch.nn.functional.cross_entropy(model(pictures.flatten(1)), labels)
            steps.zero_grad()
            loss.backward()
            steps.step()
            said.append([float(pictures.double().sum()), labels.tolist(), float(loss)])
    return [said, [float(one.sum()) for one in model.parameters()]]

root = sys.argv[1]
distributed.init_process_group("gloo")
group = distributed.get_world_size(), distributed.get_rank()
same, samples = [], []
for workers in (0, 2):
    theirs = train(torchvision.datasets.ImageFolder, DataLoader, DistributedSampler)
    ours = train(gofast.ImageFolder, gofast.DataLoader, lambda data: gofast.Sampler(data, rank="auto"))
    same.append(ours == theirs)
    samples.append(sum(len(step[1]) for step in ours[0]))
mesh = distributed.device_mesh.init_device_mesh("cpu", (2, 1), mesh_dim_names=("dp", "tp"))
one = gofast.Sampler(range(10), rank=mesh["dp"])
shared = gofast.Sampler(range(10), rank=mesh["tp"])
meshes = [one.num_replicas, one.rank, shared.num_replicas, shared.rank]
print(json.dumps([group, same, meshes, samples]))
distributed.destroy_process_group()
"""


def test_two_ranks_train_as_with_torchs(tmp_path: Path) -> None:
    root = make_folder(tmp_path / "pictures", 23)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    there = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": "2", "LOCAL_WORLD_SIZE": "2"}

    def run(rank: int) -> Any:
        env = {**os.environ, **there, "RANK": str(rank), "LOCAL_RANK": str(rank)}
        return json.loads(fresh.run(["-c", RANK, root], env=env, check=True).stdout.splitlines()[-1])

    with ThreadPoolExecutor(2) as pool:
        said = [*pool.map(run, range(2))]
    assert said == [[[2, rank], [True] * 2, [2, rank, 1, 0], [24] * 2] for rank in range(2)]
