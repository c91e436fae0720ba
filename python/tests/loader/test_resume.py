"""DataLoader.state_dict and load_state_dict, beside what test_epoch_state tries at every batch."""

from __future__ import annotations

import io
import itertools
import pickle
import random
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DistributedSampler, Sampler
from torchvision import transforms as T

import gofast
from gofast._core.generators import Generators, _python_words, packed, unpacked
from gofast._loader.recent_batches import MOST
from gofast.errors import GofastWarning, UnsupportedError
from same import difference
from through_a_file import through_a_file

N = PICTURES = 48  # of `folder`, too
DRAWN = T.Compose([T.RandomResizedCrop(12), T.ToTensor()])


def rows() -> Any:
    numbers = torch.arange(N)
    return gofast.ArrayDataset(numbers.float().reshape(N, 1).numpy(), numbers.numpy())


class Own(Sampler[int]):
    """Draws its epoch from torch's generator."""

    def __init__(self) -> None:
        pass

    def __len__(self) -> int:
        return N

    def __iter__(self) -> Iterator[int]:
        yield from torch.randperm(N).tolist()


class Asked:
    """What a dataset with a state of its own has: how often it was asked."""

    asked = 0

    def __getitem__(self, index: int) -> Any:
        self.asked += 1
        return self.asked, index

    def state_dict(self) -> dict[str, Any]:
        return {"asked": self.asked}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.asked = state["asked"]


def loader_of(dataset: Any, workers: int = 0, size: int = 4, **more: Any) -> gofast.DataLoader[Any]:
    if "sampler" not in more:
        more["shuffle"] = True
    return gofast.DataLoader(dataset, size, num_workers=workers, **more)


def some(iterator: Any, count: int) -> list[Any]:
    return [[value.clone() for value in next(iterator)] for _ in range(count)]


def copies(iterator: Any) -> list[Any]:
    return [[value.clone() for value in batch] for batch in iterator]


def labels(batches: list[Any]) -> list[int]:
    return [int(label) for _, some in batches for label in some]


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize(("before", "after"), [(0, 2), (2, 0), (2, 4), (4, 2), (3, 1)])
def test_the_order_is_that_of_any_number_of_workers(before: int, after: int, own: bool) -> None:
    def more() -> dict[str, Any]:
        return {"sampler": Own()} if own else {}

    for stop in (0, 1, 5, 11, 12):
        torch.manual_seed(1)
        loader = loader_of(rows(), before, **more())
        iterator = iter(loader)
        some(iterator, stop)
        state = through_a_file(loader.state_dict())
        want = copies(iterator)
        torch.manual_seed(2)
        again = loader_of(rows(), after, **more())
        again.load_state_dict(state)
        assert difference(copies(again), want) == ""


