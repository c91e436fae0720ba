"""CSV against pandas.read_csv, which rounds correctly from pandas 3 on."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st
from pandas._libs.parsers import STR_NA_VALUES

import gofast
from gofast import TableDataset, errors
from reference import assert_same, stored

Write = Callable[..., Path]
NA = sorted(STR_NA_VALUES)
FILL = 77


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes text as a file and gives its path."""

    def write(text: str | bytes, name: str = "t.csv") -> Path:
        path = tmp_path / name
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return path

    return write


def names(path: Path) -> list[str]:
    return list(TableDataset(path, label=None)._memory.layout.features)


def pandas(source: Any, **options: Any) -> torch.Tensor:
    frame = pd.read_csv(source, **options)
    frame = frame.drop(columns=[c for c in frame.columns if str(c).startswith("Unnamed: 0")])
    return torch.from_numpy(frame.fillna(FILL).to_numpy(np.float64, copy=True))


# ------------------------------------------------------------------ cells

NUMBERS = [
    "0",
    "-0",
    "7",
    "007",
    "00",
    "+5",
    "-5",
    " 5",
    "5 ",
    " 5 ",
    '"5"',
    '" 7"',
    '"-1.5"',
    "0.1",
    "-.5",
    "5.",
]
NUMBERS += ["255", "256", "-32768", "2147483648", "9223372036854775807", "-9223372036854775808"]
NUMBERS += ["-0.0", "0e0", "1e5", "1E+05", "1e-5", "1.5e300", "1e23", "1e400", "1e-400", "5e-324"]
NUMBERS += ["inf", "-inf", "+inf", "Infinity", "-INFINITY", "2.2250738585072014e-308", "9007199254740993.0"]
NUMBERS += ["123456789012345678901234.5", "0.30000000000000004", "179769313486231580793e289"]
NUMBERS += ["0.1000000000000000055511151231257827021181583404541015625"]


@pytest.mark.parametrize("cell", NUMBERS)
def test_numbers(cell: str, write: Write) -> None:
    path = write(f"a,b\n1,{cell}\n{cell},3\n")
    assert_same(stored(path), pandas(path))


def test_every_missing_word_is_missing(write: Write) -> None:
    path = write("a,b\n1,2\n" + "".join(f"{word},3\n" for word in NA))
    assert_same(stored(path, fill_value=FILL), pandas(path))
    for word in NA:
        path = write(f"a,b\n1,2\n{word},3\n")
        with pytest.raises(errors.MissingValueError) as caught:
            stored(path)
        assert (caught.value.row, caught.value.column, caught.value.path) == (1, "a", str(path))
        with pytest.raises(errors.MissingValueError, match="label"):
            stored(write(f"a,b\n1,2\n3,{word}\n"), label="b")


def test_a_missing_word_in_quotes_is_missing(write: Write) -> None:
    path = write('a,b\n1,2\n"NA","3"\n"",4\n')
    assert_same(stored(path, fill_value=FILL), pandas(path))


def columns(path: Path, kind: Any, **options: Any) -> Any:
    """Each column as pandas reads it, as numbers of this type, as numpy makes them."""
    frame = pd.read_csv(path, low_memory=False, **options)
    return np.stack([frame[name].to_numpy().astype(kind) for name in frame], 1)


FLOATS = [(torch.float32, np.float32), (torch.float64, np.float64)]
BESIDE_FLOATS = [
    "9007199254740993,.5\n1,1",
    "9007199791611905,1\n.5,1",  # a column of floats: a float64 first
    "9007199791611905,.5\n1,1",  # of integers: rounded once
    "1700000000000000001,1.25\n1700000000000000101,.1",
    "18446744073709551615,.5\n1,1",
    "18446744073709551615,2\n9223372036854775808,1",
    "1,18446744073709551616\n1,2",  # beyond uint64, all numbers of a column are floats
    "-9223372036854775809,1\n9007199254740993,2",
    "-0,1\n1,1",
    "-0,.5\n1,1",
    "-0,1\n1.5,1",
    "1.5,-0\n-0,1\n-0,0.5",
    "-0.0,-0e5\n-.0,-0\n",
    "-0,9007199254740993\n0.25,1",
    "300,1\n" * 3000 + "-0,-0\n.5,1",  # the float stands behind what the types are guessed from
]


