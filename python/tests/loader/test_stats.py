"""What loaders and the process count: it adds up with what was iterated, and says what became of the rest."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, Subset, TensorDataset
from torchvision import transforms as T

import gofast
from gofast import errors
from gofast._loader.counts import Counts, bytes_of
from image_data import make_folder
from in_threads import in_threads

pytestmark = pytest.mark.filterwarnings(
    "ignore:This DataLoader will create", "ignore::gofast.errors.BadSampleWarning"
)

TRAIN = T.Compose(
    [T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor(), T.Normalize([0.5], [0.2])]
)
SAMPLE_BYTES = 3 * 32 * 32 * 4


@pytest.fixture
def broken(tmp_path: Path) -> tuple[Path, int]:
    """A folder with a cut file, and a text that calls itself a picture: with its number of files."""
    root = make_folder(tmp_path, count=8)
    files = sorted(path for path in root.rglob("*") if path.is_file())
    files[1].write_bytes(files[1].read_bytes()[:200])
    files[4].write_bytes(b"no picture")
    return root, len(files)


def rows(count: int = 1000) -> gofast.ArrayDataset:
    features = np.zeros((count, 8, 4), np.uint8)
    features.flags.writeable = False
    return gofast.ArrayDataset(features, np.arange(count))


def check(told: dict[str, Any], batches: int, samples: int, sample_bytes: int) -> None:
    assert (told["batches"], told["samples"]) == (batches, samples)
    assert told["bytes"] == samples * sample_bytes
    assert 0 <= told["waits"] <= batches
    assert told["wait_seconds"] >= 0
    assert sum(told["stages"].values()) <= told["busy_seconds"] * (1 + 1e-9)
    assert all(seconds > 0 for seconds in told["stages"].values())
    assert 0 <= told["occupancy"] <= 1


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("batch_size", [16, 300])
def test_rows(workers: int, batch_size: int) -> None:
    loader = gofast.DataLoader(rows(), batch_size, shuffle=True, num_workers=workers)
    told = loader.stats()
    assert (told["epochs"], told["batches"], told["fallbacks"], told["epoch"]["samples"]) == (0, 0, {}, 0)
    before = gofast.engine_stats()
    for epoch in (1, 2):
        assert sum(len(labels) for _, labels in loader) == 1000
        told = loader.stats()
        check(told, epoch * len(loader), epoch * 1000, 32)
        check(told["epoch"], len(loader), 1000, 32)
        assert told["made"] == epoch * 1000
        assert set(told["stages"]) == {"gather"}
        assert (told["epochs"], told["epoch"]["epochs"]) == (epoch, 1)
        assert told["seconds"] > told["epoch"]["seconds"] > 0 or epoch == 1
        assert told["threads"] > 0
    after = gofast.engine_stats()
    for name, count in {"batches": 2 * len(loader), "samples": 2000, "made": 2000, "bytes": 64000}.items():
        assert after.get(name, 0) - before.get(name, 0) == count
    assert after["busy_seconds"] > before.get("busy_seconds", 0)


def test_an_epoch_that_is_given_up() -> None:
    loader = gofast.DataLoader(rows(), 10, num_workers=2)
    batches = iter(loader)
    for _ in range(3):
        next(batches)
    assert loader.stats()["batches"] == 3
    del batches
    told = loader.stats()
    assert (told["batches"], told["samples"]) == (3, 30)
    assert told["made"] >= 30  # more were on their way
    assert told["seconds"] == loader.stats()["seconds"]  # nobody runs any more


def test_rows_that_anybody_may_write_to() -> None:
    """They are made when they are asked for, on the loop's thread: every batch is a wait."""
    loader = gofast.DataLoader(gofast.ArrayDataset(np.zeros((50, 4), np.float32), np.arange(50)), 8)
    list(loader)
    told = loader.stats()
    check(told, 7, 50, 16)
    assert (told["waits"], told["made"]) == (7, 50)
    assert told["wait_seconds"] > 0


