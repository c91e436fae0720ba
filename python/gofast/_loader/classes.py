"""``classes=``: the numbers of named classes, the same for every dataset that gets the same option."""

from __future__ import annotations

import operator
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, Protocol, runtime_checkable

from .. import errors
from .._core.warn import warn

Name = str | int
LabelType = Literal["auto", "int", "float", "text"]
_SHOWN = 6
_shorter = reprlib.Repr()
_shorter.maxstring = _shorter.maxother = 60


@runtime_checkable
class HasClasses(Protocol):
    """A dataset that says how it numbers its classes, as torchvision's and gofast's do."""

    @property
    def class_to_idx(self) -> Mapping[Any, int] | None:
        """The number of each class; None if labels are not classes."""


Classes = Iterable[Name] | Mapping[Any, int] | HasClasses


def numbered(classes: Classes) -> dict[Name, int]:
    """The number of each class, in the order of the argument.

    Args:
        classes: names, all str or all integers, numbered in their order from 0; or a mapping from
            name to number, which may give several names one number; or a dataset with class_to_idx.

    Raises:
        OptionError: the argument is something else, has no class, or has a name twice.
    """
    if isinstance(classes, HasClasses):
        kind, classes = type(classes).__name__, classes.class_to_idx or {}
        if not classes:
            raise errors.OptionError(
                f"classes={kind}(...) has no classes: its labels are numbers, or there are none"
            )
    if isinstance(classes, Mapping):
        names, numbers = list(classes), [_number(classes[name]) for name in classes]
    elif isinstance(classes, (str, bytes, set, frozenset)) or not isinstance(classes, Iterable):
        raise errors.OptionError(
            f"classes={shortened(classes)}: give a list of names in order, a mapping from name to number, "
            "or a dataset that has class_to_idx"
        )
    else:
        names = list(classes)
        numbers = list(range(len(names)))
    made = dict(zip(_names(names), numbers, strict=True))
    if not made:
        raise errors.OptionError("classes= is empty: give at least one class")
    if len(made) < len(names):
        raise errors.OptionError(f"classes= has {shortened(named_twice(_names(names)))} twice")
    return made


def _names(names: list[Any]) -> list[Name]:
    """Python's own str or int for each name, also for numpy's types."""
    if all(isinstance(name, str) for name in names):
        return [text("classes=", name) for name in names]
    try:
        return [int(operator.index(name)) for name in names]
    except TypeError:
        raise errors.OptionError(
            f"classes= has {listed(names)}: names are all text or all integers"
        ) from None


def _number(number: Any) -> int:
    try:
        made = int(operator.index(number))  # also makes an int of True
    except TypeError:
        made = 1 << 63
    if not -(1 << 63) <= made < 1 << 63:
        raise errors.OptionError(
            f"classes=: {number!r} is not the number of a class: give integers of 64 bits"
        )
    return made


def text(option: str, name: str) -> str:
    """Python's own str of a name, also for numpy's type and an Enum.

    Raises:
        OptionError: the name cannot be written in UTF-8, so no file can hold it.
    """
    made = str.__str__(name)
    try:
        made.encode()
    except UnicodeEncodeError:
        raise errors.OptionError(f"{option} has {shortened(made)}, which no file in UTF-8 holds") from None
    return made


def named_twice(names: Iterable[Any]) -> Any:
    """The first name that appears a second time."""
    seen = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    raise AssertionError("all are different")


def shortened(value: object) -> str:
    """The repr of a user's value, cut to one line for an error."""
    return _shorter.repr(value)


def in_order(class_to_idx: Mapping[Any, int]) -> list[Any]:
    """The names in the order of their numbers, as torchvision's ``classes``."""
    return sorted(class_to_idx, key=class_to_idx.__getitem__)


def listed(names: Iterable[Any]) -> str:
    """The first names, for an error."""
    every = list(names)
    shown = ", ".join(shortened(name) for name in every[:_SHOWN])
    return shown if len(every) <= _SHOWN else f"{shown}, ... ({len(every)} in all)"


def unknown(label: object, class_to_idx: Mapping[Any, int], place: str) -> errors.UnknownLabelError:
    """The error of a label that is not one of the classes.

    Args:
        place: where the label stands, such as ``"labels.csv: line 7"`` or a path.
    """
    return errors.UnknownLabelError(
        f"{place}: label {label!r} is not one of the classes {listed(class_to_idx)}: "
        "correct it, or add it to classes="
    )


def warn_of_conflicts(dataset: object) -> None:
    """Warns if parts of a concatenation number their classes differently.

    One part may have more classes than another. That is not a conflict, as long as each name has one number
    and each number one meaning.
    """
    from torch.utils.data import ConcatDataset, Subset  # whoever has a dataset has loaded it

    parts = _parts(dataset) if isinstance(dataset, (ConcatDataset, Subset)) else []
    for i, part in enumerate(parts):
        for earlier in parts[:i]:
            difference = conflict(earlier, part)
            if difference is not None:
                warn(
                    f"the datasets of a ConcatDataset number their classes differently: {difference}. "
                    "Give all of them the same classes=, a list or the first of them"
                )
                return


def leaves(dataset: object) -> Iterator[object]:
    """The datasets in a tree of Subset and ConcatDataset."""
    from torch.utils.data import ConcatDataset, Subset

    if isinstance(dataset, Subset):
        yield from leaves(dataset.dataset)
    elif isinstance(dataset, ConcatDataset):
        for part in dataset.datasets:
            yield from leaves(part)
    else:
        yield dataset


def _parts(dataset: object) -> list[dict[Any, int]]:
    """The distinct class_to_idx of the datasets in a tree."""
    found: list[dict[Any, int]] = []
    for part in leaves(dataset):
        try:  # a user's property may raise or return anything
            mapping = part.class_to_idx if isinstance(part, HasClasses) else None
            if isinstance(mapping, Mapping):
                made = {name: operator.index(mapping[name]) for name in mapping}
                found += [made] if made not in found else []
        except Exception:
            continue
    return found


def conflict(a: Mapping[Any, float], b: Mapping[Any, float]) -> str | None:
    """The first contradiction: a name with two numbers, or a number with two meanings."""
    for name in a:
        if name in b and a[name] != b[name]:
            return f"{name!r} is {a[name]} in one and {b[name]} in another"
    names_a, names_b = _by_number(a), _by_number(b)
    for number, names in names_b.items():
        if number in names_a and names.keys().isdisjoint(names_a[number]):
            name_a, name_b = next(iter(names_a[number])), next(iter(names))
            return f"{number} is {name_a!r} in one and {name_b!r} in another"
    return None


def _by_number(class_to_idx: Mapping[Any, float]) -> dict[float, dict[Any, None]]:
    """The names of each number, in order."""
    made: dict[float, dict[Any, None]] = {}
    for name, number in class_to_idx.items():
        made.setdefault(number, {})[name] = None
    return made