@pytest.mark.parametrize("rows", BESIDE_FLOATS, ids=range(len(BESIDE_FLOATS)))
def test_numbers_become_floats_as_those_of_their_column(rows: str, write: Write) -> None:
    path = write(f"a,b\n{rows}\n")
    for dtype, kind in FLOATS:
        want = columns(path, kind).tobytes()
        options: dict[str, Any] = {"label": None, "dtype": dtype, "header": True}
        assert TableDataset(path, **options)[:]["features"].numpy().tobytes() == want
        for _ in range(2):
            cached = TableDataset(path, cache=path.parent / "t.cache", **options)
            assert cached[:]["features"].numpy().tobytes() == want
        for shuffled in ({}, {"shuffle": "block", "seed": 0}):
            got = [
                row["features"].numpy().tobytes()
                for row in gofast.IterableDataset.from_table(path, **options, **shuffled)
            ]
            assert sorted(got) == sorted(row.tobytes() for row in columns(path, kind))


def test_rounded_integers_are_an_error_where_nobody_asked_for_floats(write: Write) -> None:
    path = write("a,b\n9223372036854775808,1\n")
    with pytest.raises(errors.BadValueError, match="beyond int64") as caught:
        TableDataset(path, label=None, header=True, dtype=torch.int64)
    assert (caught.value.row, caught.value.column) == (0, "a")
    path = write("a,b\n9007199254740993,0.5\n")
    with pytest.raises(errors.BadValueError, match="exactly"):
        gofast.convert(path, path.parent / "t.npy", label=None, header=True)
    cache = path.parent / "t.cache"
    TableDataset(path, label=None, header=True, cache=cache)
    with pytest.raises(errors.OptionError, match="rounded to float32"):
        TableDataset(cache, label=None, dtype=torch.float64)


@pytest.mark.parametrize("stored_as", ["parquet", "npz"])
def test_integers_beside_floats_in_files_with_types(stored_as: str, tmp_path: Path) -> None:
    hashes = np.array([2**64 - 1, 2**63 + 1025, 2**53 + 2**29 + 1, 7], np.uint64)
    times = np.array([-(2**63), 2**53 + 2**29 + 1, 2**62 + 1, 0], np.int64)
    floats = np.array([-0.0, 0.1, 0.5, 1.5])
    path = tmp_path / f"t.{stored_as}"
    if stored_as == "parquet":
        pq.write_table(pa.table({"a": hashes, "b": times, "c": floats}), path)
    else:
        np.savez(path, a=hashes, b=times, c=floats)
    for dtype, kind in FLOATS:
        for few in (["a", "b", "c"], ["a"], ["a", "b"], ["b", "c"]):
            ds = TableDataset(path, label=None, dtype=dtype, columns=few)
            named = {"a": hashes, "b": times, "c": floats}
            want = np.stack([named[name].astype(kind) for name in few], 1)
            assert ds[:]["features"].numpy().tobytes() == want.tobytes()


NUMBERS = ["1.234,5", "1,5", "1.5", "1.234.567,8", "1,5e3", "1e3,5", ",5", "5,", "1,2,3", "-0,0"]
NUMBERS += ['"1,234"', "1,,2"]
NUMBERS += [
    "1,",
    "1,e5",
    "1,,.5",
    ",1",
    "-,1",
    "1 000,5",
    "1'000.5",
    "9.007.199.254.740.993",
    " 1,5 ",
    "1..5",
]
COUNTRIES = [(",", None), (",", "."), (",", " "), (".", ","), (".", "'")]


@pytest.mark.parametrize(("decimal", "thousands"), COUNTRIES)
def test_numbers_of_other_countries(decimal: str, thousands: str | None, write: Write) -> None:
    options: dict[str, Any] = {"decimal": decimal, "thousands": thousands}
    for cell in NUMBERS:
        path = write(f"a;b\n{cell};1\n07;2\n")
        frame = pd.read_csv(path, sep=";", **options)
        if frame["a"].dtype.kind in "if":
            ds = TableDataset(path, label=None, header=True, **options)
            assert ds[:]["features"].numpy().tobytes() == frame.to_numpy(np.float32).tobytes(), cell
            continue
        with pytest.raises(errors.BadValueError, match='line 2, column "a"'):
            TableDataset(path, label=None, header=True, **options)


