"""Finds the libraries that decode pictures: those of the user's Pillow, so that pixels are the same."""

from __future__ import annotations

import functools
import importlib.metadata
import importlib.util
import pathlib

from . import engine, entry_points, process_operations
from .native import Capsule, Native

SLACK = bytes(64)  # picture/format.h's GF_FORMAT_SLACK: the core may read so far behind pixels

# The engine that has them. A private copy in a forked child starts without.
_engine_with: Native | None = None
_found: process_operations.CodecsFound = {"native": [], "jpeg": "", "missing": {}}
_capsule: Capsule | None = None  # of the library that has them, which outlives a fork


def load() -> process_operations.CodecsFound:
    """Finds the libraries, once: what the core decodes, the JPEG decoder's name, why others are Pillow's."""
    global _engine_with, _found, _capsule
    if _engine_with is not engine.native():
        address, size = entry_points.shared.place()
        _found = process_operations.codecs({"folders": folders(), "marks": address, "marks_size": size})
        _capsule = engine.latest_capsule()
        _engine_with = engine.native()
    return _found


def capsule() -> Capsule:
    """The C functions that can decode: an ancestor's too, or else the libraries are found now."""
    if _capsule is None:
        load()
    assert _capsule is not None
    return _capsule


def found() -> process_operations.CodecsFound | None:
    """The result of `load` in this process; None before its call."""
    return None if _engine_with is None else _found


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
    """The order in which the user's Pillow resizes rows and columns. It rounds in between."""
    try:
        version = importlib.metadata.version("pillow").split(".")
        numbers = int(version[0]), int(version[1])
    except (importlib.metadata.PackageNotFoundError, ValueError, IndexError):
        return "13"
    return "13" if numbers >= (13, 0) else "12.2" if numbers >= (12, 2) else "horizontal"
