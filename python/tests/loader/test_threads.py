"""Threads that share a loader, an iterator or a dataset: every batch comes once, and nobody waits for ever.

torch's own iterator, with num_workers=0, gives each thread that calls `next` a batch of its own.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torchvision import transforms as T

import fresh
import gofast
from gofast import errors
from in_threads import together

ROWS = 6000
X = torch.arange(float(ROWS)).reshape(-1, 1).repeat(1, 5)
THREADS = 8


@pytest.fixture(autouse=True)
def restless() -> Iterator[None]:
    """Threads take turns after every few steps of Python."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pictures")
    for i in range(60):
        Image.fromarray(np.full((20, 24, 3), i, np.uint8)).save(root / f"{i:02}.png")
    return root


class Lists:
    """A batch sampler that nobody knows: its lists are pulled one at a time."""

    def __iter__(self) -> Iterator[list[int]]:
        return iter([list(range(i, min(i + 7, ROWS))) for i in range(0, ROWS, 7)])


@pytest.mark.arrives("device")
@pytest.mark.parametrize("options", [{"batch_size": 7}, {"batch_sampler": Lists()}], ids=["drawn", "pulled"])
@pytest.mark.parametrize("workers", [0, 2])
def test_one_iterator_for_all(workers: int, options: dict[str, Any]) -> None:
    loader = gofast.DataLoader(gofast.ArrayDataset(X), num_workers=workers, **options)
    for _ in range(3):
        iterator, rows = iter(loader), []

        def work(iterator: Any = iterator, rows: list[float] = rows) -> None:
            for (batch,) in iterator:
                assert torch.equal(batch, X[batch[:, 0].long()])
                rows.extend(batch[:, 0].tolist())

        assert together(*[work] * THREADS) == []
        assert sorted(rows) == list(range(ROWS))


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("draws", [False, True])
def test_one_iterator_of_pictures(folder: Path, workers: int, draws: bool) -> None:
    """However the samples are made: a pixel says which file it is."""
    flip = [T.RandomVerticalFlip()] if draws else []
    transform = T.Compose([T.CenterCrop(16), *flip, T.PILToTensor()])
    loader = gofast.DataLoader(gofast.ImageFiles(folder, transform=transform), 4, num_workers=workers)
    iterator, numbers = iter(loader), []

    def work() -> None:
        for pictures in iterator:
            numbers.extend(pictures[:, 0, 0, 0].tolist())

    assert together(*[work] * THREADS) == []
    assert sorted(numbers) == list(range(60))


def test_persistent_workers_are_reset_by_several() -> None:
    """There is one iterator: what each thread gets are rows of it, and the last to reset gets the rest."""
    loader = gofast.DataLoader(gofast.ArrayDataset(X), 50, num_workers=2, persistent_workers=True)

    def work() -> None:
        for _ in range(5):
            for (batch,) in loader:
                assert torch.equal(batch, X[batch[:, 0].long()])

    assert together(*[work] * THREADS) == []
    assert torch.equal(torch.cat([batch for (batch,) in loader]), X)


def test_iterators_of_their_own() -> None:
    loader = gofast.DataLoader(gofast.ArrayDataset(X), 60)

    def work() -> None:
        for _ in range(5):
            assert torch.equal(torch.cat([batch for (batch,) in loader]), X)

    assert together(*[work] * THREADS) == []


def test_one_dataset_with_batches_that_grow() -> None:
    """Memory is made for the largest batch so far, and not for another thread's smaller one."""
    for _ in range(20):
        dataset, sizes = gofast.ArrayDataset(X), iter(range(1, 4 * THREADS + 1))

        def work(dataset: Any = dataset, sizes: Iterator[int] = sizes) -> None:
            kept = []  # so that slots run out
            for size in sizes:
                rows = torch.arange(0, 40 * size) % ROWS
                kept.append((rows, *dataset[rows]))
            for rows, batch in kept:
                assert torch.equal(batch, X[rows])

        assert together(*[work] * THREADS) == []


def test_one_dataset_whose_transform_is_replaced(folder: Path) -> None:
    dataset = gofast.ImageFiles(folder, transform=T.PILToTensor())
    for size in range(8, 20):
        dataset.transform = T.Compose([T.CenterCrop(size), T.PILToTensor()])

        def work(size: int = size) -> None:
            assert dataset[3].shape == (3, size, size)
            assert torch.stack(list(dataset.__getitems__([1, 2]))).shape == (2, 3, size, size)

        assert together(*[work] * THREADS) == []


def test_draws_of_several_threads_are_different_ones(folder: Path) -> None:
    """The generator ends where as many draws in turn would have left it."""
    transform = T.Compose([T.RandomCrop(8), T.RandomHorizontalFlip(), T.PILToTensor()])
    dataset = gofast.ImageFiles(folder, transform=transform)
    torch.manual_seed(3)
    for _ in range(THREADS * 5):
        dataset.__getitems__([0, 1, 2])
    state = torch.get_rng_state()
    torch.manual_seed(3)

    def work() -> None:
        for _ in range(5):
            dataset.__getitems__([0, 1, 2])

    assert together(*[work] * THREADS) == []
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize("workers", [0, 2])
def test_closed_by_one_of_them(workers: int) -> None:
    """The others get batches, then CanceledError or the end."""
    for after in range(0, 200, 10):
        loader = gofast.DataLoader(gofast.ArrayDataset(X), 7, num_workers=workers)
        iterator, count = iter(loader), iter(range(ROWS))

        def work(
            iterator: Any = iterator, count: Any = count, after: int = after, loader: Any = loader
        ) -> None:
            try:
                for (batch,) in iterator:
                    assert torch.equal(batch, X[batch[:, 0].long()])
                    if next(count) == after:
                        loader.close()
            except errors.CanceledError:
                pass

        assert together(*[work] * 4) == []
        with pytest.raises(StopIteration):
            next(iterator)
        assert torch.equal(torch.cat([batch for (batch,) in loader]), X)


