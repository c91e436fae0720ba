"""What every stream does: rows of its files in an order, for ranks, workers, and a loader that goes on.

A new stream adds its row to STREAMS.
"""

from __future__ import annotations

import copy
import gc
import io
import os
import pickle
import random
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from gofast import errors
from gofast._core.memory import Room
from gofast._tables import blocks, stream_options
from same import difference

COUNT = 6011
NUMBERS = np.arange(COUNT)
X = np.random.default_rng(0).integers(-99, 99, (COUNT, 6)).astype(np.float32) / 4
PIXELS = np.random.default_rng(1).integers(0, 256, (COUNT, 6, 7, 3), np.uint8)
DRAWS = T.Compose([T.RandomCrop(5), T.RandomHorizontalFlip(), T.ToTensor()])
LOADERS = pytest.mark.parametrize("kind", [DataLoader, gofast.DataLoader], ids=["torch", "gofast"])
SHUFFLE = pytest.mark.parametrize("shuffle", [None, "block"])


@dataclass
class Stream:
    """One kind.

    Args:
        write: its file, in a folder.
        make: a stream of it.
        whole: all of its rows, as a dataset. Their labels are their numbers.
    """

    write: Callable[[Path], Path]
    make: Callable[..., Any]
    whole: Callable[[Path], Any]


def table(suffix: str, path: Path) -> Path:
    frame, file = pd.DataFrame(X).add_prefix("x").assign(label=NUMBERS), path / f"t.{suffix}"
    if suffix == "parquet":
        frame.to_parquet(file, index=False, row_group_size=200)
    elif suffix == "npy":
        np.save(file, frame.to_numpy())
    else:
        frame.to_csv(file, index=False)
    return file


def of_table(suffix: str, memory: int = 280_000) -> Stream:
    label = {"label": -1, "label_type": "int"} if suffix == "npy" else {}

    def make(path: Path, **options: Any) -> Any:
        limits = {"memory": 64 << 20}
        return gofast.IterableDataset.from_table(path, memory=memory, limits=limits, **label, **options)

    return Stream(lambda path: table(suffix, path), make, lambda path: gofast.TableDataset(path, **label))


def hdf5(path: Path, array: Any, **options: Any) -> Path:
    with h5py.File(path / "a.h5", "w") as file:
        file.create_dataset("x", data=array, **options)
        file.create_dataset("y", data=NUMBERS, **{**options, "chunks": (40,)} if options else {})
    return path / "a.h5"


def of_hdf5(array: Any, memory: int = 220_000, transform: Any = None, **options: Any) -> Stream:
    def make(path: Path, **more: Any) -> Any:
        return gofast.IterableDataset.from_hdf5(path, "x", "y", memory=memory, transform=transform, **more)

    def whole(path: Path) -> Any:
        return gofast.ArrayDataset.from_hdf5(path, "x", "y", transform=transform)

    return Stream(lambda path: hdf5(path, array, **options), make, whole)


STREAMS = {
    **{suffix: of_table(suffix) for suffix in ("csv", "parquet", "npy")},
    "csv.gz": of_table("csv.gz", 1_200_000),  # a block of its own
    "hdf5": of_hdf5(X),
    "packed hdf5": of_hdf5(X, 400_000, compression="gzip", chunks=(20, 4)),
    "pictures": of_hdf5(PIXELS, 690_000, DRAWS, compression="gzip", chunks=(8, 6, 7, 3)),
    "rows of a function": of_hdf5(X, transform=torch.neg),
}


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Windows that these files have several of."""
    monkeypatch.setattr(stream_options, "_LEAST", 1)
    monkeypatch.setattr(blocks, "USUAL", 1 << 14)
    monkeypatch.setattr(blocks, "_BLOCK", 1 << 11)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.FallbackWarning)
        yield


@pytest.fixture(scope="module", params=STREAMS)
def written(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Stream, Path]:
    of = STREAMS[request.param]
    return of, of.write(tmp_path_factory.mktemp("files"))


@pytest.fixture
def make(written: tuple[Stream, Path]) -> Callable[..., Any]:
    """A stream of the file, with options."""
    return lambda **options: written[0].make(written[1], **options)


@pytest.fixture
def whole(written: tuple[Stream, Path]) -> Any:
    return written[0].whole(written[1])


def batches(loader: Any, seed: int | None = 3) -> list[Any]:
    """Copies of those of an epoch, with torch's generator behind them."""
    if seed is not None:
        torch.manual_seed(seed)
    return [*map(copy.deepcopy, loader), torch.get_rng_state()]


