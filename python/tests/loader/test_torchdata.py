"""States of torchdata's StatefulDataLoader, from the package where it is there: make test-integrations."""

from __future__ import annotations

import importlib
import itertools
import os
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import Dataset, DistributedSampler, IterableDataset, RandomSampler, Sampler

import gofast
from gofast.errors import UnsupportedError
from test_resume import Asked, through_a_file

pytestmark = pytest.mark.filterwarnings("ignore::gofast.errors.GofastWarning")
N = 50
NUMBERS = np.arange(N)


class Python(Dataset[Any]):
    """Runs on torch's own machinery."""

    def __len__(self) -> int:
        return N

    def __getitem__(self, index: int) -> Any:
        return float(index), index


class Telling(Asked, Python):
    """Has a state of its own."""


class Stream(IterableDataset[Any]):
    """One that tells nothing."""

    def __iter__(self) -> Iterator[Any]:
        info = torch.utils.data.get_worker_info()
        yield from range(0 if info is None else info.id, N, 1 if info is None else info.num_workers)


class StreamThatTells(Stream):
    at = 0

    def __iter__(self) -> Iterator[Any]:
        while self.at < N:
            self.at += 1
            yield self.at - 1

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at = state["at"]


class Backwards(Sampler[int]):
    def __init__(self, source: Any = None) -> None:
        pass

    def __len__(self) -> int:
        return N

    def __iter__(self) -> Iterator[int]:
        return iter(range(N - 1, -1, -1))


class Shuffled(Backwards):
    def __iter__(self) -> Iterator[int]:
        yield from torch.randperm(N).tolist()


def rows() -> Any:
    return gofast.ArrayDataset(NUMBERS.astype("f4")[:, None], NUMBERS)


def labels(batches: Any) -> list[Any]:
    return [(batch[1] if isinstance(batch, list) else batch).tolist() for batch in batches]


def stateful() -> Any:
    if not os.environ.get("GOFAST_INTEGRATIONS"):
        pytest.skip("make test-integrations")
    return importlib.import_module("torchdata.stateful_dataloader")


