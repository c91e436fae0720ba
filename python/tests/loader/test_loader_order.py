"""gofast.DataLoader against torch's own, step by step.

Each case runs a script of epochs with torch's DataLoader (with real worker processes for num_workers > 0)
and with ours, from equal seeds. After every step (iter, each batch, the end, an error) both write down
what came and the states of all generators. The two logs must be equal. Ours runs twice: over the fake
stream, whose short flights put every border to the test, and over the engine.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    Sampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

import fake_stream
from gofast.loader import DataLoader

N = 20
Parts = dict[str, Any]
Case = Callable[[Any], Parts]
Numbers = Callable[[int], Any]


@pytest.fixture(params=["fake", "native"])
def numbers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Numbers:
    """Makes a dataset of the numbers 0..n-1, for the fake stream or for the engine."""
    if request.param == "fake":
        fake_stream.install(monkeypatch)
        return fake_stream.Numbers
    gofast = pytest.importorskip("gofast")
    return lambda size: gofast.ArrayDataset(
        torch.arange(float(size)).reshape(size, 1), keys=("x", "y"), output="dict"
    )


# torch warns of more workers than cores.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")


def generator(seed: int) -> torch.Generator:
    made = torch.Generator()
    made.manual_seed(seed)
    return made


class Eager(Sampler[int]):
    """Draws in `__iter__`, from torch's global generator."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[int]:
        return iter(torch.randperm(self.size).tolist())

    def __len__(self) -> int:
        return self.size


class Lazy(Eager):
    """Draws each index when it is asked for, and yields 0-d tensors."""

    def __iter__(self) -> Iterator[Any]:
        for _ in range(self.size):
            yield torch.randint(self.size, ())


class DrawnBatches(Sampler[list[int]]):
    """A batch sampler of its own kind: draws in `__iter__`, then each batch, of a drawn length."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[Any]:
        torch.rand(1)
        return (torch.randint(self.size, (int(torch.randint(1, 5, ())),)) for _ in range(5))

    def __len__(self) -> int:
        return 5


class Reversed(BatchSampler):
    """A subclass of torch's: exact types only are known to draw ahead."""

    def __iter__(self) -> Iterator[list[int]]:
        for batch in super().__iter__():
            torch.rand(1)
            yield batch[::-1]


class Failing(Eager):
    """Raises in the middle of the epoch."""

    def __iter__(self) -> Iterator[int]:
        for i in range(self.size):
            if i == 11:
                torch.rand(1)
                raise KeyError("the sampler's own error")
            yield i


def sampled(make: Callable[[Any, torch.Generator], Any], **options: Any) -> Case:
    """A case whose sampler draws from a generator that the log watches."""

    def parts(dataset: Any) -> Parts:
        watched = generator(5)
        return {"sampler": make(dataset, watched), "watch": watched, "batch_size": 3, **options}

    return parts


def batched(make: Callable[[Any, torch.Generator], Any]) -> Case:
    def parts(dataset: Any) -> Parts:
        watched = generator(5)
        return {"batch_sampler": make(dataset, watched), "watch": watched}

    return parts


def shuffled(**options: Any) -> Case:
    def parts(_: Any) -> Parts:
        return {"shuffle": True, "batch_size": 3, "generator": generator(3), **options}

    return parts