def test_a_decimal_comma_is_no_delimiter(write: Write) -> None:
    for text, want in {
        "a;b\n1,5;2,5\n": [[1.5, 2.5]],
        'a,b\n"1,5",2\n': [[1.5, 2]],
        "a\n1,5\n2,5\n": [[1.5], [2.5]],
        "a\tb\n1,5\t2\n": [[1.5, 2]],
    }.items():
        assert TableDataset(write(text), label=None, decimal=",")[:]["features"].tolist() == want
    path = write("a;b\n1;2\n")
    wrongs = [("decimal", ""), ("decimal", "é"), ("decimal", "e"), ("thousands", "ab"), ("thousands", ".")]
    for option, wrong in wrongs:
        with pytest.raises(errors.OptionError):
            TableDataset(path, label=None, **{option: wrong})


@pytest.mark.parametrize("end", ["", ".gz", ".bz2", ".zst"])
def test_other_encodings(end: str, write: Write) -> None:
    said = "größe;farbe;note\n1,5;grün;süß\n2,5;blau;€\n".encode("cp1252")
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}
    path = write(pack.get(end, lambda b: pa.compress(b, codec="zstd", asbytes=True))(said), f"t.csv{end}")
    options: dict[str, Any] = {"label": "farbe", "decimal": ",", "encoding": "cp1252"}
    ds = TableDataset(path, text="note", **options)
    assert (ds.columns, ds.classes, ds[:]["note"]) == (["größe"], ["blau", "grün"], ["süß", "€"])
    rows = list(gofast.IterableDataset.from_table(path, exclude="note", classes=["blau", "grün"], **options))
    assert [(float(row["features"]), int(row["label"])) for row in rows] == [(1.5, 1), (2.5, 0)]
    with pytest.raises(errors.FormatError, match="encoding="):
        TableDataset(path, label="farbe", decimal=",")


@pytest.mark.parametrize("encoding", ["utf-16", "shift_jis", "gbk", "cp037", "utf-7", "base64", "nope", None])
def test_encodings_that_are_refused(encoding: Any, write: Write) -> None:
    with pytest.raises(errors.OptionError, match="encoding="):
        TableDataset(write("a,b\n1,2\n"), label=None, encoding=encoding)


