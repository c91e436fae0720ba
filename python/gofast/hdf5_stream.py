"""Rows and pictures of an HDF5 file that need not fit into memory."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from . import errors
from ._core.openmp import alone
from ._loader.batch_source import Line
from ._loader.batch_types import Kind
from ._tables.array_memory import ArrayMemory
from ._tables.block_mixing import LOOKED_AT, labels_mixing, mixing
from ._tables.block_stream import BlockStream
from ._tables.blocks import BlockOrder, BlockPermutation
from ._tables.cells import CellPlace
from ._tables.file_arrays import FileArray
from ._tables.hdf5_origin import HDF5Origin
from ._tables.hdf5_windows import HDF5Windows, Values
from ._tables.origin import Stored
from ._tables.sample_options import SampleOptions
from ._tables.stream_options import StreamOptions
from ._tables.window_batches import Some
from .arrays import ArrayDataset


class HDF5Rows(BlockStream[Kind]):
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
        return self._share(self._rows)

    def __repr__(self) -> str:
        arrays = ", ".join(f"{one.dtype} {list(one.shape)}" for one in self._arrays)
        return f"IterableDataset.from_hdf5({self._origin.path!r}: {arrays}, shuffle={self.shuffle!r})"

    # -- rows ------------------------------------------------------------------------

    def _windows(self) -> HDF5Windows:
        return HDF5Windows(self._arrays, self.memory, self.shuffle is not None)

    def _some(self, drawn: BlockPermutation, position: int = 0) -> Iterator[Some]:
        """See BlockStream."""
        windows = self._windows()
        order, rooms = BlockOrder([*map(len, windows.blocks)], windows.rows, *drawn), windows.rooms()
        stretches = self._stretches(order, position)
        wanted = [windows.runs(stretch.window.blocks) for stretch in stretches]
        for stretch, runs, filled in zip(stretches, wanted, windows.filled(wanted, rooms), strict=True):
            with alone():
                rows = order.rows(stretch)
            place, end = functools.partial(_place, runs), functools.partial(rooms.give, filled.room)
            yield _Window(filled.arrays, place, self._options, end), rows

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
    """The rows of a window. Its memory has others later: what a transform keeps is a copy.

    Args:
        place: tells where a row stands in the file.
        end: gives the memory back.
    """

    def __init__(
        self,
        arrays: Sequence[Values],
        place: Callable[[int], CellPlace],
        options: SampleOptions,
        end: Callable[[], None] | None = None,
    ) -> None:
        self._tell, self._given, self._end = place, options, end
        self._hold(ArrayMemory(arrays), options)

    def copied(self, rows: torch.Tensor) -> _Window:
        """These rows, in memory of their own."""
        numbers, tell = rows.numpy(), self._tell
        arrays = [np.asarray(field.given)[numbers] for field in self._memory.fields]
        for array in arrays:
            array.flags.writeable = False  # batches of what cannot change are made ahead
        return _Window(arrays, lambda row: tell(int(numbers[row])), self._given)

    def end(self) -> None:
        """Nobody reads the rows any more, which circles of references would hold."""
        end = self._end
        for one in (self._stand_in, self):
            if one is not None:
                vars(one).clear()
        if end is not None:
            end()

    def _place(self, row: int) -> CellPlace:
        return self._tell(row)

    def _shown(self, row: int, features: Any = None) -> Any:
        shown = super()._shown(row, features)
        return shown.copy() if self._has_images() else shown


def _place(runs: Sequence[range], row: int) -> CellPlace:
    for run in runs:
        if row < len(run):
            return CellPlace(None, run[row])
        row -= len(run)
    raise AssertionError
