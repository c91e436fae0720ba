"""Forked children of a busy parent, run by test_forks.py: `python fork_cases.py CASE [COUNT]`."""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import json
import os
import random
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import ConcatDataset, DataLoader, Sampler, Subset, default_collate
from torchvision import transforms as T
from torchvision.datasets import ImageFolder

import gofast
from forked import in_child
from gofast._core import engine
from image_data import make_folder
from same import difference

ROWS, WIDTH = 3000, 40
X = torch.arange(ROWS * WIDTH, dtype=torch.float32).reshape(ROWS, WIDTH) / 3
Y = torch.arange(ROWS)


def check_inherited(dataset: gofast.ArrayDataset) -> None:
    """Batches of a dataset that the parent made, by the C functions that came along."""
    assert not engine.loaded()
    for start in range(0, 300, 60):
        rows = list(range(start, start + 50))
        batch = dataset[rows]
        assert torch.equal(batch["features"], X[rows]) and torch.equal(batch["label"], Y[rows])
    assert not engine.loaded()


def check_own(csv: str, rounds: int) -> None:
    """Tables that this process opens, and batches of its engine: goroutines, collections, threads."""
    for _ in range(rounds):
        table = gofast.TableDataset(csv, scale=None)
        seen = list(gofast.DataLoader(table, batch_size=128))
        assert torch.equal(torch.cat([b["features"] for b in seen]), X[:500, :4].round())
        assert torch.equal(torch.cat([b["label"] for b in seen]), Y[:500])
    assert engine.loaded()


def write_csv(folder: str) -> str:
    path = Path(folder, "forks.csv")
    lines = (
        ",".join(map(str, [row, *values]))
        for row, values in zip(range(500), X[:500, :4].round().int().tolist(), strict=True)
    )
    path.write_text("label,a,b,c,d\n" + "\n".join(lines) + "\n")
    return str(path)


class Busy:
    """Threads that keep the engine working."""

    def __enter__(self) -> Busy:
        self.stop = threading.Event()
        self.threads = [threading.Thread(target=self.work) for _ in range(2)]
        for thread in self.threads:
            thread.start()
        return self

    def work(self) -> None:
        dataset = gofast.ArrayDataset(X, Y)
        # Not torch's default generator: a fork while a thread holds its lock would hang torch's own code.
        generator = torch.Generator()
        while not self.stop.is_set():
            for images, _ in gofast.DataLoader(dataset, batch_size=256, shuffle=True, generator=generator):
                images.mul_(2)

    def __exit__(self, *_: object) -> None:
        self.stop.set()
        for thread in self.threads:
            thread.join()


def many(folder: str, count: int) -> None:
    """Children of a busy parent fill batches by inherited code, then load an engine of their own."""
    csv, dataset = write_csv(folder), gofast.ArrayDataset(X, Y, output="dict")
    held = dataset[:5]

    def work() -> None:
        assert torch.equal(held["features"], X[:5])
        check_inherited(dataset)
        check_own(csv, 2)
        check_inherited_again(dataset)

    def check_inherited_again(dataset: gofast.ArrayDataset) -> None:
        assert torch.equal(dataset[-3:]["features"], X[-3:])

    with Busy():
        check_own(csv, 1)
        for _ in range(count):
            assert in_child(work) == 0
            assert torch.equal(dataset[7:11]["features"], X[7:11])


def chain(folder: str, count: int) -> None:
    """A child of a child of a child: each with its own engine, each path to it a new one."""
    csv = write_csv(folder)
    check_own(csv, 1)
    dataset = gofast.ArrayDataset(X, Y, output="dict")

    def work(depth: int) -> None:
        os.closerange(3, 64)  # as daemons do: the copy's descriptor gets the number that the parent's had
        check_inherited(dataset)
        check_own(csv, 1)
        if depth:
            assert in_child(lambda: work(depth - 1)) == 0

    with Busy():
        for _ in range(count):
            assert in_child(lambda: work(2)) == 0


def while_loading(folder: str, count: int) -> None:
    """A fork while another thread is loading the engine: what is mapped then must not be used."""
    csv = write_csv(folder)

    def fresh() -> None:
        loading = threading.Thread(target=engine.native)
        loading.start()
        time.sleep(random.random() * 0.03)
        assert in_child(lambda: check_own(csv, 1)) == 0
        loading.join()
        check_own(csv, 1)

    assert not engine.loaded()
    for _ in range(count):
        assert in_child(fresh) == 0


def joined(folder: str, count: int) -> None:
    """A child's engine joins datasets that the parent compiled: Subset and ConcatDataset of them."""
    x, y = X[:40], Y[:40]
    dataset = gofast.ArrayDataset(x, y)
    tree = ConcatDataset([dataset, Subset(dataset, [3, 1])])
    wanted = torch.cat([x, x[[3, 1]]])
    assert torch.equal(dataset[7][0], x[7]) and dataset.__getitems__([1, 2])

    def work() -> None:
        for _ in range(2):
            got = [images for images, _ in gofast.DataLoader(tree, batch_size=5)]
            assert torch.equal(torch.cat(got), wanted)
            assert engine.loaded()
            gc.collect()

    for _ in range(count):
        assert torch.equal(torch.cat([a for a, _ in gofast.DataLoader(tree, batch_size=5)]), wanted)
        assert in_child(work) == 0


