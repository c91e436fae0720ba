"""Picture files as those see them that make samples of them, and what is found out about them."""

from __future__ import annotations

import io
import mmap
import os
from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from .._core import picture_operations
from .._core.memory import address_of

_PROCESSES = 64  # whose counters do not meet: a loader's workers have consecutive numbers


class PictureFiles:
    """Picture files by number, and what is found out about them. Base class.

    Attributes:
        count: samples.
        targets: int32 [count].
        facts: int32 [count, 6], what was found out about each (``gofast/source/reader/extent.h``), else 0.
        sizes: int32 [count, 2], their part that is width and height.
        bad: int32 [count], how often each sample could not be read.
        fallbacks: int64 [64], pictures that Pillow decoded, each process in a place of its own.
        epoch: int64 [1], what ``set_epoch`` said.
        contents: the files' bytes, where they lie in memory and a path is only a name; else None.
    """

    count: int
    targets: npt.NDArray[np.int32]
    contents: Sequence[bytes] | None

    @staticmethod
    def found_bytes(count: int) -> int:
        """The memory for what is found out about so many files."""
        return 8 * (_PROCESSES + 1) + 28 * max(count, 1)

    def _find_in(self, memory: mmap.mmap | bytearray, count: int) -> None:
        """Says where that memory is; zeros at first."""
        self.fallbacks: npt.NDArray[np.int64] = np.frombuffer(memory, np.int64, _PROCESSES)
        self.epoch: npt.NDArray[np.int64] = np.frombuffer(memory, np.int64, 1, 8 * _PROCESSES)
        found: npt.NDArray[np.int32] = np.frombuffer(memory, np.int32, offset=8 * (_PROCESSES + 1))
        self.facts = found[: 6 * count].reshape(-1, 6)
        self.sizes = self.facts[:, :2]
        self.bad = found[6 * count : 7 * count]

    def __len__(self) -> int:
        return self.count

    def path(self, sample: int) -> str:
        """The whole path of a sample's file, or what errors call it."""
        raise NotImplementedError

    def source(self, sample: int) -> str | io.BytesIO:
        """What Pillow opens: the file's path, or its bytes."""
        return self.path(sample) if self.contents is None else io.BytesIO(self.contents[sample])

    def forget(self, samples: Iterable[int]) -> None:
        """Forgets the facts of these pictures: they are found again when they are asked for."""
        for sample in samples:
            self.facts[sample] = 0

    def count_fallback(self) -> None:
        """Notes that Pillow decoded a picture in this process."""
        self.fallbacks[os.getpid() % _PROCESSES] += 1

    def addresses(self, seed: int, labels: bool) -> picture_operations.Files:
        """Where the arrays lie, for the core.

        Args:
            seed: of draws that do not come from torch's generator.
            labels: samples have one.
        """
        file, memory = self._reader()
        return {
            "count": len(self),
            "file": file,
            "memory": memory,
            "seed": seed,
            "epoch": address_of(self.epoch),
            "targets": address_of(self.targets) if labels else 0,
            "extents": 0,
            "facts": address_of(self.facts),
        }

    def _reader(self) -> tuple[picture_operations.FileReader | None, picture_operations.MemoryReader | None]:
        """What the core reads the files with: one of the two."""
        raise NotImplementedError
