"""What is changed in the middle of an epoch, with num_workers=0.

An attribute that is set shows in the next batch, as with torch's loader. Each case runs torch's DataLoader
over torch's and torchvision's datasets beside ours, makes the same change after some batches, and compares
every batch and torch's generator after it. A list that is edited in place shows in the next epoch: there
torch's loader gets the edit between the epochs.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import (
    BatchSampler,
    ConcatDataset,
    RandomSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
)
from torchvision import datasets
from torchvision import transforms as T

import gofast
from gofast._images import compiled_dataset
from gofast._loader.batch_source import BatchSource
from gofast._loader.dataset_stamp import DatasetStamp
from gofast._plan.compile import compile as compile_plan
from same import difference

ROWS = 30
Change = Callable[[Any, Any], None]  # of a loader's dataset and batch sampler
BEHIND = 1000  # the epoch
WHEN = pytest.mark.parametrize("after", [0, 1, 3, 6])


PICTURES = ROWS  # of `folder`


def log(loader: Any, change: Change, after: int) -> list[Any]:
    """Two epochs: batches or errors, and the generator after each; the change comes in or after the first."""
    seen: list[Any] = []
    for epoch in range(2):
        iterator = iter(loader)
        for number in range(100):
            if epoch == 0 and number == after:
                change(loader.dataset, loader.batch_sampler)
            try:
                batch = next(iterator)
            except StopIteration:
                break
            except IndexError as error:
                batch = type(error).__mro__[-4].__name__
            copies = [value.clone() for value in batch] if isinstance(batch, (list, tuple)) else batch
            seen.append((copies, torch.get_rng_state()))
        seen.append(torch.get_rng_state())
        if epoch == 0 and after == BEHIND:
            change(loader.dataset, loader.batch_sampler)
    return seen


def compare(
    make: Callable[[str], tuple[Any, dict[str, Any]]],
    change: Change,
    after: int,
    workers: int = 0,
    torchs: int | None = None,
) -> None:
    """Compares the batches around a change.

    Args:
        torchs: after how many batches it comes in torch's loader, if not in the same place.
    """
    logs = []
    for kind, loader in (("torch", torch.utils.data.DataLoader), ("gofast", gofast.DataLoader)):
        torch.manual_seed(5)
        dataset, options = make(kind)
        when = after if torchs is None or kind == "gofast" else torchs
        logs.append(log(loader(dataset, num_workers=workers, **options), change, when))
    assert difference(logs[1], logs[0]) == ""


def arrays() -> tuple[torch.Tensor, torch.Tensor]:
    return torch.arange(ROWS * 4.0).reshape(ROWS, 4), torch.arange(ROWS)


def rows(kind: str) -> Any:
    return TensorDataset(*arrays()) if kind == "torch" else gofast.ArrayDataset(*arrays())


def steady_rows(kind: str) -> Any:
    """Rows that are read ahead."""
    if kind == "torch":
        return TensorDataset(*arrays())
    frozen = [array.numpy().copy() for array in arrays()]
    for array in frozen:
        array.flags.writeable = False
    return gofast.ArrayDataset(*frozen)


def write(dataset: Any, _: Any) -> None:
    dataset.tensors[0][:] += 1000
    dataset.tensors[1][:] += 2000


def test_what_nobody_can_write_to_is_read_ahead() -> None:
    """A read-only view of memory that has another, writable owner is not that."""
    owner = np.zeros((9, 2), np.float32)
    view = owner[:]
    view.flags.writeable = False
    steady = owner.copy()
    steady.flags.writeable = False
    fixed = np.frombuffer(bytes(72), np.float32).reshape(9, 2)
    assert [gofast.ArrayDataset(a)._steady for a in (owner, view, steady, fixed)] == [
        False,
        False,
        True,
        True,
    ]
    assert not gofast.ArrayDataset(torch.zeros(9, 2))._steady


def to(path: str, value: Any) -> Change:
    """Sets an attribute of an attribute; a function makes the value of the old one."""

    def change(dataset: Any, _: Any) -> None:
        *inner, last = path.split(".")
        for name in inner:
            dataset = dataset[int(name)] if name.isdigit() else getattr(dataset, name)
        setattr(dataset, last, value(getattr(dataset, last)) if callable(value) else value)

    return change


def whole(kind: str) -> Any:
    return Subset(steady_rows(kind), list(range(ROWS)))


def deep(kind: str) -> Any:
    inner = Subset(steady_rows(kind), [9, 8, 7, 6, 5, 4, 3, 2, 1, 0])
    return Subset(ConcatDataset([steady_rows(kind), inner]), [35, 3, 36, 4, 37] * 6)


SET: dict[str, tuple[Callable[[str], Any], Change]] = {
    "memory": (rows, write),
    "memory behind a subset": (
        lambda kind: Subset(rows(kind), [5, 1, 9, 9, 3, 2, 28, 11] * 4),
        lambda subset, _: write(subset.dataset, None),
    ),
    "indices": (whole, to("indices", [7, 8] * (ROWS // 2))),
    "a tuple": (whole, to("indices", lambda old: tuple(reversed(old)))),
    "what does not fit": (whole, to("indices", [1, 2, ROWS] * (ROWS // 3))),
    "dataset": (whole, to("dataset", lambda inner: Subset(inner, list(range(ROWS - 1, -1, -1))))),
    "deep in a tree": (deep, to("dataset.datasets.1.indices", [9, 8, 7, 6, 5, 29, 28, 27, 1, 0])),
}


@pytest.mark.daily
@pytest.mark.arrives("device", "copied")
@WHEN
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("case", SET)
def test_rows(after: int, shuffle: bool, case: str) -> None:
    make, change = SET[case]
    compare(lambda kind: (make(kind), {"batch_size": 4, "shuffle": shuffle}), change, after)


EDITS: dict[str, Callable[[Any], object]] = {
    "all": lambda indices: indices.__setitem__(slice(None), [2, 4] * (len(indices) // 2)),
    "one": lambda indices: indices.__setitem__(25, 3),
    "shorter": lambda indices: indices.__delitem__(slice(9, None)),
    "longer": lambda indices: indices.append(3),
}


@pytest.mark.parametrize("after", [1, 3])
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("kind", [list, np.array])
@pytest.mark.parametrize("edit", EDITS)
def test_an_edit_in_place_shows_in_the_next_epoch(after: int, shuffle: bool, kind: Any, edit: str) -> None:
    if edit in ("shorter", "longer") and (shuffle or kind is not list):
        return  # RandomSampler reads the length again at its end; arrays keep theirs
    compare(
        lambda name: (
            Subset(steady_rows(name), kind(range(ROWS))),
            {"batch_size": 4, "shuffle": shuffle},
        ),
        lambda subset, _: EDITS[edit](subset.indices),
        after,
        torchs=BEHIND,
    )


@pytest.mark.parametrize("mask", [True, torch.tensor(1, dtype=torch.uint8)])
def test_a_mask_in_a_subset_is_no_row_number(mask: Any) -> None:
    """Torch stacks rows of other shapes then, and fails."""
    for make in (torch.utils.data.DataLoader, gofast.DataLoader):
        subset: Any = Subset(steady_rows("gofast"), list(range(ROWS)))
        batches = iter(make(subset, batch_size=4))
        next(batches)
        subset.indices = [*range(5), mask, *range(6, ROWS)]
        with pytest.raises(RuntimeError, match="stack expects each tensor"):
            next(batches)


@pytest.mark.daily
@WHEN
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("case", ["size", "size, drop_last", "indices"])
def test_the_sampler(after: int, workers: int, case: str) -> None:
    """Also with workers: the sampler is in the main process."""

    def make(kind: str) -> Any:
        data = steady_rows(kind)
        if case == "indices":
            return data, {"batch_size": 4, "sampler": SubsetRandomSampler(list(range(28)))}
        return data, {"batch_sampler": BatchSampler(RandomSampler(data), 4, case == "size, drop_last")}

    change = to("sampler.indices", [29] * 28) if case == "indices" else to("batch_size", 7)
    compare(make, lambda _, sampler: change(sampler, None), after, workers)


def test_workers_have_copies_of_the_dataset() -> None:
    """With num_workers > 0 a Subset's new indices are those of the next epoch, here as with torch."""
    for workers in (1, 2):
        compare(lambda kind: (whole(kind), {"batch_size": 4}), SET["indices"][1], 2, workers)