def test_closed_while_pictures_are_mended(tmp_path: Path) -> None:
    """on_error runs inside `next`: nobody else may get the batch memory meanwhile."""
    pixels = np.full((8, 8, 3), 7, np.uint8)
    transform = T.Compose([T.CenterCrop(8), T.PILToTensor()])
    for i in range(8):
        Image.fromarray(pixels).save(tmp_path / f"{i}.png")
    (tmp_path / "3.png").write_bytes(b"no picture")
    running: list[Any] = []

    def stand_in(index: int, error: Exception) -> Image.Image:
        running[0].close()
        others = [gofast.ArrayDataset(torch.ones(8, 192)), gofast.ArrayDataset(torch.zeros(8, 192))]
        for other in others:
            list(gofast.DataLoader(other, 4))
        list(gofast.DataLoader(gofast.ImageFiles(paths[4:], transform=transform), 4))
        return Image.fromarray(pixels)

    paths = [tmp_path / f"{i}.png" for i in range(8)]
    dataset = gofast.ImageFiles(paths, transform=transform, on_error=stand_in)
    loader = gofast.DataLoader(dataset, 4)
    running.append(loader)
    with pytest.warns(RuntimeWarning, match="on_error"):
        first = next(iter(loader))
    assert first.shape == (4, 3, 8, 8) and bool((first == 7).all())


def test_closed_by_a_signal_handler() -> None:
    """It runs between any two steps of the thread that it interrupts."""
    loader = gofast.DataLoader(gofast.ArrayDataset(X), 3)
    before = signal.signal(signal.SIGALRM, lambda *_: loader.close())
    try:
        for delay in np.linspace(1e-5, 3e-3, 60):
            signal.setitimer(signal.ITIMER_REAL, float(delay))
            at = 0
            try:
                for (batch,) in loader:
                    assert torch.equal(batch, X[at : at + len(batch)])
                    at += len(batch)
            except errors.CanceledError:
                pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert torch.equal(torch.cat([batch for (batch,) in loader]), X)


@pytest.mark.parametrize("workers", [0, 2])
def test_next_inside_next_is_an_error(workers: int) -> None:
    running: list[Any] = []

    class Greedy(Lists):
        def __iter__(self) -> Iterator[list[int]]:
            for i in range(8):
                if i == 6:
                    next(running[0])
                yield [i]

    loader = gofast.DataLoader(gofast.ArrayDataset(X), batch_sampler=Greedy(), num_workers=workers)
    running.append(iter(loader))
    with pytest.raises(errors.EngineError, match="inside next"):
        for _ in range(8):
            next(running[0])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
@pytest.mark.filterwarnings("ignore:.*multi-threaded:DeprecationWarning")
@pytest.mark.parametrize("workers", [0, 2])
def test_a_fork_while_another_thread_is_inside_next(workers: int) -> None:
    """The child has the iterator, and a lock that nobody there will ever give back."""
    inside, go_on = threading.Event(), threading.Event()

    class Slow(Lists):
        def __iter__(self) -> Iterator[list[int]]:
            for i in range(9):
                if i == 5:
                    inside.set()
                    go_on.wait(60)
                yield [i]

    loader = gofast.DataLoader(gofast.ArrayDataset(X), batch_sampler=Slow(), num_workers=workers)
    iterator = iter(loader)
    thread = threading.Thread(target=lambda: [next(iterator) for _ in range(7)])
    thread.start()
    assert inside.wait(60)
    pid = os.fork()
    if pid == 0:
        signal.alarm(60)  # ends a child that waits for ever
        try:
            next(iterator)
        except (errors.EngineError, ValueError):  # the sampler is a generator that runs already
            loader.close()
            os._exit(0)
        os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    go_on.set()
    thread.join()
    assert [batch[0, 0].item() for (batch,) in iterator] == [7, 8]


def test_close_does_not_wait_for_who_is_inside_next() -> None:
    """A finalizer may call it, in a thread that has what the other one waits for."""
    inside, go_on = threading.Event(), threading.Event()

    class Slow(Lists):
        def __iter__(self) -> Iterator[list[int]]:
            yield [0]
            inside.set()
            go_on.wait(60)
            yield [1]

    loader = gofast.DataLoader(gofast.ArrayDataset(X), batch_sampler=Slow())
    iterator = iter(loader)
    seen: list[float] = []
    thread = threading.Thread(target=lambda: [seen.append(next(iterator)[0][0, 0].item()) for _ in range(2)])
    thread.start()
    assert inside.wait(60)
    loader.close()
    go_on.set()
    thread.join()
    assert seen == [0, 1]
    with pytest.raises(StopIteration):
        next(iterator)


BOUND = """
import os, sys, torch, gofast
bound = {max(os.sched_getaffinity(0))}
before = set(os.listdir("/proc/self/task"))
os.sched_setaffinity(0, bound)
for batch in gofast.DataLoader(gofast.ArrayDataset(torch.zeros(9000, 50)), 900, num_workers=2, threads=3):
    pass
started = set(os.listdir("/proc/self/task")) - before
assert started and gofast.engine_stats()["threads"] == 1
for task in started:
    assert os.sched_getaffinity(int(task)) == bound, task
"""


def test_threads_stay_on_the_processors_that_the_launcher_gave_their_rank() -> None:
    """With `torchrun --numa-binding=node`, a NUMA node's: what fills a batch touches it there first."""
    fresh.run(["-c", BOUND], check=True)
