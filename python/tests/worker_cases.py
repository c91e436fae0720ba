"""Cases for torch's DataLoader with worker processes, run by test_workers.py in processes of their own.

`python worker_cases.py METHOD ENGINE[:CASE,CASE] ...` runs cases, or all, with the start method, after
bringing the engine of this process into one state after another: unused, loaded, busy (threads that keep
submitting). In the state "first", each case is the first thing that a process does, forked for it by one
that has imported everything. Every case compares with torch's indexing.

torchvision takes as long to import as torch, and a spawned worker imports this module: only what needs
torchvision imports it.
"""

from __future__ import annotations

import faulthandler
import gc
import multiprocessing
import os
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, default_collate, get_worker_info

import gofast
from gofast._core import engine as core
from image_data import make_folder
from same import difference

ROWS, WIDTH, BATCH = 203, 12, 16
X = torch.arange(ROWS * WIDTH, dtype=torch.float32).reshape(ROWS, 3, 4) / 7
Y = torch.arange(ROWS) * 3 - 50
ORDER: list[int] = torch.randperm(ROWS, generator=torch.Generator().manual_seed(5)).tolist()
LISTS = [ORDER[i : i + BATCH] for i in range(0, ROWS, BATCH)]


@dataclass
class Setting:
    """How the loaders of a case start their workers."""

    method: str
    workers: int
    persistent: bool

    def loader(self, dataset: Dataset[Any], **options: Any) -> DataLoader[Any]:
        return DataLoader(
            dataset,
            batch_sampler=options.pop("lists", LISTS),
            num_workers=self.workers,
            persistent_workers=self.persistent,
            multiprocessing_context=self.method if self.workers else None,
            timeout=40 if self.workers else 0,
            **options,
        )


def table(**options: Any) -> gofast.ArrayDataset:
    return gofast.ArrayDataset(X, Y, **options)


def check(
    batches: list[Any], x: torch.Tensor = X, y: torch.Tensor = Y, lists: list[list[int]] = LISTS
) -> None:
    """Compares batches, dicts or lists, with indexing."""
    assert len(batches) == len(lists), (len(batches), len(lists))
    for batch, rows in zip(batches, lists, strict=True):
        images, labels = batch.values() if isinstance(batch, dict) else batch
        assert torch.equal(images, x[rows]) and images.dtype == x.dtype, rows
        assert torch.equal(labels, y[rows]) and labels.dtype == y.dtype, rows


# ---------------------------------------------------------------- plain use


def epochs(s: Setting) -> None:
    """Several epochs of both kinds of samples; the batches are plain dicts and lists."""
    for output, kind in (("dict", dict), ("tuple", list)):
        loader = s.loader(table(output=output))
        for _ in range(3):
            batches = list(loader)  # all are held at once
            assert all(type(batch) is kind for batch in batches)
            check(batches)


def views_outlive_batches(s: Setting) -> None:
    loader = s.loader(table(output="dict"))
    views = [batch["features"][3:5, 1] for batch in loader]
    for _ in range(4):
        for batch in loader:
            batch["features"].fill_(-1)  # takes the slots that are free
    for view, rows in zip(views, LISTS, strict=True):
        assert torch.equal(view, X[rows[3:5], 1])


def changed_in_place(s: Setting) -> None:
    dataset = table()
    loader = s.loader(dataset)
    for _ in range(3):
        seen = []
        for images, labels in loader:
            seen.append([images.clone(), labels.clone()])
            images.zero_()
            labels.fill_(9)
        check(seen)
    assert torch.equal(dataset[0][0], X[0])


def break_and_again(s: Setting) -> None:
    loader = s.loader(table())
    for stop in (1, 2, 5):
        for i, (images, _) in enumerate(loader):
            assert torch.equal(images, X[LISTS[i]])
            if i == stop:
                break
    check(list(loader))


def two_at_once(s: Setting) -> None:
    first, second = s.loader(table()), s.loader(table(output="dict"))
    pairs = list(zip(first, second, strict=True))
    check([a for a, _ in pairs])
    check([b for _, b in pairs])


