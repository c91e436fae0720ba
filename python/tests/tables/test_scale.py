"""scale= and keys= follow from shape=, and from no value of the file."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torchvision.transforms.functional import to_tensor

from gofast import ArrayDataset, TableDataset, errors
from reference import assert_same

FORMS = ["csv", "parquet", "npy", "npz", "cache"]
Save = Callable[..., TableDataset]


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., TableDataset]:
    """Opens rows of features as a table of some format."""

    def save(form: str, x: Any, name: str = "t", **options: Any) -> TableDataset:
        x = np.asarray(x)
        path = tmp_path / f"{name}.{'csv' if form == 'cache' else form}"
        if form == "npy":
            np.save(path, x)
            options["label"] = None
        elif form == "npz":
            np.savez(path, x=x)
            options["label"] = None
        else:
            frame = pd.DataFrame(x, columns=[f"p{i}" for i in range(x.shape[1])])
            frame.insert(0, "label", 0)
            frame.to_parquet(path) if form == "parquet" else frame.to_csv(path, index=False)
            if form == "cache":
                options["cache"] = tmp_path / f"{name}.cache"
        return TableDataset(path, **options)

    return save


PIXELS = np.array([[0, 51, 102, 255], [1, 2, 3, 4]])
NUMBERS = np.array([[0, 51, 102, 300], [1, 2, 3, 4]])


@pytest.mark.parametrize("form", FORMS)
def test_two_files_of_one_kind_are_treated_alike(form: str, opened: Save) -> None:
    for name, x in (("train", PIXELS), ("test", NUMBERS)):
        ds = opened(form, x, name)
        assert next(iter(ds[0])) == "features"
        assert_same(ds[:]["features"], torch.from_numpy(x).float())
        assert_same(ds[1]["features"], torch.from_numpy(x[1]).float())


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("shape", [(2, 2), (1, 2, 2), (-1, 2)])
def test_pictures_are_torchvisions_to_tensor(form: str, shape: tuple[int, ...], opened: Save) -> None:
    ds = opened(form, PIXELS, shape=shape)
    assert next(iter(ds[0])) == "image"
    want = to_tensor(PIXELS.astype(np.uint8)).reshape(2, *ds.shape)
    assert_same(ds[:]["image"], want)
    assert_same(ds[1]["image"], want[1])


@pytest.mark.parametrize("form", FORMS)
def test_pictures_that_are_whole_floats_are_pictures(form: str, opened: Save) -> None:
    ds = opened(form, PIXELS.astype(np.float32), shape=(2, 2))
    assert_same(ds[:]["image"], torch.from_numpy(PIXELS).float().reshape(-1, 2, 2) / 255)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("value", [300, -1, 70000, 1 << 40, 0.5, 0.1, float("inf"), 255.5, -0.25])
def test_other_numbers_are_no_pictures(form: str, value: float, opened: Save) -> None:
    x = PIXELS.astype(object)
    x[1, 2] = value
    x = np.array(x.tolist())
    with pytest.raises(errors.BadValueError, match=r"(row 1|line 3), column .*scale=None") as caught:
        opened(form, x, shape=(2, 2))
    assert caught.value.row == 1 and str(value)[:3] in str(caught.value)
    assert caught.value.column == ("p2" if form in ("csv", "parquet", "cache") else "2")
    assert caught.value.path is not None and str(caught.value.path) in str(caught.value)
    plain = opened(form, x, shape=(2, 2), scale=None, dtype=torch.float64)
    assert_same(plain[:]["image"], torch.from_numpy(x).double().reshape(-1, 2, 2))
    unit = opened(form, x, shape=(2, 2), scale="unit")
    assert_same(unit[:]["image"], torch.from_numpy(x.astype(np.float32)).reshape(-1, 2, 2) / 255)


def test_booleans_are_no_pictures(opened: Save) -> None:
    x = np.array([[True, False], [True, True]])
    for form in FORMS:
        with pytest.raises(errors.BadValueError, match=r"booleans.*scale=None"):
            opened(form, x, shape=(1, 2))
        assert_same(opened(form, x)[:]["features"], torch.from_numpy(x).float())


def test_a_shape_of_one_or_four_dimensions_says_nothing(opened: Save) -> None:
    for shape in ((4,), (-1,), (1, 1, 2, 2)):
        ds = opened("csv", NUMBERS, shape=shape)
        assert_same(ds[:]["features"], torch.from_numpy(NUMBERS).float().reshape(2, *ds.shape))


def test_the_shape_of_the_file_says_nothing(tmp_path: Path) -> None:
    x = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    np.save(tmp_path / "x.npy", x)
    ds = TableDataset(tmp_path / "x.npy", label=None)
    assert ds.shape == (3, 4)
    assert_same(ds[:], {"features": torch.from_numpy(x).float()})
    pictures = TableDataset(tmp_path / "x.npy", label=None, shape=(3, 4))
    assert_same(pictures[:], {"image": torch.from_numpy(x) / 255})


def test_integer_types_are_not_divided_and_not_checked(opened: Save) -> None:
    ds = opened("csv", NUMBERS, shape=(2, 2), dtype=torch.int16)
    assert_same(ds[:]["image"], torch.from_numpy(NUMBERS).short().reshape(-1, 2, 2))


def test_keys_that_are_given_win(opened: Save) -> None:
    assert list(opened("csv", PIXELS, shape=(2, 2), keys=("x", "y"))[0]) == ["x", "y"]
    assert list(opened("csv", PIXELS, keys=("image", "label"))[0]) == ["image", "label"]


def test_numbers_say_nothing_of_what_they_are(opened: Save) -> None:
    """Ages from 0 to 255 are ages: no warning depends on values."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for values in (PIXELS, NUMBERS, PIXELS / 2, PIXELS > 1):
            opened("csv", values)


