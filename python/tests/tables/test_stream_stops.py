"""A StopIteration of the user, or another error, in a step of a stream: where the epoch ends, and goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

import gofast

COUNT, WIDTH, SIZE = 100, 3, 4
FEATURES = np.arange(COUNT * WIDTH, dtype=np.float32).reshape(COUNT, WIDTH)


class Fails:
    """Fails at one of its calls."""

    def __init__(self, kind: type[Exception], at: int, first: Callable[[Any], Any] | None = None) -> None:
        self.kind, self.left, self.first = kind, at, first

    def __call__(self, value: Any) -> Any:
        self.left -= 1
        if self.left == 0:
            raise self.kind("the user's")
        return value if self.first is None else self.first(value)


class Rows(Dataset[Any]):
    def __init__(self, transform: Any = None, target_transform: Any = None) -> None:
        self.transform, self.target_transform = transform, target_transform

    def __len__(self) -> int:
        return COUNT

    def __getitem__(self, row: int) -> Any:
        features, label = torch.from_numpy(FEATURES[row].copy()), torch.tensor(row)
        return (
            features if self.transform is None else self.transform(features),
            label if self.target_transform is None else self.target_transform(label),
        )


class Pulled(IterableDataset[Any]):
    """The same, as its own iterator: a generator of torch's user would end with a RuntimeError."""

    def __init__(self, **steps: Any) -> None:
        self.rows, self.numbers = Rows(**steps), iter(range(COUNT))

    def __iter__(self) -> Pulled:
        return self

    def __next__(self) -> Any:
        return self.rows[next(self.numbers)]


def stream(kind: str, folder: Path, **steps: Any) -> Any:
    if kind == "table":
        numbers = np.c_[FEATURES, np.arange(COUNT)]
        np.savetxt(folder / "a.csv", numbers, "%g", ",", header="a,b,c,y", comments="")
        return gofast.IterableDataset.from_table(folder / "a.csv", label="y", output="tuple", **steps)
    with h5py.File(folder / "a.h5", "w") as file:
        file.create_dataset("x", data=FEATURES, chunks=(8, WIDTH), compression="gzip")
        file["y"] = np.arange(COUNT)
    return gofast.IterableDataset.from_hdf5(folder / "a.h5", "x", "y", **steps)


def met(loader: Any) -> list[Any]:
    """What an iterator gives, also behind errors: the first feature of each row, or the error's type."""
    iterator, seen = iter(loader), list[Any]()
    for _ in range(COUNT // SIZE + 5):
        try:
            seen.append(next(iterator)[0][:, 0].tolist())
        except Exception as error:
            seen.append(type(error).__name__)
    return seen


STEPS: dict[str, Callable[[type[Exception]], tuple[dict[str, Any], dict[str, Any]]]] = {
    "transform": lambda kind: ({"transform": Fails(kind, 14)}, {}),
    "target_transform": lambda kind: ({"target_transform": Fails(kind, 14)}, {}),
    "collate_fn": lambda kind: ({}, {"collate_fn": Fails(kind, 3, default_collate)}),
}


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("error", [StopIteration, ValueError])
@pytest.mark.parametrize("kind", ["table", "hdf5"])
def test_batches_end_as_those_of_a_dataset(
    kind: str, error: type[Exception], step: str, tmp_path: Path
) -> None:
    steps, options = STEPS[step](error)
    want = met(DataLoader(Rows(**steps), SIZE, **options))
    steps, options = STEPS[step](error)
    assert met(gofast.DataLoader(stream(kind, tmp_path, **steps), SIZE, **options)) == want
    assert error.__name__ in want and isinstance(want[5], list)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", ["table", "hdf5"])
def test_rows_end_as_those_of_an_iterable_dataset(kind: str, step: str, tmp_path: Path) -> None:
    """The rows before it come."""
    steps, options = STEPS[step](StopIteration)
    want = met(DataLoader(Pulled(**steps), SIZE, **options))
    steps, options = STEPS[step](StopIteration)
    assert met(DataLoader(stream(kind, tmp_path, **steps), SIZE, **options)) == want


@pytest.mark.parametrize("kind", ["table", "hdf5"])
def test_a_batch_transform(kind: str, tmp_path: Path) -> None:
    seen = met(gofast.DataLoader(stream(kind, tmp_path, batch_transform=Fails(StopIteration, 3)), SIZE))
    assert seen[2] == "StopIteration" and seen[3] == FEATURES[12:16, 0].tolist()
