"""cache= of pictures: where records of them are kept, and what decides what these are like."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from importlib import metadata
from typing import Any, NamedTuple

from .. import errors
from .._core import codecs, engine, process_operations
from .._core.machine import Machine
from .._core.units import size
from .cache_files import PictureCacheInFolder
from .picture_cache import Names, PictureCache, PictureCacheInMemory

VERSION = 2  # of records and of their files


class Budget(NamedTuple):
    """The options that say where, and how much.

    Attributes:
        place: "memory", or a folder.
        limit: bytes; None: half of the free memory, nine tenths of what is free on the disk.
    """

    place: str
    limit: int | None


def opened(
    budget: Budget, certain: list[dict[str, Any]], count: int, names: Callable[[], Names]
) -> PictureCache:
    """The records of what these steps make of so many pictures, which have these names.

    Raises:
        LimitError: memory is short.
    """
    if budget.place == "memory":
        return in_memory(budget, count)
    found = names()
    return PictureCacheInFolder(count, budget.limit, budget.place, said_of(certain, found.root), found)


def said_of(certain: list[dict[str, Any]], root: str, **more: Any) -> str:
    """What records were made for, as a folder of them says it: the key of all that lies in it."""
    return json.dumps({"steps": certain, "root": root, **more, **made_by()}, sort_keys=True, indent=1)


def in_memory(budget: Budget, count: int) -> PictureCache:
    """Records in memory, for so many places.

    Raises:
        LimitError: memory is short.
    """
    free = Machine().memory()
    left = 1 << 31 if free is None else max(free.free - PictureCacheInMemory.promised(), 1 << 21)
    limit = budget.limit or left // 2 // engine.ranks()
    try:
        return PictureCacheInMemory(count, limit)
    except (OSError, OverflowError) as error:
        said = f'cache="memory": there is no room for {size(limit)}: {error}; lower cache_limit='
        raise errors.LimitError(said) from error


def made_by() -> dict[str, Any]:
    """What else than steps and files decides what records are like: those of another are not used."""
    found = codecs.load()
    version, _, library = found["jpeg"].partition(", ")  # its path depends on who has loaded it first
    return {
        "format": VERSION,
        "gofast": process_operations.about({})["version"],
        "torch": metadata.version("torch"),
        "pillow": _pillow(),
        "decoders": found["native"],
        "jpeg": [version, os.path.basename(library)],
        "pass_order": codecs.pass_order(),
        "byte_order": sys.byteorder,
    }


def _pillow() -> str:
    try:
        return metadata.version("pillow")
    except metadata.PackageNotFoundError:
        return ""
