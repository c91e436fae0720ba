"""What every dataset of gofast's does as torch's would: samples, batches, workers, copies, counts, errors."""

from __future__ import annotations

import copy
import functools
import gc
import io
import pickle
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    DistributedSampler,
    Subset,
    WeightedRandomSampler,
    default_collate,
    random_split,
)
from torch.utils.data._utils.fetch import _MapDatasetFetcher

import gofast
from contract_cases import CASES, COUNT, Case
from gofast import errors
from gofast._core.reason import Reason
from gofast._loader.native_dataset import native, resolve
from same import difference, seeded

pytestmark = [
    pytest.mark.filterwarnings("ignore:This DataLoader will create"),
    pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning"),
]
LOADERS = pytest.mark.parametrize("loader", [DataLoader, gofast.DataLoader], ids=["torch", "gofast"])
LISTS = [[3, 1, 4], [1], [-5, 9, 2, 6, 5]]
# Trees of datasets that share their samples.
TREES: dict[str, Callable[[Any], Any]] = {
    "alone": lambda d: d,
    "subset": lambda d: Subset(d, [5, 5, COUNT - 1, -1, 17]),
    "tensor": lambda d: Subset(d, torch.arange(COUNT).flip(0)),
    "nested": lambda d: Subset(Subset(d, np.arange(3, 20)), range(0, 17, 3)),
    "joined": lambda d: ConcatDataset([Subset(d, [1, -1]), ConcatDataset([d, Subset(d, range(4))])]),
    "cut": lambda d: Subset(ConcatDataset([d, d]), range(40, 10, -1)),
    "split": lambda d: random_split(d, [0.7, 0.3], torch.Generator().manual_seed(1))[1],
}


@pytest.fixture(scope="module", params=CASES)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    """One that makes each of its datasets once."""
    of, folder = CASES[request.param], tmp_path_factory.mktemp("files")
    ours, plain = of.make(folder), of.plain(folder)
    return Case(lambda _: ours, lambda _: plain, of.slices, of.native, of.said)


@pytest.fixture
def ours(case: Case) -> Any:
    return case.make(Path())


@pytest.fixture
def plain(case: Case) -> Any:
    return case.plain(Path())


def epochs(kind: Any, dataset: Any, *args: Any, count: int = 2, **options: Any) -> Any:
    """The batches of some epochs, and how all generators are behind them."""

    def run() -> Any:
        loader = kind(dataset, *args, **options)
        return [[*loader] for _ in range(count)]

    return seeded(3, run)


def sample(dataset: Any, index: Any) -> Any:
    """One, and how all generators are behind it."""
    return seeded(1, lambda: dataset[index])


def first(sample: Any) -> Any:
    """The tensor or array that a sample or a batch has first."""
    while isinstance(sample, (tuple, list, dict)):
        sample = next(iter(sample.values())) if isinstance(sample, dict) else sample[0]
    return sample


# -- samples


def test_samples(ours: Any, plain: Any) -> None:
    assert len(ours) == len(plain) == COUNT
    places = [*range(-COUNT, COUNT), np.int64(4), np.uint8(7), torch.tensor(-2), torch.tensor(5)]
    for index in places:
        assert difference(sample(ours, index), sample(plain, index)) == "", index
    assert difference(*(seeded(2, functools.partial(list, d)) for d in (ours, plain))) == ""


def test_several_at_once(case: Case, ours: Any, plain: Any) -> None:
    lists: list[Any] = [slice(2, 9), slice(-3, None), slice(4, 4), [5, 0, -1, 5], np.array([3, 1])]
    lists += [torch.tensor([8, -2]), []]
    if isinstance(ours, gofast.TableDataset):  # arrays are indexed as torch's are
        lists += [slice(None, None, -4), range(3, 9), tuple(range(20))]
    if not case.slices:
        for some in lists:
            with pytest.raises((TypeError, ValueError)):  # the latter of torchvision's classes
                ours[some]
        return
    for some in lists:
        places = range(COUNT)[some] if isinstance(some, slice) else [int(i) for i in some]
        torch.manual_seed(1)
        got = ours[some]
        torch.manual_seed(1)
        want = [plain[i] for i in places]
        batch = default_collate(want or [plain[0]])
        for a, b in zip(_values(got), _values(batch), strict=True):
            if isinstance(got, list) and not want:  # no picture says what a transform would make of it
                assert len(a) == 0
                continue
            assert difference(a, b[: len(want)], strides=False) == "", some


