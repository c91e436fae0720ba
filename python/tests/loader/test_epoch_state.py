"""An epoch's state, taken at every batch: fresh objects go on from it as if nothing had happened."""

from __future__ import annotations

import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import (
    DistributedSampler,
    RandomSampler,
    Sampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)
from torchvision import transforms as T

import gofast
from gofast._core.generators import Generators, owned, state_of
from gofast._loader.iterator import NativeIterator
from same import difference
from test_guesses import noisy

N = 23
Make = Callable[[], Any]

TRAIN = T.Compose([T.RandomResizedCrop(12), T.RandomHorizontalFlip(), T.ToTensor()])
CHOICE = T.Compose([T.RandomChoice([T.CenterCrop(9), T.RandomCrop(9)]), T.RandomVerticalFlip(), T.ToTensor()])


PICTURES = N  # of `folder`


def generator() -> torch.Generator:
    return torch.Generator().manual_seed(5)


def rows() -> gofast.ArrayDataset:
    values = np.arange(2.0 * N, dtype=np.float32).reshape(N, 2)
    values.flags.writeable = False
    return gofast.ArrayDataset(values, np.arange(N))


class Eager(Sampler[int]):
    """Draws an epoch in `__iter__`, from Python's generator."""

    def __iter__(self) -> Iterator[int]:
        return iter(random.sample(range(N), N))

    def __len__(self) -> int:
        return N


class Late(Eager):
    """Draws an epoch at the first pull, from numpy's generator."""

    def __iter__(self) -> Iterator[int]:
        yield from np.random.permutation(N).tolist()


class Lazy(Eager):
    """Draws each index when it is asked for, from torch's generator."""

    def __iter__(self) -> Iterator[int]:
        for _ in range(N):
            yield int(torch.randint(N, ()))


class Own(Eager):
    """Lists of drawn lengths, from a generator of its own; it fails in the middle."""

    def __init__(self) -> None:
        self.random = random.Random(3)

    def __iter__(self) -> Iterator[Any]:
        for number in range(6):
            if number == 4:
                raise KeyError("the sampler's own error")
            yield [self.random.randrange(N) for _ in range(self.random.randint(0, 4))]


def loop() -> None:
    """A training loop draws too."""
    torch.rand(3), random.random(), np.random.rand()


SAMPLERS: dict[str, Callable[[], dict[str, Any]]] = {
    "sequential": lambda: {},
    "shuffle": lambda: {"shuffle": True},
    "shuffle, own generator": lambda: {"shuffle": True, "generator": generator(), "drop_last": True},
    "replacement": lambda: {"sampler": RandomSampler(range(N), True, 70, generator())},
    "replacement, private": lambda: {"sampler": RandomSampler(range(N), True, 40)},
    "subset": lambda: {"sampler": SubsetRandomSampler(range(3, N), generator())},
    "weighted": lambda: {"sampler": WeightedRandomSampler([1.0 + i % 3 for i in range(N)], 20)},
    "distributed": lambda: {"sampler": DistributedSampler(range(N), 2, 1, seed=4)},  # type: ignore[arg-type]
    "eager": lambda: {"sampler": Eager()},
    "late": lambda: {"sampler": Late()},
    "lazy": lambda: {"sampler": Lazy()},
    "own": lambda: {"batch_sampler": Own()},
}


def came(iterator: Any, most: int = 100) -> Iterator[Any]:
    """Batches or errors, and the generators after each; the loop draws behind it."""
    for _ in range(most):
        try:
            batch = next(iterator)
        except StopIteration:
            return
        except KeyError as error:
            batch = str(error)
        yield [value.clone() for value in batch] if isinstance(batch, list | tuple) else batch
        loop()


def ends(loader: Any, rest: list[Any]) -> list[Any]:
    """What came, how the generators stand at the end, and the next epoch's first batch."""
    told = [Generators.now().plain(), *(state_of(one) for one in owned(loader))]
    return [*rest, [str(one) for one in told], *came(iter(loader), 1)]


def scramble(seed: int) -> None:
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    np.random.randn()  # the second of a pair waits


def check(make: Make) -> None:
    scramble(1)
    loader = make()
    iterator = iter(loader)
    assert isinstance(iterator, NativeIterator)
    whole = [*came(iterator)]
    expected = ends(loader, whole)
    assert len(whole) > 3
    for stop in range(len(whole) + 1):
        scramble(1)
        stopped = make()
        iterator = iter(stopped)
        assert len([*came(iterator, stop)]) == stop
        told = io.BytesIO()
        torch.save(stopped.state_dict(), told)
        told.seek(0)
        del iterator, stopped
        scramble(99)
        loader = make()
        loader.load_state_dict(torch.load(told, weights_only=True))
        iterator = iter(loader)
        rest = ends(loader, [*came(iterator)])
        assert difference(rest, expected[stop:]) == "", f"after {stop} batches"


@pytest.mark.daily(12)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", SAMPLERS)
def test_rows(name: str, workers: int) -> None:
    check(lambda: loader_of(rows(), name, workers))


def loader_of(dataset: Any, name: str, workers: int, **more: Any) -> gofast.DataLoader[Any]:
    options = SAMPLERS[name]()
    if "batch_sampler" not in options:
        more["batch_size"] = 3
    return gofast.DataLoader(dataset, num_workers=workers, **options, **more)


@pytest.mark.daily(5)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("name", ["shuffle", "shuffle, own generator", "replacement", "eager", "lazy", "own"])
def test_pictures(folder: Path, name: str, workers: int) -> None:
    for transform in (TRAIN, CHOICE):
        check(lambda t=transform: loader_of(gofast.ImageFolder(folder, t), name, workers))  # type: ignore[misc]


@pytest.mark.parametrize("workers", [0, 2])
def test_stateless_draws(folder: Path, workers: int) -> None:
    """Of samples that come more than once: what is drawn counts how often within a batch, and no further."""

    dataset = gofast.ImageFolder(folder, TRAIN, rng="stateless", seed=3)
    check(lambda: loader_of(dataset, "replacement, private", workers))
    made = []
    for kind in (torch.utils.data.DataLoader, gofast.DataLoader):
        torch.manual_seed(0)
        made.append([images for images, _ in kind(dataset, 3, sampler=SubsetRandomSampler([1, 1, 2] * 9))])
    assert difference(made[1], made[0]) == ""


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("transform", [TRAIN, CHOICE, T.Compose([T.Resize((9, 9)), T.ToTensor()])])
def test_a_collate_function_that_draws(folder: Path, transform: Any, workers: int) -> None:
    def make() -> Any:
        return loader_of(gofast.ImageFolder(folder, transform), "shuffle", workers, collate_fn=noisy)

    check(make)


def test_positions() -> None:
    """A sampler that may draw is pulled on torch's schedule; all that is pulled is under way."""
    iterator: Any = iter(loader_of(rows(), "lazy", 2))
    for given in range(3):
        assert iterator._epoch.positions() == (*[given + 4] * 4, given)
        next(iterator)
