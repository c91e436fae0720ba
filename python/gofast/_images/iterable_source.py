"""Rows that a source hands over one after another: their pictures are made some at a time, in its order."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

import torch

from .. import errors
from .._core.generators import of_thread
from .decoder_batches import DecoderBatch

_MOST = 512  # files that are held at once, whatever a batch has


class SourceRow(NamedTuple):
    """A row of a source.

    Attributes:
        file: its picture's bytes, which nobody changes; None where the picture is no file.
        picture: as the source gave it.
        sample: makes the sample of what the transform makes of the picture.
        number: from 0 on, in the source's order.
    """

    file: Any
    picture: Any
    sample: Callable[[Any], Any]
    number: int


class RowOptions(Protocol):
    """What rows are for: a gofast.IterableDataset."""

    transform: Callable[[Any], Any] | None

    @property
    def _skips(self) -> bool:
        """Whether rows whose picture cannot be read are left out."""

    def _row(self, given: Any, number: int) -> SourceRow:
        """What the source gave, taken apart."""

    def _transformed(self, picture: Any) -> Any:
        """What the transform makes of a picture that is no file."""

    def _lane(self, room: int) -> AbstractContextManager[DecoderBatch]:
        """What decodes so many files at a time, for one batch."""


class IterableRows:
    """An iterator over samples.

    All draws for a row's picture come before the next row is pulled. So a source that draws, too, finds every
    generator as if pictures were made one after another. An error comes behind the samples of the rows before
    its own, and ends the iterator.

    Args:
        given: the source's own iterator.
        batch: samples of a batch. Rows are pulled as far as the batch goes that the next sample is in.
        kept: somebody else than a loader that stacks them may see the samples.
    """

    def __init__(self, given: Iterator[Any], asked: RowOptions, batch: int, kept: bool) -> None:
        self._given, self._asked, self._batch, self._kept = given, asked, batch, kept
        self._ready: deque[Any] = deque()
        self._held: SourceRow | None = None  # pulled, and made with what comes behind it
        self._end: Exception | None = None  # what comes behind the samples that are ready
        self._count = self._made = 0

    def __iter__(self) -> IterableRows:
        return self

    def __next__(self) -> Any:
        try:
            while not self._ready and self._end is None:
                self._pull()
        except BaseException:  # Ctrl-C, or what is no picture's fault
            self._end = StopIteration()
            raise
        if self._ready:
            return self._ready.popleft()
        end, self._end = self._end, StopIteration()
        assert end is not None
        try:
            raise end
        finally:
            del end  # its traceback keeps this frame and its callers'

    def _pull(self) -> None:
        row = self._next()
        if row is None:
            return
        if row.file is not None:
            self._held = row
            self._make()
            return
        try:
            self._give([row], [self._asked._transformed(row.picture)])
        except Exception as error:
            self._refuse(row, error)

    def _next(self) -> SourceRow | None:
        """The next row; None where there is none, and `_end` may say why."""
        row, self._held = self._held, None
        while row is None and self._end is None:
            try:
                given = next(self._given)
            except Exception as error:
                self._end = error
                break
            number, self._count = self._count, self._count + 1
            try:
                row = self._asked._row(given, number)
            except Exception as error:
                self._refuse(SourceRow(None, given, tuple, number), error)
        return row

    def _make(self) -> None:
        """Makes the samples of the next rows that have files."""
        room = min(self._batch - self._made % self._batch, _MOST)
        rows, states = list[SourceRow](), list[torch.Tensor]()  # and the generator's before each one's draws
        with self._asked._lane(min(self._batch, _MOST)) as lane:
            lane.begin(self._asked.transform)
            while len(rows) < room and (row := self._next()) is not None:
                if row.file is None or not lane.is_for(self._asked.transform):
                    self._held = row
                    break
                states.append(of_thread().get_state())
                try:
                    lane.add(row.file)
                    rows.append(row)
                except Exception as error:
                    state = states.pop()
                    if self._refuse(row, error, state):
                        break
            self._decode(lane, rows, states)

    def _decode(self, lane: DecoderBatch, rows: list[SourceRow], states: list[torch.Tensor]) -> None:
        start, step = 0, len(rows)
        while start < len(rows):
            stop = min(start + step, len(rows))
            try:
                self._give(rows[start:stop], lane.samples(start, stop, self._kept))
            except errors.BadImageError as error:
                if stop - start > 1:
                    step = 1  # that all are made again for each bad one is worse
                    continue
                if self._refuse(rows[start], error, states[start]):
                    return
            start = stop

    def _give(self, rows: list[SourceRow], made: list[Any]) -> None:
        self._ready += [row.sample(one) for row, one in zip(rows, made, strict=True)]
        self._made += len(rows)

    def _refuse(self, row: SourceRow, error: Exception, state: torch.Tensor | None = None) -> bool:
        """Whether a row's error ends the rows; else the row is left out.

        Args:
            state: the generator's before the row's draws. It is put back: a picture that cannot be decoded
                draws nothing, and neither do those that would have come behind it.
        """
        if self._asked._skips and isinstance(error, OSError):  # of a file, or of Pillow
            return False
        if isinstance(error, errors.BadImageError):
            if state is not None:
                of_thread().set_state(state)
            path = row.picture
            name = f"{path}: " if isinstance(path, str) and path not in str(error) else ""
            error.at(index=row.number).args = (f"row {row.number}: {name}{error}",)
        self._end = error
        return True
