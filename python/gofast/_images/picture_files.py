"""Picture files as those see them that make samples of them, and what is found out about them.

Files (``files.py``) are those of a dataset, BatchFiles those of one batch after another.
"""

from __future__ import annotations

import ctypes
import io
import mmap
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import errors
from .._core import picture_operations
from .._core.memory import address_of
from .._core.remote_shards import RemoteShards

_PATH_BYTES = 4096  # PATH_MAX of Linux, the zero behind it counted
_PROCESSES = 64  # whose counters do not meet: a loader's workers have consecutive numbers


class PictureFiles:
    """Picture files by number, and what is found out about them. Base class.

    Attributes:
        count: samples.
        targets: int32 [count].
        sizes: int32 [count, 2], width and height where they were found out, else 0
            (``gofast/source/reader/extent.h``).
        bad: int32 [count], how often each sample could not be read.
        fallbacks: int64 [64], pictures that Pillow decoded, each process in a place of its own.
        epoch: int64 [1], what ``set_epoch`` said.
        called: what explain calls them.
        are_pixels: they are no files, but pixels of the user's, who may write to them.
        contents: the files' bytes, where they lie in memory and a path is only a name; else None.
        shards: where they lie on a server until they are needed; None: they are here.
    """

    count: int
    targets: npt.NDArray[np.int32]
    contents: Sequence[Any] | None
    called = "files"
    _lasting = True  # they come again in each epoch
    are_pixels = False
    shards: RemoteShards | None = None

    @staticmethod
    def found_bytes(count: int) -> int:
        """The memory for what is found out about so many files."""
        return 8 * (_PROCESSES + 1) + 12 * max(count, 1)

    def _find_in(self, memory: mmap.mmap | bytearray, count: int) -> None:
        """Says where that memory is; zeros at first."""
        self.fallbacks: npt.NDArray[np.int64] = np.frombuffer(memory, np.int64, _PROCESSES)
        self.epoch: npt.NDArray[np.int64] = np.frombuffer(memory, np.int64, 1, 8 * _PROCESSES)
        found: npt.NDArray[np.int32] = np.frombuffer(memory, np.int32, offset=8 * (_PROCESSES + 1))
        self.sizes = found[: 2 * count].reshape(-1, 2)
        self.bad = found[2 * count : 3 * count]

    def _make_room(self, room: int) -> None:
        """For where so many files lie in memory: `_hold` says where."""
        self._starts, self._lengths = np.zeros(room, np.uint64), np.zeros(room, np.uint64)

    def _hold(self, contents: Sequence[Any]) -> None:
        """The files are these bytes, or uint8 arrays."""
        self.contents = contents
        self._starts[: len(contents)] = [_address(held) for held in contents]
        self._lengths[: len(contents)] = [len(held) for held in contents]

    def __len__(self) -> int:
        return self.count

    def path(self, sample: int) -> str:
        """The whole path of a sample's file, or what errors call it."""
        raise NotImplementedError

    def source(self, sample: int) -> str | io.BytesIO:
        """What Pillow opens: the file's path, or its bytes."""
        return self.path(sample) if self.contents is None else io.BytesIO(self.contents[sample])

    def forget(self, samples: Iterable[int]) -> None:
        """Forgets the sizes of these pictures: they are found again when they are asked for."""
        for sample in samples:
            self.remember(sample, (0, 0))

    def remember(self, sample: int, size: tuple[int, int]) -> None:
        """Notes the size of a picture."""
        self.sizes[sample] = size

    def count_fallback(self) -> None:
        """Notes that Pillow decoded a picture in this process."""
        self.fallbacks[os.getpid() % _PROCESSES] += 1

    def addresses(self, seed: int, labels: bool) -> picture_operations.FilesRequest:
        """Where the arrays lie, for the core.

        Args:
            seed: of draws that do not come from torch's generator.
            labels: samples have one.
        """
        held: picture_operations.MemoryReader | None = None
        if self.contents is not None:
            held = {"starts": address_of(self._starts), "lengths": address_of(self._lengths)}
        return {
            "count": len(self),
            "file": None if held else self._on_disk(),
            "memory": held,
            "stored": None,
            "seed": seed,
            "epoch": address_of(self.epoch),
            "targets": address_of(self.targets) if labels else 0,
            "extents": 0,
            "facts": address_of(self.sizes),
            "mapped": 0,
            "lasting": int(self._lasting),
            "kept": None,
        }

    def _on_disk(self) -> picture_operations.FileReader:
        """What the core reads files with that do not lie in memory."""
        raise NotImplementedError


class BatchFiles(PictureFiles):
    """Room for the files of a batch. The core's program is made once, for the room, and not for each batch.

    Args:
        room: the most files of a batch.
        paths: they are paths; else bytes.
    """

    _lasting = False

    def __init__(self, room: int, paths: bool) -> None:
        self.count, self._room = 0, room
        self._files: list[Any] = []
        self.contents = None if paths else self._files
        self._find_in(bytearray(self.found_bytes(room)), room)
        self._make_room(0 if paths else room)
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
        self.let_go()
        for file in files:
            self.add(file)

    def add(self, file: Any) -> int:
        """Takes one more file over; its place.

        Raises:
            NotFoundError: as of `take`.
        """
        i = self.count
        if self.contents is not None:
            self._starts[i], self._lengths[i] = _address(file), len(file)
        else:
            name = os.fsencode(file)
            if len(name) >= _PATH_BYTES or b"\0" in name:
                said = f"sample {i}: {file[:100]!r} cannot be the path of a file"
                raise errors.NotFoundError(said).at(path=file, index=i)
            self._named[i, : len(name) + 1] = np.frombuffer(name + b"\0", np.uint8)
        self._files.append(file)
        self.count += 1
        return i

    def drop(self) -> None:
        """Takes the last one back."""
        self.count -= 1
        self._files.pop()
        self.forget([self.count])

    def let_go(self) -> None:
        """Keeps nothing of the batch alive."""
        self.sizes[:] = 0
        self.count = 0
        self._files.clear()

    def path(self, sample: int) -> str:
        """Its path, or what errors call it."""
        return str(self._files[sample]) if self.contents is None else f"bytes[{sample}]"

    def _on_disk(self) -> picture_operations.FileReader:
        paths, offsets = address_of(self._named), address_of(self._offsets)
        return {"root": "", "paths": paths, "offsets": offsets, "stamps": 0}


def _address(held: Any) -> int:
    if type(held) is bytes:
        return ctypes.cast(ctypes.c_char_p(held), ctypes.c_void_p).value or 0
    return address_of(held)
