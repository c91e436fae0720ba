"""Index lists of every kind, in Subsets, samplers and batch samplers: read, or refused, as torch does."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
)
from torchvision import datasets, transforms

import gofast
from gofast._core.reason import Reason
from gofast._loader.batch_source import BatchSource

X = torch.arange(60, dtype=torch.float32).reshape(20, 3)
LOADERS = pytest.mark.parametrize("make", [DataLoader, gofast.DataLoader], ids=["torch", "gofast"])


class Plain(Dataset[Any]):
    """As a user writes it: a list of rows."""

    def __init__(self) -> None:
        self.rows = [(row,) for row in X]

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Any:
        return self.rows[index]


def ours() -> gofast.ArrayDataset:
    """The same rows; without arithmetic it would index its arrays as TensorDataset does."""
    return gofast.ArrayDataset(X, mean=0, std=1)


# Lists of rows instead of a row: our arrays give a batch of them, as TensorDataset does.
NESTED = ("nested", "two dimensions", "two dimensions of one")


def theirs(name: str) -> Dataset[Any]:
    return TensorDataset(X) if name in NESTED else Plain()


class Reversed(list[int]):
    """A list that is not read as it is stored."""

    def __getitem__(self, position: Any) -> Any:
        return 19 - super().__getitem__(position)


# Read by position, natively.
PLAIN: dict[str, Any] = {
    "list": [3, 1, -1, 7],
    "tuple": (3, 1, -1, 7),
    "range": range(15, 2, -3),
    "int64": np.array([3, 1, -1]),
    "int16": np.array([3, 1, -1], np.int16),
    "uint8": np.array([3, 1, 11], np.uint8),
    "strided": np.arange(20)[::-3],
    "tensor": torch.tensor([3, 1, -1]),
    "int32 tensor": torch.tensor([3, 1, -1], dtype=torch.int32),
    "numpy integers": [np.int64(3), np.uint8(1)],
    "none": [],
    "memmap": None,
}
# Read in another way, or refused.
ODD: dict[str, Any] = {
    "tensors": [torch.tensor(3), torch.tensor(1)],
    "bools": [True, False],
    "uint8 tensor": torch.tensor([3, 1], dtype=torch.uint8),
    "series": pd.Series([3, 1, 7], index=[2, 0, 1]),
    "series of text labels": pd.Series([3, 1, 7], index=["a", "b", "c"]),
    "index": pd.Index([3, 1, 7]),
    "list of its own": Reversed([3, 1, 7]),
    "masked": np.ma.masked_array([3, 1, 7], [False, True, False]),
    "floats": [3.0, 1.0],
    "some floats": [3, 1.0],
    "float array": np.array([3.0, 1.0]),
    "float tensor": torch.tensor([3.0, 1.0]),
    "bool array": np.array([True, False, True]),
    "texts": ["3", "1"],
    "text": "31",
    "bytes": b"\x03\x01",
    "two dimensions": np.array([[3, 1], [7, 2]]),
    "two dimensions of one": np.array([[3], [1]]),
    "nested": [[3, 1], [7, 2]],
    "times": np.array(["2020-01-01", "2020-01-02"], "datetime64[D]"),
    "spans": np.array([3, 1], "timedelta64[D]"),
    "uint64": np.array([3, 1], np.uint64),
    "objects": np.array([3, 1], object),
    "bool tensor": torch.tensor([True, False]),
    "out of range": [3, 20],
    "array": array("i", [3, 1]),
    "dict": {0: 3, 1: 1},
}


def seen(loader: Any) -> Any:
    """The rows of an epoch, and the kind of error that ends it."""
    rows: list[Any] = []
    try:
        rows.extend(batch[0].tolist() for batch in loader)
    except Exception as error:
        rows.append(next(t for t in (IndexError, KeyError, TypeError, Exception) if isinstance(error, t)))
    return rows


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    made = np.memmap(tmp_path / "indices", np.int64, "w+", shape=(3,))
    made[:] = 5, 0, 2
    return made


@pytest.mark.parametrize("name", [*PLAIN, *ODD])
@LOADERS
def test_a_subsets_indices(make: Any, name: str, memory: Any) -> None:
    indices = memory if name == "memmap" else (PLAIN | ODD)[name]
    dataset = ours()
    shapes = [lambda d: Subset(d, indices), lambda d: ConcatDataset([d, Subset(d, indices)])]
    if name in NESTED:
        del shapes[1]
    for shape in shapes:
        loader = make(shape(dataset), 2)
        assert seen(loader) == seen(DataLoader(shape(theirs(name)), 2))
        if make is gofast.DataLoader:
            assert isinstance(loader._native_view(), BatchSource) == (name in PLAIN)


@pytest.mark.parametrize("name", [*PLAIN, *ODD])
@pytest.mark.parametrize("workers", [0, 2])
@LOADERS
def test_a_samplers_indices(make: Any, workers: int, name: str, memory: Any) -> None:
    if workers and make is DataLoader:
        pytest.skip("slow, and torch's own")
    indices = memory if name == "memmap" else (PLAIN | ODD)[name]
    got, want = (
        seen(loader(d, 2, sampler=SubsetRandomSampler(indices, torch.Generator().manual_seed(4)), **more))
        for loader, d, more in (
            (make, ours(), {"num_workers": workers}),
            (DataLoader, theirs(name), {}),
        )
    )
    assert got == want


def test_concatenated_datasets_that_grew() -> None:
    both = ConcatDataset([ours(), ours()])
    both.datasets[0] = gofast.ArrayDataset(torch.cat([X, X]))
    loader = gofast.DataLoader(both, 8)
    assert isinstance(loader._native_view(), Reason)
    assert torch.equal(torch.cat([b[0] for b in loader]), torch.stack([both[i][0] for i in range(40)]))


# ---------------------------------------------------------------- batch samplers


class Batches:
    """A batch sampler that yields what it is told to make of lists."""

    def __init__(self, kind: Callable[[list[int]], Any]) -> None:
        self.kind = kind

    def __iter__(self) -> Iterator[Any]:
        for first in range(0, 16, 4):
            yield self.kind([first + 3, first, first + 1])

    def __len__(self) -> int:
        return 4


def generated(indices: list[int]) -> Iterator[int]:
    yield from indices


ITERATED: dict[str, Callable[[list[int]], Any]] = {
    "generator": generated,
    "iterator": iter,
    "map": lambda i: map(int, i),
}
KINDS: dict[str, Callable[[list[int]], Any]] = {
    "list": list,
    "tuple": tuple,
    "set": set,
    "dict": dict.fromkeys,
    "bytes": bytes,
    "bytearray": bytearray,
    "uint64": lambda i: np.array(i, np.uint64),
    "int8": lambda i: np.array(i, np.int8),
    "objects": lambda i: np.array(i, object),
    "bool tensor": lambda i: torch.tensor(i) % 2 == 0,
    "tensor": torch.tensor,
    "uint8 tensor": lambda i: torch.tensor(i, dtype=torch.uint8),
    "array": lambda i: array("b", i),
    "series": lambda i: pd.Series(i, index=i),
    "range": lambda i: range(min(i), max(i)),
    "numpy integers": lambda i: [np.uint64(x) for x in i],
}
BAD: dict[str, Callable[[list[int]], Any]] = {
    "float tensor": lambda i: torch.tensor(i) / 1,
    "bool array": lambda i: np.array(i) % 2 == 0,
    "floats": lambda i: [float(x) for x in i],
    "text": str,
}


@pytest.mark.parametrize("kind", [*ITERATED, *KINDS, *BAD])
@LOADERS
def test_batch_samplers_of_tables(make: Any, kind: str) -> None:
    function = (ITERATED | KINDS | BAD)[kind]
    got = seen(make(ours(), batch_sampler=Batches(function)))
    assert got == seen(DataLoader(Plain(), batch_sampler=Batches(function)))  # type: ignore[arg-type]


RANDOM = transforms.Compose(
    [transforms.RandomResizedCrop(12), transforms.RandomHorizontalFlip(), transforms.ToTensor()]
)


def states(loader: Any) -> list[Any]:
    """Every batch or error of two epochs, and torch's generator after it."""
    torch.manual_seed(3)
    made = []
    for _ in range(2):
        iterator = iter(loader)
        for _ in range(6):
            try:
                images, labels = next(iterator)
                batch: Any = (images.tolist(), labels.tolist())
            except StopIteration:
                batch = "end"
            except Exception as error:
                batch = next(
                    t for t in (IndexError, TypeError, RuntimeError, Exception) if isinstance(error, t)
                )
            made.append((batch, torch.get_rng_state().tolist()))
            torch.rand(1)
    return made


