"""explain and the repr of a loader: what they say, and whether that is what happens."""

from __future__ import annotations

import multiprocessing
import pickle
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
)
from torchvision import datasets
from torchvision import transforms as T

import gofast
from gofast._core import warn
from gofast._core.reason import Reason
from gofast._loader.batch_source import BatchSource
from gofast._loader.native_dataset import resolve

# torch warns of more workers than this machine has cores.
pytestmark = pytest.mark.filterwarnings("ignore:This DataLoader will create")

STILL = T.Compose([T.Resize((8, 9)), T.ToTensor()])
DRAWN = T.Compose([T.RandomResizedCrop(8), T.ToTensor()])
MIXED = T.Compose([T.RandomResizedCrop(8), T.ElasticTransform(20.0, 0.0), T.ToTensor()])


PICTURES = 12  # of `folder`


def rows(**options: Any) -> gofast.ArrayDataset:
    return gofast.ArrayDataset(np.arange(40, dtype=np.uint8).reshape(20, 2), np.arange(20), **options)


class Doubled(gofast.ArrayDataset):
    def __getitem__(self, index: Any) -> Any:
        return super().__getitem__(index)


class Chosen(Subset[Any]):
    """A subclass, which may do anything."""


class Named(datasets.ImageFolder):
    """A subclass of torchvision's that makes samples."""

    def __getitem__(self, index: int) -> Any:
        return super().__getitem__(index)


class Own(Dataset[int]):
    """A dataset of the user's."""


class Stream(IterableDataset[int]):
    def __iter__(self) -> Any:
        return iter(range(9))


def as_they_are(samples: Any) -> Any:
    return list(samples)


def nothing(_: Any) -> None:
    pass


# Datasets, by a word of the reason where the engine cannot read them by itself.
DATASETS: dict[str, Callable[[Path], Any]] = {
    "": lambda f: rows(),
    " ": lambda f: gofast.ImageFolder(f, STILL),
    "  ": lambda f: ConcatDataset([Subset(rows(), [3, 1]), Subset(rows(), range(4))]),
    "   ": lambda f: gofast.ImageFolder(f, DRAWN),
    "transform=neg runs in Python": lambda f: rows(transform=torch.neg),
    "target_transform=neg": lambda f: rows(target_transform=torch.neg),
    "batch_transform=neg": lambda f: rows(batch_transform=torch.neg),
    "Doubled overrides __getitem__": lambda f: Doubled(np.zeros((4, 2)), np.zeros(4)),
    "TensorDataset is torch's: use gofast.ArrayDataset instead": lambda f: TensorDataset(torch.zeros(9)),
    "TensorDataset is torch's": lambda f: ConcatDataset([rows(), TensorDataset(torch.zeros(9))]),
    "       ": lambda f: datasets.ImageFolder(f, STILL),
    "Named derives from torchvision's ImageFolder: derive it from gofast.ImageFolder": Named,
    "gofast makes only the pictures that it opens": lambda f: Own(),
    "Chosen is a subclass of Subset": lambda f: Chosen(rows(), range(5)),
    "ElasticTransform runs in Python: there is no native one": lambda f: gofast.ImageFolder(f, MIXED),
    "ToTensor runs in Python: no step before it": lambda f: gofast.ImageFolder(f, T.ToTensor()),
    "the samples are PIL images": lambda f: gofast.ImageFolder(f, T.Resize((8, 8))),
    "target_transform=str": lambda f: gofast.ImageFolder(f, STILL, str),
    "loader=nothing runs in Python": lambda f: gofast.ImageFolder(f, STILL, loader=nothing),
    "parts make different samples": lambda f: ConcatDataset([rows(), rows(dtype=torch.float64)]),
    "indices are not a sequence of integers": lambda f: Subset(rows(), ["a", "b"]),  # type: ignore[list-item]
}


