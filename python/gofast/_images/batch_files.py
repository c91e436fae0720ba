"""The files of one batch after another, which somebody hands over: bytes in memory, or paths."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import errors
from .._core import picture_operations
from .._core.memory import address_of
from .picture_files import PictureFiles

_PATH_BYTES = 4096  # PATH_MAX of Linux, the zero behind it counted


class BatchFiles(PictureFiles):
    """Room for the files of a batch. The core's program is made once, for the room, and not for each batch.

    Args:
        room: the most files of a batch.
        paths: they are paths; else bytes.
    """

    def __init__(self, room: int, paths: bool) -> None:
        self.count, self._room = 0, room
        self.contents = None if paths else ()
        self._find_in(bytearray(self.found_bytes(room)), room)
        self._paths: Sequence[str] = ()
        self._starts, self._lengths = np.zeros(room, np.uint64), np.zeros(room, np.uint64)
        self._named = np.zeros((room if paths else 0, _PATH_BYTES), np.uint8)  # touched as far as paths reach
        self._offsets = np.arange(room, dtype=np.uint64) * _PATH_BYTES

    def __len__(self) -> int:
        """The room: so many the core may be asked for. `count` are there."""
        return self._room

    def take(self, files: Sequence[Any]) -> None:
        """Takes the files of a batch over.

        Args:
            files: str, or bytes and uint8 arrays; at most `room`. They are not changed before `let_go`.

        Raises:
            NotFoundError: no path can be that long.
        """
        self.facts[:] = 0
        self.count = len(files)
        if self.contents is None:
            self._paths = files
            for i, path in enumerate(files):
                name = os.fsencode(path)
                if len(name) >= _PATH_BYTES or b"\0" in name:
                    error = errors.NotFoundError(f"sample {i}: {path[:100]!r} cannot be the path of a file")
                    error.path, error.index = path, i
                    raise error
                self._named[i, : len(name) + 1] = np.frombuffer(name + b"\0", np.uint8)
        else:
            self.contents = files
            self._starts[: len(files)] = [_address(held) for held in files]
            self._lengths[: len(files)] = [len(held) for held in files]

    def let_go(self) -> None:
        """Keeps nothing of the batch alive."""
        self._paths = ()
        if self.contents is not None:
            self.contents = ()

    def path(self, sample: int) -> str:
        """See PictureFiles."""
        return self._paths[sample] if self.contents is None else f"bytes[{sample}]"

    def _reader(self) -> tuple[picture_operations.FileReader | None, picture_operations.MemoryReader | None]:
        if self.contents is not None:
            return None, {"starts": address_of(self._starts), "lengths": address_of(self._lengths)}
        paths, offsets = address_of(self._named), address_of(self._offsets)
        return {"root": "", "paths": paths, "offsets": offsets}, None


def _address(held: Any) -> int:
    if type(held) is bytes:
        return ctypes.cast(ctypes.c_char_p(held), ctypes.c_void_p).value or 0
    return address_of(held)