def with_an_empty_one(indices: list[int]) -> list[int]:
    return [] if indices[0] == 7 else indices


def with_an_odd_one(indices: list[int]) -> list[Any]:
    return ["x"] if indices[0] == 7 else indices


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore:This DataLoader will create")
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize(
    "kind", [*ITERATED, "uint64", "bool tensor", "bytes", "objects", "set", "empty", "odd"]
)
@LOADERS
def test_batch_samplers_of_pictures_draw_as_torchs(make: Any, kind: str, workers: int, folder: Path) -> None:
    function = (ITERATED | KINDS | {"empty": with_an_empty_one, "odd": with_an_odd_one})[kind]
    theirs, ours = datasets.ImageFolder(str(folder), RANDOM), gofast.ImageFolder(folder, RANDOM)
    expected = list if workers and kind in ITERATED else function  # torch cannot send those to its workers
    if workers and kind in ITERATED and make is DataLoader:
        pytest.skip("torch cannot send those to its workers")
    want = states(DataLoader(theirs, batch_sampler=Batches(expected), num_workers=workers))  # type: ignore[arg-type]
    got = states(make(ours, batch_sampler=Batches(function), num_workers=workers))
    assert [a == b for a, b in zip(got, want, strict=True)] == [True] * 12


def test_whole_batches_of_any_kind() -> None:
    dataset, theirs = ours(), Plain()
    for function in (ITERATED | KINDS).values():
        got, want = dataset.__getitems__(function([3, 0, 1])), [theirs[i] for i in function([3, 0, 1])]
        assert [row[0].tolist() for row in got] == [row[0].tolist() for row in want]


