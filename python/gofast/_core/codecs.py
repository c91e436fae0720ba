"""Finds the libraries that decode pictures: those of the user's Pillow, so that pixels are the same."""

from __future__ import annotations

import functools
import glob
import importlib.metadata
import importlib.util
import json
import os
import pathlib
from typing import Any

from . import engine

_engine_with: Any = None  # the engine that has them; a private copy in a forked child starts without
_found: dict[str, Any] = {}


def load() -> dict[str, Any]:
    """Finds the libraries once. Returns the JPEG decoder's name, and the formats left to Pillow and why."""
    global _engine_with, _found
    if _engine_with is not engine.native():
        wanted = {"jpeg": _bundled("libjpeg-*.so.62*"), "webp": _bundled("libwebpdemux-*.so.2*")}
        _found = json.loads(engine.call("LoadCodecs", json.dumps(wanted)))
        _engine_with = engine.native()
    return _found


def found() -> dict[str, Any]:
    """The result of `load` in this process; empty before its call."""
    return _found


def _bundled(pattern: str) -> str:
    """A library inside the Pillow wheel, or "". Pillow itself is not imported, since that takes 20 ms."""
    spec = importlib.util.find_spec("PIL")
    if spec is None or spec.origin is None:
        return ""
    site = pathlib.Path(spec.origin).parent.parent
    # pip installs the folder as pillow.libs; some builds keep it inside the package.
    for folder in (site / "pillow.libs", site / "PIL" / ".libs"):
        found = sorted(glob.glob(os.path.join(glob.escape(str(folder)), pattern)))
        if found:
            return found[-1]
    return ""


@functools.cache
def pass_order() -> str:
    """The order in which the user's Pillow resizes rows and columns. It rounds in between."""
    try:
        version = importlib.metadata.version("pillow").split(".")
        numbers = int(version[0]), int(version[1])
    except (importlib.metadata.PackageNotFoundError, ValueError, IndexError):
        return "13"
    return "13" if numbers >= (13, 0) else "12.2" if numbers >= (12, 2) else "horizontal"
