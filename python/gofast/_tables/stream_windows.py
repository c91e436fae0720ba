"""The windows of a stream's epochs: decoded one after another, or kept where all of them fit into memory."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._core.memory import RoomMemory
from .._core.openmp import alone
from .._core.table_operations import Piece
from .blocks import BlockOrder, Stretch
from .cells import CellPlace
from .open_table import place, request_of
from .sample_options import SampleOptions
from .stream_passes import passes
from .stream_source import DecodedWindow, StreamSource
from .table_options import TableOptions
from .window import Window
from .window_batches import Some
from .window_memory import Rooms

if TYPE_CHECKING:
    import numpy.typing as npt


class StreamWindows:
    """Decodes a stream's files.

    Args:
        source: the files, and what shapes their table.
        options: of samples.
        most: bytes of rows that are in memory together.
        memory: see StreamSource.
    """

    def __init__(self, source: TableOptions, options: SampleOptions, most: int, memory: int) -> None:
        self._source, self._options, self._most, self._memory = source, options, most, memory
        self._kept: list[Window] = []  # all rows, in the order of the files
        self._fits = True  # as far as is known

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_kept": []}

    def open(self) -> StreamSource:
        """The files, open in this process."""
        return StreamSource(request_of(self._source)[1], self._memory)

    def in_order(self, source: StreamSource, usual: int) -> Iterator[Some]:
        """All rows, as they come in the files, which nobody has counted.

        Args:
            usual: bytes of a window.
        """
        if self._kept:
            yield from ((window, _all(window)) for window in self._kept)
            return
        rooms, windows = Rooms(self._most), list[Window]()
        rooms.spread = sum(stamp.size for stamp in source.stamps) <= self._most
        for filled in source.windows(itertools.repeat(None), rooms, usual):
            assert isinstance(filled, DecodedWindow)
            window = self._window(filled, rooms, [filled.at])
            if rooms.spread:
                windows.append(window)
            else:
                windows.clear()
            yield window, _all(window)
        self._kept = windows

    def ordered(
        self,
        source: StreamSource,
        pieces: list[Piece],
        order: BlockOrder,
        stretches: Sequence[Stretch],
        keep: bool,
    ) -> Iterator[Some]:
        """The rows of stretches.

        Args:
            pieces: of the files, which are the order's blocks.
            keep: all rows fit into memory together, and other epochs want others of them.
        """
        if keep and self._fits and not self._kept:
            self._keep(source, pieces)
        if len(self._kept) == 1:
            first = np.cumsum([0, *(piece["rows"] for piece in pieces)])
            for stretch in stretches:
                places, at = np.arange(stretch.window.rows), 0
                for block in stretch.window.blocks:
                    places[at : at + pieces[block]["rows"]] += first[block] - at
                    at += pieces[block]["rows"]
                yield self._kept[0], order.rows(stretch, places)
            return
        rooms = Rooms(self._most)
        wanted = [[pieces[block] for block in stretch.window.blocks] for stretch in stretches]
        windows = source.windows(wanted, rooms, 0)
        for stretch, of, filled in zip(stretches, wanted, windows, strict=True):
            if isinstance(filled, DecodedWindow):
                yield self._window(filled, rooms, of), order.rows(stretch)
                continue
            rows = order.rows(stretch).numpy()
            for part, some in passes(source, of, filled.table, rows, rooms, self._of_memory):
                window = self._window(part, rooms, of, some)
                yield window, _all(window)

    def _keep(self, source: StreamSource, pieces: list[Piece]) -> None:
        rooms = Rooms(self._most)
        for filled in source.windows([pieces], rooms, 0):
            self._fits = isinstance(filled, DecodedWindow)  # or they are of a wider type than the first ones
            if isinstance(filled, DecodedWindow):
                self._kept = [self._window(filled, rooms, pieces)]

    def _window(
        self,
        filled: DecodedWindow,
        rooms: Rooms,
        pieces: list[Piece],
        rows: npt.NDArray[np.int64] | None = None,
    ) -> Window:
        """The rows of pieces, or these of them."""
        return self._of_memory(filled.memory, pieces, rows, lambda: rooms.give(filled.room))

    def _of_memory(
        self,
        memory: RoomMemory,
        pieces: list[Piece],
        rows: npt.NDArray[np.int64] | None = None,
        end: Callable[[], None] | None = None,
    ) -> Window:
        def locate(row: int) -> CellPlace:
            row = row if rows is None else int(rows[row])
            for piece in pieces:
                if row < piece["rows"] or piece is pieces[-1]:
                    return self._place(piece, row)
                row -= piece["rows"]
            raise AssertionError

        return Window(memory, self._source, locate, self._options, end)

    def _place(self, piece: Piece, row: int) -> CellPlace:
        paths = request_of(self._source)[0]
        return place(dataclasses.replace(self._source, path=[paths[piece["file"]]]), piece["row"] + row)


def _all(window: Window) -> torch.Tensor:
    with alone():
        return torch.arange(len(window), device="cpu")