def test_pictures(folder: Path) -> None:
    ours = gofast.ImageFolder(folder, TRAIN)
    loader = gofast.DataLoader(ours, 8, shuffle=True, num_workers=2)
    for _ in loader:
        pass
    told = loader.stats()
    check(told, len(loader), len(ours), SAMPLE_BYTES)
    # A progressive file's decoding cannot be told apart, a baseline file's can if the library lets us.
    assert {"read", "decode", "resize", "numbers"} <= set(told["stages"])
    assert not {"gather"} & set(told["stages"])
    assert told["draw_seconds"] > 0
    assert told["file_bytes"] == sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_a_collate_function_and_lists_of_indices(folder: Path) -> None:
    """What torch's own code makes is counted by what it is asked for."""
    ours = gofast.ImageFolder(folder, TRAIN)
    loader: Any = gofast.DataLoader(ours, 8, collate_fn=lambda samples: len(samples))
    assert sum(loader) == loader.stats()["samples"] == len(ours)
    odd = gofast.DataLoader(rows(20), batch_sampler=[["none"], [1, 2]])
    batches = iter(odd)
    with (
        pytest.raises((IndexError, TypeError)),
        pytest.warns(UserWarning),
    ):  # torch's, of what it makes of that
        next(batches)
    next(batches)
    told = odd.stats()
    assert (sum(told["errors"].values()), told["samples"]) == (1, 2)
    assert list(told["fallbacks"].values()) == [1]


