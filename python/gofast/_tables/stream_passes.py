"""A window that turned out wider than memory: some of its rows at a time, each time from all of its pieces.

An order is a function of seed and epoch, so a window stays what it is when its rows are wider than the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from .._core.memory import PAGE, Layout, RoomMemory
from .._core.table_operations import FilledRoom, Piece
from .stream_source import DecodedWindow, StreamSource
from .window_memory import Rooms

Numbers = np.ndarray[Any, np.dtype[np.int64]]

_WIDEST = 8  # bytes of a value


class _Group(NamedTuple):
    """Pieces that are decoded together: ``start <= row < stop`` of the window."""

    pieces: list[Piece]
    start: int
    stop: int


def passes(
    source: StreamSource,
    pieces: list[Piece],
    table: FilledRoom,
    order: Numbers,
    rooms: Rooms,
    check: Callable[[RoomMemory, list[Piece]], object],
) -> Iterator[tuple[DecodedWindow, Numbers]]:
    """The rows of a window in their order, some at a time, and which they are, in rooms to be given back.

    Args:
        pieces: of the window.
        table: what did not fit.
        order: rows of the window that are wanted.
        check: raises what is wrong with the table of some pieces.

    Raises:
        LimitError: a piece leaves no room for rows.
    """
    layout = source.layout
    row = layout.width * _WIDEST + 8 * len(layout.label_kinds)
    largest = max(piece["rows"] for piece in pieces) * row
    left = rooms.most - max(rooms.most // 2, largest + PAGE)
    each = (left * 15 // 16 - 2 * PAGE) // row  # a room is a 16th larger
    if each < 1:
        raise rooms.refused(table["rows"], layout.width, "float64", largest)
    groups = _groups(pieces, rooms.most // 4 // row)
    rooms.drop(0)  # they have other sizes
    kinds, made, room = set[str](), None, rooms.take(min(each, len(order)) * row + 2 * PAGE)
    for group, made in zip(groups, source.tables((group.pieces for group in groups), rooms), strict=True):
        check(made, group.pieces)
        kinds.add(made.layout.type)
    assert made is not None
    kind = np.result_type(*kinds)
    if kind.kind == "f" and "int64" in kinds:  # which floats may not hold
        raise rooms.refused(table["rows"], layout.width, "int64 and floats", table["rows"] * row)
    for at in range(0, len(order), each):
        some = order[at : at + each]
        if at:
            room = rooms.take(len(some) * row + 2 * PAGE)
        assert room is not None
        gathered = RoomMemory(room, _layout(made.layout, len(some), kind))
        wanted = [group for group in groups if ((some >= group.start) & (some < group.stop)).any()]
        tables = source.tables((group.pieces for group in wanted), rooms)
        for group, memory in zip(wanted, tables, strict=True):
            (here,) = np.nonzero((some >= group.start) & (some < group.stop))
            gathered.features[here] = memory.features[some[here] - group.start]
            gathered.labels[here] = memory.labels[some[here] - group.start]
        yield DecodedWindow(gathered, room, pieces[0]), some


def _groups(pieces: list[Piece], rows: int) -> list[_Group]:
    groups = list[_Group]()
    start = 0
    for piece in pieces:
        stop = start + piece["rows"]
        if groups and stop - groups[-1].start <= rows:
            groups[-1] = _Group([*groups[-1].pieces, piece], groups[-1].start, stop)
        else:
            groups.append(_Group([piece], start, stop))
        start = stop
    return groups


def _layout(one: Layout, rows: int, kind: np.dtype[Any]) -> Layout:
    labels = -(-rows * one.width * kind.itemsize // PAGE) * PAGE
    return one._replace(rows=rows, type=kind.name, features_offset=0, labels_offset=labels)
