"""Columns of texts in a cache: what is kept of them, and how a dataset has them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .._core.memory import address_of
from .._core.table_operations import KeptColumn, KeptMemory, KeptValues
from .._loader.core_dataset import IntArray
from .cache import CachedText, CacheTable
from .file_arrays import FileArray
from .text_columns import StringColumn, Strings, TextColumn, TokenColumn
from .texts import Text


def to_keep(columns: Sequence[TextColumn]) -> list[KeptColumn]:
    """The columns, for the core, which reads their memory."""
    return [_to_keep(column) for column in columns]


def _to_keep(column: TextColumn) -> KeptColumn:
    ends, arrays = column.arrays()
    values: list[KeptValues] = []
    for name, array in arrays.items():
        kind = "" if array is None else array.array.dtype.name
        values.append({"name": name, "type": kind, **_memory(array)})
    return {"name": column.column, "ends": _memory(ends), "values": values}


def _memory(array: FileArray | None) -> KeptMemory:
    if array is None or array.array.nbytes == 0:
        return {"address": 0, "size": 0}
    return {"address": address_of(array.array), "size": array.array.nbytes}


def cached_columns(table: CacheTable, options: Mapping[str, Text]) -> list[TextColumn] | None:
    """The columns in a cache that was made with these options; None if they contradict themselves."""
    made: list[TextColumn] = []
    labels = len(table.memory.layout.label_kinds)
    for k, (kept, (name, option)) in enumerate(zip(table.texts, options.items(), strict=True)):
        if not _sound(kept, table.memory.labels[:, labels + k]):
            return None
        if option.tokenizer is None:
            data = kept.values[name]
            assert data is not None
            made.append(StringColumn(name, Strings(kept.ends, data)))
        else:
            padded = {key: (array, option.blank(key)) for key, array in kept.values.items()}
            made.append(TokenColumn(name, option.without_tokenizer(), option.left, kept.ends, padded))
    return made


def _sound(kept: CachedText, numbers: IntArray) -> bool:
    """Checks every number that addresses memory when a batch is made: nobody does so then."""
    at = kept.ends.array
    if at[0] != 0 or (at[1:] < at[:-1]).any():
        return False
    if any(array is not None and len(array.array) != at[-1] for array in kept.values.values()):
        return False
    return len(numbers) == 0 or bool(numbers.min() >= 0 and numbers.max() < len(at) - 1)
