"""TableStream: rows of tables that need not fit into memory, decoded in pieces while batches go out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

import torch
from torch.utils.data import get_worker_info

from . import errors
from ._core.arguments import checked
from ._core.memory import Room, RoomMemory
from ._core.numbers import DType, rounded_to
from ._core.units import many, size
from ._loader.classes import Classes, LabelType, numbered
from ._loader.view import Line, Output
from ._tables import blocks
from ._tables.block_stream import BlockStream
from ._tables.blocks import BlockOrder, Drawn, Even
from ._tables.cells import Place
from ._tables.codings import Categories, Dates, categorized, counted
from ._tables.columns import Header, warn_of_no_label
from ._tables.features import Column, FillValue
from ._tables.label import DEFAULT_LABEL, Label
from ._tables.mixing import LOOKED_AT, labels_mixing, mixing
from ._tables.opening import request_of
from ._tables.scale import Scale
from ._tables.sources import Path, given
from ._tables.statistics import Numbers
from ._tables.stream_options import for_rows
from ._tables.stream_pieces import Found
from ._tables.stream_source import Rooms, StreamSource
from ._tables.stream_windows import StreamWindows
from ._tables.window import Window
from ._tables.window_batches import Some
from .table import Limits


class TableStream(BlockStream):
    """Rows of CSV, TSV, Parquet, Arrow, npy and npz files, decoded in pieces while batches go out.

    It is an IterableDataset for tables that do not fit into memory, with the options, the meaning and the
    errors of :class:`gofast.TableDataset`. A :class:`gofast.DataLoader` makes whole batches, and decodes what
    comes next meanwhile; it needs no workers, and starts none. In torch's DataLoader, rows come one by one,
    and each worker has a part of them.

    Without ``shuffle``, rows come in the order of the files, and the first batch as soon as some have been
    decoded. ``shuffle="block"`` permutes blocks of rows, joins as many as memory holds, and permutes the rows
    in these (CorgiPile); :func:`gofast.explain` says how well that mixes them. The order is a function of the
    seed and the epoch. For a full shuffle, and for any sampler, ``TableDataset(..., cache=path)`` keeps the
    decoded table in a file.

    Args:
        path: files, as in TableDataset. Text files that are packed (.gz, .zst, .bz2) cannot be entered in the
            middle: with shuffle="block", each is a block of its own.
        memory: bytes that rows and their decoding take together, in each process, and for each of several
            iterators at once: ``"1GB"``, ``"500MB"`` or a number. A batch's own memory comes on top. Rows
            that all fit into two thirds of it are decoded once, and kept for later epochs.
        shuffle: ``"block"``, or None. Text files are read once before the first epoch, to count their rows.
        seed: of the order. None: each epoch draws one from torch's generator, as torch's own shuffling does;
            after `set_epoch`, and with several ranks, it is 0, as in torch's DistributedSampler.
        rank: this process's number; each of several gets its own part of an epoch. None: as
            torch.distributed says, if it was begun. Text files are then read once before the first epoch.
        world: how many there are.
        even: what becomes of rows that cannot be dealt out evenly to the ranks: ``"drop"`` the last ones,
            ``"pad"`` with the epoch's first ones, or ``"error"``.
        mean: as in TableDataset; ``"auto"`` would need all rows, and is refused.
        std: likewise.

    All other arguments are those of TableDataset. A label of text needs ``classes=``.

    Attributes:
        shape, dtype, keys, columns, classes, class_to_idx, mean, std, categories, dates: as in TableDataset.

    Raises:
        gofast.errors.GofastError: one class per kind of failure, when the files are opened or while
            iterating. It names the file, the line or row, and the column.
        gofast.errors.LimitError: what must be decoded together, such as a row group of Parquet or a record
            batch of Arrow, needs more memory; the text says how much suffices.
        gofast.errors.ChangedError: a file changed while it was read, or since its rows were counted.

    Example:
        >>> train = gofast.TableStream("clicks-*.csv", label="click", shuffle="block", memory="2GB")
        >>> loader = gofast.DataLoader(train, batch_size=4096)
        >>> for epoch in range(10):
        ...     for batch in loader:
        ...         batch["features"], batch["label"]
    """

    @checked
    def __init__(
        self,
        path: Path | Iterable[Path],
        *,
        memory: str | int = "1GB",
        shuffle: Literal["block"] | None = None,
        seed: int | None = None,
        rank: int | None = None,
        world: int | None = None,
        even: Even = "drop",
        label: Label = DEFAULT_LABEL,
        label_type: LabelType = "auto",
        classes: Classes | None = None,
        header: Header = "auto",
        columns: Sequence[str | int] | None = None,
        exclude: Column | Sequence[Column] | None = None,
        shape: Sequence[int] | int | None = None,
        scale: Scale = "auto",
        mean: Numbers = None,
        std: Numbers = None,
        dtype: DType = torch.float32,
        keys: tuple[str, str] | None = None,
        output: Output = "dict",
        missing_label: int | None = None,
        one_hot: int | None = None,
        fill_value: FillValue = None,
        categories: Categories | None = None,
        dates: Dates | None = None,
        transform: Callable[[torch.Tensor], Any] | None = None,
        target_transform: Callable[[torch.Tensor], Any] | None = None,
        batch_transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
        delimiter: str | None = None,
        decimal: str = ".",
        thousands: str | None = None,
        encoding: str = "utf-8",
        skiprows: int = 0,
        threads: int | None = None,
        limits: Limits | Mapping[str, int] | None = None,
    ) -> None:
        super().__init__(memory, shuffle, seed, rank, world, even, mean, std)
        limited = Limits.of(limits)
        self._rooms_most = for_rows(self.memory)
        rest = self.memory - self._rooms_most
        self._source: dict[str, Any] = {
            "path": given(path),
            "label": label,
            "label_type": label_type,
            "class_to_idx": None if classes is None else numbered(classes),
            "header": header,
            "columns": columns,
            "exclude": exclude,
            "fill_value": fill_value,
            "categories": categorized(categories),
            "dates": counted(dates),
            "delimiter": delimiter,
            "decimal": decimal,
            "thousands": thousands,
            "encoding": encoding,
            "skiprows": skiprows,
            "rounds": rounded_to(dtype),
            "cache": None,
            "threads": threads,
            "limits": Limits.of({**limited.as_config(), "memory": limited.memory or rest}),
        }
        self._options: dict[str, Any] = {
            "shape": shape,
            "scale": scale,
            "mean": mean,
            "std": std,
            "dtype": dtype,
            "keys": keys,
            "output": output,
            "missing_label": -1 if missing_label is None else missing_label,
            "one_hot": one_hot,
            "transform": transform,
            "target_transform": target_transform,
            "batch_transform": batch_transform,
            "label": label,
            "class_to_idx": self._source["class_to_idx"],
        }
        self._windows = StreamWindows(
            self._source, self._options, self._rooms_most, 0 if limited.memory else self.memory
        )
        source = self._open()
        self._stamps, self._layout = source.stamps, source.layout._replace(rows=0)
        self._rows = source.rows
        if label is DEFAULT_LABEL and not self._layout.labels and missing_label is None:
            warn_of_no_label(self._source["path"], self._layout.features)
        self._like = Window(RoomMemory(Room(1), self._layout), fill_value, _nowhere, self._options)
        source.close()
        self._single = self._like._has_python_rows()

    @property
    def columns(self) -> list[str]:
        """Names of the feature columns, in the order of the features."""
        return list(self._layout.features)

    @property
    def categories(self) -> dict[str, Any]:
        """As given, for each column; see TableDataset."""
        return dict(self._source["categories"] or {})

    @property
    def dates(self) -> dict[str, Any]:
        """The unit of each column of dates."""
        return dict(self._source["dates"] or {})

    # -- the order -----------------------------------------------------------------

    def index(self) -> None:
        """Counts the rows, which takes a pass over text files.

        `len` needs it. With ``shuffle``, several ranks or workers it is done before the first epoch anyway,
        by one of torch's workers for all of them.

        Raises:
            gofast.errors.GofastError: a file cannot be read.
        """
        self._found(None)

    def _found(self, source: StreamSource | None) -> Found:
        """The pieces of the files, which the rows are counted by."""
        found = self._shared.get(lambda: self._cut(source or self._open()))
        self._rows = sum(piece["rows"] for piece in found.pieces)
        return found

    def _cut(self, source: StreamSource) -> Found:
        row = source.bytes_of(1) - source.bytes_of(0)
        block = blocks.block_bytes(self._rooms_most // 2)
        label = f"counting rows of {many(len(self._stamps), 'file')}"
        pieces, most = source.cut(max(block // max(row, 1), 1), label), 1
        if pieces:  # the widest type is probably among these, and no larger piece does not fit
            largest = max(pieces, key=lambda piece: piece["rows"])
            some = ([piece] for piece in (pieces[0], pieces[-1], largest))
            for memory in source.tables(some, Rooms(self._rooms_most)):
                most = max(most, memory.features.dtype.itemsize)
        return Found(pieces, most)

    def __len__(self) -> int:
        """The rows of an epoch, of this rank.

        Raises:
            TypeError: they were not counted: see `index`.
        """
        if self._rows is None and self._shared.known():
            self._found(None)
        if self._rows is None:
            raise TypeError(f"the rows of {type(self).__name__} were not counted: its index() does that")
        return sum(map(len, self._share(self._rows)))

    def _order(self, source: StreamSource, drawn: Drawn) -> BlockOrder:
        found = self._found(source)
        room = self._rooms_most * 15 // 32  # two windows are in memory, and rooms for them are a 16th larger
        if drawn.seed is None:
            room = min(room, blocks.USUAL)
        rows = [piece["rows"] for piece in found.pieces]
        return BlockOrder(rows, max(room // max(self._row_bytes(found), 1), 1), *drawn)

    def _row_bytes(self, found: Found) -> int:
        return self._layout.width * found.itemsize + 8 * len(self._layout.label_kinds)

    def _fits(self, found: Found) -> bool:
        """Whether all rows fit into memory together, unless some are of a wider type than the first ones."""
        size = sum(piece["rows"] for piece in found.pieces) * self._row_bytes(found)
        return size <= self._rooms_most * 15 // 16

    # -- rows ------------------------------------------------------------------------

    def _open(self) -> StreamSource:
        return self._windows.open()

    def _some(self, drawn: Drawn) -> Iterator[Some]:
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
        if drawn.seed is None and info is None and self._world == 1:
            usual = min(max(self._rooms_most // 8, 1 << 20), blocks.USUAL)
            yield from self._windows.in_order(source, usual)
            return
        found = self._found(source)
        order = self._order(source, drawn)
        keep = info is None and drawn.seed is not None and self._fits(found)
        stretches = list(order.stretches(self._parts(self._rows or 0)))
        yield from self._windows.ordered(source, found.pieces, order, stretches, keep)

    # -- what it tells -----------------------------------------------------------------

    def __repr__(self) -> str:
        rows = "?" if self._rows is None else f"{self._rows:,}"
        what = f"{rows} rows x {self._layout.width} features, shuffle={self.shuffle!r}"
        return f"TableStream({self._source['path']!r}, {what})"

    def _explained(self) -> list[Line]:
        mixed = list[str]()
        if self.shuffle is not None:
            source = self._open()
            order = self._order(source, Drawn(self.seed or 0, self._epoch or 0))
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
        lines += self._like._explained()[1:]
        lines += [("shuffle", "Go", line) for line in mixed]
        if self._world > 1:
            lines.append(
                ("rank", "", f"{self._rank} of {self._world}: {len(self):,} rows" if self._rows else "")
            )
        return lines


def _nowhere(row: int) -> Place:
    return Place(None, row)