def test_arrays_follow_the_same_rule() -> None:
    x = PIXELS.astype(np.uint8)
    for given in (x, torch.from_numpy(x), x.astype(np.float32), x.astype(np.int64)):
        ds = ArrayDataset(given, scale="auto", shape=(2, 2), output="dict", dtype=torch.float32)
        assert_same(ds[:], {"image": torch.from_numpy(x).reshape(-1, 2, 2) / 255})
    ds = ArrayDataset(x, scale="auto", output="dict")
    assert_same(ds[:], {"features": torch.from_numpy(x).float()})
    with pytest.raises(errors.BadValueError, match='row 0, column "3": 300'):
        ArrayDataset(NUMBERS, scale="auto", shape=(2, 2))
    assert_same(ArrayDataset(NUMBERS, shape=(2, 2))[0], (torch.from_numpy(NUMBERS[0]).reshape(2, 2),))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert list(ArrayDataset(x, output="dict")[0]) == ["features"]
        assert list(ArrayDataset(x.reshape(2, 1, 2, 2), output="dict")[0]) == ["features"]


def test_a_large_table_is_checked_to_its_end() -> None:
    x = np.zeros((3000, 1000), np.float32)
    x[2999, 999] = 256
    with pytest.raises(errors.BadValueError, match=r'row 2999, column "999": 256\.0'):
        ArrayDataset(x, scale="auto", shape=(10, 100))


@pytest.mark.parametrize("cached", [False, True])
def test_a_value_that_does_not_fit_is_found_in_its_file(tmp_path: Path, cached: bool) -> None:
    (tmp_path / "a.csv").write_text("a,b,c,d\n1,2,3,4\n\n5,6,7,8\n")
    (tmp_path / "b.csv").write_text("a,b,c,d\n\n1,2,3,4\n5,6,700,8\n")
    bad = str(tmp_path / "b.csv")
    cache = {"cache": tmp_path / "t.cache"} if cached else {}
    for path in (tmp_path, str(tmp_path / "*.csv"), [tmp_path / "a.csv", bad], bad):
        for options in ({"shape": (2, 2)}, {"dtype": torch.uint8}):
            with pytest.raises(errors.BadValueError) as caught:
                TableDataset(path, label=None, **options, **cache)  # type: ignore[arg-type]
            assert f'{bad}: line 4, column "c": 700' in str(caught.value)
            place = caught.value.path, caught.value.row, caught.value.line, caught.value.column
            assert place == (bad, 1, 4, "c")


def test_a_value_that_does_not_fit_is_found_in_its_parquet_file(tmp_path: Path) -> None:
    for name, values in (("a", [1, 2, 3]), ("b", [4, 500])):
        pd.DataFrame({"x": values, "y": values}).to_parquet(tmp_path / f"{name}.parquet", index=False)
    with pytest.raises(errors.BadValueError, match=r'b\.parquet: row 1, column "x": 500') as caught:
        TableDataset(tmp_path, label=None, shape=(1, 2))
    assert (caught.value.row, caught.value.line) == (1, None)
