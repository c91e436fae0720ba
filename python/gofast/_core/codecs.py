"""The libraries that decode pictures: those that the user's Pillow brings, so that pixels are the same."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import json
import pathlib
from typing import Any

from . import engine

_engine_with: Any = None  # the engine that has them: a private copy in a forked child begins without
_found: dict[str, Any] = {}


def load() -> dict[str, Any]:
    """Finds the libraries, once: what the core decodes, the JPEG decoder's name, why others are Pillow's."""
    global _engine_with, _found
    if _engine_with is not engine.native():
        _found = json.loads(engine.call("LoadCodecs", json.dumps({"folders": folders()})))
        _engine_with = engine.native()
    return _found


def found() -> dict[str, Any]:
    """What `load` has found in this process; empty before."""
    return _found


def folders() -> list[str]:
    """Where the Pillow wheel keeps its libraries. Pillow itself is not imported: that takes 20 ms."""
    spec = importlib.util.find_spec("PIL")
    if spec is None or spec.origin is None:
        return []
    site = pathlib.Path(spec.origin).parent.parent
    # Installed by pip the folder is pillow.libs; some builds keep it inside the package.
    return [str(site / "pillow.libs"), str(site / "PIL" / ".libs")]


@functools.cache
def pass_order() -> str:
    """In which order the user's Pillow resizes rows and columns; it rounds in between."""
    try:
        version = importlib.metadata.version("pillow").split(".")
        numbers = int(version[0]), int(version[1])
    except (importlib.metadata.PackageNotFoundError, ValueError, IndexError):
        return "13"
    return "13" if numbers >= (13, 0) else "12.2" if numbers >= (12, 2) else "horizontal"
