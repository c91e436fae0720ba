"""``categories=`` and ``dates=`` turn feature columns of text and of dates into numbers."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from .. import errors
from .._core.table_operations import Codings
from .._core.warn import warn
from .._loader.classes import conflict, leaves, listed, named_twice, shortened, text

Unit = Literal["D", "h", "m", "s", "ms", "us", "ns"]
Dates = Mapping[str, Unit]
_UNITS = ("D", "h", "m", "s", "ms", "us", "ns")

# The names of one column, numbered in their order, or the number of each.
Named = tuple[str, ...] | dict[str, float]


@runtime_checkable
class HasCategories(Protocol):
    """A dataset that says how it numbers the texts of its columns."""

    @property
    def categories(self) -> Mapping[str, Any]:
        """The names, or the number of each name, for each column."""


Categories = Mapping[str, Iterable[str] | Mapping[str, float]] | HasCategories


def categorized(categories: Categories | None) -> dict[str, Named]:
    """The names of each column in their order, or the number of each of its names.

    Args:
        categories: the option of ``TableDataset``.

    Raises:
        OptionError: it is something else; or a column has no name, a name twice, a name that is not
            text, or a number that is not a number.
    """
    given = categories
    if not isinstance(given, Mapping) and isinstance(given, HasCategories):
        given = given.categories
        if isinstance(given, Mapping) and not given:
            kind = type(categories).__name__
            raise errors.OptionError(f"categories={kind}(...) has none: it was made without categories=")
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise errors.OptionError(
            f"categories={shortened(categories)}: give a mapping from columns to lists of names or to "
            "mappings from name to number, or a TableDataset that has categories"
        )
    return {_column("categories", column): _named(column, given[column]) for column in given}


def counted(dates: Dates | None) -> dict[str, Unit]:
    """The unit that each column of dates is counted in.

    Raises:
        OptionError: it is not a mapping from columns to units.
    """
    if dates is None:
        return {}
    if not isinstance(dates, Mapping):
        raise errors.OptionError(
            f'dates={shortened(dates)}: give a mapping from columns to units, such as {{"when": "s"}}'
        )
    for column, unit in dates.items():
        if unit not in _UNITS:
            raise errors.OptionError(f"dates[{column!r}]={unit!r} is not one of {', '.join(_UNITS)}")
    return {_column("dates", column): unit for column, unit in dates.items()}


def coding_options(categories: Mapping[str, Named] | None, dates: Mapping[str, Unit] | None) -> Codings:
    """Both options in the form that the engine takes."""
    return {
        "categories": [{"column": column, **_config(named)} for column, named in (categories or {}).items()],
        "dates": [{"column": column, "unit": unit} for column, unit in (dates or {}).items()],
    }


def warn_of_codings(dataset: object) -> None:
    """Warns if parts of a concatenation number the texts or dates of one column differently."""
    from torch.utils.data import ConcatDataset, Subset  # whoever has a dataset has loaded it

    from .._loader.native_dataset import is_native

    if not isinstance(dataset, (ConcatDataset, Subset)):
        return
    made: dict[str, tuple[Mapping[str, float], str | None]] = {}
    for part in leaves(dataset):
        source: Any = getattr(part, "_source", None) if is_native(part) else None
        if not hasattr(source, "categories"):  # not a table
            continue
        units: Mapping[str, Unit] = source.dates
        named: Mapping[str, Named] = source.categories
        for column in {**units, **named}:
            names = named.get(column, ())
            numbers = names if isinstance(names, dict) else {name: i for i, name in enumerate(names)}
            unit = units.get(column)
            if column not in made:
                made[column] = numbers, unit
                continue
            known, earlier = made[column]
            difference = conflict(known, numbers)
            if unit != earlier:
                difference = f"counted in {earlier} in one and in {unit} in another"
            if difference is not None:
                warn(
                    f"the datasets of a ConcatDataset make other numbers of column {column!r}: {difference}. "
                    "Give all of them the same categories= and dates="
                )
                return


def _config(named: Named) -> dict[str, Any]:
    if isinstance(named, tuple):
        return {"names": list(named)}
    numbers = list(named.values())
    return {"names": list(named), "numbers" if isinstance(numbers[0], int) else "reals": numbers}


def _column(option: str, column: object) -> str:
    if not isinstance(column, str):
        raise errors.OptionError(f"{option}= has the column {column!r}: give names of columns")
    return text(f"{option}=", column)


def _named(column: str, names: Any) -> Named:
    option = f"categories[{column!r}]"
    if isinstance(names, (str, bytes, set, frozenset)) or not isinstance(names, Iterable):
        raise errors.OptionError(
            f"{option}={shortened(names)}: give a list of names in order, or a mapping from name to number"
        )
    every = list(names)
    if not every:
        raise errors.OptionError(f"{option} is empty: give at least one name")
    if not all(isinstance(name, str) for name in every):
        raise errors.OptionError(f"{option} has {listed(every)}: cells compare as text, so names are text")
    texts = [text(option, name) for name in every]
    if len(set(texts)) < len(texts):
        raise errors.OptionError(f"{option} has {shortened(named_twice(texts))} twice")
    if not isinstance(names, Mapping):
        return tuple(texts)
    return dict(zip(texts, _numbers(option, [names[name] for name in every]), strict=True))


def _numbers(option: str, given: list[Any]) -> list[int] | list[float]:
    """The numbers, all int or all float. An integer among floats must have an exact float."""
    numbers = [_number(option, number) for number in given]
    integers = [number for number in numbers if isinstance(number, int)]
    if len(integers) == len(numbers):
        return integers
    for number in integers:
        if int(float(number)) != number:
            raise errors.OptionError(f"{option}: no float is exactly {number}, which stands beside floats")
    return [float(number) for number in numbers]


def _number(option: str, number: Any) -> int | float:
    try:
        whole = int(operator.index(number))  # also makes an int of True
        if -(1 << 63) <= whole < 1 << 63:
            return whole
    except TypeError:
        try:
            made = math.nan if isinstance(number, (str, bytes)) else float(number)
        except (TypeError, ValueError):
            made = math.nan
        if math.isfinite(made):
            return made
    raise errors.OptionError(
        f"{option}: {number!r} is not the number of a name: give integers of 64 bits or finite floats"
    )
