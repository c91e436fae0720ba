"""Rows of tables that need not fit into memory, decoded in pieces while batches go out."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from torch.utils.data import get_worker_info

from . import errors
from ._core.memory import Room, RoomMemory
from ._core.units import many, size
from ._loader.batch_source import Line
from ._loader.batch_types import Kind
from ._tables import blocks
from ._tables.block_mixing import LOOKED_AT, labels_mixing, mixing
from ._tables.block_stream import BlockStream
from ._tables.blocks import BlockOrder, BlockPermutation
from ._tables.cells import CellPlace
from ._tables.column_options import warn_of_no_label
from ._tables.label_option import DEFAULT_LABEL
from ._tables.open_table import request_of
from ._tables.sample_options import SampleOptions
from ._tables.stream_options import StreamOptions, for_rows
from ._tables.stream_pieces import CountedPieces
from ._tables.stream_source import StreamSource
from ._tables.stream_windows import StreamWindows
from ._tables.table_options import TableOptions
from ._tables.window import Window
from ._tables.window_batches import Some
from ._tables.window_memory import Rooms


class TableRows(BlockStream[Kind]):
    """Rows of tables, decoded in pieces: see :meth:`gofast.IterableDataset.from_table`."""

    def __init__(self, files: TableOptions, samples: SampleOptions, options: StreamOptions) -> None:
        super().__init__(options, samples)
        self._rooms_most = for_rows(self.memory)
        wanted = files.limits.as_config()
        own = {"memory": self.memory - self._rooms_most, **wanted}
        self._source = dataclasses.replace(files, limits=own)
        self._windows = StreamWindows(
            self._source, samples, self._rooms_most, 0 if "memory" in wanted else self.memory
        )
        source = self._open()
        self._stamps, self._layout = source.stamps, source.layout._replace(rows=0)
        self._rows = source.rows
        if files.label is DEFAULT_LABEL and not self._layout.labels and samples.missing_label is None:
            warn_of_no_label(self._source.path, self._layout.features)
        self._example = Window(RoomMemory(Room(1), self._layout), self._source, _nowhere, samples)
        source.close()
        self._single = self._example._has_python_rows()

    @property
    def columns(self) -> list[str]:
        """Names of the feature columns, in the order of the features."""
        return list(self._layout.features)

    @property
    def categories(self) -> dict[str, Any]:
        """As given, for each column; see TableDataset."""
        return dict(self._source.categories)

    @property
    def dates(self) -> dict[str, Any]:
        """The unit of each column of dates."""
        return dict(self._source.dates)

    # -- the order -----------------------------------------------------------------

    def index(self) -> None:
        """Counts the rows, which takes a pass over text files.

        `len` needs it. With ``shuffle``, several ranks or workers it is done before the first epoch anyway,
        by one of torch's workers for all of them.

        Raises:
            gofast.errors.GofastError: a file cannot be read.
        """
        self._found(None)

    def _found(self, source: StreamSource | None) -> CountedPieces:
        """The pieces of the files, which the rows are counted by."""
        found = self._shared.get(lambda: self._cut(source or self._open()))
        self._rows = sum(piece["rows"] for piece in found.pieces)
        return found

    def _cut(self, source: StreamSource) -> CountedPieces:
        row = source.bytes_of(1) - source.bytes_of(0)
        block = blocks.block_bytes(self._rooms_most // 2)
        label = f"counting rows of {many(len(self._stamps), 'file')}"
        pieces, most = source.cut(max(block // max(row, 1), 1), label), 1
        if pieces:  # the widest type is probably among these, and no larger piece does not fit
            largest = max(pieces, key=lambda piece: piece["rows"])
            some = ([piece] for piece in (pieces[0], pieces[-1], largest))
            for memory in source.tables(some, Rooms(self._rooms_most)):
                most = max(most, memory.features.dtype.itemsize)
        return CountedPieces(pieces, most)

    def __len__(self) -> int:
        """The rows of an epoch, of this rank.

        Raises:
            TypeError: they were not counted: see `index`.
        """
        if self._rows is None and self._shared.known():
            self._found(None)
        if self._rows is None:
            raise TypeError(f"the rows of {type(self).__name__} were not counted: its index() does that")
        return self._share(self._rows)

    def _order(self, source: StreamSource, drawn: BlockPermutation) -> BlockOrder:
        found = self._found(source)
        room = self._rooms_most * 15 // 32  # two windows are in memory, and rooms for them are a 16th larger
        if drawn.seed is None:
            room = min(room, blocks.USUAL)
        rows = [piece["rows"] for piece in found.pieces]
        return BlockOrder(rows, max(room // max(self._row_bytes(found), 1), 1), *drawn)

    def _row_bytes(self, found: CountedPieces) -> int:
        return self._layout.width * found.itemsize + 8 * len(self._layout.label_kinds)

    def _fits(self, found: CountedPieces) -> bool:
        """Whether all rows fit into memory together, unless some are of a wider type than the first ones."""
        size = sum(piece["rows"] for piece in found.pieces) * self._row_bytes(found)
        return size <= self._rooms_most * 15 // 16

    # -- rows ------------------------------------------------------------------------

    def _open(self) -> StreamSource:
        return self._windows.open()

    def _some(self, drawn: BlockPermutation, position: int = 0) -> Iterator[Some]:
        """See BlockStream."""
        source = self._open()
        if source.stamps != self._stamps:
            paths = request_of(self._source)[0]
            changed = [
                path
                for path, now, then in zip(paths, source.stamps, self._stamps, strict=False)
                if now != then
            ]
            raise errors.ChangedError(
                f"{(changed or paths)[0]}: the file changed since the stream was made: make it again"
            )
        info = get_worker_info()
        if drawn.seed is None and info is None and self._world == 1 and not position:
            usual = min(max(self._rooms_most // 4, 1 << 20), blocks.USUAL)
            yield from self._windows.in_order(source, usual)
            return
        found = self._found(source)
        order = self._order(source, drawn)
        keep = info is None and drawn.seed is not None and self._fits(found)
        yield from self._windows.ordered(source, found.pieces, order, self._stretches(order, position), keep)

    # -- what it tells -----------------------------------------------------------------

    def __repr__(self) -> str:
        rows = "?" if self._rows is None else f"{self._rows:,}"
        what = f"{rows} rows x {self._layout.width} features, shuffle={self.shuffle!r}"
        return f"IterableDataset.from_table({self._source.path!r}, {what})"

    def _explained(self) -> list[Line]:
        mixed = list[str]()
        if self.shuffle is not None:
            source = self._open()
            order = self._order(source, BlockPermutation(self.seed or 0, self._epoch or 0))
            found = self._found(source)
            pieces = found.pieces
            mixed = mixing(order, [piece["rows"] for piece in pieces])
            if self._fits(found):
                mixed.append("all rows fit into memory: they are decoded once, and kept for later epochs")
            if len(self._layout.label_kinds) == 1 and order.windows:
                some = ([piece] for piece in pieces[:: -(-len(pieces) // LOOKED_AT)])
                labels = [one.label_column(0).copy() for one in source.tables(some, Rooms(self._rooms_most))]
                mixed += labels_mixing(labels, len(order.windows[0].blocks))
        rows = "rows not counted" if self._rows is None else f"{self._rows:,} rows"
        what = f"{many(len(self._stamps), 'file')}, {rows} x {self._layout.width} features"
        lines: list[Line] = [("source", "Go", f"{what}, decoded within {size(self.memory)}")]
        lines += self._example._explained()[1:]
        lines += [("shuffle", "Go", line) for line in mixed]
        if self._world > 1:
            lines.append(
                ("rank", "", f"{self._rank} of {self._world}: {len(self):,} rows" if self._rows else "")
            )
        return lines


def _nowhere(row: int) -> CellPlace:
    return CellPlace(None, row)