def _values(batch: Any) -> Any:
    return [*batch.values()] if isinstance(batch, dict) else [*batch]


@pytest.mark.parametrize("index", [COUNT, -COUNT - 1, 1 << 40])
def test_no_sample_is_there(ours: Any, index: int) -> None:
    with pytest.raises(IndexError) as caught:
        ours[index]
    assert not isinstance(caught.value, errors.RowIndexError) or caught.value.index == index
    if type(ours).__module__.startswith("gofast"):
        with pytest.raises(errors.RowIndexError):
            ours[index << 70]
    for loader in (DataLoader, gofast.DataLoader):
        with pytest.raises(IndexError):
            next(iter(loader(ours, 3, sampler=[1, index])))


@pytest.mark.parametrize("index", [1.5, "0", "label"])
def test_what_is_no_index(ours: Any, index: Any) -> None:
    with pytest.raises((TypeError, IndexError)):
        ours[index]


def test_what_is_handed_out_is_the_users(ours: Any, plain: Any) -> None:
    first(ours[5])[:] = 0
    for loader in (DataLoader, gofast.DataLoader):
        first(next(iter(loader(ours, 9)))).zero_()
    assert difference(sample(ours, 5), sample(plain, 5)) == ""


# -- batches


def compare(ours: Any, plain: Any, loader: Any) -> None:
    """Of every tree, in batches of several sizes."""
    for number, tree in enumerate(TREES.values()):
        options = {"batch_size": (7, 1, COUNT + 60)[number % 3], "shuffle": number % 2 == 0}
        options["drop_last"] = number in (3, 6)
        want = epochs(DataLoader, tree(plain), **options)
        assert difference(epochs(loader, tree(ours), **options), want) == "", options


@pytest.mark.arrives("device", "copied")
def test_batches(ours: Any, plain: Any) -> None:
    compare(ours, plain, gofast.DataLoader)


def test_batches_of_torchs_loader(ours: Any, plain: Any) -> None:
    compare(ours, plain, DataLoader)


def test_batches_of_workers(ours: Any, plain: Any) -> None:
    for number, tree in enumerate((TREES["alone"], TREES["joined"])):
        options = {"batch_size": 4, "shuffle": True, "num_workers": 2, "persistent_workers": number == 1}
        want = epochs(DataLoader, tree(plain), **options)
        for loader in (DataLoader, gofast.DataLoader):
            assert difference(epochs(loader, tree(ours), **options), want) == "", (loader, options)


def test_samplers(ours: Any, plain: Any) -> None:
    weights = torch.rand(COUNT, generator=torch.Generator().manual_seed(2)).tolist()
    for options in (
        lambda: {"batch_size": 5, "sampler": WeightedRandomSampler(weights, 31)},
        lambda: {"batch_size": 5, "sampler": DistributedSampler(plain, num_replicas=3, rank=1, seed=5)},
        lambda: {"batch_sampler": LISTS},
        lambda: {"batch_size": None, "sampler": [4, -1, 4]},
        lambda: {"batch_size": 4, "collate_fn": list},
    ):
        want = epochs(DataLoader, plain, count=1, **options())
        for loader in (DataLoader, gofast.DataLoader):
            assert difference(epochs(loader, ours, count=1, **options()), want) == "", loader


@pytest.mark.parametrize("workers", [0, 2])
@LOADERS
def test_a_bad_index_fails_its_own_batch(ours: Any, plain: Any, workers: int, loader: Any) -> None:
    batches = iter(loader(ours, batch_sampler=[[0, 1], [2, COUNT], [3, 4]], num_workers=workers))
    torch.manual_seed(0)
    assert first(next(batches)).shape == first(default_collate([plain[0], plain[1]])).shape
    with pytest.raises(IndexError):
        next(batches)
    next(batches)
    with pytest.raises(StopIteration):
        next(batches)


