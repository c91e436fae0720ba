"""TableDataset against the classic pandas Dataset, through everything torch does with a dataset."""

from __future__ import annotations

import copy
import os
import pickle
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Subset,
    default_collate,
)

import gofast
from gofast import ArrayDataset, TableDataset, errors
from reference import DIGITS, Classic, assert_same, assert_same_batches, epochs

FORMATS = ["csv", "parquet"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    return pd.read_parquet(DIGITS)


@pytest.fixture(scope="module")
def digits(frame: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    csv = tmp_path_factory.mktemp("digits") / "digits.csv"
    frame.to_csv(csv, index=False)
    return {"csv": csv, "parquet": DIGITS}


@pytest.fixture(scope="module")
def classics() -> dict[Any, list[Any]]:
    """The epochs of the classic Dataset, by their options: pandas takes 50 us a row."""
    return {}


@pytest.fixture(scope="module")
def ds() -> TableDataset:
    return TableDataset(DIGITS, shape=(1, 28, 28))


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    """Writes a small CSV from columns and gives its path."""

    def write(name: str = "table.csv", **columns: Any) -> Path:
        path = tmp_path / name
        pd.DataFrame(columns).to_csv(path, index=False)
        return path

    return write


# ------------------------------------------------------------------ the classic


@pytest.mark.parametrize("form", FORMATS)
def test_every_row_is_the_classics(form: str, digits: dict[str, Path], frame: pd.DataFrame) -> None:
    got, want = TableDataset(digits[form], shape=(1, 28, 28)), Classic(frame)
    assert len(got) == len(want) == 3000
    for i in range(0, 3000, 7):
        assert_same(got[i], want[i])
    assert_same(got[-1], want[2999])


@pytest.mark.daily
@pytest.mark.arrives("device", "copied")
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("drop_last", [False, True])
def test_shuffled_epochs_are_the_classics(
    form: str,
    workers: int,
    drop_last: bool,
    digits: dict[str, Path],
    frame: pd.DataFrame,
    classics: dict[Any, list[Any]],
) -> None:
    got = TableDataset(digits[form], shape=(1, 28, 28))
    options = {"batch_size": 512, "shuffle": True, "num_workers": workers, "drop_last": drop_last}
    count = 1 if workers else 2
    key = (workers, drop_last)
    if key not in classics:
        classics[key] = list(epochs(Classic(frame), count, **options))
    assert_same(list(epochs(got, count, **options)), classics[key])


def test_without_a_label_it_is_minus_one(frame: pd.DataFrame, tmp_path: Path) -> None:
    unlabelled = frame.drop(columns="label").head(100)
    unlabelled.to_csv(tmp_path / "test.csv", index=False)
    got = TableDataset(tmp_path / "test.csv", shape=(1, 28, 28), missing_label=-1)
    assert_same_batches(got, Classic(unlabelled), batch_size=32)
    assert_same(got.targets, torch.full((100,), -1))
    other = TableDataset(tmp_path / "test.csv", missing_label=7)
    assert_same(other[0]["label"], torch.tensor(7))
    assert_same(next(iter(DataLoader(other, batch_size=3)))["label"], torch.tensor([7, 7, 7]))


# ------------------------------------------------------------------ labels


@pytest.mark.parametrize("label", ["y", 1, -2])
def test_label_by_name_or_position(label: str | int, table: Callable[..., Path]) -> None:
    ds = TableDataset(table(a=[1, 2, 3], y=[7, 8, -9], b=[4, 5, 6]), label=label, scale=None)
    assert_same(ds[[0, 1, 2]]["features"], torch.tensor([[1.0, 4], [2, 5], [3, 6]]))
    assert_same(ds[[0, 1, 2]]["label"], torch.tensor([7, 8, -9]))
    assert_same(ds.targets, torch.tensor([7, 8, -9]))


def test_several_labels_keep_their_order(table: Callable[..., Path]) -> None:
    path = table(y=[1, 2], a=[3, 4], z=[5, 6])
    ds = TableDataset(path, label=["z", "y"])
    assert_same(ds[1]["label"], torch.tensor([6, 2]))
    assert_same(ds[0:2]["label"], torch.tensor([[5, 1], [6, 2]]))
    assert_same(ds.targets, torch.tensor([[5, 1], [6, 2]]))
    assert_same(ds[1]["features"], torch.tensor([4.0]))


def test_one_float_among_labels_makes_them_all_float(table: Callable[..., Path]) -> None:
    path = table(a=[3, 4], y=[1, 2], z=[0.1, -1e-9])
    ds = TableDataset(path, label=["y", "z"])
    want = torch.tensor([[1, 0.1], [2, -1e-9]], dtype=torch.float32)
    assert_same(ds[[0, 1]]["label"], want)
    assert_same(torch.stack([ds[0]["label"], ds[1]["label"]]), want)
    assert_same(ds.targets, want)
    exact = TableDataset(path, label=["y", "z"], dtype=torch.float64)
    assert_same(exact[[0, 1]]["label"], torch.tensor([[1, 0.1], [2, -1e-9]], dtype=torch.float64))


def test_no_label_leaves_it_out(table: Callable[..., Path]) -> None:
    path = table(label=[9, 9], a=[1, 2])
    ds = TableDataset(path, label=None, scale=None)
    assert list(ds[0]) == ["features"]
    assert_same(next(iter(DataLoader(ds, batch_size=2))), {"features": torch.tensor([[9.0, 1], [9, 2]])})
    pair = TableDataset(path, label=None, scale=None, output="tuple")
    assert_same(pair[1], (torch.tensor([9.0, 2]),))
    assert_same(next(iter(DataLoader(pair, batch_size=2))), [torch.tensor([[9.0, 1], [9, 2]])])


def test_a_named_label_must_exist(table: Callable[..., Path]) -> None:
    path = table(a=[1], b=[2])
    with pytest.raises(errors.SchemaError, match=r'"y" is not a column.*"a", "b"') as caught:
        TableDataset(path, label="y")
    assert caught.value.path == str(path)
    with pytest.raises(errors.SchemaError, match="label=2 is not a column"):
        TableDataset(path, label=2)
    with pytest.raises(errors.SchemaError):
        TableDataset(path, label=["label", "a"])


def test_text_labels_are_sorted_classes(table: Callable[..., Path]) -> None:
    names = ["dog", "cat", "älg", "Cat", "dog", "a,b", 'q"q']
    ds = TableDataset(table(x=range(7), label=names))
    classes = sorted(set(names))
    assert ds.classes == classes
    assert ds.class_to_idx == {name: i for i, name in enumerate(classes)}
    want = torch.tensor([classes.index(name) for name in names])
    assert_same(ds.targets, want)
    assert_same(ds[list(range(7))]["label"], want)
    assert_same(ds[0]["label"], want[0])


@pytest.mark.arrives("device")
def test_one_hot(table: Callable[..., Path]) -> None:
    path = table(x=[1, 2, 3], label=[2, 0, 1])
    ds = TableDataset(path, one_hot=4)
    want = torch.nn.functional.one_hot(torch.tensor([2, 0, 1]), 4).to(torch.float32)
    assert_same(ds[[0, 1, 2]]["label"], want)
    assert_same(ds[1]["label"], want[1])
    assert_same(ds.targets, torch.tensor([2, 0, 1]))
    text = TableDataset(table(x=[1, 2], label=["b", "a"]), one_hot=2)
    assert_same(text[0:2]["label"], torch.tensor([[0.0, 1], [1, 0]]))


@pytest.mark.parametrize("labels", [[0, 3], [0, -1]])
def test_one_hot_outside_is_an_error(labels: list[int], table: Callable[..., Path]) -> None:
    with pytest.raises(errors.BadValueError, match="row 1") as caught:
        TableDataset(table(x=[1, 2], label=labels), one_hot=3)
    assert caught.value.row == 1


def test_one_hot_needs_one_column_of_classes(table: Callable[..., Path]) -> None:
    path = table(x=[1, 2], y=[0.5, 1.5], z=[1, 2])
    for label in ("y", ["y", "z"], ["z", "x"]):
        with pytest.raises(errors.OptionError):
            TableDataset(path, label=label, one_hot=3, columns=None if label != ["z", "x"] else ["y"])


@pytest.mark.parametrize("form", FORMATS)
def test_boolean_label_and_features(form: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"label": [True, False], "a": [False, True], "b": [True, True]})
    path = tmp_path / f"t.{form}"
    frame.to_csv(path, index=False) if form == "csv" else frame.to_parquet(path)
    ds = TableDataset(path)
    assert_same(ds[[0, 1]]["label"], torch.tensor([1, 0]))
    assert_same(ds[[0, 1]]["features"], torch.tensor([[0.0, 1], [1, 1]]))


# ------------------------------------------------------------------ columns, fill, shape, keys


def test_columns_by_name_and_position(table: Callable[..., Path]) -> None:
    path = table(label=[0, 1], a=[1, 2], b=[3, 4], c=[5, 6], note=["x", "y"])
    ds = TableDataset(path, columns=["c", "a"], scale=None)
    assert_same(ds[[0, 1]]["features"], torch.tensor([[5.0, 1], [6, 2]]))
    assert_same(TableDataset(path, columns=[3, 1], scale=None)[[0, 1]], ds[[0, 1]])
    assert_same(TableDataset(path, columns=[-2, 1], scale=None)[[0, 1]], ds[[0, 1]])
    twice = TableDataset(path, columns=["b", "b", "a"], scale=None)
    assert_same(twice[1]["features"], torch.tensor([4.0, 4, 2]))
    with pytest.raises(errors.SchemaError, match="text") as caught:
        TableDataset(path)
    assert caught.value.column == "note"
    with pytest.raises(errors.SchemaError, match="both a feature and a label"):
        TableDataset(path, columns=["a", "label"])
    with pytest.raises(errors.SchemaError, match='columns="d" is not a column'):
        TableDataset(path, columns=["d"])
    assert TableDataset(path, columns=[]).targets.tolist() == [0, 1]
    with pytest.raises(errors.SchemaError, match="no feature columns"):
        TableDataset(path, columns=[], label=None)


@pytest.mark.parametrize("fill", [0, 9, 256, -1, 0.5])
def test_fill_value_of_integers_widens_only_where_it_must(fill: float, tmp_path: Path) -> None:
    frame = pd.DataFrame({"label": [0, 1], "a": pd.array([1, None], "Int64"), "b": pd.array([2, 3], "Int64")})
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    storage = {0: "uint8", 9: "uint8", 256: "int16", -1: "int16", 0.5: "float32"}[fill]
    for path in (tmp_path / "t.csv", tmp_path / "t.parquet"):
        ds = TableDataset(path, fill_value=fill, scale=None)
        assert_same(ds[0:2]["features"], torch.tensor([[1, 2], [fill, 3]], dtype=torch.float32))
        assert f"stored as {storage}" in repr(ds)
        assert "stored as uint8" in repr(TableDataset(path, columns=["b"], fill_value=fill))


def test_shape(table: Callable[..., Path]) -> None:
    path = table(**{"label": [1], **{f"p{i}": [i] for i in range(12)}})
    assert TableDataset(path).shape == (12,)
    for shape, whole in [
        ((3, -1), (3, 4)),
        ((-1,), (12,)),
        ([2, 2, 3], (2, 2, 3)),
        ((-1, 1, 12), (1, 1, 12)),
    ]:
        ds = TableDataset(path, shape=shape, scale=None, output="tuple")
        assert ds.shape == whole
        assert_same(ds[0][0], torch.arange(12.0).reshape(whole))
        assert_same(ds[[0]][0], torch.arange(12.0).reshape(1, *whole))
    for shape in [(5, -1), (-1, -1), (12, 2), (0, 12), (-2, -6), (), (12, 0, -1)]:
        with pytest.raises(errors.OptionError, match="shape"):
            TableDataset(path, shape=shape)
    with pytest.raises((errors.OptionError, TypeError)):
        TableDataset(path, shape=(1.5, 8))  # type: ignore[arg-type]


def test_keys_and_output(table: Callable[..., Path]) -> None:
    path = table(label=[1, 2], a=[3, 4])
    named = TableDataset(path, keys=("x", "y"), scale=None)
    assert_same(named[0], {"x": torch.tensor([3.0]), "y": torch.tensor(1)})
    pair = TableDataset(path, output="tuple", scale=None)
    assert_same(pair[0], (torch.tensor([3.0]), torch.tensor(1)))
    (batch,) = DataLoader(pair, batch_size=2)
    assert isinstance(batch, list)
    assert_same(batch, [torch.tensor([[3.0], [4]]), torch.tensor([1, 2])])
    for keys in [("x", "x"), ("x",), ("x", "y", "z")]:
        with pytest.raises(errors.OptionError):
            TableDataset(path, keys=keys)  # type: ignore[arg-type]


# ------------------------------------------------------------------ indexing


def test_boolean_masks_choose_rows(ds: TableDataset) -> None:
    mask = ds.targets == 3
    want = ds.targets[mask]
    assert_same(ds[mask]["label"], want)
    assert_same(ds[mask.numpy()]["label"], want)
    for wrong in (mask[:10], torch.stack([mask, mask])):
        with pytest.raises(IndexError, match="mask"):
            ds[wrong]


def test_targets_are_a_copy(table: Callable[..., Path]) -> None:
    ds = TableDataset(table(label=[1, 2], a=[3, 4]))
    ds.targets.zero_()
    assert_same(ds.targets, torch.tensor([1, 2]))


# ------------------------------------------------------------------ copies


def test_pickles_are_small(ds: TableDataset) -> None:
    assert len(pickle.dumps(ds)) < 10_000


def test_pickle_of_text_labels_and_numbers(table: Callable[..., Path]) -> None:
    path = table(label=["b", "a"], x=[1, 2], y=[3, 4])
    ds = TableDataset(path, mean=[1, 2], std=torch.tensor([3.0, 4.0]), scale=None)
    again = pickle.loads(pickle.dumps(ds))
    assert again.classes == ["a", "b"]
    assert_same(again[0:2], ds[0:2])


def test_a_pickle_notices_that_its_files_changed(table: Callable[..., Path]) -> None:
    stored = pickle.dumps(TableDataset(table(label=[1, 2], a=[3, 4])))
    table(label=[1, 2], a=[3, 4.5])
    with pytest.raises(errors.ChangedError, match="another table"):
        pickle.loads(stored)


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy])
def test_copies_share_the_decoded_table(duplicate: Callable[[Any], Any], table: Callable[..., Path]) -> None:
    path = table(label=[1, 2], a=[3, 4])
    ds = TableDataset(path)
    want = ds[:]
    os.unlink(path)
    again = duplicate(ds)
    del ds
    assert_same(again[:], want)
    assert_same(again[1]["label"], want["label"][1])


