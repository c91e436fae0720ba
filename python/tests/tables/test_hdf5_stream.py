"""IterableDataset.from_hdf5 beside h5py: a dataset that reads its rows one by one, and torch's loader."""

from __future__ import annotations

import pickle
import random
import re
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, IterableDataset
from torchvision import transforms as v1
from torchvision.transforms import v2

import gofast
from gofast import ArrayDataset, errors
from gofast._core import table_operations
from gofast._tables import blocks, stream_options
from gofast._tables.blocks import BlockPermutation
from gofast.typing import HDF5Stream
from same import difference

NUMBERS = ["u1", "i1", "u2", "<i2", "<i4", "<i8", "<f2", "<f4", "<f8", "?", "<c8"]
SMALL = 1 << 20


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Windows that test files have several of."""
    monkeypatch.setattr(stream_options, "_LEAST", 1)
    monkeypatch.setattr(blocks, "USUAL", 1 << 15)
    monkeypatch.setattr(blocks, "_BLOCK", 1 << 10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fallbacks on purpose
        yield


def order_of(stream: HDF5Stream, epoch: int = 0) -> list[int]:
    """The rows of an epoch, where they stand in the file."""
    drawn = BlockPermutation(stream.seed if stream.shuffle else None, epoch)
    rows = list[int]()
    for window, some in stream._some(drawn):
        rows += [window._place(int(row)).row for row in some]
        window.end()
    return rows


class Rows(IterableDataset[Any]):
    """Rows of datasets in an order, read by h5py."""

    def __init__(self, path: Path, order: list[int], transform: Any = None, labels: bool = True) -> None:
        self.path, self.order, self.transform, self.labels = path, order, transform, labels

    def __iter__(self) -> Iterator[Any]:
        with h5py.File(self.path) as file:
            for row in self.order:
                x = torch.from_numpy(np.asarray(file["x"][row]))
                if self.transform is not None:
                    x = self.transform(x)
                yield (x, torch.from_numpy(np.asarray(file["y"][row]))) if self.labels else (x,)


def batches(loader: Any) -> list[Any]:
    torch.manual_seed(3)
    random.seed(4)
    return [*loader, torch.get_rng_state(), random.getstate()]


def write(path: Path, d: random.Random, shape: tuple[int, ...], kind: str, name: str = "x") -> None:
    """A dataset in chunks, of which not all may be written."""
    bits = np.random.default_rng(d.getrandbits(32)).integers(
        0, 2 if kind == "?" else 256, (*shape, np.dtype(kind).itemsize), np.uint8
    )
    array = bits.view(kind)[..., 0]
    if array.dtype.kind in "fc":
        array = np.nan_to_num(array)
    # Few rows have a chunk, so that there are several windows.
    chunks = (d.randint(1, max(shape[0] // 8, 1)), *(d.randint(1, n) for n in shape[1:]))
    options: dict[str, Any] = {"chunks": chunks, "compression": d.choice([None, "gzip", "lzf"])}
    options |= {"shuffle": d.random() < 0.5, "fletcher32": d.random() < 0.4, "fillvalue": array.flat[0]}
    start = d.randrange(shape[0]) if d.random() < 0.3 else 0
    with h5py.File(path, "a") as file:
        file.create_dataset(name, shape, kind, **options)[start:] = array[start:]


@pytest.mark.parametrize("seed", range(40))
def test_random_files(seed: int, tmp_path: Path) -> None:
    d, path = random.Random(seed), tmp_path / "a.h5"
    count = d.randint(200, 900)
    row = tuple(d.randint(1, 9) for _ in range(d.randint(1, 3)))
    write(path, d, (count, *row), d.choice(NUMBERS))
    if d.random() < 0.5:
        write(path, d, (count, *row[: d.randint(0, 2)]), d.choice(NUMBERS), "y")
    else:
        with h5py.File(path, "a") as file:
            file["y"] = np.arange(count)
    options: dict[str, Any] = {"batch_size": d.randint(1, 2 * count), "drop_last": d.random() < 0.5}
    if d.random() < 0.8:
        options["batch_size"] = d.randint(2, 70)
    shuffle: Any = d.choice(["block", None])
    with h5py.File(path) as file:
        size = sum(file[name].size * file[name].dtype.itemsize for name in "xy")
    memory = max(size // 2, 100_000)
    ours = None
    for _ in range(3):  # what it asks for is enough: once for each that is kept whole, and for windows
        try:
            ours = gofast.IterableDataset.from_hdf5(path, "x", "y", memory=memory, shuffle=shuffle, seed=seed)
            break
        except errors.LimitError as error:
            found = re.search(
                r"need memory=(\d+)|needs .*?(\d+) bytes\)? in memory, the limit is .*?(\d+) bytes",
                str(error),
            )
            assert found is not None, error
            memory = int(found[1]) if found[1] else memory + 8 * (int(found[2]) - int(found[3])) + 8
    assert ours is not None
    assert len(ours) == count
    order = order_of(ours)
    assert sorted(order) == [*range(count)]
    if shuffle is None:
        assert order == [*range(count)]
    want = batches(DataLoader(Rows(path, order), **options))
    for kind in (gofast.DataLoader, DataLoader):
        assert difference(batches(kind(ours, **options)), want) == "", kind


def pictures(path: Path, *shape: int, count: int = 400, chunk: int = 16) -> Path:
    """Pictures and their numbers."""
    random = np.random.default_rng(0)
    with h5py.File(path, "w") as file:
        data = random.integers(0, 30, (count, *shape), np.uint8)
        file.create_dataset("x", data=data, chunks=(chunk, *shape), compression="gzip", fletcher32=True)
        file["y"] = np.arange(count)
    return path


def as_picture(transform: Any) -> Callable[[Any], Any]:
    return lambda x: transform(Image.fromarray(x.numpy()))


@pytest.mark.parametrize(
    "transform",
    [
        v1.Compose([v1.RandomCrop(12, 2), v1.RandomHorizontalFlip(), v1.ToTensor()]),
        v2.Compose([v2.RandomResizedCrop(9), v2.ToImage(), v2.ToDtype(torch.float32, True)]),
        v1.Compose([v1.RandomChoice([v1.RandomRotation(20), v1.RandomVerticalFlip()]), v1.ToTensor()]),
        v1.Compose([v1.Lambda(lambda picture: picture.rotate(5)), v1.RandomCrop(9), v1.PILToTensor()]),
    ],
)
@pytest.mark.parametrize("shape", [(16, 16, 3), (14, 16)])
def test_pictures_and_what_they_draw(transform: Any, shape: tuple[int, ...], tmp_path: Path) -> None:
    path = pictures(tmp_path / "a.h5", *shape)
    ours = gofast.IterableDataset.from_hdf5(
        path, "x", "y", memory=160_000, shuffle="block", seed=1, transform=transform
    )
    theirs = Rows(path, order_of(ours), as_picture(transform))
    want = batches(DataLoader(theirs, 32))
    assert len(ours._windows().blocks) > 4
    for kind in (gofast.DataLoader, DataLoader):
        assert difference(batches(kind(ours, batch_size=32)), want) == "", kind


def test_what_a_transform_keeps_stays(tmp_path: Path) -> None:
    """The window's memory has other rows later."""
    path, kept = pictures(tmp_path / "a.h5", 16, 16), list[Any]()
    transform = v1.Compose([v1.Lambda(lambda picture: kept.append(picture) or picture), v1.ToTensor()])
    ours = gofast.IterableDataset.from_hdf5(path, "x", memory=100_000, transform=transform)
    (want,) = (torch.cat([x for (x,) in gofast.DataLoader(ours, 32)]),)
    got = torch.stack([v1.functional.to_tensor(picture) for picture in kept])
    assert torch.equal(got, want)