@pytest.mark.parametrize("on_error", ["zero", "replace"])
@pytest.mark.parametrize("ours", [True, False], ids=["engine", "torch"])
def test_bad_pictures(broken: tuple[Path, int], on_error: Any, ours: bool) -> None:
    root, count = broken
    dataset = gofast.ImageFolder(root, TRAIN, on_error=on_error)
    before = gofast.engine_stats().get("errors", {})
    # batch_size=None is torch's machinery
    loader = gofast.DataLoader(dataset, 4 if ours else None)
    assert sum(1 for _ in loader) == (-(-count // 4) if ours else count)
    told = loader.stats()
    assert told["samples"] == count
    assert told["errors"]["BadImageError"] >= 2
    after = gofast.engine_stats()["errors"]
    assert after["BadImageError"] - before.get("BadImageError", 0) == told["errors"]["BadImageError"]


def test_an_error_that_is_raised_is_counted_once(broken: tuple[Path, int]) -> None:
    loader = gofast.DataLoader(gofast.ImageFolder(broken[0], TRAIN), 2)
    batches = iter(loader)
    raised = 0
    for _ in range(len(loader)):
        try:
            next(batches)
        except errors.BadImageError:
            raised += 1
    told = loader.stats()
    assert told["errors"] == {"BadImageError": raised}
    assert raised >= 1
    assert told["batches"] == len(loader) - raised


def test_a_row_that_is_not_there() -> None:
    loader = gofast.DataLoader(rows(10), 1, sampler=[1, 99, 2])
    batches = iter(loader)
    next(batches)
    with pytest.raises(errors.RowIndexError):
        next(batches)
    next(batches)
    told = loader.stats()
    assert (told["errors"], told["batches"]) == ({"RowIndexError": 1}, 2)


def test_pictures_for_pillow(tmp_path: Path) -> None:
    from PIL import Image

    (tmp_path / "a").mkdir()
    for i in range(3):
        Image.new("RGB", (20, 20)).save(tmp_path / "a" / f"{i}.bmp")
    loader = gofast.DataLoader(gofast.ImageFolder(tmp_path, T.Compose([T.Resize((8, 8)), T.ToTensor()])), 2)
    list(loader)
    assert loader.stats()["fallbacks"] == {"picture: not a format that is decoded here": 3}


class Numbers(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(25))


@pytest.mark.parametrize("workers", [0, 1])
@pytest.mark.parametrize("dataset", [TensorDataset(torch.zeros(25, 3)), Numbers()], ids=["map", "iterable"])
def test_torchs_machinery(dataset: Any, workers: int) -> None:
    loader: Any = gofast.DataLoader(dataset, 10, num_workers=workers, persistent_workers=workers > 0)
    for epoch in (1, 2):
        got = list(loader)
        told = loader.stats()
        assert (told["batches"], told["samples"], told["epochs"]) == (3 * epoch, 25 * epoch, epoch)
        assert (told["epoch"]["batches"], told["epoch"]["samples"]) == (3, 25)
    first = got[0][0] if isinstance(got[0], list) else got[0]
    assert told["epoch"]["bytes"] == 25 * (first.nbytes // len(first))
    assert (told["made"], told["stages"], told["threads"]) == (0, {}, 0)
    (reason,) = told["fallbacks"]
    assert reason.startswith(f"loader: {type(dataset).__name__} is ")
    assert told["fallbacks"][reason] >= 1
    assert told["wait_seconds"] > 0


def test_workers_are_shut_down_as_torchs_are() -> None:
    """The counting iterator is in no circle: it goes when it is dropped."""
    loader: Any = gofast.DataLoader(TensorDataset(torch.zeros(25, 3)), 10, num_workers=1)
    batches = iter(loader)
    next(batches)
    (worker,) = batches._workers
    del batches
    worker.join(30)
    assert not worker.is_alive()
    assert loader.stats()["batches"] == 1


def test_workers_count_for_themselves(folder: Path) -> None:
    """A forked worker begins at zero; what it does is not in the parent's counts."""
    ours = gofast.ImageFolder(folder, TRAIN)
    list(gofast.DataLoader(ours, 4))  # the parent has an engine, and has made something
    before = gofast.engine_stats()
    told = [part for part in DataLoader(_Asking(ours), batch_size=None, num_workers=2)]
    after = gofast.engine_stats()
    assert after["made"] == before["made"]
    for part in told:
        assert part["pid"] != os.getpid()
        assert part["made"] == part["asked"]  # of this process
        assert part["busy_seconds"] > 0
    assert sum(part["asked"] == 1 for part in told) == 2  # each began at zero


class _Asking(torch.utils.data.Dataset[Any]):
    """Takes samples in a worker, and says what the worker has counted."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.asked = inner, 0

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> dict[str, Any]:
        self.inner.__getitems__([index])
        self.asked += 1
        stats = gofast.engine_stats()
        return {"pid": os.getpid(), "asked": self.asked, **{k: stats[k] for k in ("made", "busy_seconds")}}


@pytest.mark.parametrize("resident", [True, False])
def test_on_a_device(standin: Any, tmp_path: Path, resident: bool) -> None:
    np.savez(tmp_path / "t.npz", features=np.zeros((100, 9), np.uint8), label=np.arange(100))
    table = gofast.TableDataset(tmp_path / "t.npz", scale="unit")
    loader = gofast.DataLoader(table, 30, device="cuda", resident=resident)
    for epoch in (1, 2):
        list(loader)
        told = loader.stats()
        check(told, 4 * epoch, 100 * epoch, 9 * 4)
    assert told["made"] == (0 if resident else 200)  # the device gathers what lives there


def test_threads_that_share_a_loader() -> None:
    loader = gofast.DataLoader(rows(2000), 10, num_workers=2)
    seen = []

    def run() -> None:
        for _ in range(3):
            seen.append(sum(len(labels) for _, labels in loader))

    in_threads(*[run] * 4)
    told = loader.stats()
    assert (told["samples"], told["batches"], told["epochs"]) == (sum(seen), 12 * 200, 12)
    assert told["made"] == told["samples"]


def test_a_copy_begins_anew() -> None:
    import pickle

    loader = gofast.DataLoader(rows(20), 10)
    list(loader)
    copy = pickle.loads(pickle.dumps(loader))
    assert copy.stats()["batches"] == 0
    list(copy)
    assert (copy.stats()["batches"], loader.stats()["batches"]) == (2, 2)


def test_subsets_and_changes() -> None:
    subset = Subset(rows(100), list(range(50)))
    loader = gofast.DataLoader(subset, 10)
    batches = iter(loader)
    next(batches)
    subset.indices = list(range(40))
    with pytest.raises(Exception):  # noqa: B017 torch's own error, of an index that is gone
        list(batches)
    told = loader.stats()
    assert told["errors"]
    assert told["samples"] == 10 * told["batches"]


def test_a_tally_is_never_replaced() -> None:
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(200):
            counts, addresses = Counts(), set[int]()

            def use(counts: Counts = counts, addresses: set[int] = addresses) -> None:
                addresses.add(counts.address)

            in_threads(*[use] * 3)
            assert len(addresses) == 1
    finally:
        sys.setswitchinterval(before)


def test_token_lists_are_not_walked() -> None:
    class Counted(list[int]):
        looked = 0

        def __getitem__(self, at: Any) -> Any:
            Counted.looked += len(range(*at.indices(len(self)))) if isinstance(at, slice) else 1
            return super().__getitem__(at)

        def __iter__(self) -> Any:
            raise AssertionError("every value is looked at")

    assert bytes_of({"ids": Counted(range(10_000)), "x": torch.zeros(3)}, 3) == 12
    assert Counted.looked < 20


def test_an_error_that_takes_no_attributes() -> None:
    class Frozen(Exception):
        def __setattr__(self, name: str, value: object) -> None:
            raise TypeError("frozen")  # as that of a frozen dataclass, the traceback's too

    class Raises(torch.utils.data.Dataset[int]):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> int:
            raise Frozen(index)

    with pytest.raises(Frozen):
        list(gofast.DataLoader(Raises()))


class Forwarding(torch.utils.data.Dataset[Any]):
    def __init__(self) -> None:
        self.inner = gofast.ArrayDataset(torch.zeros(1000, 8))

    def __len__(self) -> int:
        return 1000

    def __getitem__(self, index: int) -> Any:
        return self.inner[index]

    def __getitems__(self, indices: list[int]) -> Any:
        return self.inner.__getitems__(indices)


class Own(torch.utils.data.Dataset[Any]):
    """Asks another dataset for one sample at a time."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, index: int) -> Any:
        return self.inner[index]


def as_it_is(rows: Any) -> Any:
    return rows


def with_another(rows: Any) -> Any:
    ANOTHER[len(rows)]
    return torch.utils.data.default_collate(list(rows))


ANOTHER = gofast.ArrayDataset(torch.zeros(50, 8), torch.arange(50))
SAMPLES = 20
ROW_BYTES = {"rows": 32, "writable": 32, "pictures": SAMPLE_BYTES, "large": 70_000 * 4, "torch": 12}
MAKERS: dict[str, Any] = {
    "rows": lambda folder: rows(SAMPLES),
    "writable": lambda folder: gofast.ArrayDataset(torch.zeros(SAMPLES, 8), torch.arange(SAMPLES)),
    "large": lambda folder: gofast.ArrayDataset(torch.zeros(SAMPLES, 70_000), torch.arange(SAMPLES)),
    "pictures": lambda folder: Subset(gofast.ImageFolder(folder, TRAIN), range(SAMPLES)),
    "torch": lambda folder: TensorDataset(torch.zeros(SAMPLES, 3), torch.arange(SAMPLES)),
}
AROUND = [lambda inner: inner, lambda inner: Subset(inner, range(SAMPLES)), Own]


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("around", AROUND, ids=["alone", "subset", "own"])
@pytest.mark.parametrize("function", [None, as_it_is, with_another])
def test_all_counts_are_true(folder: Path, workers: int, kind: str, around: Any, function: Any) -> None:
    """A loader's are what it handed out, and the process's the same: once, whoever made it."""
    assert len(gofast.ImageFolder(folder)) >= SAMPLES
    loader = gofast.DataLoader(around(MAKERS[kind](folder)), 8, num_workers=workers, collate_fn=function)
    next(iter(gofast.DataLoader(rows(4), 4)))  # the engine is there
    native = kind != "torch" and around is not Own and not (function is with_another and workers)
    before = gofast.engine_stats()
    list(loader)
    now, own = gofast.engine_stats(), loader.stats()
    assert (own["batches"], own["samples"], own["bytes"]) == (3, SAMPLES, SAMPLES * ROW_BYTES[kind])
    if not native:
        assert (own["waits"], own["made"], own["stages"]) == (3, 0, {}) if workers == 0 else own["waits"] <= 3
    elif kind != "writable" and function is None:
        assert own["made"] == SAMPLES
    if kind == "pictures" and native:
        assert own["stages"]["header"] > 0
    for name in ("batches", "samples", "bytes", "waits"):
        assert now[name] - before[name] == own[name], name
    assert now["wait_seconds"] - before["wait_seconds"] == pytest.approx(own["wait_seconds"])
    if native and function is None:
        assert now["made"] - before["made"] == own["made"]
        assert now["busy_seconds"] - before["busy_seconds"] == pytest.approx(own["busy_seconds"])


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("around", AROUND, ids=["alone", "subset", "own"])
def test_counts_without_a_loader_of_ours(folder: Path, workers: int, kind: str, around: Any) -> None:
    """The process counts what its datasets hand out: batches of one for single samples. Nothing waits."""
    loader = DataLoader(around(MAKERS[kind](folder)), 8, num_workers=workers)
    next(iter(gofast.DataLoader(rows(4), 4)))
    before = gofast.engine_stats()
    list(loader)
    now = gofast.engine_stats()
    ours = workers == 0 and kind != "torch" and (kind == "pictures" or around is not Own)  # a row is an index
    batches = SAMPLES if around is Own else 3
    truth = (batches, SAMPLES, SAMPLES * ROW_BYTES[kind], 0) if ours else (0, 0, 0, 0)
    assert tuple(now[name] - before[name] for name in ("batches", "samples", "bytes", "waits")) == truth
    assert now["made"] - before["made"] == (SAMPLES if ours else 0)


def test_a_thread_beside_a_loader_does_not_hide_its_batches() -> None:
    stop, beside = threading.Event(), rows()

    def run() -> None:
        while not stop.is_set():
            beside.__getitems__([0])

    thread = threading.Thread(target=run)
    thread.start()
    try:
        before = gofast.engine_stats()
        list(gofast.DataLoader(TensorDataset(torch.zeros(2000, 3000)), 100))
        now = gofast.engine_stats()
    finally:
        stop.set()
        thread.join()
    assert now["bytes"] - before["bytes"] >= 2000 * 12_000


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("dataset", [Forwarding, lambda: gofast.ArrayDataset(torch.zeros(1000, 8))])
@pytest.mark.parametrize("function", [None, as_it_is])
def test_a_batch_is_counted_once(workers: int, dataset: Any, function: Any) -> None:
    loader = gofast.DataLoader(dataset(), 100, num_workers=workers, collate_fn=function)
    next(iter(gofast.DataLoader(gofast.ArrayDataset(torch.zeros(4, 2)), 4)))  # the engine is there
    before = gofast.engine_stats()
    list(loader)
    now, own = gofast.engine_stats(), loader.stats()
    assert (own["batches"], own["samples"]) == (10, 1000)
    assert [now[name] - before[name] for name in ("batches", "samples", "bytes")] == [10, 1000, own["bytes"]]


def test_threads_begin_epochs_while_others_read() -> None:
    counts, stop, wrong = Counts(), threading.Event(), []

    def begin() -> None:
        while not stop.is_set():
            held = [counts.begin() for _ in range(50)]
            for epoch in held:
                epoch.end()

    def read() -> None:
        try:
            while not stop.is_set():
                counts.told(1)
        except RuntimeError as error:
            wrong.append(error)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=each) for each in (begin, begin, read, read)]
        for thread in threads:
            thread.start()
        stop.wait(0.5)
        stop.set()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert wrong == []
    assert counts.told(1)["seconds"] == counts.told(1)["seconds"]  # nothing is running any more
