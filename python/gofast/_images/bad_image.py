"""Errors of files and pictures that are gofast's and also Pillow's or Python's.

So `except PIL.UnidentifiedImageError` and `except NotADirectoryError` still work. The classes are made when
they are first needed, because importing Pillow takes 20 ms. All of them have the name of gofast's class,
which is the one to catch, so a pickle holds both bases instead of a name.
"""

from __future__ import annotations

import copyreg
from typing import Any

from ..errors import BadImageError, Error, GofastError


class _Like(type):
    """The class of these classes: pickle asks it for another way than the name."""


_made: dict[tuple[type[GofastError], type[OSError]], Any] = {}


def like(ours: type[Error], kind: type[OSError]) -> type[Error]:
    """The class that is both this one of gofast's and an error of this kind."""
    if issubclass(ours, kind) or kind.__module__ not in ("builtins", "PIL"):
        return ours
    if (ours, kind) not in _made:
        names = {"__module__": ours.__module__, "__doc__": ours.__doc__}
        _made.setdefault((ours, kind), _Like(ours.__name__, (ours, kind), names))
    found: type[Error] = _made[ours, kind]
    return found


def both(error: OSError, text: str, ours: type[Error] = BadImageError) -> Error:  # type: ignore[assignment]
    """An error of gofast's, of the same kind and number as the system's."""
    made = like(ours, type(error))(text)
    for name in ("errno", "strerror", "filename"):
        setattr(made, name, getattr(error, name))
    return made


def _reduced(made: type) -> str | tuple[Any, ...]:
    """By the name, if it is a class that a user derived from one of these."""
    return (like, made.__bases__) if made in _made.values() else made.__qualname__


copyreg.pickle(_Like, _reduced)
