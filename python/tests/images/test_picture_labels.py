"""Labels of ImageFiles: by name, in order, as class numbers; and what cannot be known is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader, default_collate
from torchvision import transforms as T

import gofast
from gofast import errors

NAMES = ("a.png", "b.png", "c.png", "deep/d.png")
TENSOR = T.ToTensor()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("folder")
    (root / "deep").mkdir()
    for shade, name in enumerate(NAMES):
        Image.new("RGB", (4, 4), (shade, 0, 0)).save(root / name)
    return root


def shades(dataset: gofast.ImageFiles) -> list[tuple[int, Any]]:
    """Which picture has which label."""
    return [(round(float(image[0, 0, 0] * 255)), label) for image, label in dataset]


BY_NAME = [(0, "zero"), (1, "one"), (2, "two"), (3, "three")]


@pytest.mark.parametrize("name", ["path", "within", "file"])
def test_labels_of_a_series_belong_to_the_files_of_its_index(folder: Path, name: str) -> None:
    """A labels file in another order than the folder, with lines of files that are not there."""
    given = {
        "path": [str(folder / n) for n in NAMES],
        "within": list(NAMES),
        "file": [n.split("/")[-1] for n in NAMES],
    }[name]
    table = pd.DataFrame({"filename": given, "label": [label for _, label in BY_NAME]})
    table = pd.concat([table.iloc[::-1], pd.DataFrame({"filename": ["gone.png"], "label": ["none"]})])
    series = table.set_index("filename")["label"]
    mapping = dict(zip(table["filename"], table["label"], strict=True))
    for labels in (series, mapping, series.astype("category")):
        with pytest.warns(errors.GofastWarning, match=r"labels has 1 for pictures .* such as 'gone\.png'"):
            named = gofast.ImageFiles(folder, labels, TENSOR, recursive=True)
        assert shades(named) == BY_NAME
        if name != "within":  # a list has no folder
            with pytest.warns(errors.GofastWarning, match="labels has 1 for pictures"):
                listed = gofast.ImageFiles([folder / n for n in NAMES[::-1]], labels, TENSOR)
            assert shades(listed) == BY_NAME[::-1]


def test_a_file_name_of_two_files_is_no_name(folder: Path, tmp_path: Path) -> None:
    for name in ("x/1.png", "y/1.png", "1.png"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.new("RGB", (2, 2)).save(tmp_path / name)
    whole = {"x/1.png": 1, "y/1.png": 2, "1.png": 0}  # the last one is a path within the folder
    assert gofast.ImageFiles(tmp_path, whole, recursive=True).targets == [0, 1, 2]
    with pytest.raises(errors.OptionError, match=r"none for .*'; '1.png' alone is the name of several"):
        gofast.ImageFiles(tmp_path, {"1.png": 0, "x/1.png": 1}, recursive=True)
    with pytest.raises(errors.OptionError, match=r"has two for .*: under 'a\.png' and "):
        gofast.ImageFiles([folder / "a.png"], {"a.png": 1, str(folder / "a.png"): 1})
    same = gofast.ImageFiles([folder / "a.png"] * 2, {"a.png": 7})
    assert same.targets == [7, 7]


def test_names_that_do_not_match_are_refused(folder: Path) -> None:
    flat = pd.Series([1, 2, 3], ["a.png", "b.png", "c.png"])
    assert gofast.ImageFiles(folder, flat).targets == [1, 2, 3]
    with pytest.raises(errors.OptionError, match=r"labels has none for '.*b\.png', and 1 more$"):
        gofast.ImageFiles(folder, flat[:1])
    with pytest.raises(errors.OptionError, match=r"none for .*; it has 'a': put '\.png' behind the names"):
        gofast.ImageFiles(folder, flat.rename(lambda name: name[:-4]))
    with pytest.raises(errors.OptionError, match=r"labels has 'a\.png' twice"):
        gofast.ImageFiles(folder, pd.concat([flat, flat[:1]]))
    with pytest.raises(errors.OptionError, match=r"labels has 'a\.png' twice"):
        gofast.ImageFiles(folder, {"a.png": 1, Path("a.png"): 1, "b.png": 2, "c.png": 3})
    with pytest.raises(errors.OptionError, match="labels is for 0, which is no file"):
        gofast.ImageFiles(folder, {0: 1, 1: 2, 2: 3})


def test_a_series_without_names(folder: Path) -> None:
    paths = [str(folder / name) for name in NAMES[:3]]
    labels = pd.Series([5, 6, 7])
    with pytest.raises(errors.OptionError, match=r"does not say whose .*set_index.*; labels\.to_numpy\(\)"):
        gofast.ImageFiles(folder, labels)
    with pytest.raises(errors.OptionError, match="does not say whose"):
        gofast.ImageFiles(f"{folder}/*.png", labels)
    assert gofast.ImageFiles(folder, labels.to_numpy()).targets == [5, 6, 7]
    assert gofast.ImageFiles(paths, labels).targets == [5, 6, 7]

    table = pd.DataFrame({"path": [*paths, "gone.png"], "label": [5, 6, 7, 8]}).iloc[[2, 0]]
    assert gofast.ImageFiles(table["path"], table["label"]).samples == [(paths[2], 7), (paths[0], 5)]
    with pytest.raises(errors.OptionError, match=r"\[2, 0\] and so on, is neither paths nor 0, 1, 2"):
        gofast.ImageFiles(list(table["path"]), table["label"])
    with pytest.raises(errors.OptionError, match="another index than paths"):
        gofast.ImageFiles(table["path"], table["label"].sort_index())
    assert gofast.ImageFiles(list(table["path"]), table["label"].to_numpy()).targets == [7, 5]


WHOLE: list[Any] = [
    np.array([3, 1, 2], np.int16),
    [np.int64(3), np.int32(1), 2],
    np.array([3, 1, 2], object),
    pd.Series([3, 1, 2]),
    pd.Series([3, 1, 2], dtype="Int64"),
    pd.Categorical([3, 1, 2]),
    pd.Series([3, 1, 2], dtype="category"),
    pd.Index([3, 1, 2]),
    pd.DataFrame({"y": [3, 1, 2]})["y"],
    pa.chunked_array([[3, 1], [2]]),
    {"a.png": np.int64(3), "b.png": np.uint8(1), "c.png": 2},
    lambda: (label for label in (3, 1, 2)),  # a generator, which each run uses up
]


@pytest.mark.arrives("copied")
@pytest.mark.parametrize("labels", WHOLE, ids=lambda labels: type(labels).__name__)
def test_whole_numbers_are_native(folder: Path, labels: Any) -> None:
    """Whatever holds them: the core has them, and batches are of int64."""
    if callable(labels):
        labels = labels()
    dataset = gofast.ImageFiles([folder / name for name in NAMES[:3]], labels, TENSOR)
    assert dataset._native_labels
    assert dataset.targets == [3, 1, 2] and {type(label) for label in dataset.targets} == {int}
    assert type(dataset[0][1]) is int
    batch = next(iter(gofast.DataLoader(dataset, 3)))[1]
    assert batch.dtype == torch.int64 and batch.tolist() == [3, 1, 2]


def test_columns_of_polars(folder: Path) -> None:
    pl = pytest.importorskip("polars")
    table = pl.DataFrame(
        {"path": [str(folder / name) for name in NAMES[:3]], "y": [3, 1, 2], "z": ["x", "y", "z"]}
    )
    dataset = gofast.ImageFiles(table["path"], table["y"])
    assert dataset.samples == list(table.select("path", "y").iter_rows()) and dataset._native_labels
    assert gofast.ImageFiles(table["path"], table["z"], classes=["z", "y", "x"]).targets == [2, 1, 0]
    with pytest.raises(errors.OptionError, match=r"labels is a table .*table\['z'\]"):
        gofast.ImageFiles(table["path"], table)


OTHERS: list[Any] = [
    np.array(["x", "y", "z"]),
    np.array(["x", "y", "z"], object),
    pd.Series(["x", "y", "z"]),
    pd.Categorical(["x", "y", "z"], ["z", "y", "x"]),
    np.array([True, False, True]),
    pd.Series([True, False, True]),
    [np.True_, np.False_, np.True_],
    np.array([0.5, 1.5, 2.5], np.float16),
    [1, 2.5, 3],
    [2.5, 1, 3],
    [1 << 40, -(1 << 31) - 1, 3],
    [True, 2, 3],
]


@pytest.mark.parametrize("labels", OTHERS, ids=lambda labels: f"{type(labels).__name__} {labels[0]}")
def test_other_labels_collate_as_in_torch(folder: Path, labels: Any) -> None:
    dataset = gofast.ImageFiles([folder / name for name in NAMES[:3]], labels, TENSOR)
    for order in ([0, 1, 2], [1, 2, 0]):
        expected = default_collate([(0, list(labels)[i]) for i in order])[1]
        for loader in (DataLoader, gofast.DataLoader):
            made = next(iter(loader(dataset, 3, sampler=order)))[1]
            if isinstance(expected, torch.Tensor):
                assert made.dtype == expected.dtype and torch.equal(made, expected)
            else:
                assert made == expected


def test_what_has_no_labels_in_it(folder: Path) -> None:
    for text in ("labels.csv", Path("labels.csv"), b"labels.csv"):
        with pytest.raises(errors.OptionError, match=r"labels='labels\.csv': .* ImageFiles\.from_csv"):
            gofast.ImageFiles(folder, text)  # type: ignore[arg-type]
    with pytest.raises(errors.OptionError, match="labels is a set, which has no order"):
        gofast.ImageFiles(folder, {1, 2, 3})
    table = pd.DataFrame({"filename": ["a", "b", "c"], "y": [1, 2, 3], "z": [1, 2, 3]})
    for frame in (table, pa.Table.from_pandas(table)):
        with pytest.raises(errors.OptionError, match=r"labels is a table .*'y', 'z'.*table\['z'\]"):
            gofast.ImageFiles(folder, frame)
        with pytest.raises(errors.OptionError, match=r"paths is a table .*'folder/' \+ table\['filename'\]"):
            gofast.ImageFiles(frame)
    with pytest.raises(errors.OptionError, match=r"paths\[1\] is nan, not a path"):
        gofast.ImageFiles(["a.png", float("nan")])  # type: ignore[list-item]
    with pytest.raises(errors.OptionError, match="paths is a set, which has no order"):
        gofast.ImageFiles({"a.png", "b.png"})
    with pytest.raises(errors.OptionError, match="paths is a mapping: give list"):
        gofast.ImageFiles({"a.png": 1})
    with pytest.raises(errors.OptionError, match=r"labels\.csv' is a file, not a folder: .*from_csv"):
        (folder / "labels.csv").touch()
        gofast.ImageFiles(folder / "labels.csv")


def test_patterns(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    assert gofast.ImageFiles("*.png").paths == ["a.png", "b.png", "c.png"]
    deep = gofast.ImageFiles("**/*.png", {name: name for name in NAMES})
    assert deep.samples == [(name, name) for name in NAMES] and deep.root is None
    assert gofast.ImageFiles(str(folder / "[ab].png"), [1, 2]).targets == [1, 2]
    with pytest.raises(errors.NotFoundError, match=r"\*\.gif: no file matches the pattern"):
        gofast.ImageFiles("*.gif")
    odd = tmp_path / "photos [1]"
    odd.mkdir()
    Image.new("RGB", (2, 2)).save(odd / "1.png")
    assert gofast.ImageFiles(odd).paths == [str(odd / "1.png")]


def test_classes_number_the_labels_alike_in_every_dataset(folder: Path) -> None:
    """Each file's own numbering would call "cat" 2 in one and 1 in the other."""
    paths = [str(folder / name) for name in NAMES[:3]]
    train = gofast.ImageFiles(paths, ["cat", "ant", "bee"], TENSOR, classes=["ant", "bee", "cat"])
    val = gofast.ImageFiles(paths, pd.Categorical(["cat", "ant", "cat"]), TENSOR, classes=train)
    for dataset, expected in ((train, [2, 0, 1]), (val, [2, 0, 2])):
        assert dataset.targets == expected and dataset._native_labels
        for copy in (dataset, pickle.loads(pickle.dumps(dataset))):
            assert copy.classes == ["ant", "bee", "cat"]
            assert copy.class_to_idx == {"ant": 0, "bee": 1, "cat": 2}
            assert next(iter(DataLoader(copy, 3)))[1].tolist() == expected
    coarse = {"cat": 0, "ant": 1, "bee": 1}
    assert gofast.ImageFiles(paths, ["cat", "ant", "bee"], classes=coarse).targets == [0, 1, 1]
    assert gofast.ImageFiles(paths, [7, 3, 7], classes=[3, 7]).targets == [1, 0, 1]
    assert gofast.ImageFiles(paths, ["x", "y", "z"]).classes is None
    labels: list[list[Any]] = [
        ["cat", "dog", "ant"],
        ["cat", 1, "ant"],
        ["cat", [], "ant"],
        ["cat", None, "ant"],
    ]
    for wrong in labels:
        with pytest.raises(
            errors.UnknownLabelError, match=r"b\.png: label .* is not one of the classes"
        ) as e:
            gofast.ImageFiles(paths, wrong, classes=train)
        assert e.value.path == paths[1] and repr(wrong[1]) in str(e.value)
    with pytest.raises(errors.OptionError, match="give labels too"):
        gofast.ImageFiles(paths, classes=train)


