"""Rows that a source hands over one after another: their pictures are made some at a time, in its order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, Protocol

from .. import errors
from .decoding import DecodingLane


class Row(NamedTuple):
    """A row of a source.

    Attributes:
        file: its picture's path, or bytes; None where the picture is no file.
        picture: as the source gave it.
        sample: makes the sample of what the transform makes of the picture.
        number: from 0 on, in the source's order.
    """

    file: Any
    picture: Any
    sample: Callable[[Any], Any]
    number: int


class Asked(Protocol):
    """What rows are for: a gofast.IterableDataset."""

    @property
    def skips(self) -> bool:
        """Whether rows whose picture cannot be read are left out."""

    def row(self, given: Any, number: int) -> Row:
        """What the source gave, taken apart."""

    def transformed(self, picture: Any) -> Any:
        """What the transform makes of a picture that is no file."""

    def lane(self, room: int, paths: bool) -> DecodingLane:
        """What decodes so many files at a time, which are paths or bytes."""


class PulledRows:
    """An iterator over samples.

    What is drawn for a row's picture is drawn before the next row is pulled: a source that draws too finds
    every generator as if pictures were made one after another. An error comes behind the samples of the rows
    before its own, and ends the iterator.

    Args:
        given: the source's own iterator.
        most: rows that are pulled before the first of them is handed out.
    """

    def __init__(self, given: Iterator[Any], asked: Asked, most: int) -> None:
        self._given, self._asked, self._most = given, asked, most
        self._ready: deque[Any] = deque()
        self._held: list[Row] = []  # pulled, and not for this batch
        self._end: Exception | None = None  # what comes behind the samples that are ready
        self._count = 0
        self._lanes: dict[bool, DecodingLane] = {}  # of bytes, and of paths

    def __iter__(self) -> PulledRows:
        return self

    def __next__(self) -> Any:
        while not self._ready and self._end is None:
            row = self._next()
            if row is not None and row.file is None:
                try:
                    self._ready.append(row.sample(self._asked.transformed(row.picture)))
                except Exception as error:
                    self._ends(row, error)
            elif row is not None:
                self._held.append(row)
                self._make()
        if self._ready:
            return self._ready.popleft()
        end, self._end = self._end, StopIteration()
        assert end is not None
        raise end

    def _next(self) -> Row | None:
        """The next row; None where there is none, and `_end` says why."""
        if self._held:
            return self._held.pop()
        try:
            row = self._asked.row(next(self._given), self._count)
        except Exception as error:
            self._end = error
            return None
        self._count += 1
        return row

    def _make(self) -> None:
        """Makes the samples of the next rows that have files of one kind."""
        paths = isinstance(self._held[0].file, str)
        lane = self._lanes.get(paths) or self._lanes.setdefault(paths, self._asked.lane(self._most, paths))
        try:
            lane.begin()
            rows = list[Row]()
            while len(rows) < self._most and (row := self._next()) is not None:
                if row.file is None or isinstance(row.file, str) is not paths:
                    self._held.append(row)
                    break
                try:
                    lane.add(row.file)
                    rows.append(row)
                except Exception as error:
                    if self._ends(row, error):
                        break
            self._give(lane, rows)
        finally:
            lane.end()

    def _give(self, lane: DecodingLane, rows: list[Row]) -> None:
        start = 0
        while start < len(rows):
            bad = len(rows)
            try:
                made = lane.samples(start, bad)
            except errors.BadImageError as error:
                if error.index is None or not start <= error.index < bad:
                    raise
                bad = error.index
                made = lane.samples(start, bad) if start < bad else []
                if self._ends(rows[bad], error):
                    rows = rows[: bad + 1]
            self._ready += [row.sample(one) for row, one in zip(rows[start:], made, strict=False)]
            start = bad + 1

    def _ends(self, row: Row, error: Exception) -> bool:
        """Whether a row's error ends the rows; else the row is left out."""
        if self._asked.skips and isinstance(error, errors.BadImageError):
            return False
        if isinstance(error, errors.BadImageError):
            error.at(index=row.number).args = (f"row {row.number}: {error}",)
        self._end = error
        return True
