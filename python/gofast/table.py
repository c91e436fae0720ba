"""TableDataset: rows of CSV, TSV, Parquet, Arrow, npy and npz files as samples."""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from multiprocessing.context import get_spawning_popen
from typing import Any

import numpy as np
import torch

from . import errors
from ._core.arguments import checked
from ._core.memory import Layout, MappedMemory, TableMemory
from ._core.numbers import DType
from ._loader.batch_types import DictForm, Kind, Options, SampleOf, TargetTransform, Texts, Transform
from ._loader.classes import Classes, LabelType
from ._loader.core_dataset import IntArray
from ._loader.native_dataset import NativeDataset, origins, overridden
from ._tables.cells import CellPlace
from ._tables.codings import Categories, Dates, Named, Unit
from ._tables.column_options import Header, warn_of_no_label
from ._tables.features import Column, FillValue
from ._tables.label_option import DEFAULT_LABEL, Label
from ._tables.limits import Limits
from ._tables.open_table import files_of, open_table, place
from ._tables.rows import RowDataset
from ._tables.sample_options import SampleOptions
from ._tables.scale import Scale
from ._tables.sources import Path
from ._tables.statistics import Numbers
from ._tables.table_options import TableOptions
from ._tables.text_rows import TextRows
from ._tables.value_range import check_range
from .arrays import ArrayDataset