WEIGHTS = [float(1 + i % 4) for i in range(N)]
CASES: dict[str, Case] = {
    "sequential": lambda _: {"batch_size": 3},
    "sequential, even": lambda _: {"batch_size": 5, "generator": generator(1)},
    "shuffle": lambda _: {"batch_size": 3, "shuffle": True},
    "shuffle, drop_last": lambda _: {"batch_size": 3, "shuffle": True, "drop_last": True},
    "shuffle, own generator": shuffled(),
    "shuffle, own generator, drop_last": shuffled(drop_last=True),
    "shuffle, own generator, even": shuffled(batch_size=4),
    "shuffle, own generator, even, drop_last": shuffled(batch_size=4, drop_last=True),
    "shuffle, own generator, one short batch": shuffled(batch_size=30),
    "shuffle, own generator, nothing": shuffled(batch_size=30, drop_last=True),
    "shuffle, own generator, one batch": shuffled(batch_size=N),
    "shuffle, the global generator": shuffled(generator=torch.default_generator),
    "random, half of them": sampled(lambda d, g: RandomSampler(d, num_samples=N // 2, generator=g)),
    "random, two rounds and a half": sampled(lambda d, g: RandomSampler(d, num_samples=50, generator=g)),
    "random, two rounds, private": sampled(lambda d, g: RandomSampler(d, num_samples=40)),
    "random, two rounds and a half, private": sampled(lambda d, g: RandomSampler(d, num_samples=50)),
    "replacement": sampled(lambda d, g: RandomSampler(d, True, 70, g), batch_size=8),
    "replacement, private": sampled(lambda d, g: RandomSampler(d, True, 70), batch_size=8),
    "replacement, private, even": sampled(lambda d, g: RandomSampler(d, True, 64), batch_size=8),
    "subset": sampled(lambda d, g: SubsetRandomSampler(range(0, N, 2), g)),
    "subset, list": sampled(lambda d, g: SubsetRandomSampler([5, 3, -1, 7, 7, 0], g)),
    "subset, tensor": sampled(lambda d, g: SubsetRandomSampler(torch.arange(10, dtype=torch.int32), g)),  # type: ignore[arg-type]
    "subset, odd things": sampled(lambda d, g: SubsetRandomSampler([1, 2, "three", 4, 5, 6, 7], g)),  # type: ignore[list-item]
    "subset, global": sampled(lambda d, g: SubsetRandomSampler(range(10))),
    "subset, empty": sampled(lambda d, g: SubsetRandomSampler([], g)),
    "weighted": sampled(lambda d, g: WeightedRandomSampler(WEIGHTS, 17, generator=g)),
    "weighted, without replacement": sampled(lambda d, g: WeightedRandomSampler(WEIGHTS, 15, False)),
    "weighted, refused": sampled(lambda d, g: WeightedRandomSampler([1.0, 1.0], 3, False)),
    "distributed": sampled(lambda d, g: DistributedSampler(d, 3, 1, seed=4)),
    "distributed, drop_last": sampled(lambda d, g: DistributedSampler(d, 3, 2, drop_last=True)),
    "distributed, unshuffled": sampled(lambda d, g: DistributedSampler(d, 3, 2, shuffle=False)),
    "distributed, more ranks than rows": sampled(lambda d, g: DistributedSampler(d, 48, 47)),
    "out of range": sampled(lambda d, g: SequentialSampler(range(N + 7))),
    "out of range, list": sampled(lambda d, g: [0, 1, 2, 3, 99, 5, 6, 7]),
    "eager": sampled(lambda d, g: Eager(N)),
    "lazy": sampled(lambda d, g: Lazy(N)),
    "failing": sampled(lambda d, g: Failing(N)),
    "batch sampler": batched(lambda d, g: DrawnBatches(N)),
    "batch sampler, torch's": batched(lambda d, g: BatchSampler(RandomSampler(d, generator=g), 4, True)),
    "batch sampler, over a lazy one": batched(lambda d, g: BatchSampler(Lazy(N), 6, False)),
    "batch sampler, subclass": batched(lambda d, g: Reversed(RandomSampler(d, generator=g), 3, False)),
    "batch sampler, list of lists": batched(lambda d, g: [[1, 2], [3], [], [4, "five"], [6, 7, 8]]),
}


class Log:
    """Runs a loader and writes down what can be seen of it."""

    def __init__(self, loader_type: type, dataset: Any, case: Case, **options: Any) -> None:
        torch.manual_seed(11)
        parts = case(dataset)
        self.generators = [torch.default_generator, parts.pop("watch", None), parts.get("generator")]
        self.loader = loader_type(dataset, **parts, **options)
        self.seen: list[Any] = []

    def note(self, what: str, value: Any) -> None:
        states = [hash(bytes(g.get_state().numpy())) for g in self.generators if g is not None]
        self.seen.append((what, value, states))

    def begin(self) -> Any:
        try:
            iterator = iter(self.loader)
        except Exception as error:
            self.note("iter", kind_of(error))
            return None
        self.note("iter", "")
        return iterator

    def step(self, iterator: Any) -> bool:
        try:
            batch = next(iterator)
        except StopIteration:
            self.note("end", "")
            return False
        except Exception as error:
            self.note("error", kind_of(error))
            # torch re-raises a worker's error in a way that keeps its iterator in a cycle. Collected in the
            # middle of a later epoch, or in a forked child, it costs five seconds, or that worker its life.
            error.__traceback__ = None
            return True
        self.note("batch", batch["x"].flatten().tolist())
        return True

    def epoch(self, batches: int) -> None:
        """At most so many batches, then break; an epoch that ends is asked once more."""
        iterator = self.begin()
        for _ in range(batches if iterator is not None else 0):
            if not self.step(iterator):
                self.step(iterator)
                return

    def together(self) -> None:
        """Two iterators at once, one a batch ahead of the other."""
        first = self.begin()
        if first is None:
            return
        self.step(first)
        second = self.begin()
        while self.step(first) | self.step(second):
            pass


def kind_of(error: Exception) -> str:
    """IndexError for ours too, which is a kind of it."""
    return "IndexError" if isinstance(error, IndexError) else type(error).__name__


def long_script(log: Log) -> None:
    for batches in (100, 0, 1, 2, 4, 6, 7, 100):
        log.epoch(batches)
    log.together()
    log.epoch(100)


def short_script(log: Log) -> None:
    for batches in (100, 5, 3):
        log.epoch(batches)


def middle_script(log: Log) -> None:
    for batches in (100, 1, 2, 4, 100):
        log.epoch(batches)
    log.together()


SCRIPTS = {"long": long_script, "middle": middle_script, "short": short_script}
OPTIONS: dict[str, Parts] = {
    "no workers": {},
    "one": {"num_workers": 1},
    "three": {"num_workers": 3},
    "one, deep": {"num_workers": 1, "prefetch_factor": 5},
    "one, persistent": {"num_workers": 1, "persistent_workers": True, "prefetch_factor": 1},
    "three, persistent": {"num_workers": 3, "persistent_workers": True},
}


@functools.cache
def torchs_log(case: str, script: str, options: str) -> list[Any]:
    log = Log(torch.utils.data.DataLoader, fake_stream.Numbers(N), CASES[case], **OPTIONS[options])
    SCRIPTS[script](log)
    return log.seen


def compare(numbers: Numbers, case: str, script: str, options: str) -> None:
    expected = torchs_log(case, script, options)
    log = Log(DataLoader, numbers(N), CASES[case], **OPTIONS[options])
    SCRIPTS[script](log)
    assert log.seen == expected


def together(cases: Iterable[str]) -> list[Any]:
    """Cases whose tests one process runs: it starts torch's workers once for all of them."""
    return [pytest.param(case, marks=pytest.mark.xdist_group(f"order, {case}")) for case in cases]


@pytest.mark.parametrize("case", together(CASES))
def test_without_workers(numbers: Numbers, case: str) -> None:
    compare(numbers, case, "long", "no workers")


@pytest.mark.daily(28)
@pytest.mark.parametrize("case", together(CASES))
def test_one_worker(numbers: Numbers, case: str) -> None:
    compare(numbers, case, "short", "one")


@pytest.mark.daily(20)
@pytest.mark.parametrize("options", list(OPTIONS)[2:])
@pytest.mark.parametrize(
    "case",
    together(
        [
            "shuffle",
            "shuffle, own generator",
            "shuffle, own generator, even",
            "shuffle, own generator, one short batch",
            "random, two rounds and a half",
            "lazy",
            "batch sampler",
        ]
    ),
)
def test_more_workers(numbers: Numbers, case: str, options: str) -> None:
    compare(numbers, case, "middle", options)