# ------------------------------------------------------------------ torch's tools


def identity(rows: Any) -> Any:
    return rows


def test_rows_of_a_tuple_dataset_collate(table: Callable[..., Path]) -> None:
    ds = TableDataset(table(label=[1, 2, 3], a=[3, 4, 5]), output="tuple", scale=None)
    assert_same_batches(ds, [ds[i] for i in range(3)], batch_size=2, collate_fn=identity)  # type: ignore[arg-type]
    (batch,) = DataLoader(ds, batch_size=3, collate_fn=lambda rows: default_collate(rows[::-1]))
    assert_same(batch, [torch.tensor([[5.0], [4], [3]]), torch.tensor([3, 2, 1])])


VARIANTS: dict[str, dict[str, Any]] = {
    "plain": {},
    "tuple": {"output": "tuple"},
    "no label": {"label": None, "columns": ["pixel300", "pixel301"], "shape": None},
    "no label, tuple": {"label": None, "output": "tuple", "shape": (785,)},
    "missing label": {"label": "label", "columns": ["pixel300"], "shape": None, "missing_label": 5},
    "one hot": {"one_hot": 10, "keys": ("x", "y")},
    "several labels": {"label": ["label", "pixel300"], "columns": ["pixel301", "pixel302"], "shape": (2, 1)},
    "normalised": {"mean": 0.1307, "std": 0.3081},
    "half": {"dtype": torch.float16},
    "codes": {"dtype": torch.uint8},
    "batch transform": {"batch_transform": torch.sqrt},
    "row transform": {"transform": torch.neg},
}