# ---------------------------------------------------------------- Python code in the workers


def doubled(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def less_one(y: torch.Tensor) -> torch.Tensor:
    return y - 1


def own_transforms(s: Setting) -> None:
    check(list(s.loader(table(transform=doubled, target_transform=less_one))), X * 2, Y - 1)
    check(list(s.loader(table(batch_transform=doubled))), X * 2, Y)


def stack(rows: list[Any]) -> Any:
    return torch.stack([row["features"] for row in rows]), torch.stack([row["label"] for row in rows])


def in_place(rows: list[Any]) -> Any:
    batch = default_collate(rows)
    batch["features"] += 1
    batch["label"] += 1
    return batch


def replaced(rows: list[Any]) -> Any:
    batch = default_collate(rows)
    batch["features"] = batch["features"] + 1
    batch["label"] = batch["label"] + 1
    return batch


def label_replaced(rows: list[Any]) -> Any:
    batch = default_collate(rows)
    batch["label"] = batch["label"].to(torch.float16)
    return batch


def another_shape(rows: list[Any]) -> Any:
    batch = default_collate(rows)
    batch["features"].unsqueeze_(1)
    batch["label"].unsqueeze_(-1)
    return batch


def transposed(rows: list[Any]) -> Any:
    batch = default_collate(rows)
    batch["features"].transpose_(1, 2)
    return batch


def one_more(rows: list[Any]) -> Any:
    batch = default_collate(rows)
    batch["rows"] = len(rows)
    return batch


def one_less(rows: list[Any]) -> Any:
    batch = default_collate(rows)
    del batch["features"]
    return batch


def swapped(rows: list[Any]) -> Any:
    batch = default_collate(rows)
    return {"label": batch["label"], "features": batch["features"]}


def nested(rows: list[Any]) -> Any:
    batch = default_collate(rows)
    return [batch, batch["features"][:1], {"again": batch}]


def only_images(rows: list[Any]) -> Any:
    return default_collate(rows)["features"]


def dropped(rows: list[Any]) -> Any:
    default_collate(rows)  # made, never sent
    return None


def filtered(rows: list[Any]) -> Any:
    return default_collate([row for i, row in enumerate(rows) if i % 2 == 0])


COLLATES = (
    stack,
    in_place,
    replaced,
    label_replaced,
    another_shape,
    transposed,
    one_more,
    one_less,
    swapped,
    nested,
)
COLLATES += (only_images, dropped, filtered)


class Naive(Dataset[Any]):
    """The same rows without us."""

    def __len__(self) -> int:
        return ROWS

    def __getitem__(self, index: int) -> Any:
        return {"features": X[index], "label": Y[index]}


class InTurn:
    """Three batches by each of the functions, by the same workers."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, rows: list[Any]) -> Any:
        info = get_worker_info()
        batch = self.calls if info is None else self.calls * info.num_workers + info.id
        self.calls += 1
        return COLLATES[batch // 3](rows)


def own_collate(s: Setting) -> None:
    """A collate_fn may do anything with what default_collate gives: what it returns arrives."""
    lists = LISTS[:3] * len(COLLATES)
    expected = list(DataLoader(Naive(), batch_sampler=lists, collate_fn=InTurn()))
    batches = list(s.loader(table(output="dict"), lists=lists, collate_fn=InTurn()))
    assert len(batches) == len(expected)
    for number, (got, wanted) in enumerate(zip(batches, expected, strict=True)):
        assert difference(got, wanted) == "", COLLATES[number // 3].__name__


class Sums(Dataset[Any]):
    """Row i is the sum of what a dataset that was opened in this worker holds, by its own loader."""

    def __init__(self, csv: str) -> None:
        self.csv = csv
        self.inner: Any = None

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> torch.Tensor:
        return total(self.inner)


def total(dataset: Any) -> torch.Tensor:
    """Through the engine's threads."""
    # Not torch's default generator: a fork while another thread holds its lock would hang torch's own code.
    loader = gofast.DataLoader(dataset, batch_size=BATCH, shuffle=True, generator=torch.Generator())
    return torch.stack([batch["features"].double().sum() + batch["label"].sum() for batch in loader]).sum()


def open_inner(_: int) -> None:
    info = get_worker_info()
    assert info is not None
    info.dataset.inner = gofast.TableDataset(info.dataset.csv, scale=None)  # type: ignore[attr-defined]


CSV = Path(os.environ.get("WORKER_CASES_FOLDER", "."), "rows.csv")


def write_csv() -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randint(0, 256, (ROWS, 4), generator=torch.Generator().manual_seed(1))
    lines = [",".join(map(str, [int(y), *row.tolist()])) for row, y in zip(x, Y, strict=True)]
    CSV.write_text("label,a,b,c,d\n" + "\n".join(lines) + "\n")
    return x.to(torch.float32), Y


def opened_in_worker(s: Setting) -> None:
    x, y = write_csv()
    expected = x.double().sum() + y.sum()
    if not s.workers:
        return
    loader = s.loader(Sums(str(CSV)), lists=[[0, 1], [2, 3], [4, 5]], worker_init_fn=open_inner)
    for _ in range(2):
        assert all((batch == expected).all() for batch in loader)


class InGrandchild(Sums):
    """The same in a child that the worker forks."""

    def __getitem__(self, index: int) -> torch.Tensor:
        mine = self.inner[:5]["features"].sum()  # this worker has used its engine
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                here = total(gofast.TableDataset(self.csv, scale=None)).item()
                inherited = self.inner[:5]["features"].sum().item() == mine.item()
                os.write(write, f"{here} {inherited}".encode())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read) as answer:
            number, inherited = answer.read().split()
        assert os.waitpid(child, 0)[1] == 0 and inherited == "True"
        return torch.tensor(float(number), dtype=torch.float64)


