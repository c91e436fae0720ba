"""Makes a list of pictures from what a user gives as paths, with the names that labels may use for them."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from .. import errors
from .._core import patterns


@dataclasses.dataclass(frozen=True)
class Pictures:
    """The pictures of a dataset, and the names that labels may use for them.

    Attributes:
        paths: the paths as the user gave them, or with the folder in front.
        names: the paths relative to the folder; None: there is no folder, and the user knows the order.
        index: the index of the pandas Series, if the paths were one.
        contents: the files' bytes, if they lie in memory and the paths are only names.
    """

    paths: Sequence[str]
    names: Sequence[str] | None = None
    index: Any = None
    contents: Sequence[bytes] | None = None

    def __len__(self) -> int:
        return len(self.paths)

    def places(self) -> dict[str, list[int]]:
        """The pictures for each name: a path, a path within the folder, or the file's name alone.

        A file's name does not count if several paths end with it, or if it is another picture's path.
        """
        made: dict[str, list[int]] = {}
        for level in (self.paths, self.names or (), [os.path.basename(path) for path in self.paths]):
            found: dict[str, list[int]] = {}
            for place, name in enumerate(level):
                found.setdefault(name, []).append(place)
            for name, places in found.items():
                if name not in made and len({self.paths[place] for place in places}) == 1:
                    made[name] = places
        return made


def listed(paths: Any) -> Pictures:
    """The pictures of a list, an array or a column of a table.

    Raises:
        OptionError: they have no order, or one of them is not a path.
    """
    if isinstance(paths, Pictures):
        return paths
    if is_table(paths):
        names = column_names(paths)
        raise errors.OptionError(
            f"paths is a table of the columns {names}: give the columns, such as "
            f"ImageFiles('folder/' + table[{names[0]!r}], table[{names[-1]!r}])"
        )
    if isinstance(paths, Mapping):
        raise errors.OptionError("paths is a mapping: give list(mapping) as paths and the mapping as labels")
    if isinstance(paths, (set, frozenset)):
        raise errors.OptionError("paths is a set, which has no order: give a list, such as sorted(paths)")
    made = []
    for place, path in enumerate(in_order(paths)):
        if not isinstance(path, (str, os.PathLike)):
            raise errors.OptionError(f"paths[{place}] is {path!r}, not a path")
        made.append(os.fspath(path))
    return Pictures(made, None, paths.index if is_series(paths) else None)


def held(contents: Any) -> Pictures:
    """The pictures of an iterable of files' bytes, or of a column of them.

    Raises:
        OptionError: one is not bytes.
    """
    made = in_order(contents)
    for place, content in enumerate(made):
        if type(content) is not bytes:
            raise errors.OptionError(f"contents[{place}] is of {type(content).__name__}, not bytes")
    index = contents.index if is_series(contents) else None
    return Pictures([f"bytes[{place}]" for place in range(len(made))], None, index, made)


def matching(pattern: str) -> Pictures:
    """The files that match a pattern like the shell's, sorted by path.

    Raises:
        NotFoundError: there is no such file.
    """
    found = patterns.matching(pattern)
    if not found:
        raise errors.NotFoundError(f"{pattern}: no file matches the pattern").at(path=pattern)
    return Pictures(found, ())


def in_order(values: Any) -> list[Any]:
    """The elements of an array, tensor, column of a table or iterable, in order.

    With one dimension, whole numbers, truth values and texts become Python's own.
    """
    if isinstance(values, torch.Tensor):
        whole = not (values.is_floating_point() or values.is_complex() or values.dtype == torch.bool)
        return values.tolist() if whole and values.dim() == 1 else list(values)
    if isinstance(values, np.ndarray):
        return values.tolist() if values.ndim == 1 and values.dtype.kind in "iubUSO" else list(values)
    for name in ("to_list", "tolist", "to_pylist"):  # pandas and polars; pandas' arrays; pyarrow
        if callable(convert := getattr(values, name, None)):
            return list(convert())
    return list(values)


def is_series(values: Any) -> bool:
    """Whether this is a Series of pandas: values with an index."""
    return hasattr(values, "iloc") and hasattr(values, "index") and not is_table(values)


def is_table(values: Any) -> bool:
    """Whether this is a table of pandas, polars or pyarrow."""
    return not isinstance(values, Mapping) and (hasattr(values, "columns") or hasattr(values, "column_names"))


def column_names(table: Any) -> list[Any]:
    """The names of a table's columns. In pyarrow they are separate from the columns."""
    return list(table.column_names if hasattr(table, "column_names") else table.columns)