VAL = (T.Resize(40), T.CenterCrop(32), T.ToTensor())
TRAIN = (T.RandomResizedCrop(32), T.RandomHorizontalFlip(), T.ToTensor())


def resize_in_place(dataset: Any, _: Any) -> None:
    dataset.transform.transforms[0].size = 36
    dataset.transform.transforms[1].size = (20, 20)


def write_samples(dataset: Any, _: Any) -> None:
    dataset.samples[4:20] = [dataset.samples[0]] * 16


def in_python(x: Any) -> Any:
    return x + torch.rand(1)


INTO_PYTHON = to("transform", lambda _: T.Compose([T.Resize((20, 20)), T.ToTensor(), in_python]))
REPLACED = to("samples", lambda samples: [samples[0]] * len(samples))
CHANGED: dict[str, tuple[Any, Change]] = {
    "resize in place": (VAL, resize_in_place),
    "begin to draw": (VAL, to("transform", lambda _: T.Compose(list(TRAIN)))),
    "into Python": (VAL, INTO_PYTHON),
    "target_transform": (VAL, to("target_transform", lambda _: lambda label: label + 5)),
    "samples": (VAL, REPLACED),
    "crop in place": (TRAIN, to("transform.transforms.0.size", (20, 20))),
    "cease to draw": (TRAIN, to("transform", lambda _: T.Compose(list(VAL)))),
    "draws into Python": (TRAIN, INTO_PYTHON),
    "samples that draw": (TRAIN, REPLACED),
}


