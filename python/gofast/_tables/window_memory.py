"""Memory for windows, and the loop that decodes one while the last is used."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple, TypeVar

from .. import errors
from .._core.memory import Room
from .._core.table_operations import FilledRoom
from .._core.units import exact
from .stream_options import memory_for

_HUGE = 2 << 20  # of a page, at most
_Wanted = TypeVar("_Wanted")
_Begun = TypeVar("_Begun")
_Window = TypeVar("_Window")


class TooWide(NamedTuple):
    """A window of several pieces whose rows turned out wider than all rooms together."""

    table: FilledRoom


def decoded(
    wanted: Iterable[_Wanted],
    begin: Callable[[_Wanted], _Begun | None],
    finish: Callable[[_Begun], _Window | TooWide | None],
) -> Iterator[_Window | TooWide]:
    """Windows, the next of which is decoded while the last is used.

    Args:
        begin: begins to decode one; None: there is no room for it beside the last.
        finish: waits for it; None: there were no rows left.
    """
    begun: _Begun | None = None
    for one in wanted:
        done = None
        if begun is not None:
            if (done := finish(begun)) is None:
                return
            if isinstance(done, TooWide):  # it is decoded again, with all of the memory
                yield done
                done = None
        begun = begin(one)
        if begun is None and done is not None:
            yield done
            done = None
            begun = begin(one)
        assert begun is not None
        if done is not None:
            yield done
    if begun is not None and (done := finish(begun)) is not None:
        yield done


class Rooms:
    """Memory for windows, within a limit.

    Args:
        most: bytes of all that are in use.

    Attributes:
        most: as given.
        spread: none has been used again, nor will be as long as all of them stay within the limit.
    """

    def __init__(self, most: int) -> None:
        self.most, self.spread = most, False
        self._free: list[Room] = []
        self._used = 0

    def take(self, size: int) -> Room | None:
        """One of so many bytes or more; None where there would be too many."""
        # A 16th more serves windows that are a little larger. What is not written takes nothing.
        step = 1 << max(size.bit_length() - 5, 12)
        whole = -(-size // step) * step
        if self.spread and self._used + sum(room.size for room in self._free) + whole > self.most:
            self.spread = False
            self.drop(1)  # there is one in use, or two
        if not self.spread:
            large = [room for room in self._free if room.size >= size]
            if large:
                room = min(large, key=lambda room: room.size)
                self._free.remove(room)
                self._used += room.size
                return room
            if self._used + size > self.most:
                return None
            self.drop(0)  # they are too small, and their pages count
            whole = min(whole, self.most - self._used)
        room = Room(whole)
        self._used += room.size
        return room

    def drop(self, keep: int) -> None:
        """Gives the memory back of all but some that are not in use."""
        for room in self._free[keep:]:
            room.empty()
        del self._free[keep:]

    def shrink(self, room: Room, size: int) -> None:
        """So much of it was written, if it is not to be used again: only that counts."""
        size = min(size + _HUGE, room.size)
        if self.spread:
            self._used -= room.size - size
            room.size = size

    def larger(self, room: Room, filled: FilledRoom) -> Room:
        """One in the place of a room that was too small for its window."""
        self.give(room)
        if filled["size"] > self.most or (taken := self.take(filled["size"])) is None:
            raise self.refused(filled["rows"], filled["width"], filled["type"], filled["size"])
        return taken

    def refused(self, rows: int, width: int, kind: str, size: int) -> errors.LimitError:
        """What to raise where rows that are decoded together do not fit."""
        said = (
            f"{rows} rows of {width} features as {kind} take {exact(size)}, "
            f"and {exact(self.most)} are for rows"
        )
        return errors.LimitError(
            f"{said} that are in memory together: {memory_for(size)} suffices, or write smaller row groups "
            "or packed files"
        )

    def give(self, room: Room) -> None:
        """Takes one back."""
        self._used -= room.size
        self._free.append(room)
