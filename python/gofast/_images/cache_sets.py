"""What lies in a folder of cache=: sets of records, and whether their pictures are still the same."""

from __future__ import annotations

import contextlib
import json
import os
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._core.progress import Progress
from .._core.stamp import Stamp
from .cache_files import HEAD_BYTES, LAZY, MADE_FOR, MARK, SET, entries_of, head_of, open_safely, set_of

_HEADER = struct.Struct("=8s3qQ4iqQ")  # gf_record
_MOST_NAME = 4096 + 8  # kept.c
_MOST_SAID = 1 << 20  # bytes of MADE_FOR
_OFTEN = 1000  # records, after which progress is shown


@dataclass
class PictureSet:
    """The records of one set of steps, versions and a folder of pictures.

    Attributes:
        path: its folder.
        made_for: what decides what records are like.
        files: those of records, and of their indexes.
        bytes: that all files take.
    """

    path: str
    made_for: dict[str, Any]
    files: list[tuple[str, str]]
    bytes: int

    @property
    def is_lazy(self) -> bool:
        """Whether scripts have opened the pictures themselves, and names have more than their paths."""
        return LAZY in self.made_for

    def fits(self) -> dict[str, int]:
        """How many records are of files as they are, of files as they were, and of files that are gone."""
        count, seen = dict.fromkeys(("fit", "changed", "gone"), 0), set[int]()
        with Progress(f"comparing the files of {self.path}") as bar:
            for number, (records, index) in enumerate(self.files):
                places = _places(index)
                with open(records, "rb", opener=open_safely) as f:
                    for n, key in enumerate(places.keys() - seen):
                        seen.add(key)
                        count[self._fit(f.fileno(), places[key])] += 1
                        if n % _OFTEN == 0:
                            bar.update((number + n / len(places)) / len(self.files))
        return count

    def _fit(self, fd: int, at: int) -> str:
        data = os.pread(fd, _HEADER.size + _MOST_NAME, at)
        if len(data) < _HEADER.size:
            return "changed"
        _, *stamp, _, _, _, length, _, _ = _HEADER.unpack_from(data)
        name = data[_HEADER.size :][: max(length, 0)].rstrip(b"\0")
        if self.is_lazy:
            name = name.rpartition(MARK)[0]
        try:
            now = Stamp.of(os.stat(os.fsencode(self.made_for["root"]) + name))
        except (OSError, ValueError):
            return "gone"
        return "fit" if now == Stamp(*stamp) else "changed"

    def remove(self) -> None:
        """Removes its files, and its folder if nothing else is in it."""
        for path in (*(path for pair in self.files for path in pair), os.path.join(self.path, MADE_FOR)):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        os.rmdir(self.path)


def set_at(folder: str) -> PictureSet | None:
    """The set that a folder is; None for any other: its name must be that of what it says it was made for."""
    name = os.path.basename(os.path.abspath(folder))
    if not name.startswith(SET):
        return None
    try:
        with open(os.path.join(folder, MADE_FOR), "rb", opener=open_safely) as f:
            said = f.read(_MOST_SAID).decode()
        made_for = json.loads(said)
    except (OSError, ValueError, RecursionError):
        return None
    if name != set_of(said) or not _is_right(made_for):
        return None
    files = [*_files(folder, head_of(said))]
    names = [os.path.join(folder, MADE_FOR), *(path for pair in files for path in pair)]
    return PictureSet(
        folder, made_for, files, sum(os.path.getsize(path) for path in names if os.path.exists(path))
    )


def sets_in(folder: str | os.PathLike[str]) -> list[str]:
    """The folders of sets in a folder of ``cache=``, or that folder if it is one."""
    with contextlib.suppress(OSError):
        found = [os.fspath(folder), *(os.path.join(folder, name) for name in sorted(os.listdir(folder)))]
        return [path for path in found if set_at(path) is not None]
    return []


def _is_right(made_for: Any) -> bool:
    if not isinstance(made_for, dict) or not isinstance(made_for.get("root"), str):
        return False
    steps = made_for.get("steps")
    return isinstance(steps, list) and all(isinstance(step, dict) for step in steps)


def _files(folder: str, head: bytes) -> Iterator[tuple[str, str]]:
    for name in sorted(os.listdir(folder)):
        number, ending = os.path.splitext(name)
        if ending == ".records" and number.isdecimal():
            path = os.path.join(folder, name)
            with contextlib.suppress(OSError), open(path, "rb", opener=open_safely) as f:
                if f.read(HEAD_BYTES) == head:
                    yield path, os.path.join(folder, f"{number}.index")


def _places(index: str) -> dict[int, int]:
    """Where the last record of each key is."""
    found: dict[int, int] = {}
    with contextlib.suppress(OSError), open(index, "rb", opener=open_safely) as f:
        for entries in entries_of(f):
            at = entries[:, 1]
            found.update(entries[(at >= HEAD_BYTES) & (at < 1 << 48)].tolist())
    return found