def pictures(folder: Path, kind: str, steps: Any) -> Any:
    transform = T.Compose([copy.deepcopy(step) for step in steps])
    family: Any = datasets.ImageFolder if kind == "torch" else gofast.ImageFolder
    return family(str(folder), transform)


@pytest.mark.daily
@pytest.mark.arrives("copied")
@pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
@WHEN
@pytest.mark.parametrize("shuffle", [False, True])
@pytest.mark.parametrize("case", CHANGED)
def test_pictures(folder: Path, case: str, after: int, shuffle: bool) -> None:
    steps, change = CHANGED[case]
    compare(
        lambda kind: (pictures(folder, kind, steps), {"batch_size": 4, "shuffle": shuffle}), change, after
    )


@pytest.mark.parametrize("steps", [VAL, TRAIN], ids=["val", "train"])
def test_samples_edited_in_place_show_in_the_next_epoch(folder: Path, steps: Any) -> None:
    compare(lambda kind: (pictures(folder, kind, steps), {"batch_size": 4}), write_samples, 2, torchs=BEHIND)


def test_samples_edited_in_place_show_at_once_where_they_are_indexed(folder: Path) -> None:
    theirs, ours = (pictures(folder, kind, VAL) for kind in ("torch", "gofast"))
    ours.samples, theirs.samples = list(ours.samples), list(theirs.samples)
    for dataset in (theirs, ours):
        write_samples(dataset, None)
    assert difference(ours[5], theirs[5]) == ""
    write_samples(ours, None)
    ours.samples[7] = theirs.samples[7] = theirs.samples[20]
    batches = [next(iter(torch.utils.data.DataLoader(d, 9))) for d in (ours, theirs)]
    assert difference(*batches) == ""


