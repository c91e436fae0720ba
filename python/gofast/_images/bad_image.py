"""The errors of pictures that cannot be read: each a BadImageError, and also what Pillow or Python raised.

So `except PIL.UnidentifiedImageError` and `except FileNotFoundError` go on working. The classes are made when
they are first needed, and found by name when they are unpickled: importing Pillow takes 20 ms.
"""

from __future__ import annotations

import builtins
import sys
from typing import Any

from ..errors import BadImageError

_PREFIX = "BadImage"


def like(kind: type[OSError]) -> type[BadImageError]:
    """The class that is a BadImageError and an error of that kind."""
    name = _PREFIX + kind.__name__
    if kind is OSError or _kind(kind.__name__) is not kind:
        return BadImageError
    made: type[BadImageError] = getattr(sys.modules[__name__], name)
    return made


def _kind(name: str) -> Any:
    if name == "UnidentifiedImageError":
        import PIL

        return PIL.UnidentifiedImageError
    return getattr(builtins, name, None)


def __getattr__(name: str) -> type[BadImageError]:
    kind = _kind(name.removeprefix(_PREFIX)) if name.startswith(_PREFIX) else None
    if not (isinstance(kind, type) and issubclass(kind, OSError)):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    made = type(name, (BadImageError, kind), {"__module__": __name__, "__doc__": BadImageError.__doc__})
    globals()[name] = made
    return made
