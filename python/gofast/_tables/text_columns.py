"""Columns of texts in memory that processes share, and how a batch is made of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from ctypes import addressof
from typing import Any

import numpy as np
import torch

from .._core import engine
from .._core.memory import address_of
from .._core.native import Ragged
from .._loader import counts
from .._loader.core_dataset import IntArray
from .file_arrays import FileArray
from .texts import Text


class Strings:
    """Texts, in memory that processes share.

    Args:
        ends: int64 [texts + 1]: where each ends, behind a 0.
        data: their bytes.
    """

    def __init__(self, ends: FileArray, data: FileArray) -> None:
        self.ends, self.data = ends, data

    def __len__(self) -> int:
        return len(self.ends.array) - 1

    def at(self, numbers: IntArray) -> list[str]:
        """The texts of these numbers."""
        capsule = engine.capsule()
        data, ends = address_of(self.data.array), address_of(self.ends.array)
        return capsule.strings(data, ends, address_of(numbers), len(numbers))

    def handed(self) -> tuple[Any, ...]:
        """See FileArray."""
        return self.ends.handed(), self.data.handed()

    @classmethod
    def taken(cls, handed: tuple[Any, ...]) -> Strings:
        """Likewise."""
        return cls(*map(FileArray.taken, handed))


@dataclasses.dataclass(frozen=True)
class Part:
    """Some rows of a batch: the numbers of their texts, of one column, and where they stand in the batch."""

    column: TextColumn
    numbers: IntArray
    places: IntArray | None = None  # None: they are the batch


class TextColumn:
    """A column of texts, or of what a tokenizer made of them.

    Attributes:
        column: its name.
        names: of its values in a sample.
    """

    column: str
    names: tuple[str, ...]

    def batch(self, parts: Sequence[Part], rows: int) -> Iterator[Any]:
        """Its values of the rows of a batch, of this column and others like it."""
        raise NotImplementedError

    def sample(self, number: int) -> Iterator[Any]:
        """Its values of one row."""
        return (values[0] for values in self.batch([Part(self, np.array([number]))], 1))

    def alike(self) -> tuple[Any, ...]:
        """What must be equal for two columns to stand in one batch."""
        return self.names

    def arrays(self) -> tuple[FileArray, Mapping[str, FileArray | None]]:
        """Where each text ends, and what it has by name, for a cache; None where all are 1."""
        raise NotImplementedError

    def handed(self) -> tuple[Any, ...]:
        """What a process that is being spawned makes the same of: a class, and what its `taken` takes."""
        raise NotImplementedError

    def explained(self) -> tuple[str, str]:
        """What makes its values, and which: for gofast.explain."""
        raise NotImplementedError


class StringColumn(TextColumn):
    """Texts as they are: a list of str for a batch."""

    def __init__(self, name: str, strings: Strings) -> None:
        self.column, self.names, self._strings = name, (name,), strings

    def batch(self, parts: Sequence[Part], rows: int) -> Iterator[list[str]]:
        """See TextColumn."""
        found: list[str] = [""] * rows
        for part in parts:
            assert isinstance(part.column, StringColumn)
            texts = part.column._strings.at(part.numbers)
            if part.places is None:
                found = texts
            else:
                for place, text in zip(part.places.tolist(), texts, strict=True):
                    found[place] = text
        yield found

    def arrays(self) -> tuple[FileArray, Mapping[str, FileArray | None]]:
        """See TextColumn."""
        return self._strings.ends, {self.column: self._strings.data}

    def handed(self) -> tuple[Any, ...]:
        """See TextColumn."""
        return type(self), self.column, self._strings.handed()

    @classmethod
    def taken(cls, name: str, strings: tuple[Any, ...]) -> StringColumn:
        """The same in another process."""
        return cls(name, Strings.taken(strings))

    def explained(self) -> tuple[str, str]:
        """See TextColumn."""
        return "C", f"{self.column!r}: {len(self._strings)} different texts, as str"


class TokenColumn(TextColumn):
    """The ids of texts, and what belongs to them: a padded tensor int64 [n, width] each for a batch.

    Args:
        column: its name.
        option: without its tokenizer, which is not asked any more.
        left: rows are padded on their left side.
        ends: int64 [texts + 1]: where the values of each text end, behind a 0.
        values: of each name: the values, None where all are 1; and what pads them.
    """

    def __init__(
        self,
        column: str,
        option: Text,
        left: bool,
        ends: FileArray,
        values: Mapping[str, tuple[FileArray | None, int]],
    ) -> None:
        self.column, self._option, self._left, self._ends, self._values = column, option, left, ends, values
        self.names = tuple(values)

    @property
    def lengths(self) -> IntArray:
        """How many values each text has."""
        return np.diff(self._ends.array)

    def batch(self, parts: Sequence[Part], rows: int) -> Iterator[torch.Tensor]:
        """See TextColumn."""
        owners: list[Any] = [part.column for part in parts]  # others of this class
        lengths = [one._lengths_of(part.numbers) for one, part in zip(owners, parts, strict=True)]
        width = self._option.width(max((int(each.max(initial=0)) for each in lengths), default=0))
        counts.here().add(places=rows * width, filled_places=sum(int(each.sum()) for each in lengths))
        for name, (_, blank) in self._values.items():
            made = torch.empty((rows, width), dtype=torch.int64, device="cpu")
            for one, part in zip(owners, parts, strict=True):
                one._pad(name, part, made, blank)
            yield made

    def _lengths_of(self, numbers: IntArray) -> IntArray:
        ends = self._ends.array
        lengths: IntArray = ends[numbers + 1] - ends[numbers]
        return lengths

    def _pad(self, name: str, part: Part, made: torch.Tensor, blank: int) -> None:
        values, numbers, places = self._values[name][0], part.numbers, part.places
        request = Ragged(
            0 if values is None else address_of(values.array),
            address_of(self._ends.array),
            1 if values is None else values.array.itemsize,
            address_of(numbers),
            len(numbers),
            0 if places is None else address_of(places),
            made.size(1),
            blank,
            self._left,
            made.data_ptr(),
        )
        engine.capsule().pad(addressof(request))

    def alike(self) -> tuple[Any, ...]:
        """See TextColumn."""
        blanks = tuple(blank for _, blank in self._values.values())
        return *self.names, *blanks, self._left, *dataclasses.astuple(self._option)

    def arrays(self) -> tuple[FileArray, Mapping[str, FileArray | None]]:
        """See TextColumn."""
        return self._ends, {name: array for name, (array, _) in self._values.items()}

    def handed(self) -> tuple[Any, ...]:
        """See TextColumn."""
        values = {
            name: (None if array is None else array.handed(), blank)
            for name, (array, blank) in self._values.items()
        }
        return type(self), self.column, self._option, self._left, self._ends.handed(), values

    @classmethod
    def taken(
        cls, column: str, option: Text, left: bool, ends: tuple[Any, ...], values: Mapping[str, Any]
    ) -> TokenColumn:
        """The same in another process."""
        there = {
            key: (None if array is None else FileArray.taken(array), blank)
            for key, (array, blank) in values.items()
        }
        return cls(column, option, left, FileArray.taken(ends), there)

    def explained(self) -> tuple[str, str]:
        """See TextColumn."""
        lengths, option, ids = self.lengths, self._option, "no ids"
        if len(lengths):
            ids = f"{lengths.min()} to {lengths.max()} ids, {lengths.mean():.1f} on average"
        to = "the longest of a batch" if option.padding == "longest" else f"{option.width(0)}"
        if option.pad_to_multiple_of:
            to += f", a multiple of {option.pad_to_multiple_of}"
        return "C", f"{self.column!r}: {len(lengths)} different texts of {ids}, padded to {to}"
