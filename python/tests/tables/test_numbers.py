"""gofast._core.numbers, which makes single rows, against the core, which makes batches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from gofast import ArrayDataset
from gofast._core import numbers
from reference import assert_same

WIDTH = 3 * 256
STORED = ["uint8", "int16", "int32", "int64", "float32", "float64"]


def rows(storage: str) -> Any:
    """Every code in every channel, and the same moved around and about zero, which only wider types hold."""
    codes = np.tile(np.arange(256), 3)
    if storage == "uint8":
        return np.stack([codes, codes[::-1]]).astype(storage)
    return np.stack([codes, codes * 127 - 16000, -codes]).astype(storage)


@pytest.mark.parametrize("storage", STORED)
@pytest.mark.parametrize("dtype", [t for t in numbers.NAMES if t.is_floating_point])
@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("groups", [0, 1, 3, WIDTH])
def test_rows_are_the_cores(storage: str, dtype: torch.dtype, unit: bool, groups: int) -> None:
    x = rows(storage)
    mean = std = None
    if groups:
        generator = np.random.default_rng(groups)
        mean, std = generator.random((2, groups), np.float32) + np.float32(0.1)
    spec = numbers.Spec(unit, mean, std, numbers.NAMES[dtype])
    options = {"scale": "unit" if unit else None, "mean": mean, "std": std, "dtype": dtype}
    batch = ArrayDataset(x, shape=(3, 16, 16), **options)[:][0]
    assert_same(spec.make(x), batch.reshape(-1, WIDTH))
    assert_same(torch.stack([spec.make(row) for row in x]), batch.reshape(-1, WIDTH))


@pytest.mark.parametrize("storage", STORED[:4])
@pytest.mark.parametrize("dtype", [t for t in numbers.NAMES if not t.is_floating_point])
def test_integers_are_the_cores(storage: str, dtype: torch.dtype) -> None:
    name = numbers.NAMES[dtype]
    if not np.can_cast(storage, name):
        pytest.skip("refused: it may not fit")
    x = rows(storage)
    assert_same(numbers.Spec(False, None, None, name).make(x), ArrayDataset(x, dtype=dtype)[:][0])


@pytest.mark.parametrize("dtype", list(numbers.NAMES))
def test_dlpacks_types_are_torchs(dtype: torch.dtype) -> None:
    code, bits = numbers.dlpack(numbers.NAMES[dtype])
    kinds = {0: "int", 1: "uint", 2: "float", 4: "bfloat"}
    assert f"{kinds[code]}{bits}" == numbers.NAMES[dtype]
