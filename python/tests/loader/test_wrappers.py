"""Datasets of somebody's own around ours: their rows come, whatever they forward to us."""

from __future__ import annotations

import functools
import inspect
import multiprocessing
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.utils.data import ConcatDataset, DataLoader, Dataset, StackDataset, Subset
from torch.utils.data._utils.fetch import _MapDatasetFetcher
from torchvision import transforms

import gofast
from gofast._loader import getitems
from image_data import make_folder

X = torch.arange(120, dtype=torch.float32).reshape(40, 3)
Y = torch.arange(40)
FIRST = 8  # a wrapper's sample i is sample FIRST + i of what it wraps


class Plain(Dataset[Any]):
    """What torch does with a dataset that is not ours."""

    def __len__(self) -> int:
        return 40

    def __getitem__(self, index: int) -> Any:
        return X[index], Y[index]


class Pool(Dataset[Any]):
    """Forwards what it does not have, as much public code does."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __getattr__(self, name: str) -> Any:
        if name == "dataset":  # while it is unpickled
            raise AttributeError(name)
        return getattr(self.dataset, name)

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> Any:
        return self.dataset[FIRST + index]


class Greedy(Pool):
    """Forwards everything but its own rows; claims to be of the inner class."""

    def __getattribute__(self, name: str) -> Any:
        if name in ("__dict__", "__reduce_ex__", "__getstate__", "__setstate__"):
            return object.__getattribute__(self, name)
        inner = object.__getattribute__(self, "__dict__").get("dataset")
        return inner if name == "dataset" and inner is not None else getattr(inner, name)


class Delegating(Pool):
    def __getattr__(self, name: str) -> Any:
        return self._ask(name)

    def _ask(self, name: str) -> Any:
        return getattr(self.__dict__["dataset"], name) if "dataset" in self.__dict__ else None


class Defaulting(Pool):
    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__.get("dataset"), name, None)


class Decorated(Pool):
    def __getattr__(*args: Any) -> Any:
        return getattr(args[0].__dict__["dataset"], args[1])


class Anonymous(Pool):
    __getattr__ = lambda self, name: getattr(self.__dict__["dataset"], name)  # noqa: E731


class _InC:
    def __get__(self, wrapper: Any, owner: Any = None) -> Any:
        return functools.partial(getattr, wrapper.__dict__["dataset"])


class Compiled(Pool):
    """As a proxy that is written in C: no Python code of its own asks for the attribute."""

    __getattr__ = _InC()  # type: ignore[assignment]
    __class__ = property(lambda self: type(self.__dict__["dataset"]))  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return Compiled, (self.__dict__["dataset"],)


class Asking(Dataset[Any]):
    """A Subset as users write them: asks what it wraps for whole batches."""

    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def __len__(self) -> int:
        return len(self.dataset)

    def __getitems__(self, indices: list[int]) -> Sequence[Any]:
        if callable(getattr(self.dataset, "__getitems__", None)):
            rows: Sequence[Any] = self.dataset.__getitems__(indices)
            return rows
        return [self.dataset[i] for i in indices]

    def __getitem__(self, index: int) -> Any:
        return self.dataset[index]


FORWARDING = [Pool, Greedy, Delegating, Defaulting, Decorated, Anonymous, Compiled]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_folder(tmp_path_factory.mktemp("wrapped") / "data", count=40, classes=2)


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "x.csv"
    rows = (",".join(str(int(v)) for v in (*x, y)) for x, y in zip(X, Y, strict=True))
    path.write_text("\n".join(["a,b,c,label", *rows]) + "\n")
    return path


def ours(kind: str, folder: Path, csv: Path) -> Dataset[Any]:
    resized = transforms.Compose([transforms.Resize((16, 16)), transforms.ToTensor()])
    if kind == "table":
        return gofast.TableDataset(csv)
    if kind == "array":
        return gofast.ArrayDataset(X, Y)
    if kind == "folder":
        return gofast.ImageFolder(folder, resized)
    return gofast.ImageFiles(sorted(str(p) for p in folder.rglob("*.*")), transform=resized)


def first_of(sample: Any) -> torch.Tensor:
    """The features or the picture, of a sample or of a batch."""
    while not isinstance(sample, torch.Tensor):
        sample = next(iter(sample.values())) if isinstance(sample, dict) else sample[0]
    return sample


def check(dataset: Any, want: Sequence[Any], make: Callable[..., Any], **options: Any) -> None:
    got = torch.cat([first_of(batch) for batch in make(dataset, batch_size=3, **options)])
    assert torch.equal(got, torch.stack([first_of(sample) for sample in want]))


LOADERS = pytest.mark.parametrize("make", [DataLoader, gofast.DataLoader], ids=["torch", "gofast"])


@pytest.mark.parametrize("kind", ["table", "array", "folder", "files"])
@pytest.mark.parametrize("wrapper", FORWARDING)
@LOADERS
def test_a_wrappers_own_rows_come(
    kind: str, make: Callable[..., Any], wrapper: Callable[..., Any], folder: Path, csv: Path
) -> None:
    inner = ours(kind, folder, csv)
    once = [inner[FIRST + i] for i in range(8)]
    twice = [inner[2 * FIRST + i] for i in range(8)]
    check(wrapper(inner), once, make)
    check(wrapper(wrapper(inner)), twice, make)
    check(Pool(wrapper(inner)), twice, make)
    check(wrapper(ConcatDataset([inner, inner])), once, make)
    check(Subset(wrapper(inner), [5, 0, 7]), [once[5], once[0], once[7]], make)
    check(ConcatDataset([wrapper(inner), wrapper(inner)]), once + once, make)
    check(StackDataset(wrapper(inner), wrapper(inner)), once, make)
    check(StackDataset(a=wrapper(inner)), once, make)
    if wrapper is not Compiled:  # who forwards in C to whoever asks cannot be seen
        check(Asking(wrapper(inner)), once, make)
        assert not getattr(wrapper(inner), "__getitems__", None)


@pytest.mark.parametrize("wrapper", FORWARDING)
@LOADERS
def test_around_a_subset_as_in_torch(make: Callable[..., Any], wrapper: Callable[..., Any]) -> None:
    """torch's Subset has a `__getitems__` of its own, which is forwarded with any dataset in it."""
    want, got = (make(wrapper(Subset(d, range(39, -1, -1))), 4) for d in (Plain(), gofast.ArrayDataset(X, Y)))
    for theirs, mine in zip(want, got, strict=True):
        assert torch.equal(theirs[0], mine[0]) and torch.equal(theirs[1], mine[1])