@pytest.mark.daily
@pytest.mark.arrives("device", "copied")
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("workers", [0, 2])
def test_gofast_loader_gives_torchs_batches(variant: str, workers: int) -> None:
    whole = TableDataset(DIGITS, **{"shape": (1, 28, 28), **VARIANTS[variant]})
    for ds in (whole, ConcatDataset([Subset(whole, range(5, 40)), Subset(whole, [1, -1, 7])])):
        options = (
            {"batch_size": 100, "shuffle": True, "drop_last": True} if ds is whole else {"batch_size": 7}
        )
        batches = []
        for loader in (gofast.DataLoader, DataLoader):
            torch.manual_seed(3)
            batches.append(
                list(loader(ds, num_workers=workers if loader is gofast.DataLoader else 0, **options))
            )
        assert_same(*batches)


# ------------------------------------------------------------------ transforms


def test_row_transforms(frame: pd.DataFrame) -> None:
    ds = TableDataset(
        DIGITS, shape=(1, 28, 28), transform=lambda x: x.flip(-1), target_transform=lambda y: y + 100
    )
    want = Classic(frame)[3]
    assert_same(ds[3], {"image": want["image"].flip(-1), "label": want["label"] + 100})
    assert_same(ds[3:4]["image"][0], want["image"].flip(-1))
    assert_same(next(iter(DataLoader(ds, batch_size=4)))["label"], ds.targets[:4] + 100)
    plan = gofast.explain(ds)
    assert plan.count("your callable: one call a row") == 2


