"""Rows with columns of texts beside features and label."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import errors
from .._core import table_operations
from .._core.memory import address_of
from .._core.numbers import Spec
from .._loader.batch_source import BatchSource, Line, SampleForm
from .._loader.batch_types import Kind, Options
from .._loader.core_dataset import IntArray
from .._loader.extra_columns import ExtraColumns, parts_of
from .._loader.transfer_format import TransferFormat
from .rows import RowDataset
from .stored_rows import stored_rows
from .text_columns import Part, StringColumn, TextColumn, TokenColumn


class TextRows(RowDataset[Options, Kind]):
    """A RowDataset whose samples have texts too, if there are columns of them. Base class.

    Attributes:
        _texts: the columns. Their numbers stand behind the labels in memory.
    """

    _texts: Sequence[TextColumn] = ()

    def texts(self, column: str) -> list[str]:
        """The texts of all rows, of a column that has no tokenizer.

        Raises:
            gofast.errors.OptionError: there is no such column in ``text=``.
        """
        found = {one.names[0]: k for k, one in enumerate(self._texts) if isinstance(one, StringColumn)}
        if column not in found:
            names = ", ".join(map(repr, found)) or "none"
            raise errors.OptionError(
                f"column={column!r}: the columns of text without a tokenizer are {names}"
            )
        k = found[column]
        numbers = np.ascontiguousarray(self._memory.labels[:, k - len(self._texts)])
        (made,) = self._texts[k].batch([Part(self._texts[k], numbers)], len(numbers))
        return list(made)

    def text_lengths(self, column: str | None = None) -> IntArray:
        """How many ids each row has, int64 [n]: what :class:`gofast.tokens.LengthGroupedSampler` sorts by.

        Args:
            column: of ``text=``; default the only one that has a tokenizer.

        Raises:
            gofast.errors.OptionError: there is no such column, or several.
        """
        found = {one.column: k for k, one in enumerate(self._texts) if isinstance(one, TokenColumn)}
        if column is None and len(found) == 1:
            column = next(iter(found))
        if column not in found:
            names = ", ".join(map(repr, found)) or "none"
            raise errors.OptionError(f"column={column!r}: the columns that have a tokenizer are {names}")
        tokens = self._texts[found[column]]
        assert isinstance(tokens, TokenColumn)
        return tokens.lengths[self._memory.labels[:, found[column] - len(self._texts)]]

    @property
    def _names(self) -> tuple[str, ...]:
        """The names of the values in a sample."""
        texts = [name for column in self._texts for name in column.names]
        return self.keys[0], *(self.keys[1:] if self._label_dtype is not None else ()), *texts

    @property
    def _has_features(self) -> bool:
        return self._memory.layout.width > 0 or not self._texts

    def _check_keys(self, keys: Sequence[str]) -> None:
        super()._check_keys(keys)
        names = [*keys, *(name for column in self._texts for name in column.names)]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise errors.OptionError(
                f"two values of a sample would be called {twice!r}: say keys=, or have a tokenizer return a "
                f"mapping with another name, such as 'second_{twice}'"
            )

    def _sample(self, row: int) -> list[Any]:
        values = super()._sample(row)
        for column, number in zip(self._texts, self._numbers_of_texts(row), strict=True):
            values += column.sample(number)
        return values

    def _numbers_of_texts(self, row: int) -> list[int]:
        kinds = len(self._memory.layout.label_kinds)
        numbers: list[int] = self._memory.labels[row, kinds:].tolist()
        return numbers

    def _row(self, values: Sequence[Any]) -> Any:
        if not self._texts:
            return super()._row(values)
        row = dict(zip(self._names, values, strict=True))
        if not self._has_features:
            del row[self.keys[0]]
        return row

    def _fit_together(self, rows: list[list[Any]], indices: Sequence[int]) -> None:
        if not self._texts:
            return
        view = self._view()
        (texts,) = view.columns
        columns = map(texts.each, view.more(array("q", indices)))
        for row, values in zip(rows, zip(*columns, strict=True), strict=True):
            row[-len(values) :] = values

    def _joined(self, parts: Sequence[Any], index_map: IntArray | None) -> BatchSource:
        view = super()._joined(parts, index_map)
        return view.carry([ExtraTexts(parts, view.starts)]) if self._texts else view

    def _form(self) -> SampleForm:
        form = super()._form()
        names, unseen = self._names, not self._has_features
        return form._replace(keys=names, without_features=unseen) if self._texts else form

    @staticmethod
    def _wire(parts: Sequence[Any], index_map: IntArray | None) -> TransferFormat | None:
        return stored_rows(parts, index_map) if parts[0]._has_features else None

    def _sample_signature(self) -> tuple[Any, ...]:
        return (*super()._sample_signature(), *(one.alike() for one in self._texts))

    def _sources(self) -> list[Line]:
        lines = super()._sources()
        return lines + [("text", *column.explained()) for column in self._texts]

    def _core_config(self) -> table_operations.RowsRequest:
        config, memory = super()._core_config(), self._memory
        if self._texts:
            config["label_stride"] = memory.labels.itemsize * memory.labels.shape[1]
        if not self._has_features:  # the core makes something of every row: of the first byte of its numbers
            config["features"], config["width"], config["type"] = address_of(memory.labels), 1, "uint8"
            config["row_stride"] = config["label_stride"]
            plain = Spec(False, None, None, "uint8").config()
            config["transform"] = {**config["transform"], **plain, "shape": [1]}
        return config


class ExtraTexts(ExtraColumns):
    """The values of columns of texts, gathered with one call for each."""

    def __init__(self, datasets: Sequence[TextRows[Any, Any]], starts: IntArray) -> None:
        self._texts = [dataset._texts for dataset in datasets]
        self._numbers = [dataset._memory.labels[:, -len(dataset._texts) :] for dataset in datasets]
        self._starts = starts
        self.width = sum(len(column.names) for column in self._texts[0])

    def values(self, rows: IntArray) -> Sequence[Any]:
        """See the base class."""
        made: list[Any] = []
        parts = [*parts_of(rows, self._starts)]
        for k, column in enumerate(self._texts[0]):
            some = [Part(self._texts[i][k], self._numbers[i][here, k], places) for i, here, places in parts]
            made += column.batch(some, len(rows))
        return made