def test_options_of_text_files_alone(tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": [1]}), tmp_path / "t.parquet")
    for option in ({"decimal": ","}, {"thousands": "'"}, {"encoding": "latin-1"}):
        with pytest.raises(errors.OptionError, match="text files"):
            TableDataset(tmp_path / "t.parquet", label=None, **option)


def test_text_in_a_second_file_names_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    (tmp_path / "b.csv").write_text("a,b\n1,2\n3,oops\n")
    with pytest.raises(errors.BadValueError, match=r'line 3, column "b".*oops') as caught:
        TableDataset(tmp_path, label=None)
    assert caught.value.path == str(tmp_path / "b.csv")
    (tmp_path / "b.csv").write_text("a,b\n1,red\n3,blue\n")
    with pytest.raises(errors.SchemaError, match=r'line 2, column "b".*red'):
        TableDataset(tmp_path, label=None)


@pytest.mark.parametrize(
    "words", [("True", "False"), ("TRUE", "FALSE"), ("true", "false"), ("True", "false")]
)
def test_booleans(words: tuple[str, str], write: Write) -> None:
    yes, no = words
    path = write(f"a,b\n{yes},{no}\n{no},{no}\n")
    assert_same(stored(path), pandas(path))


def test_booleans_beside_numbers_are_an_error(write: Write) -> None:
    for text in ("a,b\n1,2\nTrue,3\n", "a,b\nTrue,2\n1,3\n", "a,b\n" + "1,2\n" * 30_000 + "True,2\n"):
        with pytest.raises((errors.BadValueError, errors.SchemaError)) as caught:
            stored(write(text))
        assert caught.value.column == "a"


# ------------------------------------------------------------------ layout

LAYOUTS = {
    "crlf": "a,b\r\n1,2\r\n3,4\r\n",
    "cr": "a,b\r1,2\r3,4\r",
    "mixed ends": "a,b\r\n1,2\n3,4\r5,6\r\n\n7,8",
    "no final newline": "a,b\n1,2\n3,4",
    "no final newline, crlf": "a,b\r\n1,2\r\n3,4",
    "bom": "\ufeffa,b\n1,2\n3,4\n",
    "bom and quotes": '\ufeff"a","b"\n1,2\n3,4\n',
    "blank lines": "\n\na,b\n\n1,2\n\n\n3,4\n\n",
    "blank crlf lines": "a,b\r\n\r\n1,2\r\n\r\n",
    "lines of spaces": "a,b\n1,2\n   \n\t\n3,4\n",
    "tab": "a\tb\n1\t2\n3\t4\n",
    "semicolon": "a;b\n1;2\n3.5;4\n",
    "bar": "a|b\n1|2\n3|4\n",
    "quoted header with delimiter": '"a,x",b\n1,2\n',
    "quoted header with newline": '"a\nx",b\n1,2\n',
    "doubled quotes in header": '"a""x",b\n1,2\n',
    "all quoted": '"a","b"\n"1","2"\n"3","4"\n',
    "spaces after delimiter": "a, b\n1, 2\n3, 4\n",
    "one column": "a\n1\n2\n\n3\n",
    "index without name": ",a,b\n0,1,2\n1,3,4\n",
    "index named by pandas": "Unnamed: 0,a,b\n0,1,2\n1,3,4\n",
    "index and counted columns": ",0,1,2\n0,5,6,7\n1,8,9,10\n",
    "counted columns": "label," + ",".join(map(str, range(20))) + "\n" + ",".join(["7"] * 21) + "\n",
    "unnamed in the middle": "a,,b\n1,2,3\n",
    "two names left out": ",,a\n1,2,3\n",
    "a name that pandas would give": "a,Unnamed: 2,\n1,2,3\n",
    "an index twice": ",Unnamed: 0,a\n0,1,2\n",
    "an index thrice": ",Unnamed: 0.1,Unnamed: 0,a\n0,1,2,3\n",
    "comment signs are text": "#a,b\n1,2\n",
    "unicode names": "größe,長さ\n1,2\n",
    "names with numbers": "1x1,1x2\n1,2\n",
    "other delimiters in names": "a;x,b|y\n1,2\n3,4\n",
    "decimal points and semicolons": "a;b\n1.5;2.5\n",
}


@pytest.mark.parametrize("text", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("packed", ["", "gz", "zst"])
def test_layouts(text: str, packed: str, write: Write) -> None:
    raw = text.encode()
    data = {"": raw, "gz": gzip.compress(raw), "zst": pa.compress(raw, codec="zstd", asbytes=True)}[packed]
    path = write(data, "t.csv" + (packed and "." + packed))
    delimiter = next((d for d in ("\t", ";", "|") if d in text and "," not in text), ",")
    want = pd.read_csv(io.BytesIO(raw), sep=delimiter)
    assert_same(stored(path), pandas(io.BytesIO(raw), sep=delimiter))
    index = [c for c in want.columns if c.startswith("Unnamed: 0")]
    assert names(path) == [c for c in want.columns if c not in index]
    assert TableDataset(path, columns=list(want.columns), label=None).columns == list(want.columns)


@pytest.mark.parametrize(
    "text", ["1,2\n3,4\n", "1.5,2\n3,4", "5\n6\n", "-1;2\n", "0,1\n2,3\n", "1,,3\n4,5,6\n", "1e5,2\n"]
)
def test_no_header(text: str, write: Write) -> None:
    path = write(text)
    sep = ";" if ";" in text else ","
    assert_same(stored(path, fill_value=FILL, header=False), pandas(path, header=None, sep=sep))
    ds = TableDataset(write(text.replace(",,", ",0,")), label=None, header=False)
    assert ds._memory.layout.features == tuple(str(i) for i in range(text.split("\n")[0].count(sep) + 1))


def test_a_header_alone_is_a_table_of_no_rows(write: Write) -> None:
    for text in ("a,b", "a,b\n", "\ufeffa,b\r\n\r\n"):
        path = write(text)
        assert stored(path).shape == (0, 2)
        assert names(path) == ["a", "b"]


def test_quotes_hide_delimiters_and_newlines(write: Write) -> None:
    text = 'label,x\n"a,b",1\n"c\nd",2\n"e""f",3\n"a,b",4\n'
    ds = TableDataset(write(text), scale=None)
    want = pd.read_csv(io.StringIO(text))
    assert ds.classes == sorted(want["label"].unique())
    assert_same(ds.targets, torch.tensor([ds.classes.index(w) for w in want["label"]]))
    assert_same(ds[:]["features"][:, 0], torch.tensor([1.0, 2, 3, 4]))


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_long_files_of_quoted_text_are_cut_in_the_right_places(quoting: Any, end: str, write: Write) -> None:
    rng = np.random.default_rng(5)
    words = np.array(
        ["plain", "with, comma", 'with "quotes"', "two\nlines", "", " space ", "a;b|c\td", "\r\n", '"']
    )
    frame = pd.DataFrame(
        {
            "text": words[rng.integers(0, len(words), 40_000)],
            "x": rng.integers(0, 256, 40_000),
            "label": words[rng.integers(0, 4, 40_000)],
            "y": rng.standard_normal(40_000),
        }
    )
    buffer = io.StringIO()
    frame.to_csv(buffer, index=False, quoting=quoting, lineterminator=end)
    path = write(buffer.getvalue())
    ds = TableDataset(path, columns=["x", "y"], scale=None, dtype=torch.float64, threads=4, output="tuple")
    features, labels = ds[:]
    want = pd.read_csv(path, lineterminator=None, keep_default_na=False)
    assert len(ds) == len(want) == 40_000
    assert_same(features, torch.from_numpy(want[["x", "y"]].to_numpy(np.float64, copy=True)))
    assert ds.classes is not None
    assert [ds.classes[i] for i in labels] == list(want["label"])


def test_long_lines_and_many_columns(write: Write) -> None:
    rng = np.random.default_rng(6)
    x = rng.integers(-300, 300, (40, 20_000))
    buffer = io.StringIO()
    pd.DataFrame(x, columns=[f"c{i}" for i in range(20_000)]).to_csv(buffer, index=False)
    assert_same(stored(write(buffer.getvalue())), torch.from_numpy(x.astype(np.float64)))


@pytest.mark.parametrize("late", ["300", "-1", "0.5", "99999999999", "1e300", "NaN"])
@pytest.mark.parametrize("place", ["label", "feature"])
def test_a_late_value_widens_the_table(late: str, place: str, write: Write) -> None:
    lines = ["label,a,b"] + [f"{i % 10},{i % 256},7" for i in range(50_000)]
    lines.append(f"{late},1,2" if place == "label" else f"1,{late},2")
    path = write("\n".join(lines))
    ds = None
    if place == "label" and late in ("NaN", "0.5", "1e300"):
        with pytest.raises(errors.MissingValueError if late == "NaN" else errors.BadValueError) as caught:
            TableDataset(path)
        assert (caught.value.row, caught.value.line, caught.value.column) == (50_000, 50_002, "label")
        if late == "NaN":
            return
    kinds: Any = {"label_type": "float"} if place == "label" and late in ("0.5", "1e300") else {}
    ds = TableDataset(path, scale=None, dtype=torch.float64, fill_value=FILL, **kinds)
    want = pd.read_csv(path).fillna(FILL)
    assert_same(ds[:]["features"], torch.from_numpy(want[["a", "b"]].to_numpy(np.float64, copy=True)))
    kind = torch.int64 if want["label"].dtype == np.int64 else torch.float64
    assert_same(ds[:]["label"], torch.tensor(want["label"].to_numpy(copy=True)).to(kind))


# ------------------------------------------------------------------ several files


def test_several_files_are_one_table(tmp_path: Path) -> None:
    parts = [pd.DataFrame({"label": [i, i + 1], "x": [i * 100, 5], "y": [1, 2]}) for i in range(4)]
    for i, part in enumerate(parts):
        part.to_csv(tmp_path / f"part-{i}.csv", index=False)
    (tmp_path / "_SUCCESS").touch()
    (tmp_path / ".hidden").touch()
    whole = pd.concat(parts)
    want = torch.tensor(whole[["x", "y"]].to_numpy(), dtype=torch.float64)
    for path in (
        tmp_path,
        str(tmp_path),
        tmp_path / "part-*.csv",
        [tmp_path / f"part-{i}.csv" for i in range(4)],
    ):
        ds = TableDataset(path, scale=None, dtype=torch.float64)
        assert_same(ds[:]["features"], want)
        assert_same(ds.targets, torch.tensor(whole["label"].to_numpy()))
    assert_same(stored([tmp_path / "part-1.csv"] * 2, label="label")[2:], want[2:4])
    packed = tmp_path / "more.csv.gz"
    packed.write_bytes(gzip.compress((tmp_path / "part-3.csv").read_bytes()))
    assert_same(stored([tmp_path / "part-0.csv", packed], label="label"), want[[0, 1, 6, 7]])


def test_classes_are_those_of_all_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("label,x\nz,1\nm,2\n")
    (tmp_path / "b.csv").write_text("label,x\na,1\nz,2\n")
    ds = TableDataset(tmp_path)
    assert ds.classes == ["a", "m", "z"]
    assert_same(ds.targets, torch.tensor([2, 1, 0, 2]))


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("a,b\n1,2\n", "a,c\n1,2\n", '"c"'),
        ("a,b\n1,2\n", "b,a\n1,2\n", '"b"'),
        ("a,b\n1,2\n", "a,b,c\n1,2,3\n", "3 columns"),
        ("a,b\n1,2\n", "a,b\n1,x\n", '"b"'),
        ("a,b\n1,2\n", "a,b\n1,True\n", '"b"'),
    ],
)
def test_files_that_differ_are_an_error_naming_both(
    first: str, second: str, said: str, tmp_path: Path
) -> None:
    (tmp_path / "1.csv").write_text(first)
    (tmp_path / "2.csv").write_text(second)
    with pytest.raises(errors.SchemaError) as caught:
        stored(tmp_path)
    text = str(caught.value)
    assert "1.csv" in text and "2.csv" in text and said in text


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_integers_in_one_file_and_floats_in_another_are_both_floats(
    order: tuple[int, int], tmp_path: Path
) -> None:
    texts = ["label,a\n1,2\n", "label,a\n0.5,2.5\n"]
    paths = []
    for i in order:
        paths.append(tmp_path / f"{i}.csv")
        paths[-1].write_text(texts[i])
    if order == (0, 1):
        with pytest.raises(errors.BadValueError, match=r"1\.csv: line 2"):
            TableDataset(paths, scale=None)
    ds = TableDataset(paths, scale=None, label_type="float")
    assert_same(ds[:]["features"][:, 0], torch.tensor([2.0, 2.5])[list(order)])
    assert_same(ds.targets, torch.tensor([1, 0.5])[list(order)])


