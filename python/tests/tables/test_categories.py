"""categories=: feature columns of text as numbers, beside pandas' Categorical."""

from __future__ import annotations

import enum
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
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch.utils.data import ConcatDataset, DataLoader, Subset

import gofast
from gofast import ArrayDataset, TableDataset, errors
from gofast._tables import codings
from reference import assert_same_batches

FORMS = ["csv", "csv.gz", "csv.bz2", "parquet", "plain.parquet"]
NAMES = ["red", "green", "blue"]
NAN = float("nan")
Save = Callable[..., Path]


def write(path: Path, frame: pd.DataFrame, **options: Any) -> Path:
    if path.name.endswith("plain.parquet"):
        frame.to_parquet(path, index=False, use_dictionary=False, **options)
    elif path.suffix == ".parquet":
        frame.to_parquet(path, index=False, **options)
    else:
        frame.to_csv(path, index=False, **options)
    return path


@pytest.fixture
def save(tmp_path: Path) -> Save:
    def made(form: str, name: str = "t", **columns: Any) -> Path:
        return write(tmp_path / f"{name}.{form}", pd.DataFrame(columns))

    return made


def read(path: Any, **options: Any) -> TableDataset:
    return TableDataset(path, **{"label": None, "scale": None, **options})


def values(ds: TableDataset) -> list[list[float]]:
    rows: list[list[float]] = ds[:]["features"].tolist()
    return rows


# ------------------------------------------------------------------ what comes out


@pytest.mark.parametrize("form", FORMS)
def test_the_codes_are_pandas_codes(form: str, save: Save) -> None:
    rng = np.random.default_rng(1)
    colour, size = rng.choice(NAMES, 3000), rng.choice(["S", "M", "L"], 3000)
    x = rng.standard_normal(3000)
    ds = read(
        save(form, colour=colour, x=x, size=size),
        categories={"size": ["S", "M", "L"], "colour": NAMES},
        dtype=torch.float64,
    )
    want = np.column_stack(
        [pd.Categorical(colour, NAMES).codes, x, pd.Categorical(size, ["S", "M", "L"]).codes]
    )
    assert np.array_equal(ds[:]["features"].numpy(), want)
    assert ds.columns == ["colour", "x", "size"]
    assert ds.categories == {"size": ("S", "M", "L"), "colour": tuple(NAMES)}


@pytest.mark.parametrize("form", ["csv", "parquet"])
@pytest.mark.parametrize(
    ("numbers", "stored"),
    [
        ({"red": 2, "green": 0, "blue": 2}, "uint8"),
        ({"red": -300, "green": 5, "blue": 7}, "int16"),
        ({"red": True, "green": False, "blue": True}, "uint8"),
        ({"red": 1 << 62, "green": -(1 << 63), "blue": 1}, "int64"),
        ({"red": 0.5, "green": 3, "blue": -1.5}, "float32"),
        ({"red": 0.1, "green": np.int64(3), "blue": np.float32(2)}, "float64"),
    ],
)
def test_numbers_of_ones_own(form: str, numbers: dict[str, Any], stored: str, save: Save) -> None:
    words = ["green", "red", "blue", "green"]
    ds = read(save(form, c=words), categories={"c": numbers}, dtype=torch.float64)
    assert values(ds) == [[float(numbers[word])] for word in words]
    assert f"stored as {stored}" in repr(ds)
    assert ds.categories == {"c": numbers}
    assert {type(number) for number in ds.categories["c"].values()} in ({int}, {float})  # type: ignore[union-attr]


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_missing_cells_follow_fill_value(form: str, save: Save) -> None:
    path = save(form, c=["red", None, "blue"], x=[1, 2, 3])
    codes = pd.Categorical(["red", None, "blue"], NAMES).codes
    assert [row[0] for row in values(read(path, categories={"c": NAMES}, fill_value=-1))] == codes.tolist()
    assert values(read(path, categories={"c": NAMES}, fill_value={"c": 7.5}))[1] == [7.5, 2]
    assert np.isnan(values(read(path, categories={"c": NAMES}, fill_value=NAN))[1][0])
    with pytest.raises(errors.MissingValueError, match="fill_value=") as caught:
        read(path, categories={"c": NAMES})
    assert (caught.value.row, caught.value.column, caught.value.path) == (1, "c", str(path))
    assert caught.value.line == (3 if form == "csv" else None)


