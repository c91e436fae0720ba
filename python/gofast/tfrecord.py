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
from ._core.records import Column, Paths, Records
from ._loader.view import check_callable, row_index_error

_TYPES = ("byte", "float", "int")


class TFRecordDataset(Dataset[Any]):
    """Records of TFRecord files (``tf.train.Example``) as dicts of features: a map-style dataset.

    It takes what the tfrecord package's dataset takes, and gives the same values; but it has a length, and
    works with any sampler, ``shuffle=True`` and workers. The files are read once, when it is made: both
    checksums of each record are compared, and numbers become columns in shared memory. Bytes stay in the
    file, and are read when their record is asked for. For files of 64 MB and more, the index of this is kept
    in the user's cache, or where ``index=`` says, until a file changes.

    Pictures with labels are faster as :meth:`gofast.ImageFiles.from_tfrecord`, which decodes them natively.

    Args:
        paths: a file, a pattern such as ``"train-*.tfrecord"`` (sorted by path), or a list of these.
        index: a file for the index, which is made where there is none, or one of other files. An index of the
            tfrecord package is not needed, and stays as it is.
        description: the features: a list of names, or a dict from names to ``"byte"``, ``"float"``, ``"int"``
            or None. Without one a sample has all features of its record.
        transform: called with the dict of a record.
        compression_type: ``"gzip"`` or ``"zlib"``, for files that are compressed as a whole. They are
            inflated into memory.

    A sample is a dict. A feature of numbers is a numpy array, float32 [n] or int64 [n], also where n is 1.
    One value of bytes is bytes; several, or none, are an array of numpy's type ``S``, which cuts zeros at
    the end of each.

    Raises:
        gofast.errors.NotFoundError: no such file (a FileNotFoundError).
        gofast.errors.DamagedError: a checksum differs, a file ends within a record (also within its header,
            which TensorFlow takes for the end), or a record is no Example. The error names file, offset and
            record.
        gofast.errors.UnsupportedError: an Example that TensorFlow and protobuf read differently.
        gofast.errors.SchemaError: no record has a feature of the description, or it is of another type, or
            its type differs between records.
        gofast.errors.MissingValueError: at indexing, a record does not have a feature of the description.
        gofast.errors.ChangedError: at indexing, a file changed.
        gofast.errors.LimitError: numbers, or inflated files, need more than a quarter of the free memory.

    Example:
        >>> records = gofast.TFRecordDataset("train-*.tfrecord", description={"x": "float", "y": "int"})
        >>> records[0]
        {'x': array([0.5, 1.5], dtype=float32), 'y': array([3])}
        >>> train = gofast.ArrayDataset(records.column("x"), records.column("y")[:, 0])  # batched natively
    """

    _instead = (
        "makes one record at a time: gofast.ArrayDataset over its column(...)s is batched natively, and "
        "gofast.ImageFiles.from_tfrecord has pictures"
    )

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
        self._records = Records.open(paths, list(kinds) or None, compression_type, index)
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

    def __len__(self) -> int:
        return self._records.count

    def __getitem__(self, index: Any) -> Any:
        """The record at an index, negative from the end, as the transform makes it."""
        record, count = operator.index(index), self._records.count
        if not -count <= record < count:
            raise row_index_error(record, count)
        record %= count
        columns = self._records.columns
        names = [n for n, c in columns.items() if c.has[record]] if self._all else columns
        sample = {name: self._value(columns[name], record) for name in names}
        return sample if self.transform is None else self.transform(sample)

    def _value(self, column: Column, record: int) -> Any:
        if not column.has[record]:
            raise self._records.missing(column.name, record)
        if column.kind != "byte":
            return column.of(record)
        found = self._records.contents(column, record)
        return found[0] if len(found) == 1 else np.array(found, dtype=bytes)
