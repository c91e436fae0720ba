"""A user's labels for pictures: in the order of the pictures, or by their names."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .. import errors
from .._core.warn import warn
from .._loader.batch_source import called
from .._loader.classes import unknown
from .paths import Pictures, column_names, in_order, is_series, is_table


def matched(labels: Any, pictures: Pictures) -> list[Any]:
    """One label for each picture, in their order.

    Integers of any type become Python's own; other labels stay as they are.

    Args:
        labels: a mapping from names, a pandas Series with names in its index, or any list of labels in the
            order of the pictures.

    Raises:
        OptionError: a picture has no label, or two; or it is not known which label is whose.
    """
    if isinstance(labels, (str, bytes, os.PathLike)):
        raise errors.OptionError(
            f"labels={os.fsdecode(labels)!r}: give the labels themselves; ImageFiles.from_csv reads them "
            "from a file"
        )
    if callable(labels) and not hasattr(labels, "__iter__"):
        raise errors.OptionError(
            f"labels={called(labels)}: labels stand before the transform; say transform="
        )
    if isinstance(labels, (set, frozenset)):
        raise errors.OptionError("labels is a set, which has no order: give a list, or a mapping from names")
    if isinstance(labels, Mapping):
        return _whole(_by_name(list(labels), list(labels.values()), pictures))
    if is_table(labels):
        names = column_names(labels)
        raise errors.OptionError(
            f"labels is a table of the columns {names}: give one of them, such as table[{names[-1]!r}], or a "
            "tensor [n, ...] in the order of the pictures"
        )
    values = in_order(labels)
    if is_series(labels):
        keys = list(labels.index)
        if keys and all(isinstance(key, (str, os.PathLike)) for key in keys):
            return _whole(_by_name(keys, values, pictures))
        _check_order(labels.index, keys, pictures)
    if len(values) != len(pictures):
        raise errors.OptionError(f"{len(values)} labels do not go with {len(pictures)} pictures")
    return _whole(values)


def numbers(labels: Sequence[Any], class_to_idx: Mapping[Any, int], paths: Sequence[str]) -> list[int]:
    """The labels' class numbers.

    Raises:
        UnknownLabelError: a label is not one of the classes.
    """
    made = []
    for label, path in zip(labels, paths, strict=True):
        number = class_to_idx.get(label) if isinstance(label, Hashable) else None
        if number is None:
            raise unknown(label, class_to_idx, path).at(path=path)
        made.append(number)
    return made


def _by_name(keys: Sequence[Any], values: Sequence[Any], pictures: Pictures) -> list[Any]:
    """The pictures' labels, if each label comes with a file's name."""
    for key in keys:
        if not isinstance(key, (str, os.PathLike)):
            raise errors.OptionError(
                f"labels is for {key!r}, which is no file: its keys are paths, or the files' names"
            )
    names = [os.fspath(key) for key in keys]
    if len(set(names)) < len(names):
        twice = next(name for name, count in Counter(names).items() if count > 1)
        raise errors.OptionError(f"labels has {twice!r} twice: leave one of them")
    places = pictures.places()
    found: dict[int, tuple[str, Any]] = {}
    for name, value in zip(names, values, strict=True):
        for place in places.get(name, ()):
            if place in found:
                raise errors.OptionError(
                    f"labels has two for {pictures.paths[place]!r}: under {found[place][0]!r} and {name!r}"
                )
            found[place] = name, value
    if len(found) < len(pictures):
        raise _missing([p for i, p in enumerate(pictures.paths) if i not in found], names)
    surplus = [name for name in names if name not in places]
    if surplus:
        warn(
            f"labels has {len(surplus)} for pictures that are not there, such as {surplus[0]!r}: they are "
            "left out; if that is meant, take them out of labels"
        )
    return [found[place][1] for place in range(len(pictures))]


def _missing(paths: Sequence[str], names: Iterable[str]) -> errors.OptionError:
    """The error for pictures without a label, with a possible reason."""
    given = set(names)
    first, base = paths[0], os.path.basename(paths[0])
    text = f"labels has none for {first!r}" + (f", and {len(paths) - 1} more" if len(paths) > 1 else "")
    stem, end = os.path.splitext(base)
    if stem in given:
        text += f"; it has {stem!r}: put {end!r} behind the names"
    elif base in given:
        text += f"; {base!r} alone is the name of several: give their paths"
    return errors.OptionError(text)


def _check_order(index: Any, keys: list[Any], pictures: Pictures) -> None:
    """Refuses a Series without names, unless its order is certainly that of the pictures."""
    if pictures.names is not None:
        raise errors.OptionError(
            "labels is a Series that does not say whose its labels are: let its index be the files' names, "
            "as in table.set_index('filename')['label']; labels.to_numpy() goes by the order of the sorted "
            "paths"
        )
    if pictures.index is not None:
        if not index.equals(pictures.index):
            raise errors.OptionError(
                "labels has another index than paths: take both from one table, or give labels.to_numpy() "
                "for the order as it is"
            )
    elif keys != list(range(len(keys))):
        raise errors.OptionError(
            f"labels is a Series whose index, {keys[:3]!r} and so on, is neither paths nor 0, 1, 2 and so "
            "on: give labels.to_numpy() for the order as it is"
        )


def _whole(values: list[Any]) -> list[Any]:
    """The labels, as Python's ints if all are whole numbers."""
    kinds = {type(value) for value in values}
    if kinds != {int} and all(kind is int or issubclass(kind, np.integer) for kind in kinds):
        return [int(value) for value in values]
    return values
