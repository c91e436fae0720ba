"""What an index of records holds: columns of values, or of the places of values."""

from __future__ import annotations

import hashlib
import mmap
from typing import Any

import numpy as np
import numpy.typing as npt

from .tfrecord_operations import Feature, RecordsSchema


class Column:
    """One feature of all records.

    Attributes:
        values: of all records: float32 or int64 [n]; of bytes their places, int64 [n, 3]: file and packed,
            offset, length (``gofast/source/reader/extent.h``).
        starts: int64 [records + 1], where each record's values begin.
        has: uint8 [records], 1 where the record has the feature.
    """

    def __init__(self, memory: mmap.mmap | memoryview, feature: Feature, records: int) -> None:
        self.name, self.kind = feature["name"], feature["kind"]
        words = 3 if self.kind == "byte" else 1
        kind = np.float32 if self.kind == "float" else np.int64
        self.values: npt.NDArray[Any] = np.frombuffer(memory, kind, words * feature["values"], feature["at"])
        if words == 3:
            self.values = self.values.reshape(-1, 3)
        self.starts = np.frombuffer(memory, np.int64, records + 1, feature["starts"])
        self.has = np.frombuffer(memory, np.uint8, records, feature["has"])

    def of(self, record: int) -> npt.NDArray[Any]:
        """The values of a record, in memory of its own."""
        return np.array(self.values[self.starts[record] : self.starts[record + 1]])

    def each(self) -> int:
        """How many values each record has; -1 where they differ, or a record has none."""
        counts = np.diff(self.starts)
        if not len(counts):
            return 1
        return int(counts[0]) if self.has.all() and (counts == counts[0]).all() else -1


class IndexedRecords:
    """What an index holds.

    Args:
        memory: the index.
        schema: where what lies in it.

    Attributes:
        count: records.
        columns: the features that were asked for, by name.
        schema: as it was given.
    """

    def __init__(self, memory: mmap.mmap | memoryview, schema: RecordsSchema) -> None:
        self._bytes, self.schema = memory, schema
        self.count = sum(file["records"] for file in schema["files"])
        self.columns = {c["name"]: Column(memory, c, self.count) for c in schema["columns"]}

    def digest(self) -> str:
        """Of its columns."""
        arrays = slice(self.schema["begin"], self.schema["end"])  # the stamps of another copy may differ
        return hashlib.blake2b(memoryview(self._bytes)[arrays], digest_size=16).hexdigest()
