"""A stream's rows that are in memory together, and the batches that are made of them."""

from __future__ import annotations

import itertools
import os
from array import array
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.data import default_collate

from .._core.memory import CopiedMemory, Memory
from .._loader.core_dataset import CoreDataset
from .._loader.filler import Filler, threads_here
from .._loader.flights import FLIGHT_BYTES, FLIGHTS_AHEAD
from .._loader.pulled import Batch
from .._loader.stream import Stream, Ticket
from .cells import Locate, Place, bad_cell, first_bad
from .range import check_range
from .rows import RowDataset
from .sample_options import SampleOptions
from .table_options import TableOptions


class Window(RowDataset):
    """The rows of a window.

    Args:
        memory: their table.
        source: the stream's files.
        locate: tells where a row stands in the files.
        options: of samples.
        end: gives the memory back.
    """

    def __init__(
        self,
        memory: Memory,
        source: TableOptions,
        locate: Locate,
        options: SampleOptions,
        end: Callable[[], None] | None = None,
    ) -> None:
        self._memory = memory
        self._source, self._locate = source, locate
        self._options, self._end = options, end
        self._pid = os.getpid()
        super().__init__(options, source.label, source.classes)

    def end(self) -> None:
        """Nobody reads the rows any more."""
        self._per_process = None  # its view holds the window, and both the memory, until garbage is collected
        if self._end is not None:
            self._end()
            self._end = None

    def copied(self, rows: torch.Tensor) -> Window:
        """These rows, in memory of their own."""
        numbers, locate = rows.numpy(), self._locate
        memory = CopiedMemory(self._memory, numbers)
        return Window(memory, self._source, lambda row: locate(int(numbers[row])), self._options)

    def _core(self) -> CoreDataset:
        if self._pid != os.getpid():  # a forked process's library makes views that join none of its parent's
            self._compiled, self._pid = None, os.getpid()
        return super()._core()

    def _place(self, row: int) -> Place:
        return self._locate(row)

    def _check_range(self) -> None:
        layout, features = self._memory.layout, self._memory.features
        if layout.rows and layout.type.startswith("float") and not self.dtype.is_floating_point:
            found = first_bad(features, lambda block: block != np.trunc(block)) or (0, 0)
            said = f"{features[found]} is a float, and dtype={self.dtype} is for integers: nothing is rounded"
            raise bad_cell(layout, self._locate, *found, f'{said}; give dtype="float32"')
        check_range(self, self._source.fill_value, self._locate)


Some = tuple[Window, torch.Tensor]  # rows of it, int64


def batches(
    given: Iterator[Some], size: int, drop_last: bool, collate: Callable[[Any], Any] | None
) -> Iterator[Batch]:
    """Batches of the rows that are given. A window ends with its last row.

    What is left of a window is copied: its memory is for the next but one, which is decoded from now on.

    Args:
        collate: called with the rows of a batch; None: torch's own.
    """
    waiting, count = list[Some](), 0  # of a batch that is not full
    maker = _Maker(collate)
    for window, rows in given:
        try:
            if waiting and count + len(rows) >= size:
                yield partial(maker.made, [*waiting, (window, rows[: size - count])]), size
                rows = rows[size - count :]
                for left, _ in waiting:
                    left.end()
                waiting, count = [], 0
            whole = 0 if waiting else len(rows) // size * size
            if whole:
                yield from ((make, size) for make in maker.of_one(window, rows[:whole], size))
            if len(rows := rows[whole:]):
                waiting.append((window.copied(rows), torch.arange(len(rows), device="cpu")))
                count += len(rows)
        finally:  # whoever iterates may stop anywhere
            window.end()
    if waiting and not drop_last:
        yield partial(maker.made, waiting), count


class _Maker:
    """Makes batches of rows of windows. All of them lie in the same slots: fresh memory is slow.

    Args:
        collate: see `batches`.
    """

    def __init__(self, collate: Callable[[Any], Any] | None) -> None:
        self._collate = collate
        self._last: Filler | None = None

    def of_one(self, window: Window, rows: torch.Tensor, size: int) -> Iterator[Callable[[], Any]]:
        """Batches of so many rows of one window, made by the engine's threads before they are asked for."""
        if threads_here() == 1 or window._has_python_rows():
            for some in torch.split(rows, size):
                yield partial(self.made, [(window, some)])
            return
        filler, flights = self._continued(window._here()), deque[Ticket]()
        stream = Stream(filler.view, size, rows=self._takes_rows(window), rings=filler.slots(size))
        stream.silent = True
        each = max(FLIGHT_BYTES // max(stream._row_bytes * size, 1), 1) * size
        try:
            for some in torch.split(rows, each):
                flights.append(stream.submit(some, size))
                if len(flights) > FLIGHTS_AHEAD:
                    yield from self._taken(window, stream, flights.popleft())
            for ticket in flights:
                yield from self._taken(window, stream, ticket)
        finally:
            stream.close()

    def _taken(self, window: Window, stream: Stream, ticket: Ticket) -> Iterator[Callable[[], Any]]:
        for _ in range(ticket.batches):
            yield partial(self._finished, window, stream.take(ticket))

    def made(self, some: list[Some]) -> Any:
        """A batch of rows of windows."""
        first, collate = some[0][0], self._collate
        if first._has_python_rows():
            made = first._finished([window._transformed(i) for window, rows in some for i in rows.tolist()])
            return default_collate(made) if collate is None else collate(made)
        filler, rows = first._here(), some[0][1]
        if len(some) > 1:
            filler = Filler(first._joined([window for window, _ in some], None))
            before = itertools.accumulate((len(window) for window, _ in some), initial=0)
            rows = torch.cat([rows + start for (_, rows), start in zip(some, before, strict=False)])
        filler = self._continued(filler)
        if self._takes_rows(first):
            return self._finished(first, filler.fill(array("q", rows.numpy().tobytes())))
        return filler.collated(rows, 0, len(rows))

    def _continued(self, filler: Filler) -> Filler:
        if self._last is not None:
            filler.continues(self._last)
        self._last = filler
        return filler

    def _takes_rows(self, window: Window) -> bool:
        """Whether a function of the user's is given the rows of a batch."""
        return self._collate is not None or window.batch_transform is not None

    def _finished(self, window: Window, made: Any) -> Any:
        if not self._takes_rows(window):
            return made
        batch = window._batch_transformed(made)
        return batch.collated() if self._collate is None else self._collate(batch)
