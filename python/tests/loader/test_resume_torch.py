"""DataLoader.state_dict on torch's own machinery: datasets and iterable datasets in Python."""

from __future__ import annotations

import random
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import (
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    get_worker_info,
)

import gofast
from gofast._core.generators import Generators
from gofast.errors import GofastWarning, UnsupportedError
from same import difference
from test_resume import Asked, Own, some, through_a_file

N = 48
pytestmark = pytest.mark.filterwarnings("ignore::gofast.errors.GofastWarning")


class Drawing(Dataset[Any]):
    """Draws from all three generators."""

    def __len__(self) -> int:
        return N

    def __getitem__(self, index: int) -> Any:
        if index == 13:
            raise KeyError("unlucky")
        return torch.rand(2) + random.random() + float(np.random.rand()), index


class Telling(Asked, Drawing):
    """Has a state of its own."""


class Stream(IterableDataset[Any]):
    """Shuffles when it begins, and draws for each sample; each worker has a part."""

    def __init__(self) -> None:
        self.read = 0

    def __iter__(self) -> Iterator[Any]:
        info, numbers = get_worker_info(), list(range(N))
        random.shuffle(numbers)
        for number in sorted(numbers[:N]) if info is not None else numbers:
            if info is None or number % info.num_workers == info.id:
                self.read += 1
                yield number, torch.rand(())


class Places:
    """An iterator that tells its place."""

    def __init__(self, owner: StreamWithPlaces) -> None:
        self.owner, self.at = owner, 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> int:
        if self.at == N - 1:
            raise StopIteration
        self.at += 1
        self.owner.read += 1
        return self.at

    def state_dict(self) -> dict[str, Any]:
        return {"at": self.at}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.at = state["at"]


class StreamWithPlaces(Stream):
    def __iter__(self) -> Any:
        return Places(self)


def scramble(seed: int) -> None:
    torch.manual_seed(seed), random.seed(seed), np.random.seed(seed)


def rest_of(iterator: Any) -> list[Any]:
    """What comes, errors among them."""
    came = list[Any]()
    while True:
        try:
            batch = next(iterator)
        except StopIteration:
            return came
        except KeyError:
            batch = "unlucky"
        came.append([torch.as_tensor(value).clone() for value in batch] if isinstance(batch, list) else batch)


