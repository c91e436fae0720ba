"""Columns of texts beside a table's features and labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from .._core.memory import Memory
from .._loader.core_dataset import IntArray
from .._loader.extra_columns import ExtraColumns, parts_of
from .text_columns import Part, TextColumn


class HasTexts(Protocol):
    """The interface of a dataset with columns of texts."""

    _texts: Sequence[TextColumn]

    @property
    def _memory(self) -> Memory: ...


class ExtraTexts(ExtraColumns):
    """The values of columns of texts, gathered with one call for each."""

    def __init__(self, datasets: Sequence[HasTexts], starts: IntArray) -> None:
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