# ------------------------------------------------------------------ generated tables

small = st.integers(0, 255).map(str)
whole = st.integers(-(2**63), 2**63 - 1).map(str)
real = st.floats(allow_nan=False).map(repr)
spaced = st.integers(-999, 999).map(lambda n: f" {n} ")
gaps = st.one_of(small, st.sampled_from(NA))
COLUMNS = [
    small,
    small,
    small,
    st.integers(-300, 300).map(str),
    real,
    spaced,
    gaps,
    st.floats(width=32, allow_nan=False).map(repr),
]


@st.composite
def texts(draw: Any) -> tuple[str, str, bool]:
    """A table as text, its delimiter, and whether it has a header."""
    columns = draw(st.lists(st.sampled_from(COLUMNS), min_size=2, max_size=6))
    rows = draw(st.lists(st.tuples(*columns), min_size=1, max_size=20))
    delimiter = draw(st.sampled_from(",\t;|"))
    header = draw(st.booleans())
    end = draw(st.sampled_from(["\n", "\r\n"]))
    quoted = draw(st.sampled_from([0, 0, 0.3, 1]))
    blank = draw(st.booleans())
    random = draw(st.randoms(use_true_random=False))
    lines = []
    if header:
        lines.append([f"c{i}" for i in range(len(columns))])
    lines.extend(list(row) for row in rows)
    text = "".join(
        delimiter.join(f'"{c}"' if random.random() < quoted else c for c in line)
        + end * (2 if blank and random.random() < 0.3 else 1)
        for line in lines
    )
    if draw(st.booleans()):
        text = text.removesuffix(end)
    return draw(st.sampled_from(["", "\ufeff"])) + text, delimiter, header


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(texts())
@example((",1\n2,3\n", ",", False))
def test_generated_tables(tmp_path_factory: pytest.TempPathFactory, made: tuple[str, str, bool]) -> None:
    text, delimiter, header = made
    # A first line ",0,1,2" is how pandas heads a table without names: never data.
    first = (
        [cell.strip('"') for cell in text.lstrip("\ufeff").splitlines()[0].split(delimiter)] if text else []
    )
    assume(header or first != ["", *map(str, range(len(first) - 1))])
    path = tmp_path_factory.getbasetemp() / "generated.csv"
    path.write_bytes(text.encode())
    want = pandas(path, sep=delimiter, header=0 if header else None)
    try:
        got = stored(path, fill_value=FILL, header=header)
    except errors.BadValueError as error:
        assert "no type holds both exactly" in str(error)
        return
    assert_same(got, want)