def test_options_are_those_of_a_dataset(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        x = np.random.default_rng(0).integers(0, 200, (500, 64), np.uint8)
        file.create_dataset("x", data=x, chunks=(20, 64), compression="lzf")
        file["y"], file["a"], file["b"] = np.arange(500) % 7, np.arange(500.0), np.ones(500)
    for options in (
        {"scale": "unit", "output": "dict", "shape": (8, 8)},
        {"mean": 3.0, "std": 2.0, "one_hot": 7},
        {"dtype": "float64", "target_transform": lambda y: y + 1},
        {"batch_transform": lambda x: x.float() * 2, "keys": ("a", "b"), "output": "dict"},
    ):
        whole = ArrayDataset.from_hdf5(path, "x", "y", **options)
        ours = gofast.IterableDataset.from_hdf5(
            path, "x", "y", memory=100_000, shuffle="block", seed=5, **options
        )
        assert (ours.shape, ours.dtype, ours.keys) == (whole.shape, whole.dtype, whole.keys)
        for kind in (gofast.DataLoader, DataLoader):
            want = [*DataLoader(whole, 33, sampler=order_of(ours))]
            assert difference([*kind(ours, batch_size=33)], want) == "", options
    columns = gofast.IterableDataset.from_hdf5(path, ["a", "b"], memory=100_000)
    assert torch.equal(next(iter(gofast.DataLoader(columns, 500)))[0][:, 0], torch.arange(500.0).double())
    with pytest.raises(errors.BadValueError, match=r"row \d+: label 6") as caught:
        [
            *gofast.DataLoader(
                gofast.IterableDataset.from_hdf5(path, "x", "y", memory=100_000, shuffle="block", one_hot=6),
                9,
            )
        ]
    assert caught.value.row is not None and caught.value.row % 7 == 6
    for wrong in ({"mean": "auto", "std": "auto"}, {"shuffle": True}, {"memory": "much"}, {"one_hot": 0}):
        with pytest.raises(errors.OptionError):
            gofast.IterableDataset.from_hdf5(path, "x", "y", **wrong)
    with pytest.raises(errors.SchemaError, match="500 and 3 rows"):
        with h5py.File(path, "a") as file:
            file["z"] = np.arange(3)
        gofast.IterableDataset.from_hdf5(path, "x", "z")


def test_each_chunk_is_decoded_once_an_epoch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, asked = pictures(tmp_path / "a.h5", 16, 16, 3, count=1001, chunk=10), list[int]()
    task = table_operations.unchunk_rows

    class Noted:
        def begin(self, config: Any, keep: Any) -> Any:
            asked.extend(config["rows"])
            return task.begin(config, keep)

    ours = gofast.IterableDataset.from_hdf5(path, "x", "y", memory=300_000, shuffle="block", seed=0)
    monkeypatch.setattr(table_operations, "unchunk_rows", Noted())
    orders = []
    for epoch in range(3):
        ours.set_epoch(epoch)
        orders.append(torch.cat([y for _, y in gofast.DataLoader(ours, 64)]).tolist())
        assert sorted(asked) == [*range(0, 1001, 10)]
        asked.clear()
    assert orders[0] != orders[1] and all(sorted(order) == [*range(1001)] for order in orders)
    ours.set_epoch(0)
    assert torch.cat([y for _, y in DataLoader(ours, 64)]).tolist() == orders[0]


def test_two_large_datasets_with_other_chunks(tmp_path: Path) -> None:
    path, n = tmp_path / "a.h5", 900
    values = np.random.default_rng(0).integers(0, 255, (n, 100), np.uint8)
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=values, chunks=(60, 40), compression="gzip")
        file.create_dataset("y", data=values, chunks=(90, 100), compression="gzip")
        file.create_dataset("z", data=values, chunks=(77, 100), compression="gzip")
    ours = gofast.IterableDataset.from_hdf5(path, "x", "y", memory=300_000, shuffle="block", seed=2)
    assert all(run.start % 180 == 0 for run in ours._windows().blocks)
    want = batches(DataLoader(Rows(path, order_of(ours)), 50))
    assert difference(batches(gofast.DataLoader(ours, 50)), want) == ""
    with pytest.raises(errors.LimitError, match="60 of a chunk of 'x', 77 of a chunk of 'z'"):
        gofast.IterableDataset.from_hdf5(path, "x", "z", memory=300_000)


