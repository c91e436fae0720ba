"""Threads that have a generator of their own, as torch's worker threads will: 2.15 has only the name."""

from __future__ import annotations

import inspect
import os
import random
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, Dataset
from torch.utils.data._utils import worker
from torchvision import datasets
from torchvision import transforms as T
from torchvision.transforms import v2

import gofast
from gofast._core import engine, generators
from in_threads import in_threads
from same import difference

needs_name = pytest.mark.skipif(not hasattr(torch, "thread_safe_generator"), reason="torch 2.15 has it")

PICTURES = 9  # of `folder`
CHAINS: list[Callable[[], Any]] = [
    lambda: T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()]),
    lambda: T.Compose([T.Resize((20, 20)), T.TrivialAugmentWide(), T.ColorJitter(0.3, 0.3), T.ToTensor()]),
    lambda: v2.Compose([v2.RandomResizedCrop(16), v2.ToImage(), v2.RandomHorizontalFlip()]),
    lambda: T.Compose([T.Resize((16, 16)), T.ToTensor(), T.RandomErasing(0.7)]),
]


class OwnGenerators:
    """Gives each thread that enters a generator of its own."""

    def __init__(self) -> None:
        self.here = threading.local()

    def __call__(self) -> torch.Generator | None:
        return getattr(self.here, "generator", None)

    def enter(self, seed: int) -> torch.Generator:
        self.here.generator = torch.Generator().manual_seed(seed)
        return self.here.generator


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> OwnGenerators:
    made = OwnGenerators()
    monkeypatch.setattr(generators, "_own", made)
    return made


def indexed(folder: Path, transform: Any) -> list[Any]:
    dataset = gofast.ImageFolder(folder, transform)
    return [dataset[i] for i in range(len(dataset))]


def in_batches(folder: Path, transform: Any) -> list[Any]:
    dataset = gofast.ImageFolder(folder, transform)
    return [row for i in (0, 4, 8) for row in list(dataset.__getitems__([*range(i, min(i + 4, 9))]))]


def loaded(folder: Path, transform: Any) -> list[Any]:
    seeds = torch.Generator()  # torch's loader draws one, from the default generator in any thread
    dataset = gofast.ImageFolder(folder, transform)
    loader = gofast.DataLoader(dataset, 2, collate_fn=list, generator=seeds)
    return [row for batch in loader for row in batch]


def opened_lazy(folder: Path, transform: Any) -> list[Any]:
    dataset = datasets.ImageFolder(folder, transform, loader=lambda path: gofast.open(path).convert("RGB"))
    return [dataset[i] for i in range(len(dataset))]


@pytest.mark.parametrize("chain", CHAINS)
@pytest.mark.parametrize("way", [indexed, in_batches, loaded, opened_lazy])
@pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
def test_draws_come_from_the_threads_own(
    way: Callable[[Path, Any], list[Any]], chain: Callable[[], Any], folder: Path, own: OwnGenerators
) -> None:
    torch.manual_seed(5)
    plain = datasets.ImageFolder(folder, chain())
    wanted = [plain[i] for i in range(len(plain))]
    left = torch.get_rng_state()
    torch.manual_seed(1)
    before, got = torch.get_rng_state(), list[Any]()
    mine: list[torch.Generator] = []

    def run() -> None:
        mine.append(own.enter(5))
        got.extend(way(folder, chain()))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert not difference([tuple(row) for row in got], wanted)
    assert torch.equal(mine[0].get_state(), left)
    assert torch.equal(torch.get_rng_state(), before)


def test_threads_at_once_draw_what_each_would_draw_alone(folder: Path, own: OwnGenerators) -> None:
    dataset = gofast.ImageFolder(folder, CHAINS[0]())

    def drawn(seed: int) -> list[Any]:
        own.enter(seed)
        return [dataset[i % 9] for i in range(60)]

    alone = [drawn(seed) for seed in range(3)]
    got: dict[int, list[Any]] = {}
    in_threads(*(lambda s=s: got.update({s: drawn(s)}) for s in range(3)))  # type: ignore[misc]
    assert not difference([got[seed] for seed in range(3)], alone)


def test_torch_without_the_name(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generators, "_own", None)
    assert generators.of_thread() is torch.default_generator
    torch.manual_seed(5)
    plain = datasets.ImageFolder(folder, CHAINS[0]())
    wanted = [plain[i] for i in range(9)]
    torch.manual_seed(5)
    assert not difference(indexed(folder, CHAINS[0]()), wanted)


# ---------------------------------------------------------------- what torch does of it so far


class Asks(Dataset[bool]):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> bool:
        return torch.thread_safe_generator() is None and generators.of_thread() is torch.default_generator


@pytest.fixture
def worker_thread(monkeypatch: pytest.MonkeyPatch) -> torch.Generator:
    """This process is what torch says of a worker thread: so far of all its threads."""
    generator = torch.Generator().manual_seed(5)
    info: Any = worker.WorkerInfo
    rng = worker._RNG(random_generator=random.Random(5), torch_generator=generator)
    told = info(id=0, num_workers=64, seed=5, dataset=None, rng=rng, worker_method="thread")
    monkeypatch.setattr(worker, "_worker_info", told)
    return generator


@needs_name
def test_where_torch_has_no_generator_of_a_threads_own() -> None:
    assert Asks()[0]
    for context in ("fork", "forkserver"):
        assert all(
            batch.all() for batch in DataLoader(Asks(), num_workers=2, multiprocessing_context=context)
        )


@needs_name
def test_a_worker_thread_as_torch_describes_it(folder: Path, worker_thread: torch.Generator) -> None:
    assert generators.of_thread() is worker_thread
    before = torch.get_rng_state()
    indexed(folder, CHAINS[0]())
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.equal(worker_thread.get_state(), torch.Generator().manual_seed(5).get_state())


@needs_name
def test_worker_threads_share_one_engine(
    worker_thread: torch.Generator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(16)))
    monkeypatch.setattr(engine, "_quota", lambda: None)
    assert engine.threads() == 16


@needs_name
def test_torch_has_no_worker_threads_yet() -> None:
    """Once this fails, compare worker_method="thread" over torchvision's and gofast's folders."""
    assert "worker_method" not in inspect.signature(DataLoader.__init__).parameters


@needs_name
def test_torchvision_does_not_ask_for_a_threads_generator_yet(
    folder: Path, worker_thread: torch.Generator
) -> None:
    """Once this fails, compare the tests above with torchvision in such a thread, step by step."""
    before = worker_thread.get_state()
    for chain in CHAINS:
        plain = datasets.ImageFolder(folder, chain())
        assert len([plain[i] for i in range(9)]) == 9
    assert torch.equal(worker_thread.get_state(), before)
