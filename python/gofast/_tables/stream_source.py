"""A table's files, opened to be decoded some rows at a time into memory that is used again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import errors
from .._core import engine, table_operations
from .._core.memory import Layout, Room, RoomMemory
from .._core.numbers import itemsize
from .._core.operation import Begun
from .._core.stamp import Stamp
from .._core.table_operations import FilledRoom, Piece, Sources
from .._core.units import exact
from .._loader.stream import forked

if TYPE_CHECKING:
    import numpy.typing as npt

_HUGE = 2 << 20  # of a page, at most
_PAGE = 4096  # labels begin on a page of their own


class Rooms:
    """Memory for windows, within a limit.

    Args:
        most: bytes of all that are in use.

    Attributes:
        spread: none has been used again, nor will be as long as all of them stay within the limit.
    """

    def __init__(self, most: int) -> None:
        self._most, self.spread = most, False
        self._free: list[Room] = []
        self._used = 0

    def take(self, size: int, beyond: bool = False) -> Room | None:
        """One of so many bytes or more; None where there would be too many.

        Args:
            beyond: go beyond the limit instead.
        """
        # A 16th more serves windows that are a little larger. What is not written takes nothing.
        step = 1 << max(size.bit_length() - 5, 12)
        whole = -(-size // step) * step
        if self.spread and self._used + sum(room.size for room in self._free) + whole > self._most:
            self.spread = False
            del self._free[1:]  # there is one in use, or two
        if not self.spread:
            for room in self._free:
                if room.size >= size:
                    self._free.remove(room)
                    self._used += room.size
                    return room
            if self._used and self._used + size > self._most and not beyond:
                return None
            self._free.clear()  # they are too small, and their pages count
        room = Room(whole)
        self._used += room.size
        return room

    def shrink(self, room: Room, size: int) -> None:
        """So much of it was written, if it is not to be used again: only that counts."""
        size = min(size + _HUGE, room.size)
        if self.spread:
            self._used -= room.size - size
            room.size = size

    def larger(self, room: Room, filled: FilledRoom, hint: str) -> Room:
        """One in the place of a room that was too small for its window."""
        size, rows = filled["size"], filled["rows"]
        self.give(room)
        if size > self._most:
            said = f"{rows} rows of {filled['width']} features as {filled['type']} take {exact(size)}, and "
            raise errors.LimitError(
                f"{said}{exact(self._most)} are for rows that are in memory together: {hint}"
            )
        taken = self.take(size, beyond=True)
        assert taken is not None
        return taken

    def give(self, room: Room) -> None:
        """Takes one back."""
        self._used -= room.size
        self._free.append(room)


class Filled(NamedTuple):
    """A window's table.

    Attributes:
        room: to be given back.
        at: where its first row stands, where the rows are not known by their blocks.
    """

    memory: RoomMemory
    room: Room
    at: Piece


class _Begun(NamedTuple):
    """A window that is being decoded: into its room, from these pieces."""

    pieces: list[Piece] | None
    room: Room
    work: Begun[FilledRoom]


class StreamSource:
    """The files, open in this process.

    Args:
        request: the files, and what shapes their table.
    """

    def __init__(self, request: Sources) -> None:
        self._pid = os.getpid()
        self._name: table_operations.StreamName = {"stream": next(engine.numbers)}
        try:
            info = table_operations.open_stream(
                {**self._name, **request}, f"opening {len(request['paths'])} files"
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
        self, wanted: Iterable[list[Piece] | None], rooms: Rooms, usual: int, hint: str
    ) -> Iterator[Filled]:
        """Decodes windows, the next one while the last is used. Each room is the caller's to give back.

        Args:
            wanted: the pieces of each window; None: the next rows of the files, until there are none.
            usual: bytes of a window whose pieces are not known.
            hint: what helps where a window does not fit.

        Raises:
            LimitError: a window is larger than all rooms together may be.
        """
        begun: _Begun | None = None
        for pieces in wanted:
            done = None
            if begun is not None:
                done = self._finished(begun, rooms, hint)
                if done is None:
                    return
                usual = max(usual, done.room.size)  # so will the next one be
            size = usual if pieces is None else self.bytes_of(sum(p["rows"] for p in pieces))
            room = rooms.take(size)
            if room is None and done is not None:
                yield done
                done = None
                room = rooms.take(size)
            assert room is not None
            begun = _Begun(pieces, room, self._begin(pieces, room))
            if done is not None:
                yield done
        if begun is not None and (done := self._finished(begun, rooms, hint)):
            yield done

    def labels(self, pieces: list[Piece], rooms: Rooms, hint: str) -> list[npt.NDArray[Any]]:
        """Those of the first label column, of each piece."""
        found = []
        for filled in self.windows([[piece] for piece in pieces], rooms, 0, hint):
            found.append(filled.memory.label_column(0).copy())
            rooms.give(filled.room)
        return found

    def _finished(self, begun: _Begun, rooms: Rooms, hint: str) -> Filled | None:
        """A window that is decoded; None: there were no rows left."""
        if self._pid != os.getpid():
            raise forked()
        room, filled = begun.room, begun.work.result()
        while not filled["fits"]:
            room = rooms.larger(room, filled, hint)
            filled = self._begin(begun.pieces, room).result()
        if begun.pieces is None and not filled["rows"]:
            return None
        self._itemsize = max(self._itemsize, itemsize(filled["type"]))
        rooms.shrink(room, self.bytes_of(filled["rows"]))
        return Filled(RoomMemory(room, Layout.from_schema(filled)), room, filled["at"])

    def bytes_of(self, rows: int) -> int:
        """What rows take, as the widest type that was met."""
        layout = self.layout
        return rows * (layout.width * self._itemsize + 8 * len(layout.label_kinds)) + _PAGE

    def _begin(self, pieces: list[Piece] | None, room: Room) -> Begun[FilledRoom]:
        into: table_operations.Room = {**self._name, "address": room.address, "size": room.size}
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
