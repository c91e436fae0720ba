"""What verify has found, as text."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from .._core.command_operations import Problem, Verification
from .._core.progress import printable
from .._core.units import duration, many, size


def verify_text(found: Verification) -> str:
    """The text of a verification. Every damaged file is named, and every one that was not checked."""
    return _aligned(_verified(found))


def _aligned(lines: Iterator[str]) -> str:
    """The lines, whose parts stand below each other in neighbours that have several, parted by tabs."""
    text = ""
    for several, some in itertools.groupby(lines, lambda line: "\t" in line):
        rows = [line.split("\t") for line in some]
        width = max(len(row[0]) for row in rows)
        for name, *rest in rows:
            text += "  ".join([name.ljust(width) if several else name, *rest]).rstrip() + "\n"
    return text


def _verified(found: Verification) -> Iterator[str]:
    yield (
        f"{many(found['files'], 'file')} in {size(found['bytes'])} read in {duration(found['seconds'])}: "
        f"{many(found['pictures'], 'picture')}, {many(found['tables'], 'table')}, "
        + f"{many(found['records'], 'file')} of cache= of pictures, " * bool(found["records"])
        + f"{many(found['tfrecords'], 'TFRecord file')}, " * bool(found["tfrecords"])
        + f"{many(found['tars'], 'tar file')}, " * bool(found["tars"])
        + f"{many(found['shards'], 'shard')} of MDS or litData, " * bool(found["shards"])
        + f"{many(len(found['hdf5']), 'HDF5 file')}, " * bool(found["hdf5"])
        + f"{found['others']} of other kinds"
        + ", which were not read" * bool(found["others"])
    )
    for _, why in sorted(found.get("missing_libraries", {}).items()):
        yield f"a library is missing\t{printable(why)}"
    yield from _problems("not checked", found["unchecked"])
    yield from _problems("damaged", found["damaged"])
    yield from _folders(found["unreadable_folders"])
    if not found["damaged"]:
        yield "nothing is damaged" + " of what was checked" * bool(found["unchecked"] or found["others"])


def _problems(what: str, problems: list[Problem]) -> Iterator[str]:
    if problems:
        yield f"{what}\t{len(problems)}"
    for one in problems:
        yield f"  {printable(one['path'])}: {printable(one['reason'])}"


def _folders(folders: list[str]) -> Iterator[str]:
    if folders:
        yield f"folders that cannot be listed\t{len(folders)}"
    for folder in folders:
        yield f"  {printable(folder)}"
