"""header=: names or data, by the first line alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from gofast import DataLoader, IterableDataset, TableDataset, errors


def features(path: Path, **options: Any) -> tuple[str, ...]:
    return TableDataset(path, label=None, **options)._memory.layout.features


@pytest.mark.parametrize("first", ["2019,2020,2021", "0,1,2,3", "7", "1.5,2.5", "5.1,3.5,setosa", "?,1,2"])
@pytest.mark.parametrize("below", ["", "1,1,1,1", "a,a,a,a"])
def test_a_line_that_may_be_either_asks(first: str, below: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    cells = first.split(",")
    path.write_text(f"{first}\n" + ",".join(below.split(",")[: len(cells)]) + "\n")
    with pytest.raises(errors.SchemaError, match=r"header=True.*header=False") as caught:
        TableDataset(path, label=None)
    assert (caught.value.line, caught.value.path) == (1, str(path))
    assert first in str(caught.value)


@pytest.mark.parametrize("header", [True, False])
def test_header_as_pandas_takes_it(header: bool, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("2019,2020,2021\n1,2,3\n4,5,6\n")
    want = pd.read_csv(path, header=0 if header else None)
    ds = TableDataset(path, label=None, scale=None, header=header)
    assert ds[:]["features"].tolist() == want.to_numpy().tolist()
    assert features(path, header=header) == tuple(map(str, want.columns))


@pytest.mark.parametrize("text", ["a|b\n", "a|b", "a\n\n", "a,b\n\n\n", '"a";"b c"\r\n'])
def test_a_header_alone_is_a_table_without_rows(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(text, newline="")
    want = pd.read_csv(path, sep=next((sign for sign in "|;" if sign in text), ","))
    ds = TableDataset(path, label=None)
    assert (len(ds), ds.columns, [*DataLoader(ds, 4)]) == (len(want), [*want.columns], [])
    for options in ({}, {"shuffle": "block", "seed": 0}):
        stream = IterableDataset.from_table(path, label=None, **options)
        assert ([*DataLoader(stream, 4)], [*stream]) == ([], [])


def test_a_frame_without_names_with_and_without_index(tmp_path: Path) -> None:
    frame = pd.DataFrame([[5, 6, 7], [8, 9, 10]])
    frame.to_csv(tmp_path / "indexed.csv")
    assert len(TableDataset(tmp_path / "indexed.csv", label=None)) == 2
    frame.to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(errors.SchemaError, match="header=True"):
        TableDataset(tmp_path / "t.csv", label=None)
    assert len(TableDataset(tmp_path / "t.csv", label=None, header=True)) == 2
    frame.to_csv(tmp_path / "t.csv", index=False, header=False)
    assert len(TableDataset(tmp_path / "t.csv", label=None, header=False)) == 2


def test_mnist_without_header_is_data(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("5," + "0," * 700 + "13,255\n" + "3," + "0," * 700 + "1,2\n")
    ds = TableDataset(path, label=0)
    assert ds.targets.tolist() == [5, 3]


@pytest.mark.parametrize("first", ["5,?,1,1,3", "?,?,1,1,3"])
def test_a_first_row_with_a_question_mark_is_not_lost(first: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"{first}\n1,2,3,3,4\n")
    with pytest.raises(errors.BadValueError, match=r'line 1, column ".*holds text.*"\?"') as caught:
        TableDataset(path, label=4)
    assert caught.value.row == 0


def test_the_first_text_among_features_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('a,b,label\n\n"1",2,0\n3,blue,1\n4,red,1\n')
    with pytest.raises(
        errors.BadValueError, match=r'line 4, column "b": the column holds text.*"blue"'
    ) as caught:
        TableDataset(path)
    assert (caught.value.row, caught.value.line) == (1, 4)


def test_files_without_a_header_are_one_table(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / f"{name}.csv").write_text("1,2\n3,4\n")
    assert len(TableDataset(tmp_path, label=None, header=False)) == 4
    assert len(TableDataset(tmp_path, label=None, header=True)) == 2


@pytest.mark.parametrize("header", [0, 1, None, "infer", "yes"])
def test_what_is_no_header_option(header: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with pytest.raises(errors.OptionError, match="header="):
        TableDataset(tmp_path / "t.csv", label=None, header=header)