@pytest.mark.parametrize("why", DATASETS)
def test_the_reason_is_the_true_one(folder: Path, why: str) -> None:
    dataset = DATASETS[why](folder)
    last = gofast.explain(dataset).lines[-1]
    assert last[0] == "gofast.DataLoader"
    if not why.strip():
        assert isinstance(resolve(dataset), BatchSource) and last[1] == "Go" and "look-ahead" in last[2]
        return
    refusal = resolve(dataset)
    assert isinstance(refusal, Reason) and last[1] == "Python"
    assert why in str(refusal) and last[2].endswith(str(refusal))


LOADERS: dict[str, dict[str, Any]] = {
    "plain": {},
    "shuffled": {"shuffle": True, "drop_last": True},
    "workers": {"num_workers": 2},
    "workers that live on": {"num_workers": 2, "persistent_workers": True, "shuffle": True},
    "threads": {"threads": 1},
    "collate": {"collate_fn": as_they_are},
    "collate in workers": {"collate_fn": as_they_are, "num_workers": 2},
    "init": {"worker_init_fn": print, "num_workers": 1},
    "seeds": {"worker_init_fn": nothing, "num_workers": 1},
    "init of no workers": {"worker_init_fn": nothing},
    "one by one": {"batch_size": None},
    "own order": {"sampler": [3, 1, 2]},
    "own batches": {"batch_size": 1, "batch_sampler": [[3, 1], [2]]},
    "weighted": {"sampler": WeightedRandomSampler([1.0] * 12, 8)},
    "a generator": {"sampler": SubsetRandomSampler([1, 2, 3], generator=torch.Generator())},
    "replaced": {"sampler": RandomSampler(range(12), True, generator=torch.Generator())},
    "a BatchSampler": {"batch_size": 1, "batch_sampler": BatchSampler(RandomSampler(range(12)), 3, True)},
}


@pytest.mark.daily
@pytest.mark.parametrize("kind", ["rows", "pictures", "drawn", "mixed", "foreign"])
@pytest.mark.parametrize("case", LOADERS)
@pytest.mark.parametrize("make", [gofast.DataLoader, DataLoader])
def test_what_is_said_is_what_happens(folder: Path, kind: str, case: str, make: Any) -> None:
    dataset: Any = {
        "rows": lambda: rows(),
        "pictures": lambda: gofast.ImageFolder(folder, STILL),
        "drawn": lambda: gofast.ImageFolder(folder, DRAWN),
        "mixed": lambda: gofast.ImageFolder(folder, MIXED),
        "foreign": lambda: TensorDataset(torch.zeros(12)),
    }[kind]()
    options = {"batch_size": 4, **LOADERS[case]}
    if "batch_sampler" in options or options["batch_size"] is None:
        options = {key: value for key, value in options.items() if key not in ("shuffle", "drop_last")}
    if make is DataLoader and "threads" in options:
        pytest.skip("gofast's alone")
    loader = make(dataset, **options)
    generators = [torch.default_generator, getattr(loader.sampler, "generator", None)]
    states = [g.get_state() for g in generators if g is not None]
    said = gofast.explain(loader)
    after = [g.get_state() for g in generators if g is not None]
    assert all(map(torch.equal, states, after))
    said_of = {name: (where, what) for name, where, what in said.lines}

    native = "gofast.DataLoader" in said_of and said_of["gofast.DataLoader"][0] == "Go"
    here = not native and kind != "foreign" and options.get("num_workers", 0) == 0
    calls = watch(dataset) if here else None
    tickets = gofast.engine_stats().get("tickets", 0)
    others = set(multiprocessing.active_children())
    batches = iter(loader)
    processes = len(set(multiprocessing.active_children()) - others)
    first = next(batches)
    assert first is not None
    tickets = gofast.engine_stats().get("tickets", 0) - tickets

    workers = said_of["workers"][1]
    assert workers.startswith(str(processes)) if processes else "process" in workers
    assert native == ("no process" in workers) == (said_of["workers"][0] == "Go")
    if native:
        on_the_spot = kind == "rows" and not loader.num_workers  # writable rows: maybe without a ticket
        assert (tickets > 0 or on_the_spot) and processes == 0
        ahead = "look-ahead" in said_of["gofast.DataLoader"][1]
        at_once = "a whole epoch is drawn at once" in said_of["order"][1]
        known = case not in ("own order", "own batches", "replaced")
        assert at_once == known
        if kind == "drawn" and not loader.num_workers:
            assert ahead == known and (tickets > 1) == (known and len(loader) > 1)
        else:
            assert ahead == (kind != "rows" or loader.num_workers > 0)
    elif calls is not None:
        words = said.lines[-1][2]
        assert ("one by one" in words) == (calls["batches"] == 0)
    assert ("collate_fn" in said_of) == ("collate_fn" in options)
    assert ("worker_init_fn" in said_of) == ("worker_init_fn" in options)
    if "worker_init_fn" in options:
        assert ("no call" in said_of["worker_init_fn"][1]) == (loader.num_workers == 0)
    del batches
    if loader._iterator is not None:  # persistent workers
        loader._iterator = None


