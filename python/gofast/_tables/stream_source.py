"""A table's files, opened to be decoded some rows at a time into memory that is used again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from .._core import engine, table_operations
from .._core.memory import PAGE, Layout, Room, RoomMemory
from .._core.numbers import itemsize
from .._core.operation import Begun
from .._core.stamp import Stamp
from .._core.table_operations import FilledRoom, Piece, Sources
from .._loader.batcher import forked
from .window_memory import Rooms, TooWide, decoded


class DecodedWindow(NamedTuple):
    """A window's table.

    Attributes:
        room: to be given back.
        at: where its first row stands, where the rows are not known by their blocks.
    """

    memory: RoomMemory
    room: Room
    at: Piece


class _PiecesBeingDecoded(NamedTuple):
    """A window that is being decoded: into its room, from these pieces."""

    pieces: list[Piece] | None
    room: Room
    work: Begun[FilledRoom]


class StreamSource:
    """The files, open in this process.

    Args:
        request: the files, and what shapes their table.
        memory: of the stream, of which what decodes has a share; 0: its limit was given.
    """

    def __init__(self, request: Sources, memory: int) -> None:
        self._pid = os.getpid()
        self._name: table_operations.StreamName = {"stream": next(engine.numbers)}
        try:
            info = table_operations.open_stream(
                {**self._name, **request, "memory": memory}, f"opening {len(request['paths'])} files"
            )
        except BaseException:
            self.close()
            raise
        self.layout = Layout.from_schema(info)
        self._itemsize = itemsize(self.layout.type)
        self.rows: int | None = info["rows"] if info["rows"] >= 0 else None
        self.stamps = [Stamp.crossed(stamp) for stamp in info["stamps"]]

    def cut(self, rows: int, label: str) -> list[Piece]:
        """The files in pieces of at least so many rows."""
        return table_operations.cut_stream({**self._name, "rows": rows}, label) or []

    def windows(
        self, wanted: Iterable[list[Piece] | None], rooms: Rooms, usual: int
    ) -> Iterator[DecodedWindow | TooWide]:
        """Decodes windows, the next one while the last is used. Each room is the caller's to give back.

        Args:
            wanted: the pieces of each window; None: the next rows of the files, until there are none.
            usual: bytes of a window whose pieces are not known.

        Raises:
            LimitError: a piece is larger than all rooms together may be.
        """

        def finish(begun: _PiecesBeingDecoded) -> DecodedWindow | TooWide | None:
            nonlocal usual
            done = self._finished(begun, rooms)
            if isinstance(done, DecodedWindow):
                usual = max(usual, done.room.size)  # so will the next one be
            return done

        return decoded(wanted, lambda pieces: self._begun(pieces, rooms, usual), finish)

    def tables(self, wanted: Iterable[list[Piece]], rooms: Rooms) -> Iterator[RoomMemory]:
        """Decodes windows that fit, each of which is in memory until the next one is asked for."""
        for filled in self.windows(wanted, rooms, 0):
            assert isinstance(filled, DecodedWindow)
            yield filled.memory
            rooms.give(filled.room)

    def _begun(self, pieces: list[Piece] | None, rooms: Rooms, usual: int) -> _PiecesBeingDecoded | None:
        """A window whose decoding begins; None: there is no room for it."""
        size = usual if pieces is None else self.bytes_of(sum(p["rows"] for p in pieces))
        # They need not be as wide as what was met.
        room = rooms.take(size if size <= rooms.most else rooms.most // 2)
        return None if room is None else _PiecesBeingDecoded(pieces, room, self._begin(pieces, room))

    def _finished(self, begun: _PiecesBeingDecoded, rooms: Rooms) -> DecodedWindow | TooWide | None:
        """A window that is decoded; None: there were no rows left."""
        if self._pid != os.getpid():
            raise forked()
        room, filled = begun.room, begun.work.result()
        while not filled["fits"]:
            if filled["size"] > rooms.most and begun.pieces is not None and len(begun.pieces) > 1:
                rooms.give(room)
                return TooWide(filled)
            room = rooms.larger(room, filled)
            filled = self._begin(begun.pieces, room).result()
        if begun.pieces is None and not filled["rows"]:
            return None
        self._itemsize = max(self._itemsize, itemsize(filled["type"]))
        rooms.shrink(room, self.bytes_of(filled["rows"]))
        return DecodedWindow(RoomMemory(room, Layout.from_schema(filled)), room, filled["at"])

    def bytes_of(self, rows: int) -> int:
        """What rows take, as the widest type that was met."""
        layout = self.layout
        return rows * (layout.width * self._itemsize + 8 * len(layout.label_kinds)) + PAGE

    def _begin(self, pieces: list[Piece] | None, room: Room) -> Begun[FilledRoom]:
        into: table_operations.RoomRequest = {**self._name, "address": room.address, "size": room.size}
        if pieces is None:
            return table_operations.stream_next.begin(into, room)
        return table_operations.stream_rows.begin({**into, "pieces": pieces}, room)

    def close(self) -> None:
        """Closes the files."""
        if self._pid == os.getpid():
            table_operations.close_stream(self._name)

    def __del__(self, over: Callable[[], bool] = sys.is_finalizing) -> None:
        if not over() and engine.loaded():
            self.close()
