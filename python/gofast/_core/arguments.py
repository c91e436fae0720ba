"""The border that options of public names cross: numpy's and torch's values become Python's own there, once.

An option's name says what it takes, everywhere. What lies behind the border, such as a key of a cache, a
request to the core or a repr, sees plain values only.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from .. import errors

F = TypeVar("F", bound=Callable[..., Any])
Group = TypeVar("Group", bound="OptionGroup")
Kind = Callable[[str, Any], Any]

_OWN = {int, float, bool, str, type(None)}
_WITH_ITEMS = (("numpy", "generic"), ("numpy", "ndarray"), ("torch", "Tensor"))


def plain(value: Any) -> Any:
    """A scalar of numpy's, or an array or tensor without dimensions, as Python's int, float, bool or str."""
    if type(value) in _OWN:
        return value
    kinds = (getattr(sys.modules.get(package), name, ()) for package, name in _WITH_ITEMS)
    return value.item() if any(isinstance(value, kind) for kind in kinds) and value.ndim == 0 else value


def several(value: Any) -> Any:
    """A list, tuple, array, tensor, Series or Index as plain values in a list or tuple; others as `plain`."""
    if isinstance(value, (list, tuple)):
        made = [plain(one) for one in value]
        return made if isinstance(value, list) else tuple(made)
    if getattr(value, "ndim", 0) == 1 and hasattr(value, "tolist"):
        return value.tolist()
    return plain(value)


def whole(least: int | None = None, most: int = (1 << 63) - 1, what: str = "a whole number") -> Kind:
    """Takes integers of any type from `least` to `most`; a bool is a mistake."""

    def taken(name: str, value: Any) -> int:
        made = plain(value)
        try:
            number = None if isinstance(made, bool) else operator.index(made)
        except TypeError:
            number = None
        if number is None or number > most or (least is not None and number < least):
            start = "" if least is None else f" from {least} on"
            raise errors.OptionError(f"{name}={made!r}: give {what}{start}")
        return number

    return taken


def flag(name: str, value: Any) -> bool:
    """Takes truth values of any type, and 0 and 1; a text such as "no" would be true."""
    made = plain(value)
    if not isinstance(made, int) or made not in (0, 1):
        raise errors.OptionError(f"{name}={made!r}: give True or False")
    return bool(made)


def path(name: str, value: Any) -> Any:
    """Takes a path of any type; one of bytes becomes a str. Other values stay."""
    made = plain(value)
    of_bytes = isinstance(made, bytes) or (
        isinstance(made, os.PathLike) and isinstance(os.fspath(made), bytes)
    )
    return os.fsdecode(made) if of_bytes else made


def _files(name: str, value: Any, urls: bool = False) -> Any:
    if isinstance(plain(value), bytes):  # a file's content more often than its name
        raise errors.OptionError(f"{name}={value!r:.80} is not a path: give text, such as os.fsdecode(...)")
    return path(name, value) if urls else _local(path(name, value))


def _local(made: Any) -> Any:
    """The same, where there is no URL."""
    given = several(made)
    every = given if isinstance(given, (list, tuple)) else [given]
    if not any(isinstance(one, str) and "://" in one for one in every):
        return made
    from .remote_files import local_files

    return local_files(given)


def _plain(name: str, value: Any) -> Any:
    return plain(value)


def _several(name: str, value: Any) -> Any:
    return several(value)


def _by_name(name: str, value: Any) -> Any:
    """A value, or a mapping whose keys and values are plain then."""
    if isinstance(value, Mapping):
        return {plain(key): several(one) for key, one in value.items()}
    return several(value)


_positive, _counted = whole(1), whole(0)
_PLAIN = """header scale output label_type delimiter decimal thousands encoding
    even shuffle rng on_error suffix image compression_type
    memory cache_limit batch_size num_workers prefetch_factor pin_memory pin_memory_device drop_last
    persistent_workers in_order timeout device resident seconds padding padding_side missing identity"""
_SEVERAL = "shape columns exclude label keys fields extensions mean std features"
_OPTIONS: dict[str, Kind] = {
    **dict.fromkeys(_PLAIN.split(), _plain),
    **dict.fromkeys(_SEVERAL.split(), _several),
    **dict.fromkeys(("fill_value", "dates", "text", "description"), _by_name),
    **dict.fromkeys(("path", "paths", "src"), _files),
    **dict.fromkeys(("dst", "root", "cache", "index"), path),
    "csv": lambda name, value: _local(path(name, value)),
    **dict.fromkeys(("allow_empty", "recursive", "channels_last", "return_index", "return_path"), flag),
    **dict.fromkeys(("overwrite", "allow_random", "truncation"), flag),
    "threads": whole(1, what="the number of threads"),
    "one_hot": whole(1, what="the number of classes"),
    "ahead": whole(0, what="the number of batches"),
    "events": whole(1, what="how many events of a thread are kept,"),
    "skiprows": whole(0, what="the number of lines before the header,"),
    "max_bad": whole(0, what="a number of files"),
    **dict.fromkeys(("max_length", "pad_to_multiple_of"), _positive),
    **dict.fromkeys(("block_size", "stride"), whole(1, (1 << 31) - 1)),
    "offset": whole(0, (1 << 31) - 1),
    **dict.fromkeys(("missing_label", "pad_token_id"), whole()),
    "seed": whole(most=1 << 128),
    "rank": _counted,
    "world": _positive,
    "epoch": _counted,
}


def checked(target: F, urls: bool = False) -> F:
    """A public function whose options are plain when it is called, or a class whose ``__init__`` is one.

    Args:
        urls: it takes URLs itself; else ``path`` and ``paths`` are local ones when it is called.

    Raises:
        OptionError: at the call, an option has a value that makes no sense.
    """
    if isinstance(target, type):
        target.__init__ = checked(target.__init__)  # type: ignore[misc]
        return target
    parameters = inspect.signature(target).parameters
    positional = [name for name, one in parameters.items() if one.kind is one.POSITIONAL_OR_KEYWORD]
    handed_on = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    known = {name: kind for name, kind in _OPTIONS.items() if handed_on or name in parameters}
    if urls:
        known |= dict.fromkeys({"path", "paths"} & known.keys(), functools.partial(_files, urls=True))
    # None is a value of most options; where it is not, it does not stand in the signature either.
    absent = _OPTIONS.keys() - {
        name
        for name, one in parameters.items()
        if one.default is not None and "None" not in str(one.annotation)
    }

    def made(name: str, value: Any) -> Any:
        return value if name not in known or (value is None and name in absent) else known[name](name, value)

    @functools.wraps(target)
    def call(*given: Any, **named: Any) -> Any:
        first = [made(name, one) for name, one in zip(positional, given, strict=False)]
        rest = {name: made(name, one) for name, one in named.items()}
        return target(*first, *given[len(first) :], **rest)

    return call  # type: ignore[return-value]


class OptionGroup:
    """Options that go together: base class of frozen dataclasses, which check their fields.

    A public function spells all its options out, for ``help``, editors and type checkers. It hands them on in
    such objects, which find theirs by name: ``SampleOptions.of(locals())``.
    """

    @classmethod
    def among(cls, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Those of a function's arguments that are fields of this class."""
        fields = (field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type]
        return {name: arguments[name] for name in fields if name in arguments}

    @classmethod
    def of(cls: type[Group], arguments: Mapping[str, Any]) -> Group:
        """The options among a function's arguments.

        Raises:
            OptionError: one of them makes no sense.
        """
        return cls(**cls.among(arguments))