def goes_on(make: Callable[[], Any], again: Callable[[], Any] | None = None, labels: bool = False) -> None:
    """A loader that is stopped behind each batch goes on; `labels`: draws may differ."""
    scramble(1)
    whole = rest_of(iter(make()))
    for stop in {0, 1, 2, len(whole) // 2, len(whole) - 1, len(whole)}:
        scramble(1)
        loader = make()
        iterator = iter(loader)
        for _ in range(stop):
            try:
                next(iterator)
            except KeyError:
                continue
        before = Generators.now()
        state = through_a_file(loader.state_dict())
        assert before.same(Generators.now())
        expected = rest_of(iterator)
        then, after = Generators.now(), list[Any]()
        if not labels:
            after = rest_of(iter(loader))
        scramble(stop + 5)
        second = (again or make)()
        second.load_state_dict(state)
        got = rest_of(iter(second))
        if labels:
            assert [batch[1].tolist() for batch in got] == [batch[1].tolist() for batch in expected]
            continue
        assert difference(got, expected) == ""
        assert then.same(Generators.now())
        assert difference(rest_of(iter(second)), after) == ""


SAMPLERS: dict[str, Callable[[], dict[str, Any]]] = {
    "sequential": lambda: {},
    "shuffle": lambda: {"shuffle": True},
    "own generator": lambda: {"shuffle": True, "generator": torch.Generator().manual_seed(5)},
    "replacement": lambda: {"sampler": RandomSampler(range(N), True, 70, torch.Generator().manual_seed(5))},
    "subset": lambda: {"sampler": SubsetRandomSampler(range(3, N))},
    "weighted": lambda: {"sampler": WeightedRandomSampler([1.0 + i % 3 for i in range(N)], 20)},
    "distributed": lambda: {"sampler": DistributedSampler(range(N), 2, 1, seed=4)},  # type: ignore[arg-type]
    "unknown": lambda: {"sampler": Own()},
    "single samples": lambda: {"batch_size": None, "shuffle": True},
}


@pytest.mark.parametrize("name", SAMPLERS)
def test_a_dataset_in_python(name: str) -> None:
    goes_on(lambda: gofast.DataLoader(Drawing(), **{"batch_size": 5, **SAMPLERS[name]()}))


@pytest.mark.parametrize("name", SAMPLERS)
def test_lists_are_torchs(name: str) -> None:
    scramble(2)
    ours = rest_of(iter(gofast.DataLoader(Drawing(), **{"batch_size": 5, **SAMPLERS[name]()})))
    left = Generators.now()
    scramble(2)
    theirs = rest_of(iter(torch.utils.data.DataLoader(Drawing(), **{"batch_size": 5, **SAMPLERS[name]()})))
    assert difference(ours, theirs) == "" and left.same(Generators.now())


class Calm(Drawing):
    def __getitem__(self, index: int) -> Any:
        return torch.rand(2), index


@pytest.mark.parametrize(
    ("before", "after", "own"),
    [
        *[(2, 2, False), (0, 2, True), (2, 0, True), (2, 1, False)],
        *(
            pytest.param(*each, marks=pytest.mark.full)
            for each in [(2, 2, True), (0, 2, False), (2, 0, False), (2, 1, True)]
        ),
    ],
)
def test_processes_go_on_in_the_same_order(before: int, after: int, own: bool) -> None:
    def make(workers: int) -> Callable[[], Any]:
        order: dict[str, Any] = {"sampler": Own()} if own else {"shuffle": True}
        return lambda: gofast.DataLoader(Calm(), 5, num_workers=workers, **order)

    goes_on(make(before), make(after), labels=True)


def test_processes_draw_anew_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """They draw the same in each run that goes on from a state, and not what they drew at the beginning."""
    monkeypatch.setattr("gofast._core.warn._said", set[str]())

    def make() -> Any:
        return gofast.DataLoader(Calm(), 5, num_workers=2)

    scramble(1)
    loader = make()
    iterator = iter(loader)
    first = [images for images, _ in some(iterator, 3)]
    state, runs = loader.state_dict(), list[Any]()
    for seed in (1, 2):
        scramble(seed)
        again = make()
        again.load_state_dict(state)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            runs.append(some(iter(again), 3))
        told = [one for one in said if issubclass(one.category, GofastWarning) and "anew" in str(one.message)]
        assert len(told) == (seed == 1)
    assert difference(*runs) == ""
    assert not any(torch.equal(images, one) for (images, _), one in zip(runs[0], first, strict=True))


def test_persistent_processes() -> None:
    def make() -> Any:
        return gofast.DataLoader(Calm(), 5, shuffle=True, num_workers=1, persistent_workers=True)

    scramble(1)
    loader = make()
    for _ in range(2):
        rest_of(iter(loader))
    state = through_a_file(loader.state_dict())
    want = rest_of(iter(loader))
    scramble(3)
    again = make()
    again.load_state_dict(state)
    assert [batch[1].tolist() for batch in rest_of(iter(again))] == [batch[1].tolist() for batch in want]


@pytest.mark.parametrize("batches", [0, 2])
@pytest.mark.parametrize("kind", [Calm, Stream])
def test_persistent_processes_say_that_they_draw_anew(
    kind: type[Any], batches: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Behind their first epoch nobody knows their generators, also not those of an iterable dataset."""

    def told(epochs: int, persistent: bool) -> bool:
        monkeypatch.setattr("gofast._core.warn._said", set[str]())
        loader = gofast.DataLoader(kind(), 5, num_workers=1, persistent_workers=persistent)
        for _ in range(epochs):
            list(loader)
        iterator = iter(loader) if batches else None  # held: of one that is gone there is no state
        some(iterator, batches)
        again = gofast.DataLoader(kind(), 5, num_workers=1)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            again.load_state_dict(loader.state_dict())
            next(iter(again))
        return any("begins anew" in str(one.message) for one in said)

    assert told(1, True)
    assert told(1, False) == told(0, True) == (kind is Calm and batches > 0)


def test_a_dataset_with_a_state_of_its_own() -> None:
    goes_on(lambda: gofast.DataLoader(Telling(), 5, shuffle=True))
    loader = gofast.DataLoader(Telling(), 5, num_workers=1)
    iterator = iter(loader)
    next(iterator)
    with pytest.raises(UnsupportedError, match="copies of it in worker processes"):
        gofast.DataLoader(Telling(), 5).load_state_dict(loader.state_dict())


@pytest.mark.parametrize("size", [None, 5])
@pytest.mark.parametrize("kind", [Stream, StreamWithPlaces])
def test_an_iterable_dataset(kind: type[Stream], size: int | None) -> None:
    goes_on(lambda: gofast.DataLoader(kind(), size))


def test_an_iterable_dataset_with_places_is_not_read_again() -> None:
    loader = gofast.DataLoader(StreamWithPlaces(), 5)
    some(map(lambda batch: [batch], iterator := iter(loader)), 7)
    dataset = StreamWithPlaces()
    again = gofast.DataLoader(dataset, 5)
    again.load_state_dict(through_a_file(loader.state_dict()))
    assert next(iter(again)).tolist() == next(iterator).tolist() and dataset.read == 5


def test_an_iterable_dataset_in_processes() -> None:
    def make(workers: int = 2) -> Any:
        return gofast.DataLoader(Stream(), 5, num_workers=workers)

    goes_on(make)
    loader = make()
    iterator = iter(loader)
    next(iterator)
    for workers in (0, 1):
        again = make(workers)
        again.load_state_dict(loader.state_dict())
        with pytest.raises(UnsupportedError, match="with 2 workers"):
            iter(again)
    with pytest.raises(UnsupportedError, match="another kind of dataset"):
        gofast.DataLoader(Calm(), 5).load_state_dict(loader.state_dict())


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("own", [False, True])
def test_the_state_after_an_earlier_batch(workers: int, own: bool) -> None:
    def make() -> Any:
        order: dict[str, Any] = {"sampler": Own()} if own else {"shuffle": True}
        return gofast.DataLoader(Calm(), 5, num_workers=workers, **order)

    scramble(1)
    loader = make()
    held = [*loader]  # the iterator is gone
    iterator = iter(loader)
    with pytest.raises(UnsupportedError):
        loader.state_after(held[3])
    held = some(iterator, 1)[:0] + [next(iterator) for _ in range(6)]
    for number in (0, 2, 5):
        again = make()
        again.load_state_dict(through_a_file(loader.state_after(held[number])))
        want = [labels.tolist() for _, labels in held[number + 1 :]]
        assert [labels.tolist() for _, labels in again][: len(want)] == want


def test_states_of_another_kind() -> None:
    """A loader whose batches the engine makes goes on where torch's machinery stood, and the reverse."""
    numbers = np.arange(N)
    native = gofast.ArrayDataset(numbers.astype("f4")[:, None], numbers)
    for first, second in ((Calm(), native), (native, Calm())):
        scramble(1)
        loader = gofast.DataLoader(first, 5, shuffle=True)
        iterator = iter(loader)
        some(iterator, 3)
        state = through_a_file(loader.state_dict())
        again = gofast.DataLoader(second, 5, shuffle=True)
        again.load_state_dict(state)
        assert [batch[1].tolist() for batch in again] == [batch[1].tolist() for batch in iterator]
