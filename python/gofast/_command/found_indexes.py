"""Shards of MDS and litData, which cannot be verified without the index.json that lists them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .. import errors
from .._core.command_operations import ListedShards, Problem
from .._core.mds_shards import OtherIndexError, shards_of


class FoundIndexes(NamedTuple):
    """Indexes that were found.

    Attributes:
        shards: what they list.
        damaged, unchecked: what is wrong with them.
        read: how many there are.
    """

    shards: list[ListedShards]
    damaged: list[Problem]
    unchecked: list[Problem]
    read: int

    @classmethod
    def of(cls, paths: Sequence[str]) -> FoundIndexes:
        """The indexes below folders, and those beside files."""
        made = cls([], [], [], 0)
        for path in _indexes(paths):
            made = made._replace(read=made.read + made._add(path))
        return made

    def _add(self, path: str) -> bool:
        """Whether it is an index of shards."""
        try:
            found = shards_of(path)
        except OtherIndexError:
            return False
        except errors.GofastError as error:
            whole = isinstance(error, (errors.UnsupportedError, errors.LimitError))
            (self.unchecked if whole else self.damaged).append(problem_of(path, error))
            return True
        self.shards.append(
            {
                "form": found.form,
                "paths": found.paths,
                "samples": found.samples,
                "leaves": found.leaves,
                "compression": found.compression,
                "unpacked": list(found.unpacked),
            }
        )
        for shard in found.paths:
            if not os.path.exists(shard):
                missing = errors.NotFoundError(f"{path} lists it, and it is not there").at(path=shard)
                self.damaged.append(problem_of(shard, missing))
        return True


def problem_of(path: str, error: errors.GofastError) -> Problem:
    """An error as a line of the report."""
    kind = next(name for name, kind in errors.KINDS.items() if kind is type(error))
    return {"path": error.path or path, "kind": kind, "reason": str(error)}


def _indexes(paths: Iterable[str]) -> Iterator[str]:
    beside = {os.path.dirname(path) or "." for path in paths if not os.path.isdir(path)}
    below = (folder for path in paths for folder, _, names in os.walk(path) if "index.json" in names)
    for folder in dict.fromkeys(map(os.path.abspath, (*below, *sorted(beside)))):
        if os.path.isfile(path := os.path.join(folder, "index.json")):
            yield path