def watch(dataset: Any) -> dict[str, int]:
    """Counts the calls that torch's fetcher makes."""
    calls = {"batches": 0}
    kind = type(dataset)

    class Watched(kind):  # type: ignore[misc, valid-type]
        def __getitems__(self, indices: Any) -> Any:
            calls["batches"] += 1
            return super().__getitems__(indices)

    dataset.__class__ = Watched
    return calls


def test_a_concat_dataset_is_asked_for_samples_by_torch(folder: Path) -> None:
    both = ConcatDataset([gofast.ImageFolder(folder, STILL)] * 2)
    assert "samples are asked for one by one" in gofast.explain(DataLoader(both, 4))
    assert "the core makes whole batches" in gofast.explain(DataLoader(Subset(both.datasets[0], [1]), 4))
    assert "the core" not in gofast.explain(DataLoader(gofast.ImageFolder(folder, MIXED), 4))


def test_parts_are_listed(folder: Path) -> None:
    nested = ConcatDataset([Subset(gofast.ImageFolder(folder, STILL), [1, 2]), TensorDataset(torch.zeros(3))])
    names = [name for name, _, _ in gofast.explain(nested).lines]
    assert names[:3] == ["ConcatDataset", "  Subset", "    source"] and "    Resize" in names
    assert names[-2:] == ["  TensorDataset", "gofast.DataLoader"]
    many = ConcatDataset([rows() for _ in range(9)])
    assert ("  ...", "", "4 more datasets") in gofast.explain(many).lines


def test_a_foreign_dataset_is_called_so() -> None:
    assert "is torch's: use gofast.ArrayDataset" in gofast.explain(TensorDataset(torch.zeros(3)))
    assert "the dataset's own" in gofast.explain(DataLoader(Stream()))


@pytest.mark.parametrize("dataset", [TensorDataset(torch.zeros(3)), [1, 2], rows()])
def test_a_foreign_loader_is_explained_as_far_as_its_dataset(dataset: Any) -> None:
    lines = gofast.explain(SimpleNamespace(dataset=dataset)).lines
    ours = isinstance(dataset, gofast.ArrayDataset)
    assert lines[0][:2] == (("array 0", "C") if ours else (type(dataset).__name__, "Python"))
    assert lines[-1][0] == "SimpleNamespace" and "not known" in lines[-1][2]


@pytest.mark.parametrize("what", [[1, 2], None, "train", torch.zeros(3), gofast.ArrayDataset])
def test_what_is_no_dataset_is_refused(what: Any) -> None:
    with pytest.raises(TypeError, match=r"explain takes a dataset .* or a DataLoader, not"):
        gofast.explain(what)


