"""Rows and pictures of an HDF5 file that need not fit into memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch.utils.data import ConcatDataset, Subset, default_collate

from . import errors
from ._core.openmp import alone
from ._loader.pulled import Batch
from ._loader.view import Line
from ._tables.block_stream import BlockStream
from ._tables.blocks import BlockOrder, Drawn
from ._tables.cells import Place
from ._tables.fields import ArrayMemory
from ._tables.file_arrays import FileArray
from ._tables.hdf5_origin import HDF5Origin
from ._tables.hdf5_windows import Filled, Values, Windows
from ._tables.mixing import LOOKED_AT, labels_mixing, mixing
from ._tables.origin import Stored
from ._tables.sample_options import SampleOptions
from ._tables.stream_options import StreamOptions
from .arrays import ArrayDataset
from .loader import DataLoader


class HDF5Rows(BlockStream):
    """Rows of an HDF5 file, whose chunks are decoded some at a time: see ``IterableDataset.from_hdf5``."""

    def __init__(self, wanted: dict[str, Any], samples: SampleOptions, options: StreamOptions) -> None:
        super().__init__(options, samples)
        self._origin, self._options = HDF5Origin(wanted, memory=self.memory), samples
        rows = {one.shape[0] for one in self._arrays}
        if len(rows) > 1:
            said = f"datasets of {' and '.join(str(one.shape[0]) for one in self._arrays)} rows"
            raise errors.SchemaError(f"{said}: they must have the same").at(path=self._origin.path)
        (self._rows,) = rows
        self._example = ArrayDataset._of(
            ArrayMemory([np.zeros((1, *one.shape[1:]), one.dtype) for one in self._arrays]), self._options
        )
        self._single = self._example._has_python_rows() and not self._example._has_images()
        self._windows()
        len(self)

    @property
    def _arrays(self) -> Sequence[Stored]:
        return self._origin.arrays

    def __len__(self) -> int:
        """The rows of an epoch, of this rank."""
        return sum(map(len, self._share(self._rows)))

    def __repr__(self) -> str:
        arrays = ", ".join(f"{one.dtype} {list(one.shape)}" for one in self._arrays)
        return f"IterableDataset.from_hdf5({self._origin.path!r}: {arrays}, shuffle={self.shuffle!r})"

    # -- rows ------------------------------------------------------------------------

    def _windows(self) -> Windows:
        return Windows(self._arrays, self.memory, self.shuffle is not None)

    def _some(self, drawn: Drawn) -> Iterator[tuple[_Window, torch.Tensor, Callable[[], None]]]:
        """An epoch's windows, the rows of each that are wanted, and what gives its memory back."""
        windows = self._windows()
        order, rooms = BlockOrder([*map(len, windows.blocks)], windows.rows, *drawn), windows.rooms()
        stretches = list(order.stretches(self._parts(self._rows)))
        wanted = [windows.runs(stretch.window.blocks) for stretch in stretches]
        for stretch, runs, filled in zip(stretches, wanted, windows.filled(wanted, rooms), strict=True):
            with alone():
                rows = order.rows(stretch)
            yield _Window(filled, runs, self._options), rows, functools.partial(rooms.give, filled.room)

    def _batches(self, size: int, drop_last: bool, collate: Callable[[Any], Any] | None) -> Iterator[Batch]:
        return self._batched(self._some(self._draw()), size, drop_last, collate)

    def _batched(
        self,
        given: Iterator[tuple[_Window, torch.Tensor, Callable[[], None]]],
        size: int,
        drop_last: bool,
        collate: Callable[[Any], Any] | None,
    ) -> Iterator[Batch]:
        left: ArrayDataset | None = None  # rows of a batch that is not full, out of the windows
        for window, rows, end in given:
            parts = [window] if left is None else [left, window]
            order = rows.numpy()
            if left is not None:
                order = np.concatenate([np.arange(len(left)), order + len(left)])
            full = len(order) // size * size
            try:
                yield from _made(parts, order[:full], size, collate)
                left = self._copied(parts, order[full:])
            finally:
                for part in parts:
                    _forget(part)
                end()
        if left is not None and not drop_last:
            yield from _made([left], np.arange(len(left)), size, collate)

    def _copied(self, parts: Sequence[ArrayDataset], rows: Values) -> ArrayDataset | None:
        """These rows, which begin in the first part if they have any of it, in memory of their own."""
        if not len(rows):
            return None
        first = len(parts[0]) if len(parts) > 1 else 0
        made = list[Values]()
        for i in range(len(self._arrays)):
            values = np.asarray(parts[-1]._memory.fields[i].given)[rows[rows >= first] - first]
            if rows[0] < first:
                values = np.concatenate([np.asarray(parts[0]._memory.fields[i].given), values])
            values.flags.writeable = False  # batches of what cannot change are made ahead
            made.append(values)
        return ArrayDataset._of(ArrayMemory(made), self._options)

    # -- what it tells -----------------------------------------------------------------

    def _explained(self) -> list[Line]:
        lines = self._origin.explained()
        for name, where, what in self._example._explained():
            said = what.removeprefix("1 rows of ").removeprefix("1 pictures, in memory").removeprefix(": ")
            if said:
                lines.append((name, where, said))
        return [*lines, *(("shuffle", "Go", line) for line in self._mixing())]

    def _mixing(self) -> list[str]:
        if self.shuffle is None:
            return []
        windows = self._windows()
        rows = [*map(len, windows.blocks)]
        order = BlockOrder(rows, windows.rows, self.seed or 0, self._epoch or 0)
        said = mixing(order, rows)
        labels = self._arrays[-1]
        if len(self._arrays) > 1 and isinstance(labels, FileArray) and len(labels.shape) == 1 and rows:
            some = windows.blocks[:: -(-len(rows) // LOOKED_AT)]
            blocks = [labels.array[run.start : run.stop] for run in some]
            said += labels_mixing(blocks, len(order.windows[0].blocks))
        return said


class _Window(ArrayDataset):
    """The rows of a window. Its memory has others later: what a transform keeps is a copy."""

    def __init__(self, filled: Filled, runs: Sequence[range], options: SampleOptions) -> None:
        self._runs = runs
        self._hold(ArrayMemory(filled.arrays), options)

    def _place(self, row: int) -> Place:
        for run in self._runs:
            if row < len(run):
                return Place(None, run[row])
            row -= len(run)
        raise AssertionError

    def _shown(self, row: int, features: Any = None) -> Any:
        shown = super()._shown(row, features)
        return shown.copy() if self._has_images() else shown


def _made(
    parts: Sequence[ArrayDataset], order: Values, size: int, collate: Callable[[Any], Any] | None
) -> Iterator[Batch]:
    """Batches of these rows of datasets, end to end. Nobody reads their memory when it is over."""
    if not len(order):
        return
    rows = Subset(parts[0] if len(parts) == 1 else ConcatDataset(parts), order)  # type: ignore[arg-type]
    if collate is list and size == 1:
        yield from ((functools.partial(_row, rows, i), 1) for i in range(len(order)))
        return
    loader = DataLoader(
        rows,
        batch_size=size,
        collate_fn=default_collate if collate is None else collate,
        generator=torch.Generator(),  # what torch's loader draws at its start is drawn once, for all windows
    )
    with loader:
        batches = iter(loader)
        for start in range(0, len(order), size):
            yield functools.partial(next, batches), min(size, len(order) - start)


def _row(rows: Subset[Any], number: int) -> list[Any]:
    return [rows[number]]


def _forget(dataset: ArrayDataset) -> None:
    """Lets go of its memory, which circles of references would hold until garbage is collected."""
    for one in (dataset._stand_in, dataset):
        if one is not None:
            vars(one).clear()
