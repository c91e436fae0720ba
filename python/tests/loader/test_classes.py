"""classes=: what may be given, and what it comes to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from PIL import Image
from torch.utils.data import ConcatDataset, Dataset, Subset

from gofast import DataLoader, ImageFolder, TableDataset, errors
from gofast._loader import classes as class_names


class Numbered(Dataset[Any]):
    def __init__(self, class_to_idx: dict[Any, int] | None) -> None:
        self.class_to_idx = class_to_idx

    def __len__(self) -> int:
        return 3


@pytest.mark.parametrize(
    "classes",
    [
        ["cat", "dog"],
        ("cat", "dog"),
        np.array(["cat", "dog"]),
        pd.Index(["cat", "dog"]),
        pd.CategoricalDtype(["cat", "dog"]).categories,
        {"cat": 0, "dog": 1},
        {"cat": np.int64(0), "dog": np.int64(1)},
        {"cat": False, "dog": True},
        {"dog": 1, "cat": 0},
        Numbered({"cat": 0, "dog": 1}),
    ],
    ids=lambda classes: type(classes).__name__,
)
def test_ways_to_give_classes(classes: Any) -> None:
    made = class_names.numbered(classes)
    assert made == {"cat": 0, "dog": 1}
    assert {type(name) for name in made} == {str}
    assert {type(number) for number in made.values()} == {int}
    assert class_names.in_order(made) == ["cat", "dog"]


@pytest.mark.parametrize("classes", [[3, 7], np.array([3, 7]), {3: 0, 7: 1}, [np.int16(3), 7]])
def test_integers_are_classes_too(classes: Any) -> None:
    made = class_names.numbered(classes)
    assert made == {3: 0, 7: 1}
    assert {type(name) for name in made} == {int}


def test_several_names_may_have_one_number() -> None:
    made = class_names.numbered({"kitten": 0, "cat": 0, "void": -100})
    assert made == {"kitten": 0, "cat": 0, "void": -100}
    assert class_names.in_order(made) == ["void", "kitten", "cat"]


@pytest.mark.parametrize(
    ("classes", "text"),
    [
        ([], "is empty"),
        ({}, "is empty"),
        ("cat", "a list of names in order"),
        ({"cat", "dog"}, "a list of names in order"),
        (3, "a list of names in order"),
        (["cat", "dog", "cat"], "'cat' twice"),
        ([1, "dog"], "all text or all integers"),
        ([1.5], "all text or all integers"),
        ([None], "all text or all integers"),
        ({"cat": 0.5}, "0.5 is not the number of a class"),
        ({"cat": 1 << 63}, "is not the number of a class"),
        (Numbered(None), "Numbered(...) has no classes"),
        (Subset(Numbered({"cat": 0}), [0]), "a dataset that has class_to_idx"),
    ],
)
def test_what_is_no_list_of_classes_is_refused(classes: Any, text: str) -> None:
    with pytest.raises(errors.OptionError) as caught:
        class_names.numbered(classes)
    assert text in str(caught.value)


def test_an_unknown_label_is_named() -> None:
    error = class_names.unknown("cow", dict.fromkeys("abcdefgh", 0), "labels.csv: line 7")
    assert isinstance(error, errors.UnknownLabelError)
    assert str(error).startswith("labels.csv: line 7: label 'cow' is not one of the classes 'a', 'b', ")
    assert "(8 in all)" in str(error)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"cat": 0, "dog": 1}, {"cat": 1, "dog": 0}),
        ({"cat": 0}, {"dog": 0}),
        ({3: 0}, {3: 1}),
    ],
)
def test_numbers_that_contradict_are_warned_of(a: Any, b: Any) -> None:
    whole = ConcatDataset([Numbered(None), Subset(Numbered(a), [0]), ConcatDataset([Numbered(b)])])
    with pytest.warns(errors.GofastWarning, match="number their classes differently"):
        class_names.warn_of_conflicts(whole)


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ({"cat": 0, "dog": 1}, {"cat": 0, "dog": 1}),
        ({"cat": 0, "dog": 1}, {"cat": 0, "dog": 1, "fox": 2}),
        ({"cat": 0, "kitten": 0}, {"cat": 0}),
        ({"cat": 0}, None),
    ],
)
def test_numbers_that_agree_are_not(a: Any, b: Any) -> None:
    class_names.warn_of_conflicts(ConcatDataset([Numbered(a), Numbered(b)]))
    class_names.warn_of_conflicts(Numbered(a))


def test_numbers_with_several_names() -> None:
    """Two names of one number may be of one class; names that share no number's meaning are not."""
    agree = ConcatDataset([Numbered({"cat": 0, "kitten": 0}), Numbered({"kitten": 0, "puss": 0})])
    class_names.warn_of_conflicts(agree)
    differ = ConcatDataset([Numbered({"cat": 0, "kitten": 0}), Numbered({"dog": 0, "puppy": 0})])
    with pytest.warns(errors.GofastWarning, match="0 is 'cat' in one and 'dog' in another"):
        class_names.warn_of_conflicts(differ)


def test_many_classes_are_compared_in_one_pass() -> None:
    class Counted(str):
        looked_up = 0

        def __hash__(self) -> int:
            Counted.looked_up += 1
            return str.__hash__(self)

    parts = [Numbered({Counted(i): i for i in range(500 + more)}) for more in range(2)]
    Counted.looked_up = 0
    class_names.warn_of_conflicts(ConcatDataset(parts))
    assert Counted.looked_up < 20_000


def test_a_foreign_property_that_raises_breaks_no_loader() -> None:
    class Foreign(Dataset[Any]):
        def __len__(self) -> int:
            return 3

        def __getitem__(self, index: int) -> int:
            return index

        @property
        def class_to_idx(self) -> dict[str, int]:
            raise RuntimeError("not loaded yet")

    whole = ConcatDataset([Foreign(), Foreign()])
    assert len(list(DataLoader(whole, batch_size=3))) == 2


def test_a_loader_warns_of_tables_that_number_classes_differently(tmp_path: Path) -> None:
    for name, animals in ("a", ["ant", "cat"]), ("b", ["cat", "dog"]):
        pd.DataFrame({"x": [1, 2], "label": animals}).to_csv(tmp_path / f"{name}.csv", index=False)
    parts = [TableDataset(tmp_path / f"{name}.csv") for name in "ab"]
    with pytest.warns(errors.GofastWarning, match="'cat' is 1 in one and 0 in another") as caught:
        loader = DataLoader(ConcatDataset(parts), batch_size=4)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    list(loader)  # said once a loader
    DataLoader(ConcatDataset([parts[0], parts[0]]))


def test_a_loader_warns_of_pictures_that_number_classes_differently(tmp_path: Path) -> None:
    for folder in "a/ant", "a/cat", "b/cat", "b/dog":
        (tmp_path / folder).mkdir(parents=True)
        Image.new("RGB", (8, 8)).save(tmp_path / folder / "1.png")
    with pytest.warns(errors.GofastWarning, match="'cat' is 1 in one and 0 in another"):
        DataLoader(ConcatDataset([ImageFolder(tmp_path / name) for name in "ab"]))
