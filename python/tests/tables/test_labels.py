"""Labels: their kind, their classes, and what is said where there are none."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from torch.utils.data import ConcatDataset

import gofast
from gofast import TableDataset, errors

Save = Callable[..., Path]
FORMS = ["csv", "csv.gz", "parquet", "npz"]


@pytest.fixture
def save(tmp_path: Path) -> Save:
    """Writes columns in a format and gives the path."""

    def save(form: str = "csv", name: str = "t", **columns: Any) -> Path:
        path = tmp_path / f"{name}.{form}"
        frame = pd.DataFrame(columns)
        if form == "parquet":
            frame.to_parquet(path, index=False)
        elif form == "npz":
            texts = {k: np.array(v, np.str_ if isinstance(v[0], str) else None) for k, v in columns.items()}
            np.savez(path, **texts)
        else:
            frame.to_csv(path, index=False)
        return path

    return save


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


def fails(kind: type[errors.GofastError], path: Any, *said: str, **options: Any) -> errors.GofastError:
    with pytest.raises(kind) as caught:
        TableDataset(path, **options)
    assert type(caught.value) is kind
    for text in said:
        assert text in str(caught.value)
    return caught.value


# ------------------------------------------------------------------ kinds


def test_one_bad_label_does_not_renumber_the_others(save: Save) -> None:
    labels: list[Any] = [i % 12 for i in range(5000)]
    labels[4321] = "oops"
    path = save(x=range(5000), label=labels)
    error = fails(errors.BadValueError, path, "t.csv: line 4323", '"oops"', "label_type=")
    assert (error.row, error.line, error.column, error.path) == (4321, 4323, "label", str(path))
    assert TableDataset(path, label_type="text").classes == sorted(map(str, set(labels)))
    assert TableDataset(path, classes=[*map(str, range(12)), "oops"]).targets[2] == 2


@pytest.mark.parametrize(
    ("first", "later", "hint"),
    [
        ("3", "3.5", 'label_type="float"'),
        ("3", "inf", 'label_type="float"'),
        ("3", "cat", 'label_type="text"'),
        ("3", "True", 'label_type="text"'),
        ("3.5", "cat", 'label_type="text"'),
        ("cat", "3", 'label_type="text"'),
        ("cat", "3.5", 'label_type="text"'),
        ("True", "maybe", 'label_type="text"'),
        ("True", "1", 'label_type="text"'),
    ],
)
@pytest.mark.parametrize("filler", [3, 3000])
def test_the_first_row_decides(first: str, later: str, hint: str, filler: int, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", f"x,label\n1,{first}\n" + f"1,{first}\n" * filler + f"1,{later}\n")
    error = fails(errors.BadValueError, path, hint, f'"{later}"')
    assert error.line == filler + 3
    assert TableDataset(path, label_type="text").classes == sorted([first, later])
    # the same in a second file
    (tmp_path / "a").mkdir()
    write(tmp_path / "a" / "1.csv", f"x,label\n1,{first}\n")
    write(tmp_path / "a" / "2.csv", f"x,label\n1,{later}\n")
    truth = (first == "True") != (later == "True")
    fails(
        errors.SchemaError if truth else errors.BadValueError,
        tmp_path / "a",
        hint,
        "2.csv: " + "line 2" * (not truth),
    )
    assert TableDataset(tmp_path / "a", label_type="text").classes == sorted([first, later])


def test_what_fits_the_first_row(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "x,label\n1,3\n2,4.0\n3,1e2\n")
    assert TableDataset(path).targets.tolist() == [3, 4, 100]
    path = write(tmp_path / "t.csv", "x,label\n1,3.5\n2,4\n")
    assert TableDataset(path).targets.tolist() == [3.5, 4]
    path = write(tmp_path / "t.csv", "x,label\n1,True\n2,false\n")
    assert TableDataset(path).targets.tolist() == [1, 0]
    path = write(tmp_path / "t.csv", "x,label\n1,unknown\n2,true\n")
    assert TableDataset(path).classes == ["true", "unknown"]


@pytest.mark.parametrize("form", FORMS)
def test_label_type(form: str, save: Save) -> None:
    ints = save(form, "ints", x=[1, 2], label=[3, 4])
    floats = save(form, "floats", x=[1, 2], label=[3.0, 4.0])
    halves = save(form, "halves", x=[1, 2], label=[3.0, 4.5])
    texts = save(form, "texts", x=[1, 2], label=["a", "b"])
    assert TableDataset(ints).targets.dtype == torch.int64
    assert TableDataset(floats).targets.dtype == torch.float32
    assert TableDataset(ints, label_type="float").targets.tolist() == [3.0, 4.0]
    assert TableDataset(ints, label_type="float")[0]["label"].dtype == torch.float32
    assert TableDataset(floats, label_type="int").targets.tolist() == [3, 4]
    assert TableDataset(floats, label_type="int")[0]["label"].dtype == torch.int64
    assert TableDataset(texts, label_type="text").classes == ["a", "b"]
    assert fails(errors.BadValueError, halves, "4.5", label_type="int").row == 1
    for kind in "int", "float":
        fails(errors.BadValueError if "csv" in form else errors.SchemaError, texts, "text", label_type=kind)
    if "csv" in form:
        assert TableDataset(ints, label_type="text").classes == ["3", "4"]
    else:
        fails(errors.SchemaError, ints, "not text", label_type="text")
    fails(errors.OptionError, ints, '"str"', label_type="str")


def test_files_of_typed_formats_must_agree(save: Save) -> None:
    ints, floats = (
        save("parquet", "a", x=[1], label=[3]),
        save("parquet", "b", x=[1], label=[3.0]),
    )
    texts, more = save("csv", "c", x=[1], label=["cat"]), save("csv", "d", x=[1], label=[5])
    fails(errors.SchemaError, [ints, floats], "b.parquet", "floats")
    fails(errors.SchemaError, [more, floats], "b.parquet", 'label_type="float"')
    fails(errors.SchemaError, [texts, ints], "a.parquet", "integers")
    assert TableDataset([floats, more]).targets.tolist() == [3.0, 5.0]
    assert TableDataset([more, floats], label_type="int").targets.tolist() == [5, 3]


def test_a_file_without_rows_says_nothing_of_labels(tmp_path: Path) -> None:
    empty, texts = write(tmp_path / "a.csv", "x,label\n"), write(tmp_path / "b.csv", "x,label\n1,cat\n")
    for paths in ([empty, texts], [texts, empty]):
        assert TableDataset(paths).classes == ["cat"]


@pytest.mark.parametrize("cell", ["", "NA", "nan"])
@pytest.mark.parametrize("first", ["3", "3.5", "cat", "True"])
def test_a_label_that_is_missing(cell: str, first: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", f"x,label\n1,{first}\n\n2,{cell}\n")
    for options in ({}, {"label_type": "text"}):
        assert fails(errors.MissingValueError, path, "line 4", **options).row == 1
    fails(errors.MissingValueError, write(path, f"x,label\n2,{cell}\n1,{first}\n"), "line 2")


# ------------------------------------------------------------------ classes


@pytest.mark.parametrize("form", FORMS)
def test_classes_are_the_same_in_every_file(form: str, save: Save) -> None:
    train = TableDataset(save(form, "train", x=[1, 2, 3], label=["ant", "cat", "dog"]))
    test = save(form, "test", x=[1, 2], label=["dog", "cat"])
    assert TableDataset(test).targets.tolist() == [1, 0]
    for classes in (train, ["ant", "cat", "dog"], train.class_to_idx, pd.Index(["ant", "cat", "dog"])):
        ds = TableDataset(test, classes=classes)
        assert ds.targets.tolist() == [2, 1]
        assert [int(ds[i]["label"]) for i in range(2)] == [2, 1]
        assert ds.classes == ["ant", "cat", "dog"]
        assert ds.class_to_idx == train.class_to_idx
        assert pickle.loads(pickle.dumps(ds)).class_to_idx == train.class_to_idx
        loader = gofast.DataLoader(ConcatDataset([train, ds]), batch_size=9)  # no warning: they agree
        assert next(iter(loader))["label"].tolist() == [0, 1, 2, 2, 1]
    mapped = TableDataset(test, classes={"dog": 7, "cat": -100})
    assert mapped.targets.tolist() == [7, -100]
    assert (mapped.classes, mapped.class_to_idx) == (["cat", "dog"], {"dog": 7, "cat": -100})
    merged = TableDataset(test, classes={"dog": 1, "cat": 1})
    assert merged.targets.tolist() == [1, 1]


@pytest.mark.parametrize("form", FORMS)
def test_an_unknown_label_is_an_error(form: str, save: Save) -> None:
    path = save(form, x=[1, 2, 3], label=["cat", "dog", "cow"])
    error = fails(
        errors.UnknownLabelError, path, "'cat'".replace("'", '"'), '"cow"', "classes=", classes=["cat", "dog"]
    )
    assert (error.row, error.column, error.path) == (2, "label", str(path))
    assert error.line == (4 if "csv" in form else None)
    assert ("line 4" if "csv" in form else "row 2") in str(error)


@pytest.mark.parametrize("form", FORMS)
def test_integers_are_classes(form: str, save: Save) -> None:
    path = save(form, x=[1, 2, 3], label=[9, 3, 9])
    ds = TableDataset(path, classes=[3, 7, 9])
    assert ds.targets.tolist() == [2, 0, 2]
    assert (ds.classes, ds.class_to_idx) == ([3, 7, 9], {3: 0, 7: 1, 9: 2})
    assert TableDataset(path, classes={3: 5, 9: -1}).targets.tolist() == [-1, 5, -1]
    error = fails(errors.UnknownLabelError, path, '"3"', "9", classes=[7, 9])
    assert (error.row, error.line) == (1, 3 if "csv" in form else None)
    floats = save(form, "floats", x=[1, 2], label=[9.0, 3.0])
    assert TableDataset(floats, classes=[3, 9]).targets.tolist() == [1, 0]
    texts = save(form, "texts", x=[1, 2], label=["a", "b"])
    fails(errors.BadValueError if "csv" in form else errors.SchemaError, texts, "text", classes=[3, 9])
    if "csv" not in form:
        fails(errors.SchemaError, path, "give integers as classes=", classes=["3", "9"])


def test_text_classes_of_what_looks_like_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "x,label\n1,01\n2,1\n3,NA\n4,1e3\n")
    assert TableDataset(path, classes=["1", "01", "1e3", "NA"]).targets.tolist() == [1, 0, 3, 2]
    assert fails(errors.MissingValueError, path, "line 4", classes=["1", "01", "1e3"]).row == 2


def test_truth_as_classes(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "x,label\n1,True\n2,False\n")
    assert TableDataset(path, classes=["True", "False"]).targets.tolist() == [0, 1]
    assert TableDataset(path, classes=[True, False]).targets.tolist() == [0, 1]
    pq.write_table(pa.table({"x": [1, 2], "label": [True, False]}), tmp_path / "t.parquet")
    assert TableDataset(tmp_path / "t.parquet", classes=[True, False]).targets.tolist() == [0, 1]


def test_classes_are_part_of_a_cache(save: Save, tmp_path: Path) -> None:
    path, cache = save(x=[1, 2], label=["cat", "dog"]), tmp_path / "t.cache"
    for classes, want in [(None, [0, 1]), (["dog", "cat"], [1, 0]), ({"cat": 5, "dog": 300}, [5, 300])]:
        for _ in range(2):
            ds = TableDataset(path, classes=classes, cache=cache)
            assert ds.targets.tolist() == want
            assert ds.class_to_idx == (
                classes if isinstance(classes, dict) else dict(zip(ds.classes or [], range(2), strict=True))
            )
    alone = TableDataset(cache)  # built last with numbers that names alone cannot give
    assert (alone.targets.tolist(), alone.class_to_idx) == ([5, 300], None)
    TableDataset(path, classes=["dog", "cat"], cache=cache)
    assert TableDataset(cache).class_to_idx == {"dog": 0, "cat": 1}
    fails(errors.OptionError, cache, "classes=", classes=["cat", "dog"])
    fails(errors.OptionError, cache, "label_type=", label_type="int")
    fails(errors.UnknownLabelError, path, "line 3", classes=["cat"], cache=cache)


def test_classes_that_do_not_go_with_the_rest(save: Save) -> None:
    path = save(x=[1, 2], y=[1, 2], label=["cat", "dog"])
    fails(errors.OptionError, path, "one label column", label=["x", "y"], classes=[1, 2])
    fails(errors.OptionError, path, "one label column", label=None, columns=["x"], classes=["cat"])
    fails(errors.OptionError, path, "label_type", label_type="int", classes=["cat", "dog"])
    fails(errors.OptionError, path, "label_type", label_type="text", classes=[1, 2])
    fails(errors.OptionError, path, "'cat' twice", classes=["cat", "cat"])
    fails(errors.OptionError, path, "has no classes", classes=TableDataset(path, label="y", columns=["x"]))
    fails(errors.SchemaError, save(name="no", x=[1]), "classes= need a label", classes=["cat"])


def test_one_hot_of_classes(save: Save) -> None:
    path = save(x=[1, 2], label=["dog", "dog"])
    ds = TableDataset(path, classes=["ant", "cat", "dog"], one_hot=3)
    assert ds[0]["label"].tolist() == [0, 0, 1]
    fails(errors.OptionError, path, "'dog'", classes=["ant", "cat", "dog"], one_hot=2)
    fails(errors.OptionError, path, "'cat', number -1", classes={"cat": -1, "dog": 0}, one_hot=2)


# ------------------------------------------------------------------ no label


@pytest.mark.parametrize("name", ["target", "y", "Label", " label", "label ", "CLASS", "labels", "species"])
@pytest.mark.parametrize("form", FORMS)
def test_a_label_of_another_name_is_pointed_out(name: str, form: str, save: Save) -> None:
    path = save(form, **{"f1": [1, 2], "f2": [3, 4], name: [0, 1]})
    with pytest.warns(errors.GofastWarning) as caught:
        ds = TableDataset(path, scale=None)
    assert len(caught) == 1
    assert f"say label={name!r}" in str(caught[0].message)
    assert "label=None" in str(caught[0].message)
    assert str(path) in str(caught[0].message)
    assert caught[0].filename == __file__
    assert ds.targets.tolist() == [-1, -1]
    assert "no label" in repr(ds)
    assert "no label" not in repr(TableDataset(path, label=name))
    assert f"label {name!r}" in repr(TableDataset(path, label=name))


def test_no_label_is_said_once_where_nothing_looks_like_one(save: Save) -> None:
    path = save(f1=[1, 2], f2=[3, 4])
    with pytest.warns(errors.GofastWarning, match="name it with label=") as caught:
        ds = TableDataset([path, path], scale=None)
    assert len(caught) == 1 and "and 1 more" in str(caught[0].message)
    pickle.loads(pickle.dumps(ds))  # says it no second time


def test_what_is_said_by_name_is_no_surprise(save: Save) -> None:
    path = save(f1=[1, 2], target=[3, 4])
    assert "no label" in repr(TableDataset(path, label=None))
    assert TableDataset(path, missing_label=-1)[0]["label"] == -1
    assert TableDataset(path, missing_label=5).targets.tolist() == [5, 5]
    for label in ("label", "Target", ["label"], 2, -3):
        fails(errors.SchemaError, path, "is not a column", label=label)
    for typed in ("Target ", "traget", "tarets"):
        fails(errors.SchemaError, path, 'did you mean "target"?', label=typed)
    fails(errors.SchemaError, path, "is not a column", label="label", missing_label=-1)


def test_one_hot_needs_a_label(save: Save) -> None:
    path = save(f1=[1, 2])
    for label in ({"label": None}, {"missing_label": 0}):
        fails(errors.OptionError, path, "one_hot=3 needs a label", one_hot=3, **label)
    with pytest.raises(errors.OptionError, match="needs an array of labels"):
        gofast.ArrayDataset(np.zeros((3, 2)), one_hot=3)


def test_convert_takes_label_type_and_header(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "1,2\n3,4.5\n")
    gofast.convert(path, tmp_path / "t.parquet", label=1, label_type="float", header=False)
    assert TableDataset(tmp_path / "t.parquet", label="1").targets.tolist() == [2.0, 4.5]


def test_labels_of_batches_are_tensors_of_their_own() -> None:
    """Autograd refuses a backward pass if what it saved was written to: a batch's labels, not another's."""
    values = np.zeros((6, 2), "f4")
    values.flags.writeable = False  # batches come in flights
    batches = [*gofast.DataLoader(gofast.ArrayDataset(values, np.arange(6)), 2)]
    batches[0][1].add_(1)
    assert [batch[1]._version for batch in batches] == [1, 0, 0]
    assert [batch[1]._base for batch in batches] == [None] * 3