def test_row_transforms_may_give_anything(table: Callable[..., Path]) -> None:
    ds = TableDataset(table(label=[1, 2], a=[3, 4]), transform=lambda x: x.sum().item(), target_transform=str)
    assert ds[0]["label"] == "tensor(1)"
    (batch,) = DataLoader(ds, batch_size=2)
    assert batch["label"] == ["tensor(1)", "tensor(2)"]


@pytest.mark.arrives("device")
def test_batch_transform_is_one_call_a_batch(ds: TableDataset) -> None:
    seen: list[torch.Size] = []

    def centre(images: torch.Tensor) -> torch.Tensor:
        seen.append(images.shape)
        return images - images.mean(dim=(1, 2, 3), keepdim=True)

    centred = TableDataset(DIGITS, shape=(1, 28, 28), batch_transform=centre)
    batches = list(DataLoader(Subset(centred, range(100)), batch_size=32))
    assert seen == [(32, 1, 28, 28)] * 3 + [(4, 1, 28, 28)]
    plain = ds[0:32]["image"]
    assert_same(batches[0]["image"], plain - plain.mean(dim=(1, 2, 3), keepdim=True))
    assert_same(centred[0]["image"], batches[0]["image"][0])
    assert "one call a batch" in gofast.explain(centred)


def test_row_and_batch_transforms_follow_each_other(ds: TableDataset) -> None:
    both = TableDataset(
        DIGITS, shape=(1, 28, 28), transform=lambda x: x + 1, batch_transform=lambda x: x * 2, output="tuple"
    )
    (batch,) = DataLoader(Subset(both, range(4)), batch_size=4)
    want = (ds[0:4]["image"] + 1) * 2
    assert_same(batch[0], want)
    assert_same(both[0][0], want[0])