def test_class_folders_are_numbered_alike_in_every_dataset(tmp_path: Path) -> None:
    """torchvision, and we without classes=, number the folders that are there."""
    for name in ("train/ant/1.png", "train/bee/1.png", "train/cat/1.png", "val/ant/1.png", "val/cat/1.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    train = gofast.ImageFolder(tmp_path / "train")
    assert gofast.ImageFolder(tmp_path / "val").targets == [0, 1]
    for classes in (train, ["ant", "bee", "cat"], {"ant": 0, "cat": 2, "bee": 1}):
        for valid in (None, lambda path: path.endswith(".png")):
            val = gofast.ImageFolder(tmp_path / "val", TENSOR, is_valid_file=valid, classes=classes)
            assert val.targets == [0, 2] and val.classes == train.classes == ["ant", "bee", "cat"]
            for copy in (val, pickle.loads(pickle.dumps(val))):
                assert copy.class_to_idx == train.class_to_idx
                assert next(iter(DataLoader(copy, 2)))[1].tolist() == [0, 2]
    with pytest.raises(errors.UnknownLabelError, match=r"train/bee: label 'bee' is not one of") as caught:
        gofast.ImageFolder(tmp_path / "train", classes=["ant", "cat"])
    assert caught.value.path == str(tmp_path / "train" / "bee")
    (tmp_path / "val" / "bee").mkdir()
    with pytest.raises(FileNotFoundError, match="Found no valid file for the classes bee"):
        gofast.ImageFolder(tmp_path / "val", classes=train)
    assert gofast.ImageFolder(tmp_path / "val", classes=train, allow_empty=True).targets == [0, 2]