@pytest.mark.parametrize(
    ("make", "method"),
    [
        (DataLoader, "fork"),
        (gofast.DataLoader, "fork"),
        *(pytest.param(DataLoader, method, marks=pytest.mark.full) for method in ("spawn", "forkserver")),
    ],
)
def test_a_wrappers_own_rows_come_from_workers(
    make: Callable[..., Any], method: str, folder: Path, csv: Path
) -> None:
    inner = [ours("array", folder, csv), ours("folder", folder, csv)]
    both = StackDataset(*(wrapper(d) for wrapper in (Pool, Compiled) for d in inner))
    options = {"num_workers": 2, "multiprocessing_context": multiprocessing.get_context(method)}
    check(both, [inner[0][FIRST + i] for i in range(8)], make, **options)


class Louder(gofast.ArrayDataset):
    def __getitems__(self, indices: list[int]) -> Sequence[Any]:
        return [(x + 1000, y) for x, y in super().__getitems__(indices)]


class Watching(gofast.ArrayDataset):
    """A subclass with an attribute hook of its own."""

    def __getattribute__(self, name: str) -> Any:
        return super().__getattribute__(name)


def test_who_may_have_the_batches(folder: Path, csv: Path) -> None:
    for kind in ("table", "array", "folder", "files"):
        inner = ours(kind, folder, csv)
        assert hasattr(inner, "__getitems__") and callable(type(inner).__getitems__)
        for rows in (
            inner.__getitems__([3, 1]),
            Subset(inner, [9, 3, 1]).__getitems__([1, 2]),
            Asking(inner).__getitems__([3, 1]),
            functools.partial(inner.__getitems__)([3, 1]),
            inspect.getattr_static(inner, "__getitems__").__get__(inner)([3, 1]),
            type(inner).__getitems__(inner, [3, 1]),
            getattr(Pool(inner), "dataset").__getitems__([3, 1]),  # noqa: B009
        ):
            assert [first_of(row).tolist() for row in rows] == [first_of(inner[i]).tolist() for i in (3, 1)]
    assert Louder(X, Y).__getitems__([1])[0][0].tolist() == (X[1] + 1000).tolist()
    assert type(Watching(X, Y).__getitems__([1])) is type(gofast.ArrayDataset(X, Y).__getitems__([1]))


@pytest.mark.parametrize("workers", [0, 2])
@LOADERS
def test_batches_are_made_whole_where_nobody_is_between(make: Callable[..., Any], workers: int) -> None:
    """A batch that was made whole lies in one piece of memory of the engine's; the fetcher must get those."""
    inner = gofast.ArrayDataset(X, Y)
    for dataset in (inner, Subset(inner, range(40)), Asking(inner), Watching(X, Y), Louder(X, Y)):
        got = torch.cat([batch[0] for batch in make(dataset, 7, num_workers=workers)])
        assert torch.equal(got, X + 1000 if isinstance(dataset, Louder) else X)


def test_an_objects_own_batches_come() -> None:
    inner = gofast.ArrayDataset(X, Y)
    inner.__getitems__ = lambda indices: [(X[0], Y[0]) for _ in indices]  # type: ignore[method-assign]
    subset = Subset(gofast.ArrayDataset(X, Y), range(8))
    subset.__getitems__ = lambda indices: [(X[1], Y[1]) for _ in indices]  # type: ignore[method-assign]
    for make in (DataLoader, gofast.DataLoader):
        check(inner, [X[0]] * 40, make)
        check(Subset(inner, range(8)), [X[0]] * 8, make)
        check(subset, [X[1]] * 8, make)


def test_torchs_callers_hold_their_dataset_where_we_look() -> None:
    """What _getitems knows of torch: three functions ask for `__getitems__`, and of whom they ask."""
    for function, expression in (
        (_MapDatasetFetcher.fetch, "self.dataset.__getitems__"),
        (Subset.__getitems__, "self.dataset.__getitems__"),
        (StackDataset.__getitems__, " dataset.__getitems__"),
    ):
        assert expression in inspect.getsource(function)
    calls = [
        path.name
        for path in Path(inspect.getfile(torch.utils.data)).parent.rglob("*.py")
        for line in path.read_text().splitlines()
        if "= dataset.__getitems__(" in line or ".dataset.__getitems__(" in line
    ]
    assert sorted(calls) == ["dataset.py"] * 3 + ["fetch.py"]
    assert getitems._FETCH.co_varnames[0] == "self"