def test_a_word_for_missing_may_be_a_category(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("country,x\nNA,1\nDE,2\n,3\n")
    assert values(read(path, categories={"country": ["DE", "NA"]}, fill_value=9)) == [[1, 1], [0, 2], [9, 3]]
    assert values(read(path, categories={"country": ["DE", ""]}, fill_value=9)) == [[9, 1], [0, 2], [1, 3]]


def test_cells_compare_as_they_are_written(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('c,x\n1,1\n01,2\n1.0,3\nTrue,4\n"a ""b"",",5\n é,6\n')
    names = [" é", 'a "b",', "True", "1.0", "01", "1"]
    assert values(read(path, categories={"c": names})) == [[5 - i, i + 1] for i in range(6)]


@pytest.mark.parametrize("kind", ["object", "string", "category", "large_string", "binary"])
def test_every_text_column_of_parquet(kind: str, tmp_path: Path) -> None:
    words = ["blue", "red", None, "red"]
    if kind in ("large_string", "binary"):
        table = pa.table({"c": pa.array(words, kind)})
        pq.write_table(table, tmp_path / "t.parquet")
    else:
        pd.DataFrame({"c": pd.array(words, kind)}).to_parquet(tmp_path / "t.parquet")  # type: ignore[call-overload]
    ds = read(tmp_path / "t.parquet", categories={"c": NAMES}, fill_value=-1)
    assert values(ds) == [[2], [0], [-1], [0]]


@pytest.mark.parametrize("form", ["csv", "csv.gz", "parquet"])
def test_several_files_are_numbered_alike(form: str, save: Save, tmp_path: Path) -> None:
    first = save(form, "a", c=["7", "8"], x=[1, 2])  # numbers, to a CSV
    second = save(form, "b", c=["red", "8"], x=[3, 4])
    for path in ([first, second], tmp_path / f"*.{form}"):
        ds = read(path, categories={"c": ["8", "7", "red"]})
        assert values(ds) == [[1, 1], [0, 2], [2, 3], [0, 4]]
    with pytest.raises(errors.UnknownCategoryError) as caught:
        read([first, second], categories={"c": ["8", "7"]})
    assert (caught.value.path, caught.value.row) == (str(second), 0)


def test_categories_of_another_dataset(save: Save) -> None:
    train = read(save("csv", "train", c=["red", "blue"], x=[1, 2]), categories={"c": NAMES})
    test = save("parquet", "test", c=["blue", "green"], x=[3, 4])
    for categories in (train, train.categories, {"c": np.array(NAMES)}, {"c": pd.Index(NAMES)}):
        ds = read(test, categories=categories)
        assert values(ds) == [[2, 3], [1, 4]]
        assert ds.categories == train.categories == {"c": ("red", "green", "blue")}
    assert read(test, columns=["x"]).categories == {}
    mapped = read(test, categories={"c": {"blue": 5, "green": 6}})
    assert read(test, categories=mapped).categories == {"c": {"blue": 5, "green": 6}}
    mapped.categories["c"]["blue"] = 7  # type: ignore[index]  # nobody reads it again
    assert values(read(test, categories=mapped)) == [[7, 3], [6, 4]]
    assert values(mapped) == [[5, 3], [6, 4]]


# ------------------------------------------------------------------ errors


@pytest.mark.parametrize("form", FORMS)
def test_an_unknown_category_is_an_error(form: str, save: Save) -> None:
    path = save(form, x=[1, 2, 3], c=["red", "blue", "rde"])
    with pytest.raises(errors.UnknownCategoryError) as caught:
        read(path, categories={"c": NAMES})
    error, text = caught.value, str(caught.value)
    assert (error.path, error.row, error.column) == (str(path), 2, "c")
    assert error.line == (4 if "csv" in form else None)
    assert isinstance(error, ValueError)
    for part in (
        '"c"',
        '"rde"',
        '"red", "green", "blue"',
        "categories=",
        "line 4" if "csv" in form else "row 2",
    ):
        assert part in text


@pytest.mark.parametrize("cell", ["Red", "red ", " red", "2", "true", "\ufffd", "x" * 300])
def test_what_is_almost_a_category(cell: str, save: Save) -> None:
    for form in ("csv", "parquet"):
        with pytest.raises(errors.UnknownCategoryError):
            read(save(form, c=["red", cell], x=[1, 2]), categories={"c": NAMES})


def test_bytes_that_are_no_utf8(tmp_path: Path) -> None:
    pq.write_table(pa.table({"c": pa.array([b"red", b"\xff"])}), tmp_path / "t.parquet")
    (tmp_path / "t.csv").write_bytes(b"c,x\nred,1\n\xff,2\n")
    for path in (tmp_path / "t.parquet", tmp_path / "t.csv"):
        with pytest.raises((errors.UnknownCategoryError, errors.BadValueError)) as caught:
            read(path, categories={"c": ["red", "\ufffd"]})
        assert (caught.value.row, caught.value.column) == (1, "c")


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_text_without_categories_names_them(form: str, save: Save) -> None:
    with pytest.raises(errors.SchemaError, match=r'"c".*holds text.*categories='):
        read(save(form, c=["red", "blue"], x=[1, 2]))


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_columns_that_are_no_features(form: str, save: Save) -> None:
    path = save(form, c=["red", "blue"], x=[1, 2], y=["red", "blue"])
    for options, text in [
        ({"categories": {"C": NAMES}}, 'categories="C" is not a column; did you mean "c"'),
        ({"categories": {"c": NAMES, "y": NAMES}, "label": "y"}, 'column "y": categories= names a column'),
        (
            {"categories": {"c": NAMES, "y": NAMES}, "exclude": ["c"]},
            'column "c": categories= names a column',
        ),
        ({"categories": {"c": NAMES}, "columns": ["x"]}, "that is not a feature"),
    ]:
        with pytest.raises(errors.SchemaError) as caught:
            read(path, **options)
        assert text in str(caught.value)
    ds = read(path, categories={"c": NAMES}, label="y", classes=["blue", "red"])
    assert (values(ds), ds.targets.tolist()) == ([[0, 1], [2, 2]], [1, 0])


def test_parquet_columns_that_hold_no_text(save: Save) -> None:
    path = save("parquet", x=[1, 2], f=[0.5, 1], when=pd.to_datetime(["2024-01-01", "2024-01-02"]))
    for column, holds in [("x", "integers"), ("f", "floats"), ("when", "dates")]:
        with pytest.raises(errors.SchemaError, match=f'column "{column}".*holds {holds}'):
            read(path, categories={column: ["1", "2"]})


def test_arrays_have_no_categories(tmp_path: Path) -> None:
    np.save(tmp_path / "t.npy", np.zeros((3, 2)))
    np.savez(tmp_path / "t.npz", c=np.array(["red", "blue"]), x=np.array([1, 2]))
    for name, column in [("t.npy", "0"), ("t.npz", "c")]:
        with pytest.raises(errors.OptionError, match="categories= is for text and Parquet files"):
            read(tmp_path / name, categories={column: NAMES})
    with pytest.raises(TypeError, match="categories"):
        ArrayDataset(np.zeros((3, 2)), categories={"0": NAMES})  # type: ignore[call-arg]


class Other:
    def __init__(self, categories: Any) -> None:
        self.categories = categories


@pytest.mark.parametrize(
    ("categories", "text"),
    [
        (3, "give a mapping from columns"),
        ("colour", "give a mapping from columns"),
        ([["red"]], "give a mapping from columns"),
        (Other(["red"]), "give a mapping from columns"),
        (Other({}), "Other(...) has none"),
        (Subset(ArrayDataset(np.zeros(3)), [0]), "give a mapping from columns"),
        (pd.Categorical(["a"]), "give a mapping from columns"),
        ({0: ["red"]}, "give names of columns"),
        ({"c": []}, "is empty"),
        ({"c": {}}, "is empty"),
        ({"c": "red"}, "a list of names in order"),
        ({"c": {"red", "blue"}}, "a list of names in order"),
        ({"c": None}, "a list of names in order"),
        ({"c": ["red", "blue", "red"]}, "'red' twice"),
        ({"c": [1, 2]}, "names are text"),
        ({"c": ["red", None]}, "names are text"),
        ({"c": {1: 0}}, "names are text"),
        ({"c": {"red": "0"}}, "'0' is not the number of a name"),
        ({"c": {"red": None}}, "None is not the number of a name"),
        ({"c": {"red": NAN}}, "nan is not the number of a name"),
        ({"c": {"red": float("inf")}}, "inf is not the number of a name"),
        ({"c": {"red": 1 << 63}}, "is not the number of a name"),
        ({"c": {"red": 10**400}}, "is not the number of a name"),
        ({"c": {"red": (1 << 53) + 1, "blue": 0.5}}, "no float is exactly"),
    ],
)
def test_what_are_no_categories(categories: Any, text: str) -> None:
    with pytest.raises(errors.OptionError) as caught:
        codings.categorized(categories)
    assert text in str(caught.value)


# ------------------------------------------------------------------ processes, caches, other files


@pytest.mark.parametrize("method", ["forkserver", pytest.param("spawn", marks=pytest.mark.full)])
def test_pickles_and_processes_keep_them(method: str, save: Save) -> None:
    path = save("csv", c=["red", "blue", "green", "red"], x=[1, 2, 3, 4])
    ds = read(path, categories={"c": NAMES})
    again = pickle.loads(pickle.dumps(ds))
    assert again.categories == ds.categories
    assert values(again) == values(ds)
    assert_same_batches(ds, again, batch_size=3)
    loader = DataLoader(ds, batch_size=4, num_workers=1, multiprocessing_context=method)
    assert next(iter(loader))["features"].tolist() == values(ds)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_categories_are_part_of_a_cache(form: str, save: Save, tmp_path: Path) -> None:
    path, cache = save(form, c=["red", "blue"], x=[1, 2]), tmp_path / "t.cache"
    for names, want in [(NAMES, [0, 2]), (["blue", "red"], [1, 0]), ({"red": 5, "blue": 0.5}, [5, 0.5])]:
        for _ in range(2):
            ds = read(path, categories={"c": names}, cache=cache)
            assert [row[0] for row in values(ds)] == want
            assert ds.categories["c"] == (names if isinstance(names, dict) else tuple(names))
    alone = read(cache)  # whose table is decoded already
    assert (values(alone), alone.categories) == ([[5, 1], [0.5, 2]], {})
    with pytest.raises(errors.OptionError, match="categories= is for its sources"):
        read(cache, categories={"c": NAMES})


def test_convert_numbers_them(save: Save, tmp_path: Path) -> None:
    path = save("csv", c=["red", "blue"], x=[1, 2])
    gofast.convert(path, tmp_path / "out.parquet", label=None, categories={"c": NAMES})
    assert pd.read_parquet(tmp_path / "out.parquet")["c"].tolist() == [0, 2]
    gofast.convert(path, tmp_path / "out.npy", label=None, categories=read(path, categories={"c": NAMES}))
    assert np.load(tmp_path / "out.npy").tolist() == [[0, 1], [2, 2]]


def test_a_column_of_categories_alone(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("my colour\nlight blue\ndark blue\n")
    assert values(read(path, categories={"my colour": ["dark blue", "light blue"]})) == [[1], [0]]


# Control characters are the sign of a file that is no text.
WORD = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"], include_characters="\n"), max_size=5)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data(), names=st.lists(WORD, min_size=1, max_size=8, unique=True))
def test_any_names(data: st.DataObject, names: list[str], tmp_path: Path) -> None:
    words = data.draw(st.lists(st.sampled_from(names), min_size=1, max_size=12))
    frame = pd.DataFrame({"c": words, "x": range(len(words))})
    want = [[float(names.index(word)), float(i)] for i, word in enumerate(words)]
    assert values(read(write(tmp_path / "t.parquet", frame), categories={"c": names})) == want
    assert (
        values(read(write(tmp_path / "t.csv", frame, quoting=1), categories={"c": names}, header=True))
        == want
    )


class Colour(str, enum.Enum):
    RED = "red"
    BLUE = "blue"


def test_names_may_be_members_of_an_enum(save: Save) -> None:
    path = save("csv", c=["red", "blue", "red"], y=["blue", "red", "red"])
    ds = read(path, categories={"c": list(Colour)}, label="y", classes=list(Colour))
    assert ds[:]["features"].tolist() == [[0], [1], [0]] and ds.targets.tolist() == [1, 0, 0]
    assert ds.categories == {"c": ("red", "blue")} and type(ds.categories["c"][0]) is str


def test_names_that_no_file_holds(save: Save) -> None:
    path = save("csv", c=["\ufffd", "red"])
    for options in ({"categories": {"c": ["\ud800"]}}, {"classes": ["\ud800"], "label": "c"}):
        with pytest.raises(errors.OptionError, match="no file in UTF-8 holds"):
            read(path, **options)


def test_messages_are_short_whatever_was_given(save: Save) -> None:
    path = save("csv", c=["red"])
    long = [letter * 300_000 for letter in "abcdef"]
    many = [str(i) for i in range(200_000)]
    for given_names in (long, [*many, "7"], set(many), long[:1] * 2):
        with pytest.raises(errors.GofastError) as caught:
            read(path, categories={"c": given_names})
        assert len(str(caught.value)) < 1500


def test_parts_numbered_otherwise_are_warned_of(save: Save) -> None:
    path = save("csv", c=["red"])
    first, other, more = (
        read(path, categories={"c": names}) for names in (NAMES, NAMES[::-1], [*NAMES, "grey"])
    )
    gofast.DataLoader(ConcatDataset([first, more, first]))
    with pytest.warns(errors.GofastWarning, match=r"'c': 'red' is 0 in one and 2 in another"):
        gofast.DataLoader(ConcatDataset([first, Subset(other, [0])]))