def forked_in_worker(s: Setting) -> None:
    x, y = write_csv()
    if not s.workers:
        return
    loader = s.loader(InGrandchild(str(CSV)), lists=[[0], [1], [2]], worker_init_fn=open_inner)
    assert all((batch == x.double().sum() + y.sum()).all() for batch in loader)


# ---------------------------------------------------------------- tables, threads, errors


def table_is_handed_over(s: Setting) -> None:
    """Workers get the decoded table: the file is gone when they start."""
    if core.loaded() or s.method != "fork":
        x, y = write_csv()
        dataset = gofast.TableDataset(CSV, shape=(2, 2), scale=None)
        CSV.unlink()
        loader = s.loader(dataset)
        for _ in range(2):
            check(list(loader), x.reshape(-1, 2, 2), y)


def from_a_thread(s: Setting) -> None:
    failures: list[BaseException] = []

    def work() -> None:
        try:
            epochs(s)
            break_and_again(s)
        except BaseException as error:
            failures.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if failures:
        raise failures[0]


# ---------------------------------------------------------------- pictures

PICTURES = 21


def pictures(s: Setting) -> None:
    """Samples that draw: in each worker what torchvision draws there."""
    from torchvision import datasets, transforms

    crops = transforms.Compose(
        [
            transforms.RandomResizedCrop(24),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize((0.5, 0.4, 0.3), (0.2, 0.3, 0.4)),
        ]
    )
    folder = make_folder(Path(os.environ["WORKER_CASES_FOLDER"], "pictures"), PICTURES)
    lists = [list(range(start, min(start + 4, PICTURES))) for start in range(0, PICTURES, 4)]

    def seen(s: Setting, dataset: Dataset[Any]) -> list[Any]:
        torch.manual_seed(3)
        loader = s.loader(dataset, lists=lists)
        return [batch for _ in range(2) for batch in loader]

    theirs = seen(replace(s, method="fork"), datasets.ImageFolder(str(folder), crops))  # forks start soonest
    ours = seen(s, gofast.ImageFolder(folder, crops))
    assert len(ours) == len(theirs) == 2 * len(lists)
    for got, wanted in zip(ours, theirs, strict=True):
        assert torch.equal(got[0], wanted[0]) and torch.equal(got[1], wanted[1])