# -- memory ------------------------------------------------------------------------


PEAK = """
import sys, torch, gofast
def most():
    return int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0]) >> 10
small = gofast.IterableDataset.from_hdf5(sys.argv[1], "small", "y", memory="40MB", shuffle="block", seed=0)
for batch in gofast.DataLoader(small, 64): pass  # what starting the engine takes
before, total = most(), 0
ours = gofast.IterableDataset.from_hdf5(sys.argv[1], "x", "y", memory="40MB", shuffle="block", seed=0)
for epoch in range(3):
    for x, y in gofast.DataLoader(ours, 64):
        total += len(x)
print(total, most() - before)
"""


def test_memory_at_its_most(tmp_path: Path) -> None:
    """160 MB of rows, in three epochs, within 40 MB; and some for the batches."""
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file.create_dataset("x", (40_000, 4096), "u1", chunks=(100, 4096), compression="gzip", fillvalue=1)
        file["x"][:] = 3
        file.create_dataset("small", data=np.zeros((40_000, 4), "u1"))
        file["y"] = np.arange(40_000)
    done = subprocess.run([sys.executable, "-c", PEAK, str(path)], capture_output=True, text=True)
    total, grown = map(int, done.stdout.split())
    assert total == 120_000 and grown < 40 + 24, done


def test_a_chunk_that_is_too_large_is_an_error_at_the_start(tmp_path: Path) -> None:
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        data = np.random.default_rng(0).integers(0, 255, (100, 10_000), np.uint8)
        file.create_dataset("x", data=data, chunks=(50, 10_000), compression="gzip")
    with pytest.raises(errors.LimitError, match=r"50 of a chunk of 'x': they need memory=") as caught:
        gofast.IterableDataset.from_hdf5(path, "x", memory=SMALL)
    needed = int(str(caught.value).partition("memory=")[2].partition(",")[0])
    ours = gofast.IterableDataset.from_hdf5(path, "x", memory=needed)
    assert torch.equal(torch.cat([x for (x,) in gofast.DataLoader(ours, 32)]), torch.from_numpy(data))


