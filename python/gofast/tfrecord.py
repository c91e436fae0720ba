"""TFRecordDataset: the features of TFRecord files, any record at any time."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from torch.utils.data import Dataset

from . import errors
from ._core.arguments import checked
from ._core.indexed_records import Column
from ._core.patterns import Paths
from ._core.reason import Reason
from ._core.tfrecord_index import TFRecordIndex
from ._core.units import many
from ._images.record_files import listing_of
from ._loader.batch_source import check_callable, row_index_error
from .image_files import ImageFiles

_TYPES = ("byte", "float", "int")
_SHOWN = 8  # features, in what repr says


class TFRecordDataset(Dataset[Any]):
    """Records of TFRecord files (``tf.train.Example``) as dicts of features: a map-style dataset.

    It takes what the tfrecord package's dataset takes, and gives the same values; but it has a length, and
    works with any sampler, ``shuffle=True`` and workers. The files are read once, when it is made: both
    checksums of each record are compared, and numbers become columns in shared memory. Bytes stay in the
    file, and are read when their record is asked for. For files of 64 MB and more, the index of this is kept
    in the user's cache, or where ``index=`` says, until a file changes.

    :meth:`images` is for pictures, which are decoded natively, and :meth:`column` for numbers.

    Args:
        paths: a file, a pattern such as ``"train-*.tfrecord"`` (sorted by path), or a list of these.
        index: a file for the index, which is made where there is none, or one of other files. An index of the
            tfrecord package is not needed, and stays as it is. A warning says if none is written: of
            compressed files, and of files that were written within the last two seconds.
        description: the features: a list of names, or a dict from names to ``"byte"``, ``"float"``, ``"int"``
            or None. Without one a sample has all features of its record.
        transform: called with the dict of a record.
        compression_type: ``"gzip"`` or ``"zlib"``, for files that are compressed as a whole. They are
            inflated into memory that processes share.

    A sample is a dict. A feature of numbers is a numpy array, float32 [n] or int64 [n], also where n is 1.
    One value of bytes is bytes; several, or none, are an array of numpy's type ``S``, which cuts zeros at
    the end of each.

    Raises:
        gofast.errors.NotFoundError: no such file (a FileNotFoundError); also at indexing, if it is gone.
        gofast.errors.OptionError: an option makes no sense, or ``index`` is a file of something else.
        gofast.errors.ReadError: a file cannot be read, or the index not written.
        gofast.errors.DamagedError: a checksum differs, a file ends within a record (also within its header,
            which TensorFlow takes for the end), or a record is no Example. The error names file, offset and
            record. No record of such a file is read.
        gofast.errors.UnsupportedError: an Example that TensorFlow and protobuf read differently.
        gofast.errors.SchemaError: no record has a feature of the description, or it is of another type, or
            its type differs between records.
        gofast.errors.MissingValueError: at indexing, a record does not have a feature of the description.
        gofast.errors.ChangedError: at indexing, a file changed.
        gofast.errors.RowIndexError: at indexing, there is no such record (an IndexError).
        gofast.errors.LimitError: numbers and inflated files need more than a quarter of the free memory.
            While the dataset is made, numbers take it twice.

    Example:
        >>> records = gofast.TFRecordDataset("train-*.tfrecord", description={"x": "float", "y": "int"})
        >>> records[0]
        {'x': array([0.5, 1.5], dtype=float32), 'y': array([3])}
        >>> train = gofast.ArrayDataset(records.column("x"), records.column("y")[:, 0])  # batched natively
    """

    _why_not_native = Reason(
        "makes one record at a time: gofast.ArrayDataset over its column(...)s is batched natively, and so "
        "are its images(...)"
    )

    @checked
    def __init__(
        self,
        paths: Paths,
        index: str | Path | None = None,
        description: Sequence[str] | Mapping[str, str | None] | None = None,
        transform: Callable[[dict[str, Any]], Any] | None = None,
        *,
        compression_type: str | None = None,
    ) -> None:
        check_callable(transform=transform)
        if isinstance(description, (str, bytes)):
            raise errors.OptionError(f"description={description!r}: give a list of names, or a dict")
        self.transform = transform
        kinds = description if isinstance(description, Mapping) else dict.fromkeys(description or ())
        for name, kind in kinds.items():
            if not isinstance(name, str) or kind not in (*_TYPES, None):
                raise errors.OptionError(
                    f'description: {name!r}: {kind!r}: give a name, and "byte", "float", "int" or None'
                )
        self._all, self._kinds = not kinds, dict(kinds)
        self._records = TFRecordIndex.open(paths, list(kinds) or None, compression_type, index)
        for name, kind in kinds.items():
            column = self._records.column(name)
            if column.kind not in (kind or column.kind, ""):
                raise errors.SchemaError(
                    f"{self._records.place(0)}: description says {kind!r} of {name!r}, which is of type "
                    f"{column.kind!r}"
                ).at(column=name)

    @property
    def features(self) -> dict[str, str]:
        """The features, and their types: "byte", "float" or "int"; "" where no record has a value."""
        return {name: str(column.kind) for name, column in self._records.columns.items()}

    def column(self, name: str) -> npt.NDArray[Any]:
        """All records' values of a feature of numbers: float32 or int64 [records, n], a copy.

        Raises:
            gofast.errors.SchemaError: it is of bytes, or not all records have as many values.
        """
        column = self._records.column(name)
        each, kind = column.each(), column.kind or self._kinds.get(name)
        if kind == "byte" or each < 0:
            why = "is of bytes" if kind == "byte" else "has not as many values in every record"
            raise errors.SchemaError(f"the feature {name!r} {why}: it is no column").at(column=name)
        values = column.values.reshape(self._records.count, each)
        return np.array(values, np.float32 if kind == "float" else np.int64)

    @checked
    def images(
        self,
        label: str | None = "image/class/label",
        transform: Callable[[Any], Any] | None = None,
        *,
        image: str = "image/encoded",
        target_transform: Callable[[Any], Any] | None = None,
        **options: Any,
    ) -> ImageFiles:
        """The pictures that are a feature of the records, in their order: (picture, label).

        They are decoded where they lie in the files. Errors and ``paths`` call them ``file[0]``, ``file[1]``
        and so on. The dataset's own ``transform`` is for dicts, and has no part in it. Where records have
        many features, ``description=[image, label]`` indexes these two alone.

        Args:
            label: the feature with a whole number for each picture, which is its label as it is; None: there
                are no labels.
            transform: called with a PIL image of mode RGB.
            image: the feature with the bytes of a picture's file.
            target_transform: called with the label.
            options: those of :class:`gofast.ImageFiles` from ``output`` on, but for return_path. ``on_error``
                is for pictures that cannot be decoded. A damaged file is an error when the dataset is made,
                and one that is gone, changed or not readable at the next picture of it.

        Raises:
            gofast.errors.SchemaError: there is no such feature, or it is of another type, or a record has
                several values.
            gofast.errors.MissingValueError: a record does not have it.
            gofast.errors.NotFoundError: at indexing, the file is gone.
            gofast.errors.ChangedError: at indexing, the file changed.
            gofast.errors.OptionError: an option makes no sense.

        Example:
            >>> train = gofast.TFRecordDataset("train-*.tfrecord").images(transform=T.ToTensor())
            >>> image, label = train[0]
        """
        listing = listing_of(self._records, image, label)
        return ImageFiles._of_records(listing, label is not None, transform, target_transform, options)

    def __repr__(self) -> str:
        paths = self._records.asked.paths
        files = repr(paths[0]) if len(paths) == 1 else f"{len(paths)} files"
        named = ", ".join(f"{name} {kind or 'empty'}" for name, kind in [*self.features.items()][:_SHOWN])
        more = ", ..." * (len(self.features) > _SHOWN)
        return f"TFRecordDataset({files}: {many(len(self), 'record')} of {named or 'no features'}{more})"

    def __len__(self) -> int:
        return self._records.count

    def __getitem__(self, index: Any) -> Any:
        """The record at an index, negative from the end, as the transform makes it."""
        record, count = operator.index(index), self._records.count
        if not -count <= record < count:
            raise row_index_error(record, count)
        record %= count
        columns = self._records.columns
        sample: dict[str, Any] = {}
        bytes_of: list[Column] = []
        for name, column in columns.items():
            if column.has[record]:
                sample[name] = None if column.kind == "byte" else column.of(record)
                bytes_of += [column] * (column.kind == "byte")
            elif not self._all:
                raise self._records.missing(name, record)
        for column, found in zip(bytes_of, self._records.values(bytes_of, record), strict=True):
            sample[column.name] = found[0] if len(found) == 1 else np.array(found, dtype=bytes)
        return sample if self.transform is None else self.transform(sample)