def test_a_notebook_shows_a_table() -> None:
    class Odd(TensorDataset):
        pass

    Odd.__name__ = "<b>&"
    said = gofast.explain(Odd(torch.zeros(3)))
    html = said._repr_html_()
    assert "<td" in html and "&lt;b&gt;&amp;" in html and "<b>" not in html
    assert isinstance(said, str) and repr(said) == str(said) and said.splitlines()[0].startswith("step")
    again = pickle.loads(pickle.dumps(said))
    assert again == said and again.lines == said.lines


def test_pinned_memory_is_said() -> None:
    said = gofast.explain(gofast.DataLoader(rows(), 4, pin_memory=True))
    there = torch.cuda.is_available()
    assert ("made in pinned memory" if there else "without effect: no accelerator") in said


def test_channels_last_without_effect_is_said(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warn, "_said", set())
    ours = gofast.ImageFolder(folder, STILL, channels_last=True)
    assert "channels_last" not in gofast.explain(ours)
    with pytest.warns(gofast.errors.GofastWarning, match="channels_last=True has no effect"):
        ours = gofast.ImageFolder(folder, MIXED, channels_last=True)
        said = gofast.explain(ours)
    assert ("channels_last", "", "without effect: Python makes the samples") in said.lines
    batch = next(iter(DataLoader(ours, 4)))[0]
    assert batch.is_contiguous()


# -- the repr ------------------------------------------------------------------------


def test_a_loader_shows_what_it_is(folder: Path) -> None:
    loader = gofast.DataLoader(gofast.ImageFolder(folder, STILL), 5, shuffle=True, num_workers=1)
    assert repr(loader).splitlines() == [
        "DataLoader",
        "    dataset: ImageFolder of 12 samples",
        "    order: RandomSampler, batches of 5",
        repr(loader).splitlines()[-1],
    ]
    assert repr(loader).splitlines()[-1].startswith("    workers: 1 of the engine's ")
    slow = repr(gofast.DataLoader(rows(), 4, worker_init_fn=print, num_workers=2, drop_last=True))
    assert "batches of 4, the last dropped if it is smaller" in slow
    assert "2 processes for each epoch; on torch's own machinery: worker_init_fn=print" in slow


def test_the_repr_never_raises(folder: Path) -> None:
    class Broken(Dataset[int]):
        def __getitem__(self, index: int) -> int:
            return index

        def __len__(self) -> int:
            raise ZeroDivisionError("mine")

    assert "dataset: Broken\n" in repr(gofast.DataLoader(Broken(), 3))
    assert "order: the dataset's own" in repr(gofast.DataLoader(Stream()))
    assert "order: list" in repr(gofast.DataLoader(rows(), batch_sampler=[[1]]))
    assert "order: SequentialSampler" in repr(gofast.DataLoader(rows(), batch_size=None))
    wrong = gofast.ImageFolder(folder, STILL, dtype=torch.float16)
    loader = gofast.DataLoader(wrong, 4)
    wrong.transform = T.Compose([T.Resize((8, 8)), T.PILToTensor()])
    assert "cannot be known: dtype=torch.float16 rounds float32" in repr(loader)


# -- engine_stats ----------------------------------------------------------------------


@pytest.mark.parametrize("transform", [STILL, DRAWN], ids=["still", "drawn"])
@pytest.mark.parametrize("make", [gofast.DataLoader, DataLoader])
def test_every_row_is_counted_once(folder: Path, transform: Any, make: Any) -> None:
    """Looking at a header, for what is drawn, makes no row."""
    ours = gofast.ImageFolder(folder, transform)
    ours[0]
    before = gofast.engine_stats()
    for _ in range(3):
        list(make(ours, 6))
    after = gofast.engine_stats()
    assert {"threads", "tickets", "rows", "pillow", "devices"} < set(after)
    threads = make is gofast.DataLoader or after["threads"] > 1  # else torch's loader's are made on the spot
    assert after["rows"] - before["rows"] == (3 * len(ours) if threads else 0)
