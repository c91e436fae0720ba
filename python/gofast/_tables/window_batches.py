"""The batches of a stream: of one window's rows after the other's, and of what is left of the last ones."""

from __future__ import annotations

import itertools
import time
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from functools import partial
from typing import Any, Protocol

import torch
from torch.utils.data import BatchSampler, default_collate
from torch.utils.data._utils.fetch import _MapDatasetFetcher

from .._core.processor_time import Spent
from .._core.reason import Reason
from .._loader.batch_source import BatchSource
from .._loader.collation import Collation
from .._loader.counts import Counts
from .._loader.destination import Destination
from .._loader.epoch import Epoch
from .._loader.in_flight import raised
from .._loader.iterable_dataset import Make
from .._loader.iterator_stream import Idle, IteratorStream
from .._loader.native_dataset import NativeDataset
from .._loader.schedule import DrawnOrder
from .._loader.torch_samplers import DrawnIndices
from .rows import RowDataset


class StreamWindow(Protocol):
    """Rows that are in memory together: a RowDataset."""

    def copied(self, rows: torch.Tensor) -> StreamWindow:
        """These rows, in memory of their own."""

    def end(self) -> None:
        """Nobody reads the rows any more: their memory is for others."""


Some = tuple[Any, torch.Tensor]  # a window, and rows of it, int64


def batches(
    given: Iterator[Some],
    size: int,
    drop_last: bool,
    collate: Callable[[Any], Any] | None,
    counts: Counts | None,
) -> Iterator[Make]:
    """Batches of the rows that are given. A window ends with its last row.

    What is left of a window is copied: its memory is for the next but one, which is decoded from now on.

    Args:
        collate: called with the rows of a batch; None: torch's own.
        counts: see IterableSourceDataset.
    """
    waiting, count = list[Any](), 0  # windows of a batch that is not full, all of whose rows are wanted
    maker = _Maker(size, collate, counts)
    for window, rows in given if counts is None else _waited_for(given, counts):
        try:
            if waiting and count + len(rows) >= size:
                joined = torch.cat([torch.arange(count), rows[: size - count] + count])
                yield from maker.made([*waiting, window], joined)
                rows = rows[size - count :]
                for left in waiting:
                    left.end()
                waiting, count = [], 0
            whole = 0 if waiting else len(rows) // size * size
            if whole:
                yield from maker.made([window], rows[:whole])
            if len(rows := rows[whole:]):
                waiting.append(window.copied(rows))
                count += len(rows)
        finally:  # whoever iterates may stop anywhere
            window.end()
    if waiting and not drop_last:
        yield from maker.made(waiting, torch.arange(count))
    for left in waiting:
        left.end()


def _waited_for(given: Iterator[Some], counts: Counts) -> Iterator[Some]:
    """The same. What nobody else counts is the time until a window is there."""
    while True:
        began = time.perf_counter_ns()
        some = next(given, None)
        counts.waited(began)
        if some is None:
            return
        yield some


class _Maker:
    """Makes batches of rows of windows. All of them lie in the same slots: fresh memory is slow.

    Args:
        collate, counts: see `batches`.
    """

    def __init__(self, size: int, collate: Callable[[Any], Any] | None, counts: Counts | None) -> None:
        self._size, self._collate = size, collate
        self._idle, self._counted, self._counts = Idle(), counts is not None, counts or Counts()

    def made(self, windows: list[Any], rows: torch.Tensor) -> Iterator[Make]:
        """Batches of these rows of windows, end to end."""
        view, size, count = _view_of(windows), self._size, len(rows)
        if view is None:
            in_python = self._in_python_counted if self._counted else self._in_python
            for some in torch.split(rows, size):
                yield partial(in_python, windows, some)
            return
        first, collation = windows[0], None
        takes_rows = self._collate is not None or first.batch_transform is not None
        if takes_rows:
            fetcher: Any = _MapDatasetFetcher(first, True, partial(self._collated, first), False)
            collation = Collation(fetcher, None, None, self._counts)
        lane = IteratorStream(view, None, self._idle, None, Destination(takes_rows), self._counts)
        lane.open().silent = not self._counted
        lists = BatchSampler(range(count), size, False)
        draw = view.new_draws(None) if view.draws else None
        order = DrawnOrder(DrawnIndices(rows, count), lists)
        epoch = Epoch(lane, order, raised, draw=draw, collation=collation, sampler=lists)
        try:
            for _ in range(0, count, size):
                yield epoch.take
        finally:
            lane.close()

    def _collated(self, window: RowDataset, rows: Any) -> Any:
        batch = window._batch_transformed(rows)
        return batch.collated() if self._collate is None else self._collate(batch)

    def _in_python_counted(self, windows: list[Any], wanted: torch.Tensor) -> Any:
        with Spent.batch() if Spent.wanted else nullcontext():
            began = time.perf_counter_ns()
            batch = self._counts.fetched(partial(self._in_python, windows, wanted), len(wanted))
            self._counts.waited(began)
            return batch

    def _in_python(self, windows: list[Any], wanted: torch.Tensor) -> Any:
        """A batch of rows that Python makes, one by one."""
        first, numbers = windows[0], wanted.tolist()
        if len(windows) == 1:
            rows = first.__getitems__(numbers)
        else:
            starts = [*itertools.accumulate(map(len, windows), initial=0)]
            parts = [bisect_right(starts, number) - 1 for number in numbers]
            places = zip(parts, numbers, strict=True)
            rows = first._finished([windows[k]._transformed(number - starts[k]) for k, number in places])
        return default_collate(rows) if self._collate is None else self._collate(rows)


def _view_of(windows: list[RowDataset]) -> BatchSource | None:
    """Windows end to end, as the engine sees them; None where Python makes the rows."""
    first, made = windows[0], [window._made_by() for window in windows]
    if made[0] is first:
        if not first._is_native or first._has_python_rows():
            return None
        return first._joined(windows, None) if len(windows) > 1 else first._view()
    views = [one._native_view() for one in made]  # of pictures
    if any(isinstance(view, Reason) for view in views):
        return None
    both: NativeDataset = made[0]
    return both._joined(made, None)
