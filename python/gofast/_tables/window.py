"""A stream's rows that are in memory together, and the batches that are made of them."""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch
from torch.utils.data import default_collate

from .._core.memory import CopiedMemory, Memory
from .._loader.batcher import Batcher, Ticket, threads_here
from .._loader.core_dataset import CoreDataset
from .._loader.destination import Destination
from .._loader.flights import FLIGHT_BYTES, FLIGHTS_AHEAD
from .._loader.pulled import Batch
from .cells import Locate, Place, bad_cell, first_bad
from .features import FillValue
from .range import check_range
from .rows import RowDataset


class Window(RowDataset):
    """The rows of a window.

    Args:
        memory: their table.
        fill_value: the stream's.
        locate: tells where a row stands in the files.
        options: RowDataset's.
        end: gives the memory back.
    """

    def __init__(
        self,
        memory: Memory,
        fill_value: FillValue,
        locate: Locate,
        options: dict[str, Any],
        end: Callable[[], None] | None = None,
    ) -> None:
        self._memory = memory
        self._fill_value, self._locate = fill_value, locate
        self._options, self._end = options, end
        self._pid = os.getpid()
        super().__init__(**options)

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
        return Window(memory, self._fill_value, lambda row: locate(int(numbers[row])), self._options)

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
        check_range(self, self._fill_value, self._locate)


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
        self._windows = list[Window]()  # those that the last batch was made of
        self._batcher: Batcher | None = None

    def of_one(self, window: Window, rows: torch.Tensor, size: int) -> Iterator[Callable[[], Any]]:
        """Batches of so many rows of one window, made by the engine's threads before they are asked for."""
        if threads_here() == 1 or window._has_python_rows():
            for some in torch.split(rows, size):
                yield partial(self.made, [(window, some)])
            return
        batcher, flights = self._batcher_of([window]), deque[Ticket]()
        batcher.silent = True
        each = max(FLIGHT_BYTES // max(batcher.view.row_bytes * size, 1), 1) * size
        try:
            for some in torch.split(rows, each):
                flights.append(batcher.submit(some, size))
                if len(flights) > FLIGHTS_AHEAD:
                    yield from self._taken(window, batcher, flights.popleft())
            for ticket in flights:
                yield from self._taken(window, batcher, ticket)
        finally:
            batcher.close()

    def _taken(self, window: Window, batcher: Batcher, ticket: Ticket) -> Iterator[Callable[[], Any]]:
        for _ in range(ticket.batches):
            yield partial(self._finished, window, batcher.take(ticket))

    def made(self, some: list[Some]) -> Any:
        """A batch of rows of windows."""
        first, collate = some[0][0], self._collate
        if first._has_python_rows():
            made = first._finished([window._transformed(i) for window, rows in some for i in rows.tolist()])
            return default_collate(made) if collate is None else collate(made)
        batcher, rows = self._batcher_of([window for window, _ in some]), some[0][1]
        if len(some) > 1:
            before = itertools.accumulate((len(window) for window, _ in some), initial=0)
            rows = torch.cat([rows + start for (_, rows), start in zip(some, before, strict=False)])
        return self._finished(first, batcher.now(rows, 0, len(rows)))

    def _batcher_of(self, windows: list[Window]) -> Batcher:
        """What makes batches of these windows, end to end."""
        if self._batcher is None or [*map(id, windows)] != [*map(id, self._windows)]:
            slots = None if self._batcher is None else self._batcher.slots(0)
            view = windows[0]._joined(windows, None)
            self._batcher = Destination(self._takes_rows(windows[0])).batcher(view, slots=slots)
            self._windows = windows
        return self._batcher

    def _takes_rows(self, window: Window) -> bool:
        """Whether a function of the user's is given the rows of a batch."""
        return self._collate is not None or window.batch_transform is not None

    def _finished(self, window: Window, made: Any) -> Any:
        if not self._takes_rows(window):
            return made
        batch = window._batch_transformed(made)
        return batch.collated() if self._collate is None else self._collate(batch)