class OpensFolder(Dataset[Any]):
    """Opens its pictures in the worker."""

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.inner: gofast.ImageFolder | None = None

    def __len__(self) -> int:
        return PICTURES

    def __getitem__(self, index: int) -> Any:
        from torchvision import transforms

        self.inner = self.inner or gofast.ImageFolder(self.folder, transforms.ToTensor())
        return self.inner[index][0].double().sum()


def pictures_opened_in_worker(s: Setting) -> None:
    from torchvision import datasets, transforms

    folder = make_folder(Path(os.environ["WORKER_CASES_FOLDER"], "pictures"), PICTURES)
    expected = [image.double().sum() for image, _ in datasets.ImageFolder(str(folder), transforms.ToTensor())]
    sums = torch.cat(list(s.loader(OpensFolder(str(folder)), lists=[[i] for i in range(PICTURES)])))
    assert torch.equal(sums, torch.stack(expected))


CASES: tuple[Callable[[Setting], None], ...] = (
    epochs,
    views_outlive_batches,
    changed_in_place,
    break_and_again,
    two_at_once,
    own_transforms,
    own_collate,
    opened_in_worker,
    forked_in_worker,
    table_is_handed_over,
    from_a_thread,
    pictures,
    pictures_opened_in_worker,
)

SETTINGS = [(2, True), (1, False), (0, False)]  # workers, persistent


def settings(method: str, state: str, number: int) -> list[tuple[int, bool]]:
    """With how many workers a case is run."""
    if method == "spawn":
        return [(1 if number else 2, True)]  # each imports torch
    if method == "forkserver" or state == "loaded":
        return [SETTINGS[number % 3]]
    if state == "busy" and "WORKER_CASES_SOAK" not in os.environ:
        return [SETTINGS[number % 2]]  # with workers
    return SETTINGS


# ---------------------------------------------------------------- the process


@contextmanager
def engine(state: str, pause: float) -> Iterator[None]:
    if state == "unused":
        assert not core.loaded()
        yield
        return
    total(table(output="dict"))
    assert core.loaded()
    stop = threading.Event()

    def submit() -> None:
        dataset = gofast.ArrayDataset(torch.rand(2000, 64), torch.arange(2000), output="dict")
        while not stop.wait(pause):
            total(dataset)

    threads = [threading.Thread(target=submit) for _ in range(2 if state == "busy" else 0)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def work(method: str, state: str, cases: list[Callable[[Setting], None]]) -> None:
    # What keeps the engine busy leaves the processor to workers that import torch, which takes seconds.
    with engine(state, pause=0 if method == "fork" else 0.1):
        for number, case in enumerate(cases):
            for workers, persistent in settings(method, state, number):
                faulthandler.dump_traceback_later(80, exit=True)  # one case; all take long on a slow host
                case(Setting(method, workers, persistent))
                faulthandler.cancel_dump_traceback_later()
                assert not multiprocessing.active_children(), case.__name__


def main(method: str, *states: str) -> None:
    faulthandler.enable()
    if method == "fork":
        import torchvision  # noqa: F401 (once, for all that are forked)
    gc.freeze()  # what was imported stays: collections are quick
    warnings.simplefilter("ignore", gofast.errors.FallbackWarning)  # some cases are about Python code
    preload = os.environ.get("WORKER_CASES_PRELOAD")
    if method == "forkserver" and preload:
        multiprocessing.set_forkserver_preload(preload.split())
    for given in states:
        state, _, names = given.partition(":")
        cases = [case for case in CASES if not names or case.__name__ in names.split(",")]
        if state == "first":
            for case in cases:
                child = multiprocessing.get_context("fork").Process(
                    target=work, args=(method, "unused", [case])
                )
                child.start()
                child.join()
                assert child.exitcode == 0, case.__name__
        else:
            work(method, state, cases)
        print(f"{state}: {len(cases)} cases", flush=True)
    gc.unfreeze()  # or some libraries take it for a leak


if __name__ == "__main__":
    main(*sys.argv[1:])
