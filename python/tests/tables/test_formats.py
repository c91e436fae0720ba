"""What gofast does not read is refused by its name, with what to do; and the ways a text file may begin."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import pickle
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.orc as orc
import pytest
import torch
from PIL import Image

from gofast import TableDataset, errors
from reference import assert_same, stored

FRAME = pd.DataFrame({"a": [1, 2, 3], "b": [1.5, 2.5, 3.5], "label": [0, 1, 0]})
CSV = FRAME.to_csv(index=False).encode()


def by(write: Callable[[Any], Any]) -> bytes:
    """What a writer of files writes."""
    out = io.BytesIO()
    write(out)
    return out.getvalue()


def zipped(*names: str) -> bytes:
    def write(out: io.BytesIO) -> None:
        with zipfile.ZipFile(out, "w") as archive:
            for name in names:
                archive.writestr(name, "a,b\n1,2\n")

    return by(write)


def tarred(out: io.BytesIO) -> None:
    with tarfile.open(fileobj=out, mode="w") as archive:
        info = tarfile.TarInfo("t.csv")
        info.size = len(CSV)
        archive.addfile(info, io.BytesIO(CSV))


def old_torch(out: io.BytesIO) -> None:
    torch.save(torch.zeros(3, 2), out, _use_new_zipfile_serialization=False)


FORMATS: dict[str, tuple[bytes, str]] = {
    "json of columns": (FRAME.to_json().encode(), r"JSON.*read_json\(path\)"),
    "json of records": (FRAME.to_json(orient="records", indent=2).encode(), r"JSON.*read_json\(path\)"),
    "json of rows": (b"[[1, 2], [3, 4]]", "JSON"),
    "json lines": (FRAME.to_json(orient="records", lines=True).encode(), r"JSON.*lines=True"),
    "torch": (by(lambda out: torch.save(torch.zeros(3, 2), out)), r"PyTorch.*torch\.load.*ArrayDataset"),
    "old torch": (by(old_torch), r"PyTorch.*torch\.load"),
    "feather 1": (b"FEA1" + bytes(100), r"Feather.*read_feather"),
    "avro": (by(lambda out: pl.from_pandas(FRAME).write_avro(out)), r"Avro.*read_avro"),
    "orc": (by(lambda out: orc.write_table(pa.Table.from_pandas(FRAME), out)), r"ORC.*read_orc"),
    "hdf5": (b"\x89HDF\r\n\x1a\n" + bytes(100), r"HDF5.*h5py"),
    "excel": (zipped("[Content_Types].xml", "xl/workbook.xml"), r"Excel.*read_excel"),
    "old excel": (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), r"Excel.*read_excel"),
    "open document": (zipped("mimetype", "content.xml"), r"OpenDocument.*read_excel"),
    "zip": (zipped("t.csv"), r"zip archive.*unzip"),
    "tar": (by(tarred), r"tar archive.*tar -x"),
    "html": (FRAME.to_html().encode(), r"HTML.*read_html"),
    "a page of errors": (b"\n<!DOCTYPE html>\n<html><body>404</body></html>", "HTML"),
    "xml": (b'<?xml version="1.0"?>\n<data><row a="1"/></data>', r"XML.*read_xml"),
    "matlab": (b"MATLAB 5.0 MAT-file, Platform: GLNXA64" + b" " * 86 + b"\0\1IM", r"MATLAB.*loadmat"),
    "sqlite": (b"SQLite format 3\0" + bytes(100), r"SQLite.*read_sql"),
    "git lfs": (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n",
        r"git lfs pull",
    ),
    "safetensors": (b"\x10\0\0\0\0\0\0\0" + b'{"w":{"dtype":"F32"}}' + bytes(60), "safetensors"),
    "pdf": (b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n", "PDF"),
    "png": (by(lambda out: Image.new("RGB", (2, 2)).save(out, "PNG")), r"PNG.*ImageFolder"),
    "webp": (by(lambda out: Image.new("RGB", (2, 2)).save(out, "WEBP")), r"WebP.*ImageFolder"),
    "gif": (by(lambda out: Image.new("RGB", (2, 2)).save(out, "GIF")), r"GIF.*ImageFolder"),
    "xz": (lzma.compress(CSV), r"xz.*xz -d"),
    "lzma": (lzma.compress(CSV, format=lzma.FORMAT_ALONE), r"lzma.*xz -d"),
    "utf-16": (CSV.decode().encode("utf-16"), r"UTF-16.*iconv"),
    "utf-16 without a mark": (CSV.decode().encode("utf-16-le"), "UTF-16LE"),
    "utf-16, big": (CSV.decode().encode("utf-16-be"), "UTF-16BE"),
    "utf-32": (CSV.decode().encode("utf-32"), "UTF-32"),
    "parquet in gzip": (gzip.compress(by(FRAME.to_parquet)), "Parquet.*unpack"),
    "npy in gzip": (gzip.compress(by(lambda out: np.save(out, np.zeros((3, 2))))), "npy.*unpack"),
    "arrow in gzip": (gzip.compress(by(FRAME.to_feather)), "Arrow.*unpack"),
    "arrow stream in bzip2": (bz2.compress(by(pl.from_pandas(FRAME).write_ipc_stream)), "Arrow.*unpack"),
    "json in gzip": (gzip.compress(FRAME.to_json().encode()), "JSON"),
    "json in bzip2": (bz2.compress(FRAME.to_json().encode()), "JSON"),
    "pickle in gzip": (gzip.compress(pickle.dumps(FRAME)), "pickle"),
}
for _protocol in range(pickle.HIGHEST_PROTOCOL + 1):
    for _name, _value in {"frame": FRAME, "dict": {"a": [1, 2]}, "list": [1, 2, 3]}.items():
        FORMATS[f"pickle {_protocol} of a {_name}"] = (
            pickle.dumps(_value, protocol=_protocol),
            r"pickle.*read_pickle.*trust",
        )


@pytest.mark.parametrize("kind", FORMATS)
def test_known_formats_are_refused_by_name(kind: str, tmp_path: Path) -> None:
    content, says = FORMATS[kind]
    (tmp_path / "t.csv").write_bytes(content)  # by content, whatever the name says
    with pytest.raises(errors.FormatError, match=says) as caught:
        TableDataset(tmp_path / "t.csv", label=None)
    assert caught.value.path == str(tmp_path / "t.csv")


HEADERS = ["<DATE>,<OPEN>", "[id],[value]", "{a},b", "(Kg),b", "cat,dog", "version,b", "ORCA,b", "Object,b"]
HEADERS += ["GIF,b", "BZhang,b", "RIFF,b"]


@pytest.mark.parametrize("header", HEADERS)
def test_headers_that_look_like_something_else(header: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"{header}\n1,2\n3,4\n")
    ds = TableDataset(tmp_path / "t.csv", label=None, scale=None)
    assert list(ds._memory.layout.features) == list(pd.read_csv(tmp_path / "t.csv").columns)


# ------------------------------------------------------------------ how a text file begins


def frame(path: Path, **options: Any) -> torch.Tensor:
    return torch.from_numpy(pd.read_csv(path, **options).to_numpy(np.float64, copy=True))


def test_bzip2(tmp_path: Path) -> None:
    rows = "a,b\n" + "".join(f"{i},{i * 0.5}\n" for i in range(200_000))
    (tmp_path / "t.csv.bz2").write_bytes(
        bz2.compress(rows[:1000].encode()) + bz2.compress(rows[1000:].encode())
    )
    assert_same(stored(tmp_path / "t.csv.bz2"), frame(tmp_path / "t.csv.bz2"))
    (tmp_path / "cut.csv.bz2").write_bytes(bz2.compress(rows.encode())[:-100])
    with pytest.raises(errors.DamagedError, match="damaged or cut"):
        stored(tmp_path / "cut.csv.bz2")


@pytest.mark.parametrize("delimiter", [" ", ":", "^", "~", "!", "&", ";", ",", "\t", "|"])
def test_delimiter(delimiter: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    FRAME.to_csv(path, sep=delimiter, index=False)
    assert_same(stored(path, delimiter=delimiter), frame(path, sep=delimiter))
    if delimiter not in ",;|\t":
        with pytest.raises(errors.SchemaError, match="say delimiter=") as caught:
            stored(path)
        assert repr(delimiter)[1:-1] in str(caught.value)
    big = pd.DataFrame(np.arange(40_000).reshape(-1, 4) % 256, columns=list("abcd"))  # through the kernels
    big.to_csv(path, sep=delimiter, index=False)
    assert_same(stored(path, delimiter=delimiter), frame(path, sep=delimiter))


@pytest.mark.parametrize("delimiter", ["", ",,", "\n", '"', "5", "a", ".", "-", "ü", 7])
def test_delimiters_that_cannot_be(delimiter: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(CSV)
    with pytest.raises(errors.OptionError, match="delimiter="):
        stored(tmp_path / "t.csv", delimiter=delimiter)


def test_a_delimiter_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(CSV)
    with pytest.raises(errors.SchemaError):
        stored(tmp_path / "t.csv", delimiter=";")


WRONG_GUESSES = {
    "times": "12:30\n11:20\n10:10\n",
    "decimal commas": "a;b\n1,0;1,5\n2,0;2,5\n",
    "decimal commas in one column": "a;b\n1;1,5\n2;2,5\n",
    "decimal commas without a header": "1,0;1,5\n2,0;2,5\n",
    "one column of decimal commas": "a\n1,5\n2,5\n",
    "runs of blanks": " a   b\n 1   2\n 30  4\n",
    "dates and times": "a,t\n1,2020-01-02 12:30\n2,2020-01-03 12:30\n",
}


@pytest.mark.parametrize("kind", WRONG_GUESSES)
def test_no_number_comes_of_a_wrong_guess(kind: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(WRONG_GUESSES[kind])
    with pytest.raises(errors.GofastError):
        stored(tmp_path / "t.csv")


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
@pytest.mark.parametrize("line", ["sep=;", '"sep=;"', "SEP=;"])
def test_excels_first_line(line: str, ends: str, tmp_path: Path) -> None:
    text = FRAME.to_csv(index=False, sep=";", lineterminator=ends)
    (tmp_path / "t.csv").write_bytes(f"\ufeff{line}{ends}{text}".encode())
    assert_same(stored(tmp_path / "t.csv"), frame(tmp_path / "t.csv", sep=";", skiprows=1))


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("before", ["a title\n", "# a\n# b, with a comma\n", "\n\n", "x" * 100_000 + "\n"])
def test_skiprows(before: str, ends: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes((before + CSV.decode()).replace("\n", ends).encode())
    lines = before.count("\n")
    if before == "\n\n" and ends == "\r":
        pytest.skip("pandas takes them for one line")
    assert_same(stored(path, skiprows=lines), frame(path, skiprows=lines))
    path.with_suffix(".gz").write_bytes(gzip.compress(path.read_bytes()))
    assert_same(stored(path.with_suffix(".gz"), skiprows=lines), frame(path, skiprows=lines))


def test_a_preamble_is_named(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    for before in ("Report of 2020\n", "# made by us\n# on a day\n"):
        path.write_bytes(before.encode() + CSV)
        with pytest.raises(errors.SchemaError, match="skiprows="):
            stored(path)
        path.write_bytes(before.encode() + b"a,b\n1,2\n")
        with pytest.raises(errors.SchemaError, match="skiprows="):
            stored(path)
    path.write_bytes(CSV + b"# half\n")
    with pytest.raises(errors.DamagedError, match="comment"):
        stored(path)


@pytest.mark.parametrize("lines", [-1, 5, 1.5, "1"])
def test_skiprows_that_cannot_be(lines: Any, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_bytes(CSV)
    with pytest.raises(errors.GofastError, match="skiprows="):
        stored(tmp_path / "t.csv", skiprows=lines)


def test_a_delimiter_at_the_end_of_every_row(tmp_path: Path) -> None:
    """pandas would take the first column for an index and move every name by one."""
    (tmp_path / "t.csv").write_text("a,b\n1,2,\n3,4,\n")
    for options in ({}, {"fill_value": 0}):
        with pytest.raises(errors.SchemaError, match="every row ends with"):
            stored(tmp_path / "t.csv", **options)
    (tmp_path / "t.csv").write_text("a,b,\n1,2,\n3,4,\n")
    assert_same(
        stored(tmp_path / "t.csv", columns=["a", "b"]), torch.tensor([[1.0, 2], [3, 4]], dtype=torch.float64)
    )
    with pytest.raises(errors.MissingValueError, match="Unnamed: 2"):
        stored(tmp_path / "t.csv")


# ------------------------------------------------------------------ numbers, as pandas reads them


def test_random_numbers_round_as_python_rounds(tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    digits = rng.integers(0, 10, (3000, 25))
    texts = []
    for row in digits:
        whole, part = ("".join(map(str, row[: rng.integers(1, 25)])) for _ in range(2))
        texts.append(f"{whole}.{part}" + (f"e{rng.integers(-330, 310)}" if rng.random() < 0.5 else ""))
    (tmp_path / "t.csv").write_text("a\n" + "\n".join(texts) + "\n")
    assert stored(tmp_path / "t.csv")[:, 0].tolist() == [float(text) for text in texts]


# Text to pandas as well: refused, with the reason where there is a usual one.
NO_NUMBERS = {
    '"1,000"': "comma in a number",
    '"1,5"': "comma in a number",
    "1_000": "underscore",
    "0x10": "hexadecimal",
    "12:30": "a time",
    "2020-01-02": "a date",
    "2020/01/02 10:00": "a date",
    "50%": "percentage",
    "'1'": "single quotes",
    ' "1"': "blank before the quotes",
    "\u22121": "text|not a number",
    "\uff11": "text|not a number",
    "1\u00a0": "text|not a number",
}
ODD = ["x1", "$1", "1d", "1e", "1e+", "e5", ".", "-", "--1", "+-5", "1.2.3", "1e5.5", "NAN", "Na", "tru"]
NO_NUMBERS |= dict.fromkeys(ODD, "text|not a number")


@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_refused(text: str, tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text(f"a,b\n0.5,{text}\n1,2\n", encoding="utf-8")
    assert pd.read_csv(path)["b"].dtype.kind not in "iuf"
    with pytest.raises((errors.SchemaError, errors.BadValueError), match=NO_NUMBERS[text]):
        stored(path)
    path.write_text("a,b\n" + "0.5,1\n" * 5000 + f"0.5,{text}\n", encoding="utf-8")  # behind the sample
    with pytest.raises(errors.BadValueError, match=NO_NUMBERS[text]) as caught:
        stored(path)
    assert (caught.value.row, caught.value.column) == (5000, "b")


@pytest.mark.parametrize("text", ["a,b,c\n1,2,3\n4,5\n", "a,b\n1,2\n4,5,6\n"])
def test_ragged_rows_are_refused(text: str, tmp_path: Path) -> None:
    """pandas fills the first with NaN."""
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(errors.DamagedError) as caught:
        stored(tmp_path / "t.csv", fill_value=0)
    assert caught.value.row == 1