@pytest.mark.parametrize(("before", "after"), [(1, 2), (2, 1), (4, 2), (2, 2)])
def test_ranks_go_on_with_the_same_global_batches(before: int, after: int) -> None:
    def loaders(world: int) -> list[gofast.DataLoader[Any]]:
        samplers: list[Any] = [DistributedSampler(range(N), world, rank, seed=5) for rank in range(world)]  # type: ignore[arg-type]
        return [loader_of(rows(), 0, 12 // world, sampler=sampler) for sampler in samplers]

    def global_batches(iterators: list[Any]) -> list[list[int]]:
        return [sorted(labels(list(batches))) for batches in zip(*iterators, strict=True)]

    first = loaders(before)
    for loader in first:
        loader.set_epoch(3)
    iterators = [iter(loader) for loader in first]
    for iterator in iterators:
        some(iterator, 2)
    states = [loader.state_dict() for loader in first]
    assert all(state["epoch"]["order"]["position"] == 24 for state in states)
    want = global_batches(iterators)
    second = loaders(after)
    for loader in second:
        loader.load_state_dict(through_a_file(states[-1]))
    assert global_batches([iter(loader) for loader in second]) == want
    assert len(want) == 2
    odd = loader_of(rows(), 0, 5, sampler=DistributedSampler(range(N), 1, 0, seed=5))  # type: ignore[arg-type]
    odd.load_state_dict(states[0])
    with pytest.raises(UnsupportedError, match="24 samples came before"):
        next(iter(odd))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("persistent", [False, True])
def test_before_the_first_batch_and_after_the_last(folder: Path, workers: int, persistent: bool) -> None:
    def make() -> gofast.DataLoader[Any]:
        return loader_of(
            gofast.ImageFolder(folder, DRAWN), workers, 16, persistent_workers=persistent and workers > 0
        )

    torch.manual_seed(1)
    loader, epochs = make(), list[list[Any]]()
    states = [loader.state_dict()]
    for _ in range(2):
        epochs.append(copies(loader))
        states.append(loader.state_dict())
    for state, want in zip(states, epochs, strict=False):
        torch.manual_seed(9)
        again = make()
        again.load_state_dict(through_a_file(state))
        assert difference(copies(again), want) == ""
    assert states[0]["place"] == "before"


def test_what_was_loaded_is_told_again_and_may_be_loaded_again(folder: Path) -> None:
    def make() -> gofast.DataLoader[Any]:
        return loader_of(gofast.ImageFolder(folder, DRAWN), 2)

    torch.manual_seed(1)
    loader = make()
    iterator = iter(loader)
    some(iterator, 3)
    state = through_a_file(loader.state_dict())
    rest = copies(iterator)
    for stop in range(3):  # a run that was resumed is stopped and resumed
        torch.manual_seed(stop)
        loader = make()
        loader.load_state_dict({})
        loader.load_state_dict(state)
        assert pickle.dumps(loader.state_dict()) == pickle.dumps(state)
        loader = pickle.loads(pickle.dumps(loader))
        iterator = iter(loader)
        assert difference(some(iterator, 2), rest[2 * stop : 2 * stop + 2]) == ""
        state = through_a_file(loader.state_dict())


@pytest.mark.parametrize("workers", [0, 2])
def test_asking_has_no_effect(folder: Path, workers: int) -> None:
    def run(asks: bool) -> list[Any]:
        torch.manual_seed(1)
        loader, made = loader_of(gofast.ImageFolder(folder, DRAWN), workers), list[Any]()
        for _ in range(2):
            if asks:
                assert loader._iterator is None and loader.state_dict()["epoch"] is None
            for batch in loader:
                made.append([value.clone() for value in batch])
                if asks:
                    before = Generators.now()
                    loader.state_dict()
                    assert before.same(Generators.now())
        return [*made, torch.rand(3)]

    assert difference(run(True), run(False)) == ""


def test_another_number_of_workers_draws_anew_and_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gofast._core.warn._said", set[str]())
    for stateless in (False, True):
        options: Any = {"rng": "stateless", "seed": 3} if stateless else {}
        torch.manual_seed(1)
        loader = loader_of(gofast.ImageFolder(folder, DRAWN, **options), 2)
        iterator = iter(loader)
        some(iterator, 3)
        state = loader.state_dict()
        want = copies(iterator)
        again = loader_of(gofast.ImageFolder(folder, DRAWN, **options), 3)
        again.load_state_dict(state)
        if stateless:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                assert difference(copies(again), want) == ""
        else:
            with pytest.warns(GofastWarning, match="begins anew"):
                got = copies(again)
            assert labels(got) == labels(want)
        assert labels(want)


def test_states_of_something_else() -> None:
    loader = loader_of(rows())
    iterator = iter(loader)
    some(iterator, 1)
    state = loader.state_dict()
    for wrong in (
        {"_snapshot": 1},
        {**state, "gofast": 0},
        {**state, "samples": 7},
        {**state, "own": [1]},
        3,
    ):
        with pytest.raises(UnsupportedError):
            loader.load_state_dict(wrong)
    other = loader_of(rows(), sampler=Own())
    other.load_state_dict(state)
    with pytest.raises(UnsupportedError, match="another kind of sampler"):
        next(iter(other))


def test_it_is_small_and_soon(folder: Path) -> None:
    loader = loader_of(gofast.ImageFolder(folder, DRAWN), 8)
    iterator = iter(loader)
    some(iterator, 1)
    best = min(_seconds(loader) for _ in range(20))
    assert best < 0.05, best  # a quarter of a millisecond on a quiet machine
    assert len(pickle.dumps(loader.state_dict())) < 150_000


def _seconds(loader: Any) -> float:
    began = time.perf_counter()
    loader.state_dict()
    return time.perf_counter() - began


def test_generators_are_told_as_python_and_numpy_tell_them() -> None:
    assert _python_words() is not None  # CPython keeps them elsewhere now: states cost 15 us more
    before = Generators.now()
    try:
        for draw in (random.random, lambda: random.gauss(0, 1), np.random.rand, np.random.randn):
            for at in range(3):
                random.seed(at)
                np.random.seed(at)
                draw()
                told = Generators.plain_now()
                assert not difference(told, Generators.now().plain())
                assert Generators.of(told).same(Generators.now())
    finally:
        before.put()


def test_a_state_is_small() -> None:
    """Generators that only their seed decides take nothing, and torch's takes half of its bytes."""

    def size(workers: int) -> int:
        loader = loader_of(rows(), workers)
        iterator = iter(loader)
        some(iterator, 3)
        file = io.BytesIO()
        torch.save(loader.state_dict(), file)
        return len(file.getvalue())

    assert size(0) < 10_000
    assert size(8) < 10_000  # nobody has drawn in the workers


def test_torchs_states_are_packed_as_torch_lays_them_out() -> None:
    generator = torch.Generator().manual_seed(3)
    for draw in (
        lambda: None,
        lambda: torch.randn(3, generator=generator),
        lambda: torch.rand(700, generator=generator),
    ):
        draw()
        state = generator.get_state()
        small = packed(state)
        assert small.numel() == 2560 and torch.equal(unpacked(small), state) and packed(small) is small
    other = torch.zeros(16, dtype=torch.uint8)  # of another device
    assert torch.equal(unpacked(packed(other)), other)


def drawing(rows: Any) -> Any:
    """A collate function that draws from two generators, sometimes."""
    images, labels = torch.utils.data.default_collate(rows)
    if int(labels[0]) % 2:
        images = images + torch.rand(()) + random.random()
    return images, labels


def read_ahead(make: Callable[[], Any], ahead: int) -> None:
    """The state behind each batch, asked for when so many more were taken, goes on with the one behind it."""
    torch.manual_seed(1)
    random.seed(1)
    loader, taken = make(), list[Any]()
    states = list[Any]()
    for batch in loader:
        taken.append(batch)
        if len(taken) > ahead:
            before = Generators.now()
            states.append(through_a_file(loader.state_after(taken[-1 - ahead])))
            assert before.same(Generators.now())
    for back in range(ahead, 0, -1):
        states.append(through_a_file(loader.state_after(taken[-back])))
    want = [[value.clone() for value in batch] for batch in taken]
    assert len(states) == len(want)
    for number in {0, 1, len(want) // 2, len(want) - 2, len(want) - 1}:
        torch.manual_seed(number + 7)
        random.seed(number + 7)
        again = make()
        again.load_state_dict(states[number])
        iterator = iter(again)
        assert difference(some(iterator, min(3, len(want) - number - 1)), want[number + 1 : number + 4]) == ""


def seeds_itself(worker: int) -> None:
    torch.manual_seed(-77 - worker)


@pytest.mark.parametrize(
    ("more", "brief"),
    [
        ({}, True),
        ({"worker_init_fn": seeds_itself}, True),
        ({"collate_fn": drawing}, False),
    ],
    ids=["plain", "seeded", "collate"],
)
def test_what_workers_have_drawn_takes_a_few_numbers(more: dict[str, Any], brief: bool, folder: Path) -> None:
    """Of a seeded generator, how often it made new words is enough. Persistent workers go on with theirs."""

    def loader() -> gofast.DataLoader[Any]:
        return loader_of(gofast.ImageFolder(folder, DRAWN), 3, persistent_workers=True, **more)

    for epochs in (0, 1, 7, 20):
        torch.manual_seed(1)
        first = loader()
        for _ in range(epochs):
            copies(first)
        iterator = iter(first)
        some(iterator, 5)
        state = through_a_file(first.state_dict())
        kept = [one["torch"] for one in state["epoch"]["workers"]["now"]]
        assert all(isinstance(one, list) for one in kept) is brief
        assert not brief or kept[0][0] >= epochs / 5, "its words are made 624 at a time"
        want = [*copies(iterator), *copies(first)]
        torch.manual_seed(2)
        again = loader()
        again.load_state_dict(state)
        assert difference([*copies(again), *copies(again)], want) == ""


@pytest.mark.parametrize("ahead", [0, 1, 5])
@pytest.mark.parametrize(
    ("kind", "workers"),
    [
        *itertools.product(["rows", "own order", "pictures", "own order of pictures"], [0, 2, 3]),
        *itertools.product(["collated"], [2, 3]),  # draws of a function in this process are not taken back
    ],
)
def test_the_state_after_an_earlier_batch(folder: Path, kind: str, workers: int, ahead: int) -> None:
    def make() -> gofast.DataLoader[Any]:
        more: dict[str, Any] = {"sampler": Own()} if "own" in kind else {}
        if kind == "collated":
            more["collate_fn"] = drawing
        dataset = rows() if kind in ("rows", "own order") else gofast.ImageFolder(folder, DRAWN)
        return loader_of(dataset, workers, **more)

    read_ahead(make, ahead)


@pytest.mark.parametrize("ahead", [1, 2])
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("stop", [1, 5, 6, 11])
def test_what_the_loop_draws_goes_on_too(folder: Path, workers: int, ahead: int, stop: int) -> None:
    """The loop draws from the generators that samples draw from, when it has taken batches ahead."""

    def work(loader: Any, last: int | None = None) -> tuple[list[Any], Any]:
        taken, done, iterator = list[Any](), list[Any](), iter(loader)
        while True:
            taken += itertools.islice(iterator, 1 + ahead - len(taken))
            if not taken:
                return done, None
            batch = taken.pop(0)
            done.append((batch[1].tolist(), batch[0].sum().item(), torch.rand(1).item()))
            if len(done) == last:
                return done, through_a_file(loader.state_after(batch))

    def make(seed: int) -> Any:
        torch.manual_seed(seed)
        return loader_of(gofast.ImageFolder(folder, DRAWN), workers)

    whole, _ = work(make(1))
    before, state = work(make(1), stop)
    again = make(2)
    again.load_state_dict(state)
    assert before + work(again)[0] == whole


def test_a_batch_is_known_by_what_is_in_it() -> None:
    loader = loader_of(rows(), 0, 1, shuffle=False)
    batches = [*itertools.islice(iterator := iter(loader), 5)]
    places = [loader.state_after(batch)["epoch"]["given"] for batch in batches]
    assert places == [1, 2, 3, 4, 5]
    images, labels = batches[1]
    for same in ({"x": images, "y": labels}, [[labels, images]], (3, "", [images], labels)):
        assert loader.state_after(same)["epoch"]["given"] == 2
    for other in ([images.clone(), labels.clone()], 3, [], object(), {}):
        with pytest.raises(UnsupportedError, match="none of the last batches"):
            loader.state_after(other)
    first = weakref.ref(batches[0][0])
    del batches
    assert first() is None  # its memory is free
    loader.close()
    with pytest.raises(UnsupportedError):
        loader.state_after(labels)
    del iterator
    kept = [*itertools.islice(loader, 3)]
    with pytest.raises(UnsupportedError, match="is gone"):
        loader.state_after(kept[1])
    kept = [*loader]
    assert str(loader.state_after(kept[-1])) == str(loader.state_dict())
    assert loader.state_after(kept[-3])["epoch"]["given"] == N - 2


@pytest.mark.parametrize("size", [1, 3, 100])
def test_as_many_batches_are_remembered(size: int) -> None:
    numbers = np.arange(3000)
    values = numbers.astype("f4")[:, None]
    values.flags.writeable = False  # batches come in flights
    loader = gofast.DataLoader(gofast.ArrayDataset(values, numbers), size)
    held = list[Any]()
    for batch in (iterator := iter(loader)):
        held.append(batch)
        back = min(len(held) - 1, MOST - 1)
        assert loader.state_after(held[-1 - back])["epoch"]["given"] == len(held) - back
    assert len(held) == 3000 // size
    assert iterator is not None


def test_only_so_many_batches_are_remembered_where_they_come_one_by_one() -> None:
    loader = gofast.DataLoader(gofast.ArrayDataset(np.zeros((200, 1), "f4"), np.arange(200)), 1)
    iterator = iter(loader)
    held = [next(iterator) for _ in range(150)]
    with pytest.raises(UnsupportedError, match="64 are remembered"):
        loader.state_after(held[0])


def test_a_batch_that_failed_counts(folder: Path) -> None:
    class Broken(Own):
        def __iter__(self) -> Iterator[Any]:
            yield from [0, 1, 2, 3, N + 5, 5, 6, 7, 8, 9, 10, 11]

    loader = loader_of(rows(), 0, 2, sampler=Broken())
    iterator, held = iter(loader), list[Any]()
    for _ in range(6):
        try:
            held.append(next(iterator))
        except IndexError:
            held.append(None)
    assert held[2] is None
    assert [loader.state_after(batch)["epoch"]["given"] for batch in held if batch] == [1, 2, 4, 5, 6]
