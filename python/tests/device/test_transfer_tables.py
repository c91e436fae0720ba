"""What crosses to a device in place of rows of tables: finished there, it is the batch of the core."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import ConcatDataset, Subset

from gofast import ArrayDataset, TableDataset, errors
from gofast._core import dataset_operations
from gofast._core.numbers import NAMES
from wires import compared, view_of, wire_of

STORED = ["uint8", "int16", "int32"]


def rows(storage: str) -> np.ndarray[Any, Any]:
    codes = np.tile(np.arange(256), 3)
    if storage == "uint8":
        return np.stack([codes, codes[::-1], codes % 7]).astype(storage)
    return np.stack([codes, codes * 127 - 16000, -codes]).astype(storage)


@pytest.mark.parametrize("storage", STORED)
@pytest.mark.parametrize("dtype", [t for t in NAMES if t.is_floating_point], ids=str)
@pytest.mark.parametrize("unit", [False, True], ids=["none", "unit"])
@pytest.mark.parametrize("groups", [0, 1, 3, 768])
def test_rows_are_finished_as_the_core_does(
    storage: str, dtype: torch.dtype, unit: bool, groups: int
) -> None:
    x, mean, std = rows(storage), None, None
    if groups:
        mean, std = np.random.default_rng(groups).random((2, groups), np.float32) + np.float32(0.1)
    scale: Any = "unit" if unit else None
    labels = np.arange(3)
    dataset = ArrayDataset(x, labels, shape=(3, 16, 16), scale=scale, mean=mean, std=std, dtype=dtype)
    if dtype.itemsize <= x.itemsize:
        assert view_of(dataset).wire() is None
        return
    wire = wire_of(dataset)
    assert (wire.stored, wire.made, wire.shape) == (storage, NAMES[dtype], (3, 16, 16))
    assert (wire.scale, wire.channels) == ("divide" if unit else "cast", max(groups, 1))
    compared(dataset, [2, 0, 1, -1])


def test_one_mean_and_many_stds() -> None:
    std = np.array([1, 2, 3], np.float32)
    dataset = ArrayDataset(rows("uint8"), shape=(3, 256), mean=0.5, std=std, dtype=torch.float32)
    assert wire_of(dataset).channels == 3
    compared(dataset)
    same = ArrayDataset(rows("uint8"), shape=(3, 256), mean=[0.5] * 3, std=[2.0] * 3, dtype=torch.float32)
    assert wire_of(same).channels == 1
    compared(same)


@pytest.mark.parametrize(
    ("storage", "dtype"), [*itertools.combinations(["uint8", "int16", "int32", "int64"], 2)]
)
def test_integers_are_widened(storage: str, dtype: str) -> None:
    compared(ArrayDataset(rows(storage), dtype=getattr(torch, dtype)))


@pytest.mark.parametrize(
    ("x", "dtype"),
    [
        (np.zeros((2, 3), np.float32), torch.float32),
        (np.zeros((2, 3), np.float32), torch.float64),
        (np.zeros((2, 3), np.float64), torch.float32),
        (np.zeros((2, 3), np.int64), torch.float32),
        (np.zeros((2, 3), np.uint8), torch.uint8),
        (np.zeros((2, 3), np.bool_), torch.bool),
        (np.zeros((2, 3), np.complex128), torch.complex128),
    ],
)
def test_rows_without_a_wire(x: Any, dtype: torch.dtype) -> None:
    assert view_of(ArrayDataset(x, dtype=dtype)).wire() is None


@pytest.mark.parametrize("options", [{}, {"one_hot": 3}, {"output": "tuple"}])
def test_tables_of_files(tmp_path: Path, options: dict[str, Any]) -> None:
    path = tmp_path / "table.csv"
    lines = [f"{i % 3},{i},{255 - i},7" for i in range(40)]
    path.write_text("\n".join(["label,a,b,c", *lines]))
    dataset = TableDataset(path, label="label", scale="unit", mean=[0.1, 0.2, 0.3], std=0.5, **options)
    compared(dataset)
    half: Any = Subset(ConcatDataset([dataset, dataset]), [79, 3, 3, 41])
    compared(half)


def test_tables_that_differ_have_no_wire() -> None:
    def made(storage: str, **options: Any) -> Any:
        return ArrayDataset(rows(storage), **{"dtype": torch.float64, **options})

    compared(ConcatDataset([made("uint8"), made("uint8")]))
    for other in (made("int16"), made("uint8", scale="unit"), made("uint8", mean=1.0, std=2.0)):
        both: Any = ConcatDataset([made("uint8"), other])
        assert view_of(both).wire() is None


def test_a_wire_follows_the_users_memory() -> None:
    x = torch.from_numpy(rows("uint8"))
    dataset = ArrayDataset(x, dtype=torch.float32)
    wire = wire_of(dataset)
    assert wire_of(dataset) is wire
    x.data = x.flip(0)
    assert wire_of(dataset) is not wire
    compared(dataset)


# ------------------------------------------------------------------ the border


def test_results_are_for_bytes() -> None:
    wire = wire_of(ArrayDataset(rows("int16"), dtype=torch.float32))
    with pytest.raises(ValueError, match="not for int16"):
        wire.results()


@pytest.mark.parametrize(
    "wrong",
    [{"mean": [1.0]}, {"mean": [1.0], "std": [1.0]}, {"channels": 0}, {"address": 0}, {"dtype": "int8"}],
)
def test_codes_that_do_not_fit_are_refused(wrong: dict[str, Any]) -> None:
    memory = np.zeros(2048, np.uint8)
    config: Any = {
        "scale": "cast",
        "mean": None,
        "std": None,
        "dtype": "float32",
        "channels": 2,
        "last": False,
    }
    with pytest.raises(errors.GofastError):
        dataset_operations.codes({**config, "address": memory.ctypes.data, **wrong})
    assert not memory.any()