def labels(batch: Any) -> list[int]:
    numbers: list[int] = (batch["label"] if isinstance(batch, dict) else batch[1]).long().tolist()
    return numbers


def rows(loader: Any) -> list[int]:
    """The numbers of an epoch's rows."""
    return [number for batch in loader for number in labels(batch)]


# -- rows


@pytest.fixture(scope="module")
def every(written: tuple[Stream, Path]) -> Any:
    """All rows as one batch of torch's: smaller ones are slices of it, and take its loader up to 2 s."""
    return batches(DataLoader(written[0].whole(written[1]), COUNT))[0]


def between(batch: Any, start: int, stop: int) -> Any:
    """Some rows of a batch."""
    if isinstance(batch, dict):
        return {name: each[start:stop] for name, each in batch.items()}
    return [each[start:stop] for each in batch]


@LOADERS
@pytest.mark.parametrize("size", [7, 100, 5000, pytest.param(1, marks=pytest.mark.full)])
def test_the_rows_of_the_files(make: Any, every: Any, size: int, kind: Any) -> None:
    for drop_last in (False, True) if size > 1 else (False,):
        behind = COUNT // size * size if drop_last else COUNT
        theirs = [between(every, i, min(i + size, COUNT)) for i in range(0, behind, size)]
        assert difference(batches(kind(make(), size, drop_last=drop_last))[:-1], theirs) == "", drop_last


def test_rows_one_by_one(make: Any, whole: Any) -> None:
    torch.manual_seed(1)
    got = [row for row, _ in zip(make(), range(400), strict=False)]
    torch.manual_seed(1)
    assert difference(got, [whole[i] for i in range(400)]) == ""
    next(iter(got[0].values()) if isinstance(got[0], dict) else iter(got[0])).zero_()  # nobody else's memory
    assert difference(rows(DataLoader(make(), 1))[:3], [0, 1, 2]) == ""


def test_a_shuffled_epoch(make: Any, whole: Any) -> None:
    stream = make(shuffle="block", seed=4)
    got = batches(gofast.DataLoader(stream, 100))
    order = [number for batch in got[:-1] for number in labels(batch)]
    assert sorted(order) == [*range(COUNT)] != order
    theirs = batches(DataLoader(whole, 100, sampler=order))
    assert difference(got[:-1], theirs[:-1]) == ""
    assert rows(DataLoader(stream, 77)) == rows(gofast.DataLoader(stream, 33)) == order
    for epoch in (1, 2, 1):
        stream.set_epoch(epoch)
        before, order = order, rows(gofast.DataLoader(stream, 100))
        assert sorted(order) == [*range(COUNT)] and order != before


def test_torchs_generator_gives_the_seed(make: Any) -> None:
    loader = gofast.DataLoader(make(shuffle="block"), 500)
    torch.manual_seed(1)
    first, second = rows(loader), rows(loader)
    torch.manual_seed(1)
    assert rows(loader) == first != second


# -- ranks, workers, copies


