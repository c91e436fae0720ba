"""Every storage type to every output type, as numpy, torch and torchvision compute it."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
import torch
from torchvision.transforms import v2
from torchvision.transforms.functional import to_tensor

from gofast import ArrayDataset, TableDataset, errors
from reference import assert_same

INTEGERS = ["uint8", "int16", "int32", "int64"]
STORAGE = [*INTEGERS, "float32", "float64"]
# The reference may overflow as it likes; gofast itself must not warn, see test_a_row_does_not_warn.
pytestmark = pytest.mark.filterwarnings("ignore:.*encountered in:RuntimeWarning")
FLOATS = [torch.float32, torch.float16, torch.bfloat16, torch.float64]
SHAPE = (3, 5, 7)
WIDTH = 105


def values(storage: str) -> npt.NDArray[Any]:
    """Rows of a storage type, with every value that rounds in a special way."""
    rng, kind = np.random.default_rng(7), np.dtype(storage)
    if storage == "uint8":
        codes = np.arange(256, dtype=np.uint8)
        return np.concatenate([codes, rng.permuted(np.tile(codes, 40))])[: WIDTH * 60].reshape(60, WIDTH)
    if kind.kind == "i":
        bits, info = 8 * kind.itemsize, np.iinfo(kind)
        powers = [(1 << p) + d for p in range(bits - 1) for d in (-1, 0, 1)]
        half = [2047, 2049, 2051, 4097, 65504, 65519, 65520]  # where float16 rounds, and where it ends
        edges = [0, *half, *powers, *(-n for n in half + powers), info.min, info.max]
        edges = [n for n in edges if info.min <= n <= info.max]
        shifts = rng.integers(0, bits, 4 * WIDTH, dtype=kind)
        scattered = rng.integers(info.min, info.max, 4 * WIDTH, dtype=kind) >> shifts
        filled = np.resize(scattered, -len(edges) % WIDTH + 8 * WIDTH)
        return np.concatenate([np.array(edges, kind), filled]).reshape(-1, WIDTH)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 0.1, 255.0, 254.99999, 16777217.0]
    of_half = [65504, 65519.99, 65520, 1e-7, 2.0**-14, 2.0**-24, 2.0**-25, 1.5 * 2.0**-25, 2049, 2051]
    ties = [1 + 2.0**-11, 1 + 2.0**-11 + 2.0**-30, 1 + 2.0**-8, 1 + 2.0**-8 + 2.0**-30, 1 + 3 * 2.0**-8]
    of_single = [3.4028235e38, 3.5e38, 1e300, 1e-300, 5e-324, 1.17549435e-38]
    some = rng.standard_normal(8 * WIDTH) * 10.0 ** rng.integers(-8, 8, 8 * WIDTH)
    every = np.concatenate([special, of_half, ties, of_single, some])
    return every[: 8 * WIDTH].astype(storage).reshape(8, WIDTH)


def converted(x: Any, dtype: torch.dtype) -> torch.Tensor:
    """numpy's astype; torch's to() for the type that numpy has not."""
    x = np.asarray(x)
    if dtype == torch.bfloat16:
        return torch.from_numpy(x.copy()).to(torch.bfloat16)
    return torch.from_numpy(x.astype(str(dtype).removeprefix("torch.")))


def check(ds: Any, want: torch.Tensor) -> None:
    """Whole, in odd batches, and row by row."""
    n = len(want)
    assert_same(ds[:][0], want)
    assert_same(ds[[3, 0, n - 1]][0], want[[3, 0, n - 1]])
    assert_same(torch.stack([ds[i][0] for i in range(n)]), want)


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("dtype", FLOATS)
def test_conversion_is_numpys(storage: str, dtype: torch.dtype) -> None:
    x = values(storage)
    check(ArrayDataset(x, shape=SHAPE, dtype=dtype), converted(x, dtype).reshape(-1, *SHAPE))


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("dtype", FLOATS)
def test_unit_is_division_in_float32(storage: str, dtype: torch.dtype) -> None:
    x = values(storage)
    unit = x.astype(np.float32) / np.float32(255)
    check(ArrayDataset(x, scale="unit", dtype=dtype), converted(unit, dtype))


def test_a_row_does_not_warn() -> None:
    ds = ArrayDataset(
        np.array([[1e300, np.nan, np.inf]]), scale="unit", mean=1, std=1e-30, dtype=torch.float16
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert_same(ds[0][0], torch.tensor([np.inf, np.nan, np.inf], dtype=torch.float16))
        assert_same(ds[:][0], ds[0][0].unsqueeze(0))


@pytest.mark.arrives("device", "copied")
def test_unit_is_torchvisions_to_tensor() -> None:
    x = values("uint8")
    want = to_tensor(x)  # a picture of one channel
    check(ArrayDataset(x, scale="unit", shape=(1, -1)), want.reshape(-1, 1, WIDTH))


@pytest.mark.parametrize("storage", STORAGE)
@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("scale", [None, "unit"])
@pytest.mark.parametrize("statistics", ["scalar", "channel", "feature"])
def test_mean_and_std_are_torchvisions_normalize(
    storage: str, dtype: torch.dtype, scale: Any, statistics: str
) -> None:
    x = values(storage)
    single = torch.from_numpy(x.astype(np.float32)).reshape(-1, *SHAPE)
    if scale == "unit":
        single = single / 255
    mean: Any
    std: Any
    if statistics == "scalar":
        mean, std = 0.1307, 0.3081
        want = v2.Normalize([mean] * 3, [std] * 3)(single)
    elif statistics == "channel":
        mean, std = [0.485, 0.456, 0.406], (0.229, 0.224, 0.225)
        want = v2.Normalize(mean, std)(single)
    else:
        generator = torch.Generator().manual_seed(1)
        mean, std = (
            torch.rand(WIDTH, generator=generator),
            (torch.rand(WIDTH, generator=generator) + 0.1).numpy(),
        )
        want = single.sub(mean.reshape(SHAPE)).div(torch.from_numpy(std).reshape(SHAPE))
    ds = ArrayDataset(x, shape=SHAPE, scale=scale, mean=mean, std=std, dtype=dtype)
    check(ds, converted(want.numpy(), dtype))


@pytest.mark.parametrize("storage", INTEGERS)
def test_integers_leave_as_they_are_stored(storage: str) -> None:
    x = values(storage)
    check(ArrayDataset(x), torch.from_numpy(x))
    for arithmetic in ({"scale": "unit"}, {"mean": 0.5, "std": 0.5}):
        with pytest.raises(errors.OptionError, match="nothing is rounded"):
            ArrayDataset(x, dtype=getattr(torch, storage), **arithmetic)


@pytest.mark.parametrize("dtype", [torch.int8, torch.bool, torch.complex64, torch.uint16])
def test_other_dtypes_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(errors.OptionError, match="dtype"):
        ArrayDataset(values("uint8"), dtype=dtype)


@pytest.mark.parametrize(
    "options",
    [
        {"mean": 0.5},
        {"std": 0.5},
        {"mean": 0.5, "std": 0},
        {"mean": float("nan"), "std": 1},
        {"mean": [0.1, 0.2], "std": [1, 1]},
        {"mean": [], "std": []},
        {"mean": "0.5", "std": "a"},
        {"mean": [0.1, 0.2, 0.3], "std": [1, 1, 1, 1]},
        {"scale": "units"},
        {"scale": 255},
        {"scale": True},
    ],
)
def test_nonsense_arithmetic_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(errors.OptionError):
        ArrayDataset(values("float32"), shape=SHAPE, **options)


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("numbers", "storage"),
    [
        ([0, 255, 7], "uint8"),
        ([0, 256, 7], "int16"),
        ([-1, 1, 2], "int16"),
        ([-32768, 32767, 0], "int16"),
        ([0, 32768, 0], "int32"),
        ([-(2**31), 2**31 - 1, 0], "int32"),
        ([0, 2**31, 0], "int64"),
        ([-(2**63), 2**63 - 1, 0], "int64"),
        ([0.5, 1.0, 2.0], "float32"),
        ([0.0, 1.0, 2.0], "float32"),
        ([0.1, 1.0, 2.0], "float64"),
        ([2.0**24, 1e300, 5e-324], "float64"),
    ],
)
def test_the_smallest_exact_storage_is_chosen(
    form: str, numbers: list[Any], storage: str, tmp_path: Path
) -> None:
    frame = pd.DataFrame({"label": [0, 1, 2], "x": numbers, "y": [1, 1, 1]})
    path = tmp_path / f"t.{form}"
    frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    x = frame[["x", "y"]].to_numpy(storage, copy=True)
    ds = TableDataset(path, output="tuple", dtype=torch.float64)
    assert f"stored as {storage}" in repr(ds)
    assert_same(ds[:][0], torch.from_numpy(x).to(torch.float64))
    if np.abs(x.astype(np.float64)).max() < 65520:  # float16's, see test_features.py
        half = TableDataset(path, output="tuple", dtype=torch.float16, scale=None)
        assert_same(half[:][0], converted(x, torch.float16))
    if storage in INTEGERS:
        raw = TableDataset(path, output="tuple", dtype=getattr(torch, storage))
        assert_same(raw[:][0], torch.from_numpy(x))


@pytest.mark.arrives("device")
@pytest.mark.parametrize("kind", ["bool", "int8", "int32", "uint8", "int64", "float32", "float64", "float16"])
def test_labels_of_any_number_type(kind: str) -> None:
    labels = np.array([0, 1, 1, 0], kind)
    ds = ArrayDataset(np.zeros((4, 2), np.float32), labels)
    want = torch.from_numpy(labels)
    assert_same(ds[:][1], want)
    assert_same(ds[1][1], want[1])
    assert_same(ds.targets, want)


def test_big_labels_stay_exact(tmp_path: Path) -> None:
    big = [2**63 - 1, -(2**63), 2**53 + 1]
    pd.DataFrame({"label": big, "x": [1, 2, 3]}).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame({"label": big, "x": [1, 2, 3]}).to_parquet(tmp_path / "t.parquet")
    for name in ("t.csv", "t.parquet"):
        ds = TableDataset(tmp_path / name)
        assert_same(ds[:]["label"], torch.tensor(big))
        assert_same(ds[2]["label"], torch.tensor(big[2]))


def test_integer_label_beside_float_is_rounded_once(tmp_path: Path) -> None:
    odd = 2**60 + 2**36 + 1  # through float64 it would round down, from int64 it rounds up
    pd.DataFrame({"a": [odd], "b": [0.5], "x": [1]}).to_csv(tmp_path / "t.csv", index=False)
    ds = TableDataset(tmp_path / "t.csv", label=["a", "b"])
    want = torch.tensor([np.float32(np.int64(odd)), 0.5])
    assert_same(ds[0]["label"], want)
    assert_same(ds[0:1]["label"][0], want)
    assert_same(ds.targets[0], want)