def counted(folder: str, count: int) -> None:
    """Statistics of a child: what its engine makes by the parent's code, and the parent's copy by its own."""
    root = make_folder(Path(folder), count=20)
    transform = T.Compose([T.RandomResizedCrop(32), T.ToTensor()])
    dataset = gofast.ImageFolder(root, transform)
    assert dataset.__getitems__([0])

    def check(stats: dict[str, Any], made: int) -> None:
        assert stats["made"] == made and stats["file_bytes"] > 0, stats
        for part in ("decode", "resize", "numbers"):
            assert 0 < stats["stages"].get(part, 0) < stats["busy_seconds"], stats

    def work() -> None:
        n = len(dataset)
        for inherited in (dataset, Subset(dataset, range(n))):
            loader = gofast.DataLoader(inherited, batch_size=4)
            path = Path(folder, "trace.json")
            with loader.trace(path):
                list(loader)
            check(loader.stats(), n)
            names = [event["name"] for event in json.loads(path.read_text())["traceEvents"]]
            assert names.count("picture") == n and names.count("read") >= n, set(names)
        own = gofast.ImageFolder(root, transform)
        before = gofast.engine_stats()
        for start in range(n):  # on this thread, by the functions that came along
            assert own.__getitems__([start])
        after = gofast.engine_stats()
        assert after["file_bytes"] - before["file_bytes"] > 0
        # Proportions of one picture in 13: only their sum must grow.
        spent = [sum(s for k, s in told["stages"].items() if k != "read") for told in (before, after)]
        assert spent[1] > spent[0], (before, after)
        check(after, 3 * n)

    for _ in range(count):
        assert in_child(work) == 0


def iterators(folder: str, count: int) -> None:
    """Parent, child and grandchild each get the rest of an epoch, with the draws that torch would make."""
    frozen = X.numpy().copy()
    frozen.flags.writeable = False
    rows = [gofast.ArrayDataset(X, Y), gofast.ArrayDataset(frozen, Y)]
    crops = T.Compose([T.RandomResizedCrop(16), T.RandomHorizontalFlip(), T.ToTensor()])
    folders = ImageFolder(make_folder(Path(folder), count=30), crops)
    for before in range(count):
        for dataset in (*rows, Subset(rows[1], range(5, 900)), folders):
            go_on(lambda make, d=dataset: make(d, 7, shuffle=True), before)  # type: ignore[misc]
        go_on(lambda make: make(folders, 7, sampler=Asked(len(folders)), collate_fn=noisy), before)
    for persistent in (False, True):
        for workers in (2, 3):
            loader = gofast.DataLoader(rows[1], 64, num_workers=workers, persistent_workers=persistent)
            inherit_iterator(loader, count)
    go_on(lambda make: make(folders, 7, sampler=Asked(len(folders)), num_workers=2), 2)
    inherit_while_another_thread_waits()


class Asked(Sampler[int]):
    """Draws when it is asked."""

    def __init__(self, size: int) -> None:
        self.size = size

    def __iter__(self) -> Iterator[int]:
        for _ in range(self.size):
            yield int(torch.randint(self.size, ()))

    def __len__(self) -> int:
        return self.size


def noisy(rows: list[Any]) -> Any:
    return default_collate(rows)[0] + torch.rand(())


def go_on(new: Callable[[Any], Any], before: int) -> None:
    def begun(make: Any) -> Iterator[Any]:
        torch.manual_seed(before)
        iterator = iter(new(make))
        for _ in range(before):
            next(iterator)
        return iterator

    wanted = [(batch, torch.get_rng_state()) for batch in begun(DataLoader)]
    iterator = begun(gofast.DataLoader)

    def check() -> None:
        for want, state in wanted:
            assert not difference(next(iterator), want)
            assert torch.equal(torch.get_rng_state(), state)
        assert next(iterator, None) is None

    def work() -> None:
        assert in_child(check) == 0
        check()

    assert in_child(work) == 0
    check()


def inherit_iterator(loader: gofast.DataLoader[Any], count: int) -> None:
    """Iterators, loaders and batches of the parent in a child; nothing is freed twice."""
    iterator = iter(loader)
    first = next(iterator)

    def work() -> None:
        nonlocal iterator, first
        assert torch.equal(torch.cat([first[0], *(images for images, _ in iterator)]), X)
        assert torch.equal(torch.cat([images for images, _ in loader]), X)
        loader.close()
        del iterator, first
        gc.collect()
        assert torch.equal(torch.cat([images for images, _ in loader]), X)

    for _ in range(count):
        assert in_child(work) == 0
    assert torch.equal(torch.cat([first[0], *(images for images, _ in iterator)]), X)


def inherit_while_another_thread_waits() -> None:
    """What a thread of the parent was doing in `next` may be half done: the child is told, every time."""
    inside, leave = threading.Event(), threading.Event()

    def slow(rows: list[Any]) -> Any:
        inside.set()
        leave.wait()
        return rows

    iterator = iter(gofast.DataLoader(gofast.ArrayDataset(X, Y), 64, collate_fn=slow))
    thread = threading.Thread(target=next, args=(iterator,))
    thread.start()
    inside.wait()

    def work() -> None:
        for _ in range(2):
            try:
                next(iterator)
                raise AssertionError("no error")
            except gofast.errors.EngineError as error:
                assert "before the process was forked" in str(error)

    try:
        assert in_child(work) == 0
    finally:
        leave.set()
        thread.join()


def crash(folder: str, count: int) -> None:
    """A fault in a child with two runtimes and torch's handlers ends it at once."""
    csv = write_csv(folder)

    def work() -> None:
        check_own(csv, 1)
        ctypes.string_at(8)

    with Busy():
        for _ in range(count):
            status = in_child(work)
            assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) not in (0, 1), status


if __name__ == "__main__":
    faulthandler.enable()
    # CPython 3.12 warns at every fork beside threads.
    warnings.filterwarnings("ignore", "This process", DeprecationWarning)
    torch.set_num_threads(1)  # the OpenMP threads of torch's own operations do not survive a fork either
    name, place, number = sys.argv[1:]
    globals()[name](place, int(number))
    print("done")
