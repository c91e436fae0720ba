"""Tar files that are compressed as a whole: unpacked once for all processes, into the folder of downloads."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Mapping, Sequence

from . import engine, tfrecord_operations
from .download_cache import WAIT, DownloadBudget, DownloadCache, file_name
from .stamp import Stamp
from .tfrecord_operations import Unpacked
from .units import many

_TOGETHER = 64  # files, of which each has a descriptor or two


def unpacked_files(paths: list[str]) -> list[str]:
    """The paths, in which files of the cache stand for compressed ones.

    This process keeps these from being removed, until it ends, and so do those that are forked from it.

    Raises:
        NotFoundError, ReadError: one cannot be read, or the folder not be written to.
        DamagedError: one is not whole.
        LimitError: the budget of downloads is too small, for all or beside what is in use.
    """
    told = tfrecord_operations.packs({"paths": paths, "threads": engine.threads()})
    packed = {path: one for path, one in zip(paths, told, strict=True) if one["compression"]}
    if not packed:
        return paths
    cache = DownloadCache(DownloadBudget.of())
    cache.check(min(packed), sum(one["stamp"]["Size"] for one in packed.values()))
    names = {path: file_name(path, *Stamp.crossed(one["stamp"])) for path, one in packed.items()}
    sizes = {path: one["bytes"] for path, one in packed.items()}
    with contextlib.ExitStack() as claims:
        for name in names.values():
            cache.claimed(name, claims, lasts=True)
        while missing := [path for path, name in names.items() if not os.path.isfile(cache.path(name))]:
            if not _unpack(cache, names, sizes, missing):
                time.sleep(WAIT)  # another process is at it; if that ends, it is ours
        claims.pop_all()
    return [cache.path(names[path]) if path in names else path for path in paths]


def _unpack(
    cache: DownloadCache, names: Mapping[str, str], sizes: dict[str, int], missing: Sequence[str]
) -> bool:
    """Unpacks the first ones that nobody else is at, and says whether there are any.

    Of what is larger than was thought, the size is doubled.
    """
    with contextlib.ExitStack() as locks:
        mine: list[tuple[str, int, int]] = []
        for path in missing:
            if (fd := cache.part(names[path], locks)) is None:
                continue
            if not os.path.isfile(cache.path(names[path])):  # meanwhile
                mine.append((path, fd, sizes[path]))
            if len(mine) == _TOGETHER:
                break
        if not mine:
            return False
        del mine[cache.reserve(mine) :]
        files: list[Unpacked] = [
            {
                "from": path,
                "part": cache.path(names[path]) + ".part",
                "path": cache.path(names[path]),
                "bytes": size,
            }
            for path, _, size in mine
        ]
        label = f"unpacking {many(len(missing), 'file')}"
        larger = tfrecord_operations.unpack({"files": files, "threads": engine.threads()}, label)
        for (path, _, size), more in zip(mine, larger, strict=True):
            if more:
                sizes[path] = 2 * size + (1 << 20)
        return True