MASKS: dict[str, Any] = {
    "bools": [True, False],
    "a bool and ints": [3, True],
    "mask tensors": [torch.tensor(True), torch.tensor(True)],
    "uint8 tensors": [torch.tensor(1, dtype=torch.uint8), torch.tensor(1, dtype=torch.uint8)],
    "tensors": [torch.tensor(3), torch.tensor(1)],
    "numpy bools": [np.bool_(True), np.bool_(True)],
}


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
@pytest.mark.parametrize("kind", MASKS)
@LOADERS
def test_masks_in_a_batch_choose_what_they_choose_in_a_tensor_dataset(make: Any, kind: str) -> None:
    got = seen(make(gofast.ArrayDataset(X), batch_sampler=[MASKS[kind]]))
    assert got == seen(DataLoader(TensorDataset(X), batch_sampler=[MASKS[kind]]))


# ---------------------------------------------------------------- torch's samplers, replaced


def test_a_sampler_that_somebody_has_replaced_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(RandomSampler, "__iter__", lambda self: iter(range(19, -1, -1)))
    for make in (DataLoader, gofast.DataLoader):
        rows = torch.cat([batch[0] for batch in make(ours(), 6, shuffle=True)])
        assert torch.equal(rows, X.flip(0))


def test_a_subset_that_somebody_has_replaced_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Subset, "__getitems__", lambda self, indices: [(X[0],) for _ in indices])
    for make in (DataLoader, gofast.DataLoader):
        assert all(not batch[0][:, 0].any() for batch in make(Subset(ours(), range(9)), 4))
