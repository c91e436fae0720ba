"""The errors of pictures that cannot be read. Each is a BadImageError and also Pillow's or Python's error.

So `except PIL.UnidentifiedImageError` and `except FileNotFoundError` still work. The classes are made when
they are first needed, because importing Pillow takes 20 ms. All of them have the name of BadImageError, which
is the one to catch, so a pickle holds the second base instead of a name.
"""

from __future__ import annotations

import copyreg
from typing import Any

from ..errors import BadImageError


class _Like(type):
    """The class of these classes: pickle asks it for another way than the name."""


_made: dict[type[OSError], Any] = {}


def like(kind: type[OSError]) -> type[BadImageError]:
    """The class that is both a BadImageError and an error of this kind."""
    if kind is OSError or kind.__module__ not in ("builtins", "PIL"):
        return BadImageError
    if kind not in _made:
        names = {"__module__": BadImageError.__module__, "__doc__": BadImageError.__doc__}
        _made.setdefault(kind, _Like(BadImageError.__name__, (BadImageError, kind), names))
    found: type[BadImageError] = _made[kind]
    return found


def _reduced(made: type) -> str | tuple[Any, ...]:
    """By the name, if it is a class that a user derived from one of these."""
    return (like, made.__bases__[1:]) if made in _made.values() else made.__qualname__


copyreg.pickle(_Like, _reduced)