class TableDataset(TextRows[Options, Kind]):
    """Map-style dataset over the rows of a table, decoded once, in parallel.

    It works with ``torch.utils.data.DataLoader``, and with :class:`gofast.DataLoader`,
    which also makes batches ahead of time. Batches of the default ``collate_fn`` are
    handed over without a copy.

    Args:
        path: a file, glob or folder, or a list of them. Formats: CSV/TSV (plain, .gz, .zst, .bz2),
            Parquet, Arrow (files, Feather 2 and streams), .npy and .npz, recognised by content. Several
            files are one table. From a folder, files with the ending of a table are read; all must have
            the same ending. The path of a cache opens the table in it.
        label: name or position of the label column, a list of several, or ``None``
            for no label. Only the default column may be absent: then every label is
            ``missing_label``, and a warning says so. In an .npz, the name of the label array. Each value of
            a list of numbers, or of an array [n, k], is a label, as if it were a column: ``"y[0]"``, ...
        label_type: ``"int"``, ``"float"`` or ``"text"``. ``"auto"`` takes the type of the first
            file's column; in a text file, the type of the first row's cell. A label that does not
            fit is an error. Whole numbers such as 3.0 fit ``"int"``.
        classes: numbers of the labels, the same for train and test: a list of all names in order, a
            mapping from name to number, or another dataset, which gives its ``class_to_idx``. Names
            are text, or integers for a column of integers. Any other label is an UnknownLabelError.
            Default: text labels are numbered in sorted order, separately for each file.
        header: whether the first line of a text file names the columns. ``"auto"`` looks at that
            line alone. A line of texts only is a header. A line with the same number twice is data.
            A line that may be either (``2019,2020``, ``5.1,setosa``, a ``?``) is an error. Columns
            without names are called ``"0"``, ``"1"``, ...
        columns: names or positions of the feature columns; default all but the label and the index of a
            pandas frame: what the pandas note of a Parquet or Arrow file names, and a column named
            ``"Unnamed: 0"`` (as in pandas, a text file's first column without a name), ``"Unnamed: 0.1"``
            or ``"__index_level_0__"``. Positions do not count it. By its name, it is a column like any
            other, here and in ``label``, ``text`` and so on.
        exclude: names or positions of columns that are not features, out of ``columns`` or of
            all: ``exclude=["id", "name"]``.
        shape: shape of one sample, such as ``(1, 28, 28)``; default ``(features,)``. Two
            or three dimensions mean that rows are pictures.
        scale: ``"auto"`` gives float32(x) / 255 for pictures, whose values must be whole
            numbers from 0 to 255; it leaves all other numbers, and integer types, as they
            are. ``"unit"`` always divides, ``None`` never does.
        mean: after ``scale``, (x - mean) / std in float32, as torchvision's Normalize. Give
            a number, one per channel (first dimension of shape) or one per feature. ``"auto"``
            computes them on this file, after ``scale``: per channel of pictures, else per
            feature. NaN does not count. Another file would get other numbers: give it
            ``mean=train.mean, std=train.std``.
        std: likewise. ``"auto"`` is numpy's (divided by n); a column of one value is then an error.
        dtype: type of the samples, torch's, numpy's or the name of one: float32, float16, bfloat16 or
            float64, rounded once as numpy's astype does. If the features are integers, and without scale,
            mean and std, also uint8, int16, int32 or int64. A value that does not fit float16 or an
            integer type is an error that names its cell. Floats round integers beyond 2^53 beside
            floats, and beyond int64, in the same way.
        keys: names of features and label in a ``"dict"`` sample; default
            ``("image", "label")`` for pictures, else ``("features", "label")``.
        output: ``"dict"`` or ``"tuple"`` samples.
        missing_label: the label of every row if the file has no column ``label``; default -1,
            with a warning that there is none.
        one_hot: number of classes: labels become float32 [classes].
        fill_value: replaces empty, null and NaN features, which are otherwise an error: a
            number for all columns, or a mapping from names or positions of columns to
            numbers. The value NaN keeps them as NaN; the samples must then be floats.
        categories: numbers of the words in feature columns of text, the same for train and test: a
            mapping from columns to lists of names, numbered in their order from 0, or to mappings
            from name to number; or another dataset, which gives its ``categories``. Any other cell
            is an UnknownCategoryError. Names are text, as the cells are written: ``"7"``.
        dates: a mapping from feature columns of dates to one of numpy's units, ``"D"``, ``"h"``, ``"m"``,
            ``"s"``, ``"ms"``, ``"us"`` or ``"ns"``. Each date becomes the whole number of units since
            1970 in UTC, rounded down; a time of day counts from midnight. In Parquet and Arrow: dates, times
            and timestamps; a duration of Arrow's is a number of units. In text files: ``2024-01-31``,
            ``2024-01-31 12:34:56.789`` and ``2024-01-31T12:34Z``. float32 keeps 24 bits of a number: for
            seconds give ``dtype=torch.float64`` or ``torch.int64``, or a coarser unit.
        text: columns of text that samples have beside features and label, under their names: a name or
            several, for lists of str in a batch. A mapping from names to tokenizers, or to
            :class:`gofast.tokens.Text` with options, gives padded tensors int64 [n, width] instead:
            ``"input_ids"`` and ``"attention_mask"``, or what the tokenizer's names are. A tokenizer is
            called when the dataset is made, with some texts at a time, each different text once.
            ``columns=[]`` leaves the numbers out. ``cache=`` keeps texts and ids too.
        transform: called with each sample's tensor (of the final dtype and shape), in Python. One of
            torchvision's that makes tensors of PIL images (``ToTensor``, ``PILToTensor``, ``ToImage``) is
            given PIL images of pictures (a shape of two or three dimensions; without mean, std and another
            scale than "auto"), and runs natively in a :class:`gofast.DataLoader`.
        target_transform: called with each sample's label, in Python.
        batch_transform: called with each batch's samples [n, *shape], in Python.
        delimiter: the character between the cells of a text file. The default is found from the
            first rows: one of ``, ; |`` and tab. ``" "`` is possible too, but never guessed.
        decimal: what stands for the decimal point in a text file's numbers: ``","`` in most of Europe. It
            is no delimiter then, unless no other one parts the cells.
        thousands: what stands between thousands there, such as ``","`` or ``"."``: dropped, as in pandas.
        encoding: of a text file: UTF-8, or any encoding of single bytes that Python knows and that has
            ASCII's characters, such as ``"latin-1"`` or ``"cp1252"``.
        skiprows: lines of a text file before its header: a title, comments.
        cache: path of a folder that keeps the decoded table, a new one or that of an earlier cache: later
            opens map its ``.npy`` files in milliseconds, and processes share them. It also makes tables
            larger than memory possible. Remove it at any time, but never truncate its files while they are
            in use: that ends the process (SIGBUS).
        threads: threads for decoding; default all that the process may use.
        limits: a dict of what a file may ask for: ``memory``, ``columns``, ``metadata``, ``page``, ``cell``;
            or :class:`gofast.typing.Limits`, which says more of each.

    Attributes:
        classes: as given; or those of a text label, sorted; else ``None``. If numbers were given, the
            names in the order of their numbers.
        class_to_idx: the number of each class, or ``None``.
        targets: labels of all rows, [n] or [n, columns].
        columns: names of the feature columns.
        categories: as given: names in order, or the number of each name, for each column.
        dates: as given: the unit of each column of dates.
        mean: the numbers in use, float32, or ``None``.
        std: likewise.

    Raises:
        gofast.errors.GofastError: one class per kind of failure. It names the file, the line or
            row, and the column.

    Warns:
        GofastWarning: ``label`` was not given, and there is no column ``"label"``; or files of a folder
            are left out; or folders are named like partitions, whose columns are not made.

    Example:
        >>> train = gofast.TableDataset("train.parquet", shape=(1, 28, 28))
        >>> train[0]["image"].shape, train[0]["label"].dtype
        (torch.Size([1, 28, 28]), torch.int64)
        >>> loader = torch.utils.data.DataLoader(train, batch_size=512, shuffle=True)
        >>> rules = {"dates": {"seen": "D"}, "label": "species", "exclude": "name", "fill_value": 0}
        >>> train = gofast.TableDataset("flowers.csv", categories={"colour": ["red", "blue"]}, **rules)
        >>> train[0]
        {'features': tensor([0.0000e+00, 1.9753e+04, 1.5000e+00]), 'label': tensor(1)}
        >>> test = gofast.TableDataset("flowers.csv", categories=train, classes=train, **rules)
    """

    @checked
    def __init__(
        self: TableDataset[
            tuple[DictForm, Transform, TargetTransform, Texts],
            SampleOf[tuple[DictForm, Transform, TargetTransform, Texts]],
        ],
        path: Path | Iterable[Path],
        *,
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
        text: Texts = None,  # type: ignore[assignment]
        transform: Transform = None,  # type: ignore[assignment]
        target_transform: TargetTransform = None,  # type: ignore[assignment]
        batch_transform: Callable[[torch.Tensor], torch.Tensor] | None = None,
        delimiter: str | None = None,
        decimal: str = ".",
        thousands: str | None = None,
        encoding: str = "utf-8",
        skiprows: int = 0,
        cache: Path | None = None,
        threads: int | None = None,
        limits: Limits | Mapping[str, int] | None = None,
    ) -> None:
        given = locals()
        self._source, options = TableOptions.of(given), SampleOptions.of(given)
        self._memory, self._texts = open_table(self._source)
        self._of_pictures: ArrayDataset | None = None
        if self._texts and output != "dict":
            raise errors.OptionError('text= needs output="dict"')
        of_features: dict[str, object] = {"shape": shape, "mean": mean, "std": std, "transform": transform}
        of_features["batch_transform"] = batch_transform
        for name, one in of_features.items():
            if one is not None and not self._has_features:
                raise errors.OptionError(f"{name}= is for features, and the table has none beside its texts")
        if label is DEFAULT_LABEL and not self._memory.layout.labels and missing_label is None:
            warn_of_no_label(self._source.path, self._memory.layout.features)
        super().__init__(options, label, self._source.classes)

    def _pictures(self) -> ArrayDataset | None:
        """Its rows as pictures, where one of torchvision's transforms is given PIL images of them."""
        if self.transform is None or self.scale != "auto" or not self._numbers.unit or self.mean is not None:
            return None
        if self._of_pictures is None:
            images = _images(self._memory.features, self.shape)
            if images is None:
                return None
            labels = [] if self._label_dtype is None else [self.targets]
            options: Any = {"output": self._output, "keys": self.keys, "one_hot": self.one_hot}
            self._of_pictures = ArrayDataset(images, *labels, **options)
        pictures = self._of_pictures
        for name in ("transform", "target_transform"):
            if getattr(pictures, name) is not getattr(self, name):
                setattr(pictures, name, getattr(self, name))
        return pictures if pictures._has_images() else None

    def _made_by(self) -> NativeDataset:
        if self.batch_transform is not None or self._texts or overridden(self, RowDataset):
            return self
        pictures = self._pictures()
        return self if pictures is None else pictures._made_by()

    def _shown(self, row: int, features: Any) -> Any:
        pictures = self._pictures()
        return features if pictures is None else pictures._shown(row)

    def _place(self, row: int) -> CellPlace:
        return place(self._source, row)

    def _origins(self, samples: Sequence[int]) -> list[tuple[str | None, int]]:
        return origins(*self._row_files, samples)

    @cached_property
    def _row_files(self) -> tuple[list[str], IntArray]:
        """Its files, and the number of the row behind the last one of each; none where they are gone."""
        return files_of(self._source, self._memory.layout.rows)

    def _check_range(self) -> None:
        check_range(self, self._source.fill_value, self._place)

    @cached_property  # a subclass may assign its own
    def columns(self) -> list[str]:
        """Names of the feature columns, in the order of the features."""
        return list(self._memory.layout.features)

    @cached_property  # a subclass may assign its own
    def categories(self) -> dict[str, Named]:
        """The names in order, or the number of each name, for each column that has categories."""
        named = self._source.categories.items()
        return {column: dict(names) if isinstance(names, dict) else names for column, names in named}

    @cached_property  # a subclass may assign its own
    def dates(self) -> dict[str, Unit]:
        """The unit of each column of dates."""
        return dict(self._source.dates)

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        memory: TableMemory = state.pop("_memory")
        state["_of_pictures"] = None
        # A process that is being spawned receives the table's descriptor. Any other
        # pickle may outlive this process, so it opens the sources again.
        spawning = get_spawning_popen() is not None
        state["_handed"] = memory.handed() if spawning else None
        state["_expected"] = _identity(memory.layout)
        state["_texts"] = [column.handed() for column in self._texts] if spawning else None
        if spawning:  # the texts are tokenized already
            settings = {name: one.without_tokenizer() for name, one in self._source.text.items()}
            state["_source"] = dataclasses.replace(self._source, text=settings)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        handed, expected, texts = state.pop("_handed"), state.pop("_expected"), state.pop("_texts")
        self.__dict__.update(state)
        if handed is None:
            self._memory, self._texts = open_table(self._source)
        else:
            self._memory = MappedMemory.taken(handed)
            self._texts = [kind.taken(*rest) for kind, *rest in texts]
        if _identity(self._memory.layout) != expected:
            raise errors.ChangedError(f"{self._source.path!r} is another table than when it was pickled")

    def __copy__(self) -> TableDataset[Options, Kind]:
        made = type(self).__new__(type(self))
        made.__dict__.update(super().__getstate__() | {"_of_pictures": None})
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> TableDataset[Options, Kind]:
        for shared in (self._memory, self._texts, self._source.text):
            memo[id(shared)] = shared  # nobody writes to them: copies in one process share them
        made = memo[id(self)] = self.__copy__()
        made.__dict__ = copy.deepcopy(made.__dict__, memo)
        return made

    def __repr__(self) -> str:
        layout = self._memory.layout
        dropped = f", without the index {', '.join(map(repr, layout.dropped))}" if layout.dropped else ""
        return (
            f"TableDataset({self._source.path!r}: {layout.rows} rows, {layout.width} features "
            f"stored as {layout.type}, shape {self.shape}, {self.dtype}, {_described(layout)}{dropped})"
        )


def _images(rows: Any, shape: tuple[int, ...]) -> Any | None:
    """Pictures as ``PIL.Image.fromarray`` reads them; None where rows of this shape are none, or no bytes."""
    if rows.dtype != np.uint8 or len(shape) not in (2, 3):
        return None
    images = rows.reshape(len(rows), *shape)
    if len(shape) == 2 or shape[2] == 3:
        return images
    return images[:, 0] if shape[0] == 1 else images.transpose(0, 2, 3, 1) if shape[0] == 3 else None


def _described(layout: Layout) -> str:
    """The labels, for ``repr``."""
    if not layout.labels:
        return "no label"
    return f"label{'s' * (len(layout.labels) > 1)} {', '.join(map(repr, layout.labels))}"


def _identity(layout: Layout) -> tuple[Any, ...]:
    """The properties of the table that the options of a dataset were checked against."""
    return (
        layout.rows,
        layout.width,
        layout.type,
        layout.bool,
        layout.shape,
        layout.label_kinds,
        layout.classes,
        layout.texts,
    )
