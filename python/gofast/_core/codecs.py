"""The libraries that decode pictures: those that the user's Pillow brings, so that pixels are the same."""

from __future__ import annotations

import functools
import glob
import importlib.metadata
import importlib.util
import os
import pathlib

from . import engine, operations
from .native import Native

_engine_with: Native | None = (
    None  # the engine that has them: a private copy in a forked child begins without
)
_found: operations.CodecsFound = {"jpeg": "", "missing": {}}


def load() -> operations.CodecsFound:
    """Finds the libraries, once: the JPEG decoder's name, and which formats are left to Pillow and why."""
    global _engine_with, _found
    if _engine_with is not engine.native():
        _found = operations.codecs(
            {"jpeg": _bundled("libjpeg-*.so.62*"), "webp": _bundled("libwebpdemux-*.so.2*")}
        )
        _engine_with = engine.native()
    return _found


def found() -> operations.CodecsFound | None:
    """What `load` has found in this process; None before."""
    return None if _engine_with is None else _found


def _bundled(pattern: str) -> str:
    """A library inside the Pillow wheel, or "". Pillow itself is not imported: that takes 20 ms."""
    spec = importlib.util.find_spec("PIL")
    if spec is None or spec.origin is None:
        return ""
    site = pathlib.Path(spec.origin).parent.parent
    # Installed by pip the folder is pillow.libs; some builds keep it inside the package.
    for folder in (site / "pillow.libs", site / "PIL" / ".libs"):
        found = sorted(glob.glob(os.path.join(glob.escape(str(folder)), pattern)))
        if found:
            return found[-1]
    return ""


@functools.cache
def pass_order() -> str:
    """In which order the user's Pillow resizes rows and columns; it rounds in between."""
    try:
        version = importlib.metadata.version("pillow").split(".")
        numbers = int(version[0]), int(version[1])
    except (importlib.metadata.PackageNotFoundError, ValueError, IndexError):
        return "13"
    return "13" if numbers >= (13, 0) else "12.2" if numbers >= (12, 2) else "horizontal"
