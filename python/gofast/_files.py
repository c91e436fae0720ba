"""The picture files of a dataset: an index that the core made, mapped, and what is found out about them."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterable, Sequence
from multiprocessing.context import get_spawning_popen
from multiprocessing.reduction import DupFd
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _engine, errors

UNLABELLED = -1
_PROCESSES = 64  # whose counters do not meet: a loader's workers have consecutive numbers


class Files:
    """An index of picture files: paths and class numbers, in the order of the samples.

    Attributes:
        count: samples.
        root: stands before every path.
        classes: names, in order, where the folder has classes.
        empty_classes: those without a sample.
        targets: int32 [count].
        sizes: int32 [count, 2], width and height of the pictures that were seen so far, else 0.
        bad: int32 [count], how often each sample could not be read.
        fallbacks: int64 [64], pictures that Pillow decoded, each process in a place of its own.
        epoch: int64 [1], what ``set_epoch`` said.
            These four are shared between the processes that were forked or spawned from this one.
    """

    def __init__(self, fd: int, schema: dict[str, Any], sizes_fd: int | None = None) -> None:
        self._fd, self._schema = fd, schema
        self._stat = os.fstat(fd)
        self.count: int = schema["count"]
        self.root: str = schema["root"]
        self.classes: list[str] = schema["classes"] or []
        self.empty_classes: list[str] = schema["empty_classes"] or []
        self._bytes = mmap.mmap(fd, schema["size"], mmap.MAP_SHARED, mmap.PROT_READ)
        self.offsets = np.frombuffer(self._bytes, np.uint64, self.count + 1, schema["path_offsets_offset"])
        self.targets = np.frombuffer(self._bytes, np.int32, self.count, schema["sample_classes_offset"])
        self._paths: int = schema["paths_offset"]
        size = 8 * (_PROCESSES + 1) + 12 * max(self.count, 1)
        self._sizes_fd = _shared(size) if sizes_fd is None else sizes_fd
        shared = mmap.mmap(self._sizes_fd, size)
        self.fallbacks: npt.NDArray[np.int64] = np.frombuffer(shared, np.int64, _PROCESSES)
        self.epoch: npt.NDArray[np.int64] = np.frombuffer(shared, np.int64, 1, 8 * _PROCESSES)
        found: npt.NDArray[np.int32] = np.frombuffer(shared, np.int32, offset=8 * (_PROCESSES + 1))
        self.sizes = found[: 2 * self.count].reshape(-1, 2)
        self.bad = found[2 * self.count : 3 * self.count]

    @classmethod
    def scan(cls, options: dict[str, Any], index: str = "") -> Files:
        """Scans folders in parallel, or maps what an earlier scan kept at index, if nothing changed.

        Raises:
            NotFoundError, ReadError: the folder.
            UnsupportedError: the scan cannot be done as Python would do it; see ``gofast/source/folder``.
        """
        config = {"threads": _engine.threads(), "index": index, **options}
        made = _engine.run("index", config, f"scanning {options.get('root') or 'files'}")
        return cls(made.pop("fd"), made)

    @classmethod
    def listed(cls, paths: Sequence[str], targets: Iterable[int] | None) -> Files:
        """Files that are given, in their order."""
        labels = None if targets is None else [int(t) for t in targets]
        if labels is not None and any(not -(1 << 31) <= t < 1 << 31 for t in labels):
            raise errors.OptionError("a label does not fit an int32")
        return cls.scan({"kind": "list", "root": "", "paths": list(paths), "labels": labels})

    def __len__(self) -> int:
        return self.count

    def path(self, sample: int) -> str:
        """The whole path of a sample's file."""
        start, end = self._paths + int(self.offsets[sample]), self._paths + int(self.offsets[sample + 1]) - 1
        return self.root + os.fsdecode(self._bytes[start:end])

    def count_fallback(self) -> None:
        """Notes that Pillow decoded a picture in this process."""
        self.fallbacks[os.getpid() % _PROCESSES] += 1

    def addresses(self) -> dict[str, Any]:
        """Where the arrays lie, for the core."""
        base = np.frombuffer(self._bytes, np.uint8).__array_interface__["data"][0]
        return {
            "count": self.count,
            "root": self.root,
            "paths": base + self._paths,
            "offsets": _address(self.offsets),
            "targets": _address(self.targets),
            "sizes": _address(self.sizes),
        }

    def __reduce__(self) -> tuple[Any, ...]:
        # Only workers that are being spawned get the descriptors; other pickles scan again.
        if get_spawning_popen() is None:
            raise TypeError("the files of a dataset are pickled only for a process that is being spawned")
        return _handed, (DupFd(self._fd), DupFd(self._sizes_fd), self._schema)

    def __del__(self) -> None:
        try:
            if os.path.samestat(os.fstat(self._fd), self._stat):
                os.close(self._fd)
                os.close(self._sizes_fd)
        except (AttributeError, OSError):
            pass  # never opened, or closed behind our back by a daemon


def _handed(fd: Any, sizes: Any, schema: dict[str, Any]) -> Files:
    return Files(fd.detach(), schema, sizes.detach())


def _shared(size: int) -> int:
    fd = os.memfd_create("gofast-sizes", os.MFD_CLOEXEC)
    os.truncate(fd, size)
    return fd


def _address(values: npt.NDArray[Any]) -> int:
    address: int = values.__array_interface__["data"][0]
    return address
