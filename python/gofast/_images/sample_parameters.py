"""Sample parameters in words: what the records of a batch say of each of its samples."""

from __future__ import annotations

import functools
import itertools
import struct
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._core import picture_operations
from .._loader.batch_source import Parameters
from .._plan.augment import OPERATIONS
from .._plan.state import Step

_HAPPENS = [("happens", "?", 1)]
_SIZE_WORDS = 2  # behind those of the steps: the size for which was drawn (steps/draw.h)


def read(steps: Sequence[Step], records: bytes, words: int) -> list[Parameters]:
    """The parameters of each sample: those of the steps that happen, in their order.

    Args:
        steps: of the plan.
        records: of the samples, one behind the other.
        words: of each.
    """
    if not any("steps" in step or "members" in step for step in steps):
        columns, at = [], 0
        for step in steps:
            operation = _operations().get(step["op"])
            if operation is not None:
                values = operation.column(records, at, words)
                columns.append(zip(itertools.repeat(step["op"]), values, strict=False))
                at += operation.words
        assert at == words - _SIZE_WORDS
        return [*map(list, zip(*columns, strict=True))]
    made = []
    for start in range(0, len(records), 4 * words):
        found: Parameters = []
        end = read_record(steps, records, start, found)
        assert end == start + 4 * (words - _SIZE_WORDS)
        made.append(found)
    return made


def read_record(steps: Sequence[Step], record: bytes, at: int, found: Parameters | None) -> int:
    """Reads the words of these steps from a place on, as Go's compiler lays them out. Returns the next place.

    Args:
        found: it grows; None: the steps do not happen.
    """
    operations = _operations()
    for step in steps:
        name, operation = step["op"], operations.get(step["op"])
        happens = found is not None
        if operation is not None:
            if found is not None:
                values = operation.values(record, at)
                found.append((name, values))
                happens = values.get("happens", True)
            at += 4 * operation.words
        if "steps" in step:
            at = read_record(step["steps"], record, at, found if happens else None)
        if "members" in step:
            members, each = step["members"], list[Parameters]()
            which = struct.unpack_from(f"<{1 if name == 'random_choice' else len(members)}i", record, at)
            at += 4 * len(which)
            for member in members:
                each.append([])
                at = read_record(member, record, at, each[-1])
            if found is not None:
                found.append((name, {"members": [*which]}))
                for member in which:
                    found += each[member]
    return at


class _Operation(NamedTuple):
    """What an operation's words say (operation.h).

    Attributes:
        words: of a record.
        fields: name, type and number of values, of those that come first.
        form: reads them.
    """

    words: int
    fields: list[tuple[str, str, int]]
    form: struct.Struct

    def column(self, records: bytes, at: int, words: int) -> list[dict[str, Any]]:
        """The values of all samples: its words begin at this one of each record."""
        if self.fields == _HAPPENS:
            happens = np.frombuffer(records, np.int32)[at::words] != 0
            return [{"happens": one} for one in happens.tolist()]
        if any(code != "i" or count > 1 for _, code, count in self.fields):
            return [self.values(records, start) for start in range(4 * at, len(records), 4 * words)]
        names = [name for name, _, _ in self.fields]
        table = np.frombuffer(records, np.int32).reshape(-1, words)[:, at : at + len(names)]
        empty = dict.fromkeys(names, 0)
        made = [empty.copy() for _ in range(len(table))]  # a third of the time of a zip for each
        for name, values in zip(names, table.T.tolist(), strict=True):
            for one, value in zip(made, values, strict=True):
                one[name] = value
        return made

    def values(self, record: bytes, at: int) -> dict[str, Any]:
        """By name, those of a record that begin there."""
        values = iter(self.form.unpack_from(record, at))
        made: dict[str, Any] = {}
        for name, code, count in self.fields:
            if count > 1:
                made[name] = [next(values) for _ in range(count)]
            elif code == "i":
                made[name] = next(values)
            elif code == "?":
                made[name] = next(values) != 0
                if name == "happens" and not made[name]:
                    break
            else:
                made[name] = OPERATIONS[next(values)] if code == "A" else next(values)
        return made


@functools.cache
def _operations() -> dict[str, _Operation]:
    made = {}
    for name, record in picture_operations.records({}).items():
        fields = []
        for field in record["fields"].split():
            called, _, code = field.partition(":")
            fields.append((called, code[-1:] or "i", int(code[:-1] or 1)))
        form = "".join(f"{count}{'i' if code in '?A' else code}" for _, code, count in fields)
        made[name] = _Operation(record["words"], fields, struct.Struct(f"<{form}"))
    return made