ORDERS: dict[str, Callable[[], dict[str, Any]]] = {
    "sequential": lambda: {},
    "shuffle": lambda: {"shuffle": True},
    "own generator": lambda: {"shuffle": True, "generator": torch.Generator().manual_seed(5)},
    "distributed": lambda: {"sampler": DistributedSampler(range(N), 2, 1, seed=4)},  # type: ignore[arg-type]
    "of torchdata": lambda: {"sampler": stateful().sampler.StatefulDistributedSampler(range(N), 2, 1)},
    "unknown": lambda: {"sampler": Backwards()},
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("every", [1, 4])
@pytest.mark.parametrize(("before", "after"), [(0, 0), (2, 2), (0, 2), (2, 0), (2, 1)])
@pytest.mark.parametrize("name", ORDERS)
@pytest.mark.parametrize("make", [rows, Python])
def test_it_goes_on_where_a_stateful_loader_stood(
    make: Callable[[], Any], name: str, before: int, after: int, every: int
) -> None:
    for stop in (0, 1, 5, 99):
        torch.manual_seed(1)
        loader = stateful().StatefulDataLoader(
            Python(), 4, num_workers=before, snapshot_every_n_steps=every, **ORDERS[name]()
        )
        iterator = iter(loader)
        [*itertools.islice(iterator, stop)]
        state = through_a_file(loader.state_dict())
        want = labels(iterator)
        torch.manual_seed(9)
        again = gofast.DataLoader(make(), 4, num_workers=after, **ORDERS[name]())
        again.load_state_dict(state)
        if not want and "shuffle" not in ORDERS[name]():
            continue
        got = labels(again)
        if want:
            assert got == want
        else:  # the next epoch: torchdata's own permutation of it
            assert got == labels(loader)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("make", [Telling, Stream, StreamThatTells])
def test_datasets_with_and_without_a_state(make: Callable[[], Any]) -> None:
    loader = stateful().StatefulDataLoader(make(), 4)
    iterator = iter(loader)
    [*itertools.islice(iterator, 5)]
    state = through_a_file(loader.state_dict())
    again = gofast.DataLoader(make(), 4)
    again.load_state_dict(state)
    assert [str(batch) for batch in again] == [str(batch) for batch in iterator]
    for workers in (1, 2):
        loader = stateful().StatefulDataLoader(make(), 4, num_workers=2)
        iterator = iter(loader)
        [*itertools.islice(iterator, 5)]
        again = gofast.DataLoader(make(), 4, num_workers=workers)
        state = through_a_file(loader.state_dict())
        if make is not Stream:
            with pytest.raises(UnsupportedError, match="in worker processes"):
                again.load_state_dict(state)
        elif workers == 2:
            again.load_state_dict(state)
            assert labels(again) == labels(iterator)
        else:
            again.load_state_dict(state)
            with pytest.raises(UnsupportedError, match="with 2 workers"):
                iter(again)


def single(samples: int, generator: torch.Generator | None = None, **more: Any) -> dict[str, Any]:
    """A state as torchdata 0.11 writes it, without workers and behind batches of 4."""
    known: dict[str, Any] = {"samples_yielded": samples}
    if generator is not None:
        known["sampler_iter_state"] = {"yielded": samples, "generator": generator.get_state()}
    return {
        "_index_sampler_state": None,
        "_sampler_iter_state": known,
        "_sampler_iter_yielded": -(-samples // 4),
        "_num_yielded": -(-samples // 4),
        "_IterableDataset_len_called": None,
        "_shared_seed": None,
        "fetcher_state": None,
        "dataset_state": None,
        "_iterator_finished": False,
        **more,
    }


def several(state: dict[str, Any], since: int = 0) -> dict[str, Any]:
    """The same with two workers, and so many batches behind the snapshot."""
    names = ("_sampler_iter_state", "_index_sampler_state", "_sampler_iter_yielded", "_shared_seed")
    main = {**{name: state[name] for name in names}, "_num_workers": 2, "_base_seed": 3}
    snapshot = {
        "_snapshot_step": state["_num_yielded"],
        "_last_yielded_worker_id": 0,
        "_main_snapshot": main,
        "_worker_snapshots": {"worker_0": {"worker_id": 0, "dataset_state": None, "fetcher_state": None}},
    }
    return {"_snapshot": snapshot, "_steps_since_snapshot": since, "_iterator_finished": False}


def test_both_forms() -> None:
    generator = torch.Generator().manual_seed(8)
    state, whole = single(12, generator), torch.randperm(N, generator=generator).tolist()
    for told, stop in ((state, 12), (several(state), 12), (several(state, 3), 24), (several(state, 99), N)):
        for make in (rows, Python):
            loader = gofast.DataLoader(make(), 4, shuffle=True)
            loader.load_state_dict(told)
            got = labels(loader)
            assert [*itertools.chain(*got)] == whole[stop:]
    loader = gofast.DataLoader(rows(), 4, shuffle=True)
    loader.load_state_dict(state)
    iterator = iter(loader)
    next(iterator)
    own = through_a_file(loader.state_dict())  # a run that was resumed is stopped, and resumed
    again = gofast.DataLoader(rows(), 4, shuffle=True)
    again.load_state_dict(own)
    assert [*itertools.chain(*labels(again))] == whole[16:] == [*itertools.chain(*labels(iterator))]
    ended = gofast.DataLoader(rows(), 4, shuffle=True)
    ended.load_state_dict(single(N, torch.Generator().manual_seed(8), _iterator_finished=True))
    assert [*itertools.chain(*labels(ended))] == torch.randperm(N, generator=generator).tolist()


def test_batches_of_another_size_and_ranks() -> None:
    def of(world: int, size: int) -> Any:
        sampler = DistributedSampler(range(N), world, 0, shuffle=False)  # type: ignore[arg-type]
        return gofast.DataLoader(rows(), size, sampler=sampler)

    loader = of(2, 6)
    loader.load_state_dict(single(12))
    assert labels(loader)[0] == [*range(24, 36, 2)]
    loader = of(2, 5)
    loader.load_state_dict(single(12))
    with pytest.raises(UnsupportedError, match="24 samples came before"):
        next(iter(loader))


def test_what_cannot_go_on_exactly_is_refused() -> None:
    generator = torch.Generator().manual_seed(8)
    for order, state, why in (
        ({"shuffle": True}, single(12), "no generator"),
        ({}, single(12, generator), "a generator"),
        ({"sampler": RandomSampler(range(N))}, single(12), "no generator"),
        ({"sampler": Shuffled()}, single(12), "does not say from what"),
        ({"sampler": Backwards()}, single(12, generator), "has none"),
    ):
        with pytest.raises(UnsupportedError, match=why):
            gofast.DataLoader(rows(), 4, **order).load_state_dict(state)
    loader = gofast.DataLoader(rows(), 4, sampler=Backwards())
    loader.load_state_dict(several(single(12), 1))
    assert labels(loader)[0] == [33, 32, 31, 30]
