"""columns, exclude=, fill_value=, mean="auto" and integer types, beside pandas, numpy and torch."""

from __future__ import annotations

import copy
import math
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torchvision.transforms import v2

import gofast
from gofast import ArrayDataset, TableDataset, errors
from reference import assert_same

FORMS = ["csv", "parquet", "cache"]
NAN = float("nan")
Write = Callable[..., dict[str, Any]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes a frame, and gives what opens it."""

    def save(form: str, frame: pd.DataFrame, name: str = "t", index: bool = False) -> dict[str, Any]:
        path = tmp_path / f"{name}.{'parquet' if form == 'parquet' else 'csv'}"
        if form == "parquet":
            frame.to_parquet(path, index=index)
        else:
            frame.to_csv(path, index=index)
        cache = {"cache": tmp_path / f"{name}.cache"} if form == "cache" else {}
        return {"path": path, "scale": None, **cache}

    return save


def frame(**columns: Any) -> pd.DataFrame:
    return pd.DataFrame({"label": [0, 1, 2], **columns})


# ------------------------------------------------------------------ columns and exclude


@pytest.mark.parametrize("form", FORMS)
def test_columns_are_the_names_of_the_features(form: str, write: Write) -> None:
    opened = write(form, frame(a=[1, 2, 3], b=[4, 5, 6]))
    assert TableDataset(**opened).columns == ["a", "b"]
    assert TableDataset(**{**opened, "cache": None}, columns=["b", 0], label=None).columns == ["b", "label"]


@pytest.mark.parametrize("form", FORMS)
def test_exclude_leaves_columns_out(form: str, write: Write) -> None:
    table = frame(a=[1, 2, 3], name=["x", "y", "z"], b=[4, 5, 6])
    opened = write(form, table)
    want = torch.tensor(table[["a", "b"]].to_numpy(np.float32, copy=True))
    for exclude in ("name", ["name"], [2], -2, ("name", "label")):
        ds = TableDataset(**opened, exclude=exclude)
        assert ds.columns == ["a", "b"]
        assert_same(ds[:], {"features": want, "label": torch.tensor([0, 1, 2])})
    assert TableDataset(**opened, columns=["b", "a", "name"], exclude=["name", "b"]).columns == ["a"]


def test_exclude_must_name_columns(write: Write) -> None:
    opened = write("csv", frame(a=[1, 2, 3], b=[4, 5, 6]))
    with pytest.raises(errors.SchemaError, match=r'exclude="nmae" is not a column.*"a", "b"'):
        TableDataset(**opened, exclude=["nmae"])
    with pytest.raises(errors.SchemaError, match="exclude=9 is not a column"):
        TableDataset(**opened, exclude=9)
    with pytest.raises(errors.SchemaError, match="no feature columns"):
        TableDataset(**opened, exclude=["a", "b"])
    with pytest.raises(errors.OptionError, match="exclude"):
        TableDataset(**opened, exclude=[1.5])  # type: ignore[list-item]
    with pytest.raises(errors.SchemaError, match="exclude="):
        TableDataset(**write("csv", frame(a=["x", "y", "z"], b=[1, 2, 3])))


def test_exclude_is_part_of_a_cache(write: Write) -> None:
    opened = write("cache", frame(a=[1, 2, 3], b=[4, 5, 6]))
    assert TableDataset(**opened).columns == ["a", "b"]
    assert TableDataset(**opened, exclude="a").columns == ["b"]


def test_convert_excludes(write: Write, tmp_path: Path) -> None:
    opened = write("csv", frame(a=[1, 2, 3], b=[4, 5, 6]))
    gofast.convert(opened["path"], tmp_path / "out.parquet", exclude=["a"])
    assert list(pd.read_parquet(tmp_path / "out.parquet").columns) == ["label", "b"]


@pytest.mark.parametrize("form", FORMS)
def test_an_index_that_is_left_out_is_said(form: str, write: Write) -> None:
    table = frame(a=[1, 2, 3])
    assert "without the index" not in repr(TableDataset(**write(form, table)))
    table.index = pd.Index([7, 8, 9])
    name = "__index_level_0__" if form == "parquet" else "Unnamed: 0"
    ds = TableDataset(**write(form, table, "indexed", index=True))
    assert f"without the index '{name}'" in repr(ds) and ds.columns == ["a"]


def test_a_subclass_may_have_columns_and_mean_of_its_own(write: Write) -> None:
    class Mine(TableDataset):
        def __init__(self, **options: Any) -> None:
            self.columns = ["mine"]
            self.mean = torch.tensor(3.0)
            super().__init__(**options)

    ds = Mine(**write("csv", frame(a=[1, 2, 3])))
    assert ds.columns == ["mine"] and ds.mean == 3


# ------------------------------------------------------------------ fill_value


MISSING = pd.DataFrame(
    {"label": [0, 1, 2], "a": pd.array([1, None, 3], "Int64"), "b": [0.5, 1.5, NAN], "c": [4, 5, 6]}
)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "fill",
    [
        {"a": 7, "b": -0.25},
        {1: 7, "b": 2.0**60},
        {"a": NAN, "b": 1},
        {-3: 0.1, -2: NAN},
        NAN,
        {"a": 1, "b": NAN, "c": 9},
        -3,
        0.5,
        1e300,
    ],
)
def test_fill_values_are_pandas_fillna(form: str, fill: Any, write: Write) -> None:
    ds = TableDataset(**write(form, MISSING), fill_value=fill, dtype=torch.float64)
    columns = list(MISSING.columns)
    values = MISSING.drop(columns="label").astype("float64")
    given = fill if isinstance(fill, dict) else dict.fromkeys("abc", fill)
    values = values.fillna({key if isinstance(key, str) else columns[key]: v for key, v in given.items()})
    assert_same(ds[:]["features"], torch.from_numpy(values.to_numpy(copy=True)))
    assert_same(ds[1]["features"], torch.from_numpy(values.to_numpy(copy=True)[1]))


@pytest.mark.parametrize("form", FORMS)
def test_a_column_without_a_fill_value_must_be_whole(form: str, write: Write) -> None:
    opened = write(form, MISSING)
    with pytest.raises(errors.MissingValueError) as caught:
        TableDataset(**opened, fill_value={"a": 0})
    assert (caught.value.column, caught.value.row) == ("b", 2)
    with pytest.raises(errors.SchemaError, match='fill_value="d" is not a column'):
        TableDataset(**opened, fill_value={"d": 0})
    for options in ({"fill_value": {"label": 0}}, {"fill_value": {"c": 0}, "exclude": "c"}):
        with pytest.raises(errors.SchemaError, match="not a feature"):
            TableDataset(**opened, **options)


@pytest.mark.parametrize(
    "fill", [math.inf, "0", "nan", {"a": math.inf}, {"a": None}, {"a": "x"}, [1, 2], {1.5: 0}]
)
def test_fill_values_must_be_numbers(fill: Any, write: Write) -> None:
    with pytest.raises(errors.OptionError, match="fill_value"):
        TableDataset(**write("csv", MISSING), fill_value=fill)


@pytest.mark.parametrize("write_arrays", ["npy", "npz"])
def test_fill_values_of_arrays(write_arrays: str, tmp_path: Path) -> None:
    x = np.array([[1, NAN, 3], [NAN, 5, 6], [7, 8, NAN]], np.float32)
    path = tmp_path / f"x.{write_arrays}"
    np.save(path, x) if write_arrays == "npy" else np.savez(path, p=x[:, 0], q=x[:, 1:])
    fill: Any = {0: 10, 2: NAN, 1: 0.1} if write_arrays == "npy" else {"p": 10, "q": 0.1}
    options = {} if write_arrays == "npy" else {"columns": ["q", "p"]}
    ds = TableDataset(path, label=None, fill_value=fill, dtype=torch.float64, **options)
    want = pd.DataFrame(x.astype(np.float64)).fillna(
        {0: 10, 1: 0.1} if write_arrays == "npy" else {0: 10, 1: 0.1, 2: 0.1}
    )
    order = [0, 1, 2] if write_arrays == "npy" else [1, 2, 0]
    assert_same(ds[:]["features"], torch.from_numpy(want.to_numpy(copy=True)[:, order]))


@pytest.mark.parametrize("form", FORMS)
def test_nan_on_purpose_is_not_seen_where_nothing_is_missing(form: str, write: Write) -> None:
    whole = frame(a=[1, 2, 3], b=[4, 5, 300])
    for options in ({}, {"scale": "unit"}, {"dtype": torch.float64}, {"mean": 2, "std": 3}):
        opened = {**write(form, whole), **options}
        plain = TableDataset(**opened)[:]
        assert_same(TableDataset(**opened, fill_value=NAN)[:], plain)
        part = {**write(form, whole.astype({"a": "Int64"}).replace({"a": {2: None}}), "part"), **options}
        got = TableDataset(**part, fill_value=NAN)[:]["features"]
        want = plain["features"].clone()
        want[1, 0] = NAN
        assert_same(got, want)


def test_fill_values_that_no_integer_type_holds(write: Write) -> None:
    opened = write("csv", frame(a=[1, 2, 3]))
    for fill in (NAN, 0.5, {"a": NAN}):
        with pytest.raises(errors.OptionError, match=r"fill_value=.*dtype=torch\.int64"):
            TableDataset(**opened, fill_value=fill, dtype=torch.int64)
    assert TableDataset(**opened, fill_value=2.0, dtype=torch.int64)[0]["features"].dtype == torch.int64


def test_pictures_have_no_missing_values(write: Write) -> None:
    opened = {
        **write("csv", frame(a=pd.array([1, None, 3], "Int64"), b=[1, 2, 3])),
        "scale": "auto",
        "shape": (1, 2),
    }
    with pytest.raises(errors.BadValueError, match='line 3, column "a": nan'):
        TableDataset(**opened, fill_value=NAN)
    assert TableDataset(**opened, fill_value=0)[1]["image"][0, 0] == 0


# ------------------------------------------------------------------ mean and std


NUMBERS = frame(a=[1, 2, 6], b=[0.25, -4.5, 1e6], c=[300, 301, 299])


@pytest.mark.parametrize("form", FORMS)
def test_auto_is_the_standard_scaler(form: str, write: Write) -> None:
    x = NUMBERS.drop(columns="label").to_numpy(np.float64)
    mean, std = x.mean(0).astype(np.float32), x.std(0).astype(np.float32)
    opened = write(form, NUMBERS)
    train = TableDataset(**opened, mean="auto", std="auto")
    assert train.mean is not None and train.std is not None
    assert_same(train.mean, torch.from_numpy(mean))
    assert_same(train.std, torch.from_numpy(std))
    want = torch.from_numpy((x.astype(np.float32) - mean) / std)
    assert_same(train[:]["features"], want)
    assert_same(train[1]["features"], want[1])
    other = write(form, frame(a=[5, 5, 5], b=[1.5, 2.5, 3.5], c=[7, 8, 9]), "val")
    val = TableDataset(**other, mean=train.mean, std=train.std)
    y = pd.read_csv(other["path"]) if form != "parquet" else pd.read_parquet(other["path"])
    y = y.drop(columns="label").to_numpy(np.float32)
    assert_same(val[:]["features"], torch.from_numpy((y - mean) / std))
    for again in (pickle.loads(pickle.dumps(train)), copy.deepcopy(train)):
        assert_same(again.mean, train.mean)
        assert_same(again[:], train[:])


def test_auto_of_pictures_is_per_channel(tmp_path: Path) -> None:
    x = np.random.default_rng(3).integers(0, 256, (50, 3, 4, 5), dtype=np.uint8)
    np.save(tmp_path / "x.npy", x)
    ds = TableDataset(tmp_path / "x.npy", label=None, shape=(3, 4, 5), mean="auto", std="auto")
    unit = torch.from_numpy(x) / 255
    wide = unit.double().transpose(0, 1).reshape(3, -1)
    assert ds.mean is not None and ds.std is not None
    torch.testing.assert_close(ds.mean, wide.mean(1).float(), rtol=1e-6, atol=0)
    torch.testing.assert_close(ds.std, wide.std(1, correction=0).float(), rtol=1e-6, atol=0)
    assert_same(ds[:]["image"], v2.Normalize(ds.mean.tolist(), ds.std.tolist())(unit))
    grey = TableDataset(tmp_path / "x.npy", label=None, shape=(12, 5), mean="auto", std="auto")
    assert grey.mean is not None and grey.mean.shape == (1,)
    torch.testing.assert_close(grey.mean, wide.mean()[None].float(), rtol=1e-6, atol=0)


def test_auto_beside_numbers_and_arrays() -> None:
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    ds = ArrayDataset(x, mean="auto", std=2)
    assert_same(ds[:][0], torch.from_numpy((x - x.mean(0)) / np.float32(2)))
    assert_same(ArrayDataset(x, mean=[1, 2, 3], std="auto").std, torch.from_numpy(x.std(0)))
    assert ArrayDataset(x).mean is None
    assert_same(ArrayDataset(x, mean=0.5, std=2).mean, torch.tensor([0.5]))


def test_auto_leaves_missing_values_out(write: Write) -> None:
    ds = TableDataset(**write("csv", MISSING), fill_value=NAN, mean="auto", std="auto")
    values = MISSING.drop(columns="label").astype("float64").to_numpy()
    assert_same(ds.mean, torch.from_numpy(np.nanmean(values, 0).astype(np.float32)))
    assert_same(ds.std, torch.from_numpy(np.nanstd(values, 0).astype(np.float32)))


@pytest.mark.parametrize(
    ("column", "says"),
    [
        ([3, 3, 3], "one value only"),
        ([0.1, 0.1, 0.1], "one value only"),
        ([1.7e9, 1.7e9 + 1, 1.7e9 + 2], "same number in float32"),
        ([NAN, NAN, NAN], "no value"),
        ([1.0, 2.0, math.inf], "without a finite mean"),
    ],
)
def test_auto_refuses_what_it_cannot_standardise(column: list[float], says: str, write: Write) -> None:
    opened = write("parquet", frame(a=[1, 2, 3], b=column))
    with pytest.raises(errors.BadValueError, match=f'column "b".*{says}.*exclude=') as caught:
        TableDataset(**opened, mean="auto", std="auto", fill_value=NAN)
    assert caught.value.column == "b"
    assert TableDataset(**opened, mean="auto", std="auto", exclude="b", fill_value=NAN).columns == ["a"]


@pytest.mark.parametrize("name", ["mean", "std"])
@pytest.mark.parametrize("value", [NAN, math.inf, 1e300, [1, NAN, 2], "Auto", "0.5", [1, 2], []])
def test_numbers_that_make_no_sense_are_named(name: str, value: Any, write: Write) -> None:
    with pytest.raises(errors.OptionError, match=name):
        TableDataset(**write("csv", NUMBERS), **{"mean": 1, "std": 1, name: value})


def test_a_std_of_nothing_and_half_a_pair(write: Write) -> None:
    for options in (
        {"mean": 0, "std": 0},
        {"mean": 0, "std": 1e-60},
        {"mean": "auto"},
        {"std": "auto"},
        {"mean": 1},
    ):
        with pytest.raises(errors.OptionError, match="std"):
            TableDataset(**write("csv", NUMBERS), **options)


# ------------------------------------------------------------------ integer types and float16


INTEGERS = [torch.uint8, torch.int16, torch.int32, torch.int64]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("values", [[0, 1, 255], [0, 1, 300], [-1, 1, 2], [0, 1, 70000], [-(2**40), 0, 5]])
@pytest.mark.parametrize("dtype", INTEGERS)
def test_an_integer_type_does_not_follow_from_the_values(
    form: str, values: list[int], dtype: torch.dtype, write: Write
) -> None:
    opened = write(form, frame(a=[1, 2, 3], b=values))
    limits = torch.iinfo(dtype)
    bad = [i for i, v in enumerate(values) if not limits.min <= v <= limits.max]
    if bad:
        with pytest.raises(
            errors.BadValueError, match=f"{values[bad[0]]} does not fit dtype={dtype}"
        ) as caught:
            TableDataset(**opened, dtype=dtype)
        assert (caught.value.row, caught.value.column) == (bad[0], "b")
        assert caught.value.path == str(opened["path"])
        return
    ds = TableDataset(**opened, dtype=dtype)
    want = torch.tensor([[1, values[0]], [2, values[1]], [3, values[2]]], dtype=dtype)
    assert_same(ds[:]["features"], want)
    assert_same(ds[2]["features"], want[2])
    loader = gofast.DataLoader(torch.utils.data.ConcatDataset([ds, ds]), batch_size=6)
    assert_same(next(iter(loader))["features"], torch.cat([want, want]))


@pytest.mark.parametrize("form", FORMS)
def test_floats_are_no_integers(form: str, write: Write) -> None:
    for column in ([0.5, 1.0, 2.0], [0.0, 1.0, 2.0]):
        with pytest.raises(errors.OptionError, match=r"int64 needs integers.*floats"):
            TableDataset(**write(form, frame(a=column)), dtype=torch.int64)


def test_arrays_are_widened_and_never_narrowed() -> None:
    names = ["uint8", "int16", "int32", "int64"]
    for storage in names:
        info = np.iinfo(storage)
        x = np.array([[info.min, info.max, 1], [2, 3, 4]], storage)
        for name in names:
            dtype: torch.dtype = getattr(torch, name)
            if np.can_cast(storage, name):
                assert_same(ArrayDataset(x, dtype=dtype)[:][0], torch.from_numpy(x).to(dtype))
                assert_same(ArrayDataset(x, dtype=dtype)[0][0], torch.from_numpy(x[0]).to(dtype))
            else:  # what fits now may not fit when the array has changed
                with pytest.raises(errors.OptionError, match=f"{storage}.*convert the array"):
                    ArrayDataset(x, dtype=dtype)


@pytest.mark.parametrize("form", FORMS)
def test_what_float16_does_not_hold_after_std_is_an_error(form: str, write: Write) -> None:
    for values in ([1, 8, 8], [1, 8, 300]):  # stored as uint8 and as int16
        opened = write(form, frame(a=[0, 0, 0], b=values))
        with pytest.raises(errors.BadValueError, match=r"1 does not fit dtype=torch.float16") as caught:
            TableDataset(**opened, dtype=torch.float16, mean=0, std=1e-6)
        assert (caught.value.row, caught.value.column) == (0, "b")
        TableDataset(**opened, dtype=torch.float16, mean=0, std=0.5)


@pytest.mark.parametrize("form", FORMS)
def test_what_float16_does_not_hold_is_an_error(form: str, write: Write) -> None:
    for values in ([1, 2, 70000], [0.5, 1, -65520.0], [0.1, 1, 1e300]):
        opened = write(form, frame(a=[1, 2, 3], b=values))
        with pytest.raises(errors.BadValueError, match=r"does not fit dtype=torch.float16") as caught:
            TableDataset(**opened, dtype=torch.float16)
        assert (caught.value.row, caught.value.column) == (2, "b")
        if abs(values[2]) < 1e30:  # in range after the arithmetic, which is float32's
            TableDataset(**opened, dtype=torch.float16, mean=0, std=100)
    fits = write(form, frame(a=[1, 2, 3], b=[65504, -65519.0, math.inf]), "fits")
    want = torch.tensor([[1, 65504], [2, -65504], [3, math.inf]], dtype=torch.float16)
    assert_same(TableDataset(**fits, dtype=torch.float16)[:]["features"], want)