@SHUFFLE
@pytest.mark.parametrize("even", ["drop", "pad", "error"])
@pytest.mark.parametrize("world", [1, 3])
def test_ranks_share_an_epoch(make: Any, world: int, even: Any, shuffle: Any) -> None:
    if even == "error" and world > 1:
        with pytest.raises(errors.OptionError, match=f"{COUNT} rows cannot be divided among {world} ranks"):
            rows(gofast.DataLoader(make(rank=0, world=world, even=even), 64))
        return
    order, parts = rows(gofast.DataLoader(make(shuffle=shuffle, seed=2), 64)), list[int]()
    each = COUNT // world if even == "drop" else -(-COUNT // world)
    for rank in range(world):
        stream = make(shuffle=shuffle, seed=2, rank=rank, world=world, even=even)
        part = rows(gofast.DataLoader(stream, 100))
        assert len(part) == each and (world == 1 or len(stream) == each)
        parts += part
    assert parts == (order + order)[: each * world]


@pytest.mark.parametrize(
    ("method", "shuffle", "epochs"),
    [
        ("fork", None, 2),
        ("fork", "block", 2),
        ("forkserver", "block", 1),
        *(
            pytest.param(method, shuffle, 2, marks=pytest.mark.full)
            for method in ("forkserver", "spawn")
            for shuffle in (None, "block")
        ),
    ],
)
def test_torchs_workers_share_an_epoch(make: Any, method: str, shuffle: Any, epochs: int) -> None:
    stream = make(shuffle=shuffle)
    torch.manual_seed(0)
    loader = DataLoader(stream, 100, num_workers=2, multiprocessing_context=method)
    assert all(sorted(rows(loader)) == [*range(COUNT)] for _ in range(epochs))
    assert rows(gofast.DataLoader(make(), 100, num_workers=2)) == [*range(COUNT)]  # which starts none


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_copies(make: Any, duplicate: Any) -> None:
    stream = make(shuffle="block", seed=3)
    stream.set_epoch(2)
    want = batches(gofast.DataLoader(stream, 100))
    begun = iter(gofast.DataLoader(stream, 100))
    again = duplicate(stream)
    assert repr(again) == repr(stream)
    assert difference(batches(gofast.DataLoader(again, 100)), want) == ""
    stream.set_epoch(7)  # an epoch is decided when it begins
    assert [*map(labels, begun)] == [*map(labels, want[:-1])]


# -- ends


@SHUFFLE
def test_iterators_beside_each_other_and_early_ends(make: Any, shuffle: Any) -> None:
    stream = make(shuffle=shuffle, seed=1)
    want = rows(gofast.DataLoader(stream, 100))
    gc.collect()  # or what other tests left is closed meanwhile
    threads, descriptors = threading.active_count(), len(os.listdir("/proc/self/fd"))
    for stop in range(8):
        for number, _ in enumerate(gofast.DataLoader(stream, 100)):
            if number == stop:
                break
    both = zip(gofast.DataLoader(stream, 100), gofast.DataLoader(stream, 100), strict=True)
    assert [labels(batch) for pair in both for batch in pair] == [
        some for i in range(0, COUNT, 100) for some in [want[i : i + 100]] * 2
    ]
    assert threading.active_count() <= threads
    assert len(os.listdir("/proc/self/fd")) <= descriptors


@SHUFFLE
def test_a_file_that_changes_is_noticed(written: tuple[Stream, Path], tmp_path: Path, shuffle: Any) -> None:
    of = written[0]
    path = of.write(tmp_path)
    stream = of.make(path, shuffle=shuffle)
    iterator = iter(gofast.DataLoader(stream, 32))
    next(iterator)
    os.utime(path, ns=(1, 1))
    with pytest.raises(errors.ChangedError, match=rf"{path.name}.*(changed|was written to)"):
        list(iterator)
        next(iter(gofast.DataLoader(stream, 32)))
    with pytest.raises(errors.ChangedError):
        next(iter(gofast.DataLoader(stream, 32)))
    os.remove(path)
    with pytest.raises((errors.NotFoundError, errors.ChangedError)):
        next(iter(gofast.DataLoader(stream, 32)))


