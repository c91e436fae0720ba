"""IterableDataset: rows that come one after another, of a generator or of files beyond memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import torch

from . import errors
from ._core.arguments import checked
from ._core.numbers import DType
from ._images.bad_image import both
from ._images.bad_samples import BadSamples
from ._images.decoder_batches import DecoderBatch, IdleDecoderBatches, file_of
from ._images.iterable_source import IterableRows, SourceRow
from ._loader.batch_source import Line, check_callable
from ._loader.batch_types import DictForm, Kind, SampleOf, TargetTransform, Transform, TupleForm
from ._loader.classes import Classes, LabelType
from ._loader.iterable_dataset import IterableSourceDataset
from ._loader.order import Even
from ._plan.compile import compile
from ._tables.codings import Categories, Dates
from ._tables.column_options import Header
from ._tables.features import Column, FillValue
from ._tables.hdf5_origin import asked
from ._tables.label_option import DEFAULT_LABEL, Label
from ._tables.limits import Limits
from ._tables.sample_options import SampleOptions
from ._tables.scale import Scale
from ._tables.sources import Path
from ._tables.statistics import Numbers
from ._tables.stream_options import StreamOptions
from ._tables.table_options import TableOptions
from .hdf5_stream import HDF5Rows
from .stream import TableRows


class IterableDataset(IterableSourceDataset[Kind]):
    """What a generator, an iterable, or an IterableDataset of yours yields, with its pictures made natively.

    :meth:`from_table` and :meth:`from_hdf5` are for files whose rows do not fit into memory.

    Rows, their order, their errors and their split over workers are the source's own. Samples are those of
    torchvision's transforms under ``Image.open(...).convert("RGB")``, to the last bit, and so are the draws.
    A :class:`gofast.DataLoader` pulls the rows of a batch, in this process or in a worker, and where all of
    the transform is native, it decodes their pictures in parallel. Elsewhere each picture is made when it is
    asked for. Rows are never pulled before the batch that they are in is asked for, and a source may use its
    memory and its files again for the next row.

    Args:
        source: an iterable, or a function without arguments that returns one, such as a generator function.
            It is asked for an iterator at each epoch.
        transform: of the pictures; as in :class:`gofast.ImageFolder`. None: uint8 [3, H, W] of each file.
        fields: of each row, by name or by number: first the picture, then what else the sample has; samples
            are tuples. None: a row is the picture alone, or a tuple or a list that begins with it.
        on_error: what becomes of a picture that cannot be read: ``"raise"`` its error, behind the rows before
            it; ``"skip"`` the row. What is drawn for rows of the same batch is drawn all the same.

    A picture is a file's bytes, a path, or the dict {"bytes": ..., "path": ...} of Hugging Face's
    ``Image(decode=False)``; or a PIL image or a numpy array uint8 [H, W] or [H, W, 3], which the transform is
    given as it is.

    Raises:
        gofast.errors.OptionError: an option makes no sense; while iterating, a row has no such fields.
        gofast.errors.BadImageError: while iterating, a picture cannot be read; ``index`` is its row.

    Example:
        >>> def rows():
        ...     for line in open("train.txt"):
        ...         path, label = line.split()
        ...         yield path, int(label)
        >>> dataset = gofast.IterableDataset(rows, transform=T.ToTensor())
        >>> loader = gofast.DataLoader(dataset, batch_size=64)
    """

    @checked
    def __init__(
        self,
        source: Iterable[Any] | Callable[[], Iterable[Any]],
        transform: Callable[[Any], Any] | None = None,
        fields: Sequence[str | int] | None = None,
        on_error: Literal["raise", "skip"] = "raise",
    ) -> None:
        if not callable(source) and not isinstance(source, Iterable):
            raise errors.OptionError(f"source={source!r} is no iterable, and no function that returns one")
        check_callable(transform=transform)
        if on_error not in ("raise", "skip"):
            raise errors.OptionError(f'on_error={on_error!r} is not "raise" or "skip"')
        if fields is not None and (isinstance(fields, str) or len(fields) == 0):
            raise errors.OptionError(f"fields={fields!r}: give names or numbers, first the picture's")
        self.source, self.transform = source, transform
        self.fields = None if fields is None else tuple(fields)
        self.on_error = on_error
        self._lanes = IdleDecoderBatches()

    @classmethod
    @checked
    def from_table(
        cls,
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
        output: DictForm = "dict",  # type: ignore[assignment]
        missing_label: int | None = None,
        one_hot: int | None = None,
        fill_value: FillValue = None,
        categories: Categories | None = None,
        dates: Dates | None = None,
        transform: Transform = None,  # type: ignore[assignment]
        target_transform: TargetTransform = None,  # type: ignore[assignment]
        batch_transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
        delimiter: str | None = None,
        decimal: str = ".",
        thousands: str | None = None,
        encoding: str = "utf-8",
        skiprows: int = 0,
        threads: int | None = None,
        limits: Limits | Mapping[str, int] | None = None,
    ) -> TableStream[SampleOf[tuple[DictForm, Transform, TargetTransform, None]]]:
        """Rows of tables that do not fit into memory, decoded in pieces while batches go out.

        They have the options, the meaning and the errors of :class:`gofast.TableDataset`. A
        :class:`gofast.DataLoader` makes whole batches, and decodes what comes next meanwhile; it needs no
        workers, and starts none. In torch's DataLoader, rows come one by one, and each worker has a part of
        them.

        Without ``shuffle``, rows come in the order of the files, and the first batch as soon as some have
        been decoded. ``shuffle="block"`` permutes blocks of rows, joins as many as memory holds, and permutes
        the rows in these (CorgiPile); :func:`gofast.explain` says how well that mixes them. The order is a
        function of the seed and the epoch. For a full shuffle, and for any sampler,
        ``TableDataset(..., cache=path)`` keeps the decoded table in a file.

        Args:
            path: files, as in TableDataset. Text files that are packed (.gz, .zst, .bz2) cannot be entered in
                the middle: with shuffle="block", each is a block of its own.
            memory: bytes that rows and their decoding take together, in each process, and for each of several
                iterators at once: ``"1GB"``, ``"500MB"`` or a number. A batch's own memory comes on top. Rows
                that all fit into two thirds of it are decoded once, and kept for later epochs.
            shuffle: ``"block"``, or None. Text files are read once before the first epoch, to count their
                rows.
            seed: of the order. None: each epoch draws one from torch's generator, as torch's own shuffling
                does; after `set_epoch`, and with several ranks, it is 0, as in torch's DistributedSampler.
            rank: this process's number; each of several gets its own part of an epoch. None: as
                torch.distributed says, if it was begun. Text files are then read once before the first epoch.
            world: how many there are.
            even: what becomes of rows that cannot be dealt out evenly to the ranks: ``"drop"`` the last ones,
                ``"pad"`` with the epoch's first ones, or ``"error"``.
            mean: as in TableDataset; ``"auto"`` would need all rows, and is refused.
            std: likewise.
            label: as in TableDataset, and so are all others. One of text needs ``classes=``.

        Attributes:
            shape, dtype, keys, columns, classes, class_to_idx, mean, std, categories, dates: as in
                TableDataset.

        Its ``len`` needs the number of rows: ``index()`` counts them, which takes a pass over text files.

        Raises:
            gofast.errors.GofastError: one class per kind of failure, when the files are opened or while
                iterating. It names the file, the line or row, and the column.
            gofast.errors.LimitError: what must be decoded together, such as a row group of Parquet or a
                record batch of Arrow, needs more memory; the text says how much suffices.
            gofast.errors.ChangedError: a file changed while it was read, or since its rows were counted.

        Example:
            >>> order = {"shuffle": "block", "memory": "2GB"}
            >>> train = gofast.IterableDataset.from_table("clicks-*.csv", label="click", **order)
            >>> loader = gofast.DataLoader(train, batch_size=4096)
            >>> for epoch in range(10):
            ...     for batch in loader:
            ...         batch["features"], batch["label"]
        """
        given = locals()
        return TableStream(TableOptions.of(given), SampleOptions.of(given), StreamOptions.of(given))

    @classmethod
    @checked
    def from_hdf5(
        cls,
        path: Path,
        features: str | Sequence[str],
        labels: str | Sequence[str] | None = None,
        *,
        memory: str | int = "1GB",
        shuffle: Literal["block"] | None = None,
        seed: int | None = None,
        rank: int | None = None,
        world: int | None = None,
        even: Even = "drop",
        shape: Sequence[int] | int | None = None,
        scale: Scale = None,
        mean: Numbers = None,
        std: Numbers = None,
        dtype: DType | None = None,
        keys: tuple[str, ...] | None = None,
        output: TupleForm = "tuple",  # type: ignore[assignment]
        one_hot: int | None = None,
        transform: Transform = None,  # type: ignore[assignment]
        target_transform: TargetTransform = None,  # type: ignore[assignment]
        batch_transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
        threads: int | None = None,
    ) -> HDF5Stream[SampleOf[tuple[TupleForm, Transform, TargetTransform, None]]]:
        """Rows and pictures of an HDF5 file whose decoded chunks do not fit into memory.

        They have the options, the samples and the errors of :meth:`gofast.ArrayDataset.from_hdf5`. Chunks are
        decoded by all threads while batches go out, some of them in memory at a time, and each once in an
        epoch. A :class:`gofast.DataLoader` makes whole batches; it needs no workers, and starts none. In
        torch's DataLoader, rows come one by one, and each worker has a part of them and ``memory`` of its
        own.

        Any order of single rows would decode a chunk for each row, or keep all of them: so this is no
        map-style dataset. Orders and ranks are those of :meth:`from_table`. Transforms draw in the order in
        which rows come out, as in a Dataset of torch's that yields the same rows. For any other order,
        :func:`gofast.convert` writes a file without chunks, which ArrayDataset maps.

        The file is read once when it is opened: what h5py says of its chunks is compared with what it reads.
        What has no chunks or fits into a 16th of ``memory``, such as labels, is kept as ArrayDataset keeps
        it.

        Args:
            path: the file.
            features: as in ArrayDataset.from_hdf5, and so are all options that are not named here.
            labels: likewise.
            memory: bytes that rows and their decoding take together, in each process: ``"1GB"``, ``"500MB"``
                or a number. A batch's own memory comes on top.
            shuffle: ``"block"``, or None; this and the following as in :meth:`from_table`.
            seed: of the order.
            rank: this process's number.
            world: how many there are.
            even: ``"drop"``, ``"pad"`` or ``"error"``.
            mean: numbers; ``"auto"`` would need all rows, and is refused.
            std: likewise.

        Attributes:
            shape, dtype, keys, mean, std: as in ArrayDataset.

        Raises:
            gofast.errors.GofastError: as ArrayDataset.from_hdf5, when the file is opened or while iterating;
                the text names dataset and chunk.
            gofast.errors.LimitError: the rows of a chunk need more memory; the text says how much.
            gofast.errors.ChangedError: the file is another one than when it was opened.

        Example:
            >>> order = {"shuffle": "block", "memory": "4GB"}
            >>> train = gofast.IterableDataset.from_hdf5("train.h5", "images", "labels", **order)
            >>> loader = gofast.DataLoader(train, batch_size=256)
            >>> for epoch in range(10):
            ...     for images, labels in loader:
            ...         ...
        """
        given, wanted = locals(), asked(path, features, labels, threads)
        return HDF5Stream(wanted, SampleOptions.of(given), StreamOptions.of(given))

    @property
    def _skips(self) -> bool:
        return self.on_error == "skip"

    def __iter__(self) -> Iterator[Any]:
        source: Any = self.source
        given = iter(source if isinstance(source, Iterable) else source())
        # A subclass, or what iterates this dataset itself, may keep samples.
        kept = type(self) is not IterableDataset or self._at_once == 1
        return IterableRows(given, self, self._at_once, kept)

    def __len__(self) -> int:
        """The source's, if it has one.

        Raises:
            TypeError: it has none, as torch's own has none.
        """
        return len(self.source)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return True  # as torch's, which has no length to ask for

    def set_epoch(self, epoch: int) -> None:
        """Passes the epoch on to a source that takes it."""
        accept = getattr(self.source, "set_epoch", None)
        if callable(accept):
            accept(epoch)

    def _row(self, given: Any, number: int) -> SourceRow:
        if self.fields is not None:
            picture, *others = self._chosen(given, number)
            kind: Callable[[Any], Any] = tuple
        elif isinstance(given, (tuple, list)):
            if not given:
                raise errors.OptionError(f"row {number} of the source is empty: it has no picture")
            picture, *others = given
            kind = getattr(type(given), "_make", tuple if isinstance(given, tuple) else list)
        else:
            if isinstance(given, dict) and "bytes" not in given:
                raise errors.OptionError(f"row {number} is {[*given]}: fields= says which are wanted")
            return SourceRow(_file(given, number), given, _alone, number)
        return SourceRow(_file(picture, number), picture, lambda made: kind((made, *others)), number)

    def _chosen(self, given: Any, number: int) -> list[Any]:
        assert self.fields is not None
        try:
            return [given[name] for name in self.fields]
        except (KeyError, IndexError) as error:
            there = [*given] if isinstance(given, dict) else type(given).__name__
            raise errors.OptionError(f"row {number} has not {self.fields}: it is {there}") from error

    def _transformed(self, picture: Any) -> Any:
        if isinstance(picture, np.ndarray) and picture.dtype == np.uint8:
            from PIL import Image

            picture = Image.fromarray(picture)
        return picture if self.transform is None else self.transform(picture)

    @contextmanager
    def _lane(self, room: int) -> Iterator[DecoderBatch]:
        lane = self._lanes.take(room, False)
        if lane is None:
            lane = DecoderBatch(self.transform, room, False, BadSamples("raise", None, kept=False))
            lane._called = "IterableDataset"
        try:
            yield lane
        finally:
            lane.end()
            self._lanes.put(lane)

    def __repr__(self) -> str:
        return f"IterableDataset({self.source!r}, {self.transform!r})"

    def _explained(self) -> list[Line]:
        plan = compile(self.transform)
        rows: Line = ("rows", "Python", "your source, one after another")
        return [rows, *((line.name, "Go" if line.native else "Python", line.what) for line in plan.report)]


class TableStream(TableRows[Kind], IterableDataset[Kind]):
    """What :meth:`gofast.IterableDataset.from_table` gives."""


class HDF5Stream(HDF5Rows[Kind], IterableDataset[Kind]):
    """What :meth:`gofast.IterableDataset.from_hdf5` gives."""


def _file(picture: Any, number: int) -> Any:
    """Its file's bytes; None where it is a picture already.

    A source may write over what it has yielded, or remove the file, as soon as it is asked for the next row.
    """
    if not isinstance(picture, (str, bytes)) and (
        getattr(picture, "ndim", 1) > 1 or hasattr(picture, "getbands")
    ):
        return None
    file = file_of(picture)
    if file is None:
        kind = type(picture).__name__
        raise errors.OptionError(f"row {number} begins with {kind}: give a picture, its bytes, or its path")
    if isinstance(file, str):
        try:
            with open(file, "rb") as opened:
                return opened.read()
        except OSError as error:
            raise both(error, str(error)).at(path=file) from error
    return bytes(file)


def _alone(made: Any) -> Any:
    return made
