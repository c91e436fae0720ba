"""A text table with the label of each picture's file."""

from __future__ import annotations

import csv
import difflib
import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import torch

from .. import errors
from .._loader.classes import LabelType, unknown
from .vision import IMG_EXTENSIONS

_DELIMITERS = (",", "\t", ";", "|", " ")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_TRUTH = {"true": 1, "false": 0}


class Cell(NamedTuple):
    """A cell and its line, counted as an editor does."""

    line: int
    text: str


class LabelsFile:
    """The wanted columns of a labels file. Spaces around a cell do not count.

    Args:
        file: text in UTF-8; its first line names the columns. The delimiter is the one of comma, tab,
            semicolon, bar or space that gives all the wanted columns.
        path: the column of the files' names.
        label: the column of the labels, several, or None.

    Attributes:
        names: a cell for each row.
        labels: for each column of labels, a cell for each row.

    Raises:
        NotFoundError, ReadError: the file cannot be read.
        FormatError: it is not text.
        SchemaError: it has no such column, or two, or a row is shorter or longer than the first line.
        MissingValueError: a cell is empty.
    """

    def __init__(self, file: str, path: str, label: str | Sequence[str] | None) -> None:
        self.file = file
        self._label = [] if label is None else [label] if isinstance(label, str) else list(label)
        wanted = [path, *self._label]
        if os.path.exists(file) and not os.path.isfile(file):  # a pipe may wait for ever
            raise self._told(errors.ReadError(f"{file}: not a regular file"))
        try:
            with open(file, encoding="utf-8-sig", newline="") as lines:
                first = lines.readline()
                delimiter = _delimiter(first, wanted)
                lines.seek(0)
                columns = self._read(csv.reader(lines, delimiter=delimiter, skipinitialspace=True), wanted)
        except FileNotFoundError as error:
            raise self._told(errors.NotFoundError(f"{file}: no such file")) from error
        except OSError as error:
            raise self._told(errors.ReadError(f"{file}: {error.strerror or error}")) from error
        except (UnicodeDecodeError, csv.Error) as error:
            raise self._told(errors.FormatError(f"{file}: no table in text of UTF-8: {error}")) from error
        self.names, *self.labels = columns

    def _read(self, rows: Any, wanted: list[str]) -> list[list[Cell]]:
        header = [cell.strip() for cell in next(rows, [])]
        for column in wanted:
            if header.count(column) != 1:
                why = "no column" if column not in header else "two columns"
                names = ", ".join(repr(name) for name in header)
                close = difflib.get_close_matches(column, header, 1)
                names += f" (did you mean {close[0]!r}?)" if close else ""
                raise self._told(
                    errors.SchemaError(
                        f"{self.file}: {why} {column!r}; its first line names {names}: "
                        "say path= and label= (None: no labels)"
                    ),
                    column,
                )
        at = [header.index(column) for column in wanted]
        made: list[list[Cell]] = [[] for _ in wanted]
        for row in rows:
            if not row:
                continue
            if len(row) != len(header):
                raise self._told(
                    errors.SchemaError(
                        f"{self.file}: line {rows.line_num}: {len(row)} cells, and {len(header)} columns"
                    )
                )
            for column, place, cells in zip(wanted, at, made, strict=True):
                cell = Cell(rows.line_num, row[place].strip())
                if not cell.text:
                    raise self._cell_error(errors.MissingValueError, cell, column, "is empty")
                cells.append(cell)
        return made

    def values(
        self, kind: LabelType, class_to_idx: Mapping[Any, int] | None
    ) -> tuple[list[Any], dict[str | int, int] | None]:
        """The labels, and the numbers of the classes that were found: see ``ImageFiles.from_csv``.

        Args:
            kind: the type of the labels.
            class_to_idx: the numbers of the classes that the labels name; None: labels are numbers, or any
                names.

        Raises:
            BadValueError: a label does not have this type.
            UnknownLabelError: a label is not one of the classes.
        """
        cells = self.labels[0]
        if class_to_idx is not None:
            whole = all(isinstance(name, int) for name in class_to_idx)
            return [self._number(cell, class_to_idx, whole) for cell in cells], None
        if kind == "auto":
            kind = _kind(cells[0].text) if cells else "int"
        if kind == "text":
            found: dict[str | int, int] = {
                name: i for i, name in enumerate(sorted({cell.text for cell in cells}))
            }
            return [found[cell.text] for cell in cells], found
        convert, why = (_whole, "is no integer") if kind == "int" else (_real, "is no number")
        if kind == "int" and cells and cells[0].text.lower() in _TRUTH:
            convert, why = _truth, "is not True or False, as the first label"
        return [self._as(convert, cell, why) for cell in cells], None

    def vectors(self) -> torch.Tensor:
        """The labels of several columns: float32 [rows, columns].

        Raises:
            BadValueError: a label is no number.
        """
        columns = []
        for name, cells in zip(self._label, self.labels, strict=True):
            values = [_real(cell.text) for cell in cells]
            if None in values:
                cell = cells[values.index(None)]
                raise self._cell_error(errors.BadValueError, cell, name, "is no number")
            columns.append(values)
        return torch.tensor(columns, dtype=torch.float32).T.contiguous()

    def _number(self, cell: Cell, class_to_idx: Mapping[Any, int], whole: bool) -> int:
        number = _whole(cell.text) if whole else None
        name = cell.text if number is None else number
        if name not in class_to_idx:
            error = unknown(name, class_to_idx, f"{self.file}: line {cell.line}")
            raise self._told(error, self._label[0])
        return class_to_idx[name]

    def _as(self, convert: Callable[[str], Any], cell: Cell, why: str) -> Any:
        value = convert(cell.text)
        if value is None:
            why += f': correct it, or say label_type="{_kind(cell.text)}"'
            raise self._cell_error(errors.BadValueError, cell, self._label[0], why)
        return value

    def _cell_error(
        self, kind: type[errors.GofastError], cell: Cell, column: str, why: str
    ) -> errors.GofastError:
        text = f"{cell.text[:80]!r} " if cell.text else ""
        return self._told(kind(f"{self.file}: line {cell.line}, column {column!r}: {text}{why}"), column)

    def _told(self, error: errors.GofastError, column: str | None = None) -> errors.GofastError:
        error.path, error.column = self.file, column
        return error

    def paths(self, root: str, suffix: str) -> list[str]:
        """The pictures' paths.

        Raises:
            NotFoundError: the first row's picture does not exist.
        """
        made = [os.path.join(root, cell.text + suffix) for cell in self.names]
        if made and not os.path.exists(made[0]):
            hint = "see root= and suffix="
            for end in (*IMG_EXTENSIONS, *(end.upper() for end in IMG_EXTENSIONS)):
                if os.path.exists(made[0] + end):
                    hint = f"there is one that ends with {end!r}: say suffix={suffix + end!r}"
                    break
            line = self.names[0].line
            raise self._told(errors.NotFoundError(f"{self.file}: line {line}: no file {made[0]!r}; {hint}"))
        return made


def _delimiter(first: str, wanted: list[str]) -> str:
    """The delimiter that splits the first line into the wanted columns."""

    def found(delimiter: str) -> int:
        cells = next(csv.reader([first], delimiter=delimiter, skipinitialspace=True), [])
        return sum(column in [cell.strip() for cell in cells] for column in wanted)

    best = max(_DELIMITERS, key=found)  # the first if several are equal
    return best if found(best) else max(_DELIMITERS, key=first.count)


def _kind(text: str) -> LabelType:
    """The label type that this cell shows."""
    if _WHOLE.fullmatch(text) or text.lower() in _TRUTH:
        return "int"
    return "text" if _real(text) is None else "float"


def _whole(text: str) -> int | None:
    """An integer, also if pandas wrote it in a column with missing values: 3.0."""
    if _WHOLE.fullmatch(text):
        return int(text)
    value = _real(text)
    return int(value) if value is not None and value.is_integer() and abs(value) < 2**53 else None


def _truth(text: str) -> int | None:
    return _TRUTH.get(text.lower())


def _real(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and "_" not in text else None