def test_orders_are_the_streams(make: Any) -> None:
    asked: list[tuple[str, Any]] = [("shuffle", True), ("shuffle", "block"), ("sampler", [1, 0])]
    for option, value in asked:
        with pytest.raises(ValueError, match=f"expected unspecified {option} option") as torchs:
            DataLoader(make(), **{option: value})
        with pytest.raises(ValueError, match='shuffle="block"') as ours:
            gofast.DataLoader(make(), **{option: value})
        assert str(ours.value).startswith(f"{torchs.value}: ")
    gofast.DataLoader(make(), shuffle=False)
    with pytest.raises(errors.OptionError, match="rank=2, world=2"):
        make(rank=2, world=2)
    with pytest.raises(errors.OptionError, match="shuffle=True"):
        make(shuffle=True)


def test_memory_is_free_when_the_last_name_goes(make: Any) -> None:
    def windows() -> int:
        return sum(type(thing) is Room or type(thing).__name__ == "_Window" for thing in gc.get_objects())

    gc.collect()
    before = windows()
    gc.disable()
    try:
        stream = make(shuffle="block")
        for stop in (3, 99):
            for number, _ in enumerate(gofast.DataLoader(stream, 500)):
                if number == stop:
                    assert stop != 3 or windows() > before
                    break
            assert windows() == before
        known = weakref.ref(stream)
        del stream
        assert known() is None
    finally:
        gc.enable()


# -- what is said


@pytest.mark.parametrize("collate", [None, list])
def test_what_is_counted(make: Any, collate: Any) -> None:
    loader, before = gofast.DataLoader(make(), 100, collate_fn=collate), gofast.engine_stats()
    sizes = [len(labels(batch) if collate is None else batch) for _ in range(2) for batch in loader]
    told, after = loader.stats(), gofast.engine_stats()
    assert sum(sizes) == 2 * COUNT
    assert (told["epochs"], told["batches"], told["samples"]) == (2, len(sizes), sum(sizes))
    assert told["epoch"]["samples"] == COUNT and told["wait_seconds"] > 0
    assert told["bytes"] >= 2 * COUNT * 4 * 5 * 5 or X.nbytes * 2 == told["bytes"]
    for name in ("batches", "samples", "bytes"):
        assert after[name] - before[name] == told[name], name


# -- going on


@pytest.mark.parametrize(("shuffle", "seed"), [(None, None), ("block", None), ("block", 5)])
def test_a_loader_goes_on_in_the_middle(make: Any, shuffle: Any, seed: int | None) -> None:
    count = -(-COUNT // 100)
    for stop in (0, 1, random.Random(seed).randrange(2, count - 1), count):
        torch.manual_seed(1)
        loader = gofast.DataLoader(make(shuffle=shuffle, seed=seed), 100)
        iterator = iter(loader)
        for _ in range(stop):
            next(iterator)
        file = io.BytesIO()
        torch.save(loader.state_dict(), file)
        want = batches(iterator, None) + batches(loader, None)
        torch.manual_seed(2)
        again = gofast.DataLoader(make(shuffle=shuffle, seed=seed), 100)
        again.load_state_dict(torch.load(io.BytesIO(file.getvalue()), weights_only=True))
        assert difference(batches(again, None) + batches(again, None), want) == "", stop


def test_ranks_go_on_from_each_others_states(make: Any) -> None:
    def loader(rank: int, size: int = 50, world: int = 3) -> Any:
        return gofast.DataLoader(make(shuffle="block", seed=1, rank=rank, world=world), size)

    one, other = loader(0), loader(2)
    iterator, theirs = iter(one), iter(other)
    for _ in range(4):
        next(iterator), next(theirs)
    state, want = one.state_dict(), rows(theirs)
    for size in (50, 7):
        again = loader(2, size)
        again.load_state_dict(state)
        assert rows(again) == want
    again = loader(1, world=4)
    with pytest.raises(errors.UnsupportedError):
        again.load_state_dict(state)
        rows(again)