class Switched(gofast.ImageFolder):
    """Its transform is a property, as some have one for training and one for evaluation."""

    small = False

    @property
    def transform(self) -> Any:
        return self.__dict__["_two"][self.small]

    @transform.setter
    def transform(self, two: Any) -> None:
        self.__dict__["_two"] = two


def test_a_transform_that_is_a_property(folder: Path) -> None:
    sizes = [T.Compose([T.Resize((n, n)), T.ToTensor()]) for n in (12, 9)]
    dataset = Switched(str(folder), sizes)
    batches = iter(gofast.DataLoader(dataset, 4))
    shapes = [next(batches)[0].shape[2:]]
    vars(dataset)["small"] = True
    shapes.append(next(batches)[0].shape[2:])
    assert shapes == [(12, 12), (9, 9)]


def test_a_plan_is_compiled_when_its_transform_has_changed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled: list[Any] = []
    monkeypatch.setattr(
        compiled_dataset, "compile", lambda *a, **b: compiled.append(a) or compile_plan(*a, **b)
    )
    dataset = pictures(folder, "gofast", VAL)
    compiled.clear()
    for _ in range(2):
        list(gofast.DataLoader(dataset, 4))
        list(torch.utils.data.DataLoader(dataset, 4))
    assert not compiled
    resize_in_place(dataset, None)
    dataset[3]
    assert len(compiled) == 1


@WHEN
@pytest.mark.parametrize("shuffle", [False, True])
def test_the_epoch_of_stateless_draws(folder: Path, after: int, shuffle: bool) -> None:
    def make(_: str) -> Any:
        dataset = gofast.ImageFolder(str(folder), T.Compose(list(TRAIN)), rng="stateless", seed=5)
        return dataset, {"batch_size": 4, "shuffle": shuffle}

    compare(make, lambda dataset, _: dataset.set_epoch(3), after)


def test_the_epoch_of_another_dataset_changes_nothing(folder: Path) -> None:
    ours, other = (gofast.ImageFolder(str(folder), T.Compose(list(TRAIN)), rng="stateless") for _ in range(2))
    view = ours._native_view()
    assert isinstance(view, BatchSource)
    stamp = DatasetStamp(ours, view)
    other.set_epoch(3)
    assert stamp.holds()
    ours.set_epoch(3)
    assert not stamp.holds()
    assert stamp.renew() is view and stamp.holds()


@WHEN
def test_a_subset_of_pictures(folder: Path, after: int) -> None:
    def make(kind: str) -> Any:
        parts = [pictures(folder, kind, [T.Resize((24, 24)), T.ToTensor()]) for _ in range(2)]
        return Subset(ConcatDataset(parts), list(range(0, 60, 2))), {"batch_size": 4}

    def change(subset: Any, _: Any) -> None:
        for part in subset.dataset.datasets:
            part.transform.transforms[0].size = (16, 16)

    compare(make, change, after)


def table(tmp_path: Path) -> gofast.TableDataset:
    path = tmp_path / "rows.csv"
    path.write_text("a,b,label\n" + "".join(f"{i},{2 * i},{i % 3}\n" for i in range(ROWS)))
    return gofast.TableDataset(path, output="tuple", scale=None)


@pytest.mark.filterwarnings("ignore::gofast.errors.FallbackWarning")
@WHEN
@pytest.mark.parametrize("name", ["transform", "target_transform", "batch_transform"])
def test_a_tables_callables(tmp_path: Path, after: int, name: str) -> None:
    """Beside torch's loader over the same dataset."""
    logs = []
    for loader in (torch.utils.data.DataLoader, gofast.DataLoader):
        torch.manual_seed(5)
        logs.append(log(loader(table(tmp_path), 4), lambda d, _: setattr(d, name, lambda x: x + 100), after))
    assert difference(logs[1], logs[0]) == ""