# -- processes, ranks, ends -----------------------------------------------------------


def without_h5py(_: int) -> None:
    sys.modules["h5py"] = None  # type: ignore[assignment]


@pytest.mark.parametrize("method", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
@pytest.mark.parametrize("shuffle", ["block", None])
def test_workers_share_an_epoch(method: str, shuffle: Any, tmp_path: Path) -> None:
    path = pictures(tmp_path / "a.h5", 16, 16, 3)
    ours = gofast.IterableDataset.from_hdf5(path, "x", "y", memory=160_000, shuffle=shuffle, seed=1)
    loader = DataLoader(ours, 32, num_workers=3, multiprocessing_context=method, worker_init_fn=without_h5py)
    got = [*loader]
    rows = torch.cat([y for _, y in got])
    assert sorted(rows.tolist()) == [*range(400)]
    with h5py.File(path) as file:
        want = torch.from_numpy(file["x"][:])
    assert torch.equal(torch.cat([x for x, _ in got]), want[rows])


def test_a_file_that_changes_before_its_stream_is_unpickled(tmp_path: Path) -> None:
    path = pictures(tmp_path / "a.h5", 16, 16)
    pickled = pickle.dumps(gofast.IterableDataset.from_hdf5(path, "x", "y", memory=100_000))
    pictures(path, 8, 8)
    with pytest.raises(errors.ChangedError):
        pickle.loads(pickled)


@pytest.mark.parametrize("kind", [gofast.DataLoader, DataLoader])
def test_a_damaged_chunk_in_an_epoch_is_named(kind: Any, tmp_path: Path) -> None:
    path = pictures(tmp_path / "a.h5", 16, 16)
    with h5py.File(path) as file:
        place = file["x"].id.get_chunk_info_by_coord((208, 0, 0))
    with open(path, "r+b") as raw:
        raw.seek(place.byte_offset + place.size // 2)
        byte = raw.read(1)[0]
        raw.seek(-1, 1)
        raw.write(bytes([byte ^ 255]))
    ours, rows = gofast.IterableDataset.from_hdf5(path, "x", "y", memory=100_000), list[int]()
    for _ in range(2):
        with pytest.raises(errors.DamagedError, match=r"chunk \[208 0 0\]: its checksum") as caught:
            for _, y in kind(ours, batch_size=16):
                rows += y.tolist()
        assert caught.value.column == "x" and caught.value.path == str(path)
        assert rows == [*range(len(rows))] and (kind is DataLoader or len(rows) > 0) and len(rows) <= 208
        rows.clear()


def test_an_index_that_leads_beyond_the_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from gofast._tables import hdf5

    path = pictures(tmp_path / "a.h5", 16, 16)
    true = hdf5.as_read

    def lying(found: Any, index: Any, *rest: Any) -> Any:
        made = true(found, index, *rest).copy()
        made[3, 0] += 400
        return made

    monkeypatch.setattr(hdf5, "as_read", lying)
    with pytest.raises(errors.DamagedError, match="begins in row 448 of 400"):
        gofast.IterableDataset.from_hdf5(path, "x", memory=100_000)


def test_ctrl_c_in_an_epoch(tmp_path: Path) -> None:
    path = pictures(tmp_path / "a.h5", 32, 32, 3, count=2000)
    ours = gofast.IterableDataset.from_hdf5(path, "x", "y", memory=SMALL, shuffle="block", seed=1)
    want = torch.cat([y for _, y in gofast.DataLoader(ours, 8)])
    interrupted = 0
    for after in range(1, 9):
        timer = threading.Timer(after * 0.004, signal.raise_signal, [signal.SIGINT])
        try:
            timer.start()
            for _ in gofast.DataLoader(ours, 8):
                pass
            timer.join()
        except KeyboardInterrupt:
            interrupted += 1
    assert interrupted > 2
    assert torch.equal(torch.cat([y for _, y in gofast.DataLoader(ours, 8)]), want)


def test_explain(tmp_path: Path) -> None:
    path = pictures(tmp_path / "a.h5", 16, 16, 3)
    plain = gofast.IterableDataset.from_hdf5(path, "x", "y", memory=160_000, shuffle="block", seed=0)
    said = str(gofast.explain(gofast.DataLoader(plain, 32)))
    assert "x: 25 chunks (gzip" in said and "windows an epoch" in said
    assert "decoded while batches go out" in said and "decoded while batches go out" in str(
        gofast.explain(plain)
    )
    slow = gofast.IterableDataset.from_hdf5(
        path, "x", memory=160_000, transform=v1.Compose([v1.Lambda(lambda x: x), v1.ToTensor()])
    )
    assert "Python" in str(gofast.explain(slow)) and "1 pictures" not in str(gofast.explain(slow))
    assert "400" in repr(plain)