def test_errors_of_a_transform_are_the_users() -> None:
    def broken(_: torch.Tensor) -> torch.Tensor:
        raise ZeroDivisionError("mine")

    for options in ({"transform": broken}, {"target_transform": broken}, {"batch_transform": broken}):
        ds = TableDataset(DIGITS, **options)
        with pytest.raises(ZeroDivisionError, match="mine"):
            next(iter(DataLoader(ds, batch_size=4)))


# ------------------------------------------------------------------ what it says


def test_repr_and_explain(ds: TableDataset) -> None:
    assert "3000 rows, 784 features stored as uint8, shape (1, 28, 28), torch.float32" in repr(ds)
    lines = gofast.explain(ds).splitlines()
    assert [line.split()[0] for line in lines] == ["step", "source", "transform", "gofast.DataLoader"]
    assert "x / 255" in lines[2]
    assert "Go" in gofast.explain(ConcatDataset([Subset(ds, range(3)), ds]))


def test_a_table_of_no_rows(table: Callable[..., Path]) -> None:
    ds = TableDataset(table(label=[], a=[], b=[]))
    assert len(ds) == 0 and ds.targets.shape == (0,)
    assert list(DataLoader(ds, batch_size=4)) == []
    with pytest.raises(IndexError):
        ds[0]


def test_options_by_short_words(tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("a,b,c\n1,2,3\n")
    table = TableDataset(path, label=None, shape=3, dtype="float64")
    assert (table.shape, table.dtype) == ((3,), torch.float64)
    array = ArrayDataset(torch.arange(6).reshape(2, 3), shape=np.int64(3), dtype="int64")
    assert (array.shape, array.dtype) == ((3,), torch.int64)
    with pytest.raises(errors.OptionError, match=r"dtype='float33' is not one of torch\.float32"):
        TableDataset(path, label=None, dtype="float33")
    with pytest.raises(errors.OptionError, match=r"is one of them the label.*label=0"):
        TableDataset(path, label=None, shape=2)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"shape": "3"}, "give whole numbers, such as"),
        ({"shape": 3.0}, "give whole numbers, such as"),
        ({"shape": ("1", "3")}, "give whole numbers, such as"),
        ({"threads": "2"}, "threads='2': give the number of threads from 1 on"),
        ({"limits": 100}, "limits=100: give gofast.typing.Limits, or a dict"),
        ({"one_hot": "3"}, "one_hot='3': give the number of classes"),
        ({"transform": "neg"}, "transform='neg' is not callable"),
        ({"transform": [torch.neg]}, "give torchvision.transforms.Compose of it"),
        ({"target_transform": 3}, "target_transform=3 is not callable"),
        ({"transform": torch.nn.Flatten}, "transform=Flatten is a class: give transform=Flatten()"),
        ({"cache": True}, "cache=True is not a path: give that of a folder"),
    ],
)
def test_options_of_a_wrong_type_say_what_to_give(options: Any, why: str, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b,c\n1,2,3\n")
    with pytest.raises(errors.OptionError, match=re.escape(why)):
        TableDataset(tmp_path / "x.csv", label=None, **options)