class Everything(Dataset[Any]):
    """All datasets, twice each: multiprocessing refuses a descriptor that is handed over twice.

    A sample is a batch of one of them, as a worker makes it.
    """

    def __init__(self, sets: dict[str, Any]) -> None:
        self.sets = sets

    def __getitem__(self, key: tuple[str, list[int]]) -> Any:
        name, rows = key
        torch.manual_seed(len(rows))
        return _MapDatasetFetcher(self.sets[name], True, default_collate, False).fetch(rows)


@pytest.mark.parametrize("method", ["fork", "forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_workers_of_any_start_method(method: str, tmp_path: Path) -> None:
    made: dict[str, Any] = {}
    want: dict[str, Any] = {}
    for name, case in CASES.items():
        (tmp_path / name).mkdir()
        made[name], want[name] = case.make(tmp_path / name), case.plain(tmp_path / name)
        made[f"copy of {name}"], want[f"copy of {name}"] = copy.copy(made[name]), want[name]
    keys = [(name, rows) for name in made for rows in LISTS[:2]]
    loader = DataLoader(Everything(made), None, sampler=keys, num_workers=2, multiprocessing_context=method)
    expected = Everything(want)
    for key, batch in zip(keys, loader, strict=True):
        assert difference(batch, expected[key]) == "", key


# -- copies


def saved(dataset: Any) -> Any:
    file = io.BytesIO()
    torch.save(dataset, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=False)


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d)), saved],
    ids=["copy", "deepcopy", "pickle", "torch.save"],
)
def test_copies(case: Case, ours: Any, plain: Any, duplicate: Any) -> None:
    again = duplicate(ours)
    assert repr(again) == repr(ours) and type(again) is type(ours)
    assert getattr(again, "classes", None) == getattr(ours, "classes", None)
    assert isinstance(resolve(again), Reason) != case.native
    want = epochs(DataLoader, plain, 7, shuffle=True)
    for loader in (DataLoader, gofast.DataLoader):
        assert difference(epochs(loader, again, 7, shuffle=True), want) == ""


@LOADERS
def test_a_subclass_makes_its_own_samples(ours: Any, loader: Any) -> None:
    def place(self: Any, index: int) -> Any:
        return torch.tensor(int(index))

    own = copy.copy(ours)
    own.__class__ = type("Own", (type(ours),), {"__getitem__": place})
    (batch,) = loader(Subset(own, [4, 1, 7]), 3)
    assert batch.tolist() == [4, 1, 7]
    assert isinstance(resolve(own), Reason)


def test_a_subclass_that_adds_to_it_stays_native(case: Case, ours: Any, plain: Any) -> None:
    own = copy.copy(ours)
    own.__class__ = type("Own", (type(ours),), {"more": 3})
    if isinstance(own, gofast.ArrayDataset | gofast.TableDataset):
        assert isinstance(resolve(own), Reason) != case.native
    assert difference(epochs(gofast.DataLoader, own, 7), epochs(DataLoader, plain, 7)) == ""


# -- what is said


@pytest.mark.parametrize("workers", [0, 2])
def test_what_is_said_and_counted(case: Case, ours: Any, workers: int) -> None:
    assert case.said in repr(ours)
    loader = gofast.DataLoader(ours, 5, shuffle=True, num_workers=workers)
    assert gofast.explain(loader).lines[-1][1] == ("Go" if case.native else "Python")
    seen = [len(first(batch)) for _ in range(2) for batch in loader]
    told = loader.stats()
    assert (told["epochs"], told["batches"], told["samples"]) == (2, len(seen), sum(seen))
    assert told["epoch"]["samples"] == COUNT
    assert told["made"] == (2 * COUNT if case.native else 0)


@pytest.mark.parametrize(
    "use", [len, lambda d: [d[0], d[-1]], lambda d: [*DataLoader(d, 4)], lambda d: [*gofast.DataLoader(d, 4)]]
)
@pytest.mark.parametrize("name", CASES)
def test_memory_is_free_when_the_last_name_goes(name: str, use: Callable[[Any], Any], tmp_path: Path) -> None:
    """Python looks for cycles when it has made many objects, and a loop over a large table makes few."""

    def used() -> list[weakref.ref[Any]]:
        dataset = CASES[name].make(tmp_path)
        use(dataset)
        gc.collect()
        gc.disable()
        use(dataset)
        return [weakref.ref(one) for one in (dataset, native(dataset)) if one is not None]

    try:
        assert all(known() is None for known in used())
    finally:
        gc.enable()
