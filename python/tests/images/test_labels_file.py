"""ImageFiles.from_csv: a folder of pictures and a file that says what they are."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import torch
from PIL import Image
from torch.utils.data import DataLoader
from torchvision import transforms as T

import gofast
from gofast import errors

TENSOR = T.ToTensor()


@pytest.fixture(scope="module")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("photos")
    for shade, name in enumerate("abcd"):
        Image.new("RGB", (4, 4), (shade, 0, 0)).save(root / f"{name}.png")
    return root


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "labels.csv"


def opened(file: Path, text: str, root: Path, **options: Any) -> gofast.ImageFiles:
    file.write_text(text)
    return gofast.ImageFiles.from_csv(file, root, **options)


def refused(kind: type[Exception], match: str, file: Path, text: str, root: Path, **options: Any) -> None:
    with pytest.raises(kind, match=match) as caught:
        opened(file, text, root, **options)
    assert caught.value.path == str(file)  # type: ignore[attr-defined]


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|", " "])
def test_rows_are_samples_in_the_order_of_the_file(photos: Path, file: Path, delimiter: str) -> None:
    table = pd.DataFrame({"more": ["x"] * 3, "filename": ["c.png", "a.png", "b.png"], "label": [7, 5, 6]})
    table.to_csv(file, sep=delimiter, index=False)
    dataset = gofast.ImageFiles.from_csv(file, photos, transform=TENSOR)
    assert dataset.samples == [
        (str(photos / n), y) for n, y in zip(table["filename"], table["label"], strict=True)
    ]
    assert dataset.root == str(photos) and f"Root location: {photos}" in repr(dataset)
    for copy in (dataset, pickle.loads(pickle.dumps(dataset))):
        images, labels = next(iter(DataLoader(copy, 3)))
        assert labels.tolist() == [7, 5, 6] and labels.dtype == torch.int64
        assert (images[:, 0, 0, 0] * 255).round().tolist() == [2, 0, 1]


def test_ids_without_an_ending(photos: Path, file: Path) -> None:
    text = "id,breed\nb,pug\na,collie\n"
    columns = {"path": "id", "label": "breed"}
    refused(errors.NotFoundError, r"line 2: no file '.*/b'; .* suffix='\.png'", file, text, photos, **columns)
    refused(FileNotFoundError, "no file '.*/b.gif'; see root=", file, text, photos, suffix=".gif", **columns)
    train = opened(file, text, photos, suffix=".png", **columns)
    assert train.targets == [1, 0] and train.class_to_idx == {"collie": 0, "pug": 1}
    assert train.classes == ["collie", "pug"] and train.paths[0] == str(photos / "b.png")
    val = opened(file, "id,breed\nd,pug\n", photos, suffix=".png", classes=train, **columns)
    assert val.targets == [1] and val.classes == train.classes  # alone it would be 0
    assert opened(file, "id,breed\nd,pug\n", photos, suffix=".png", **columns).targets == [0]
    with pytest.raises(errors.UnknownLabelError, match=r'line 3, .* one of the classes .*"cat"') as caught:
        opened(file, "id,breed\nd,pug\nb,cat\n", photos, suffix=".png", classes=train, **columns)
    assert caught.value.column == "breed"


def test_columns_are_asked_for_by_name(photos: Path, file: Path) -> None:
    text = "image, target\na.png,3\n"
    refused(
        errors.SchemaError,
        'label="label" is not a column; the file has "image", " target"',
        file,
        text,
        photos,
    )
    refused(errors.SchemaError, '"filename" is not a column', file, text, photos, label="target")
    assert opened(file, text, photos, path="image", label="target").targets == [3]
    unlabelled = opened(file, text, photos, path="image", label=None, transform=TENSOR)
    assert isinstance(unlabelled[0], torch.Tensor) and unlabelled.classes is None
    refused(
        errors.SchemaError,
        "two columns have the same name",
        file,
        "a,b,a\na.png,1,2\n",
        photos,
        path="a",
        label="b",
    )
    refused(errors.FormatError, "the file is empty", file, "", photos)


LABELS: list[tuple[str, list[Any]]] = [
    ("3 -1 +2", [3, -1, 2]),
    ("0.5 2 1e3", [0.5, 2.0, 1000.0]),
    ("True false TRUE", [1, 0, 1]),
    ("x y x", [0, 1, 0]),
    (f"{1 << 40} 2 3", [1 << 40, 2, 3]),
]


@pytest.mark.parametrize("cells, expected", LABELS, ids=[cells for cells, _ in LABELS])
def test_the_first_label_says_what_all_are(photos: Path, file: Path, cells: str, expected: list[Any]) -> None:
    rows = "".join(f"{name}.png,{cell}\n" for name, cell in zip("abc", cells.split(), strict=True))
    dataset = opened(file, "filename,label\n" + rows, photos, transform=TENSOR)
    assert dataset.targets == expected
    assert [type(label) for label in dataset.targets] == [type(label) for label in expected]
    labels = next(iter(gofast.DataLoader(dataset, 3)))[1]
    assert labels.tolist() == expected
    assert labels.dtype == (torch.float64 if type(expected[0]) is float else torch.int64)


@pytest.mark.parametrize(
    "cells, match",
    [
        ("3 2.5", r'is no integer: .*label_type="float": "2\.5"'),
        ("3 oops", r'is text, and .* number: .*label_type="text" .*"oops"'),
        ("x 7", r'is a number, and .* text: .*label_type="text" .*"7"'),
        ("0.5 oops", 'is text, and .* number: .*"oops"'),
        ("0.5 nan", 'is missing: .*"nan"'),
        ("3 1_0", 'is text, and .* number: .*"1_0"'),
        ("True 1", 'is neither True nor False, as in the first row: .*"1"'),
    ],
)
def test_a_label_that_does_not_fit_is_refused(photos: Path, file: Path, cells: str, match: str) -> None:
    """And never changes what the others are."""
    first, second = cells.split()
    kind = errors.MissingValueError if second == "nan" else errors.BadValueError
    match = 'line 3, column "label": the label ' + match
    refused(kind, match, file, f"filename,label\na.png,{first}\nb.png,{second}\n", photos)


def test_whole_floats_fit_integers_as_in_a_table(photos: Path, file: Path) -> None:
    """pandas writes such floats of a column that had a missing value."""
    for cells, options in (
        (("3.0", "1"), {"label_type": "int"}),
        (("3", "1.0"), {}),
        (("3.0", "1.0"), {"classes": [0, 1, 2, 3]}),
    ):
        text = "filename,label\na.png,{}\nb.png,{}\n".format(*cells)
        made = opened(file, text, photos, **options).targets
        assert made == [3, 1] and all(type(label) is int for label in made)
        (file.parent / "table.csv").write_text("x,label\n1,{}\n2,{}\n".format(*cells))
        table = gofast.TableDataset(file.parent / "table.csv", scale=None, **options)
        assert table.targets.tolist() == made and table.targets.dtype == torch.int64


def test_label_type(photos: Path, file: Path) -> None:
    text = "filename,label\na.png,3\nb.png,2.5\n"
    assert opened(file, text, photos, label_type="float").targets == [3.0, 2.5]
    assert opened(file, text, photos, label_type="text").class_to_idx == {"2.5": 0, "3": 1}
    refused(errors.BadValueError, 'is no integer: .*"2.5"', file, text, photos, label_type="int")
    assert opened(file, "filename,label\na.png,07\nb.png,3\n", photos, classes=[3, 7]).targets == [1, 0]
    with pytest.raises(errors.OptionError, match='label_type="real"'):
        opened(file, text, photos, label_type="real")
    with pytest.raises(errors.OptionError, match="give label= too"):
        opened(file, text, photos, label=None, classes=["a"])


def test_cells_as_files_have_them(photos: Path, file: Path, tmp_path: Path) -> None:
    text = '\ufefffilename, label\r\n"a.png" , 1 \r\n\r\nb.png,"2"\r\n'
    assert opened(file, text, photos).targets == [1, 2]
    refused(
        errors.MissingValueError,
        'line 3, column "label": the label is missing',
        file,
        "filename,label\na.png,1\nb.png,\n",
        photos,
    )
    refused(
        errors.MissingValueError,
        'line 3, column "filename": the text is missing',
        file,
        "filename,label\na.png,1\n,2\n",
        photos,
    )
    refused(
        errors.DamagedError, "line 3: the row has 1 cell", file, "filename,label\na.png,1\nb.png\n", photos
    )
    long = 'filename,label,note\na.png,1,"two\nlines"\nb.png,x,\n'
    refused(errors.BadValueError, 'line 4, column "label": the label is text', file, long, photos)
    file.write_bytes("filename,label\na.png,1\n".encode("utf-16"))
    with pytest.raises(errors.FormatError, match="this is UTF-16 text"):
        gofast.ImageFiles.from_csv(file, photos)
    with pytest.raises(errors.NotFoundError, match=r"none\.csv: no such file"):
        gofast.ImageFiles.from_csv(tmp_path / "none.csv", photos)
    with pytest.raises(errors.ReadError):
        gofast.ImageFiles.from_csv(tmp_path, photos)
    whole = opened(file, f"filename,label\n{photos}/a.png,1\n", Path())
    assert whole.paths == [str(photos / "a.png")] and whole.root == "."
    assert len(opened(file, "filename,label\n", photos)) == 0


def test_several_columns_are_a_vector(photos: Path, file: Path) -> None:
    text = "filename,cat,dog\na.png,1,0\nb.png,0.5,1\n"
    dataset = opened(file, text, photos, label=["cat", "dog"], transform=TENSOR)
    assert dataset.classes == ["cat", "dog"] and dataset.class_to_idx == {"cat": 0, "dog": 1}
    _, labels = next(iter(DataLoader(dataset, 2)))
    assert labels.dtype == torch.float32 and labels.tolist() == [[1, 0], [0.5, 1]]
    refused(errors.BadValueError, 'line 2, column "dog": the label is text', file,
            "filename,cat,dog\na.png,1,x\n", photos, label=["cat", "dog"])  # fmt: skip
    for label in ([], ["cat", "cat"]):
        with pytest.raises(errors.OptionError, match="several different ones"):
            opened(file, text, photos, label=label)
    refused(
        errors.SchemaError,
        'did you mean "dogs"',
        file,
        text.replace("dog", "dogs"),
        photos,
        label=["cat", "dog"],
    )


def test_a_pipe_is_no_labels_file(photos: Path, file: Path) -> None:
    os.mkfifo(file)
    with pytest.raises(errors.ReadError, match="not a regular file"):
        gofast.ImageFiles.from_csv(file, photos)
