"""Records of a list of pictures: what the certain steps of a plan have made of them, for later epochs.

The core reads and appends them (``gofast/source/kept/kept.h``): a picture's pixels, with the name and the
stamp of the file that they were made of. Here are those in memory, and what all share.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import weakref
from multiprocessing.reduction import DupFd
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from .._core import picture_operations
from .._core.descriptors import OwnedDescriptors
from .._core.memory import address_of
from .._core.picture_operations import KeptPlace
from .._core.units import many, size
from .._core.warn import warn

MOST_FILES = 256  # kept.h
_SHARED_BYTES = 64  # gf_kept_shared comes first, and then records
NEVER = np.uint64(2**64 - 1)  # of a sample, of which no record can be made


class Names(NamedTuple):
    """By what records in a folder are found again.

    Attributes:
        root: stands before every name.
        total: of the names.
        names, offsets: the addresses of all, and of where each begins among them.
        memory: owns them.
    """

    root: str
    total: int
    names: int
    offsets: int
    memory: object

    def keys(self) -> npt.NDArray[np.uint64]:
        """What indexes have of each name."""
        keys = np.empty(self.total, np.uint64)
        picture_operations.kept_keys(
            {"names": self.names, "offsets": self.offsets, "count": self.total, "keys": address_of(keys)}
        )
        return keys


class HasPlace(Protocol):
    """What says where records lie."""

    def addresses(self) -> KeptPlace:
        """Where all of it lies, for the core."""


class PictureCache:
    """Records of a list of pictures. Base class.

    Forked and spawned processes share them. No other pickle has any.

    Attributes:
        trouble: why nothing is kept, or nothing more; empty where it is.
        names: by which records are found again; None: nobody finds them.
    """

    called: str
    names: Names | None = None

    def __init__(self, count: int, limit: int, shared: int | None = None) -> None:
        self._count, self._limit, self._pid, self.trouble = count, limit, os.getpid(), ""
        bytes_ = _SHARED_BYTES + 8 * max(count, 1)
        self._shared = _memory("gofast-kept", bytes_) if shared is None else shared
        whole = mmap.mmap(self._shared, bytes_)
        self._numbers: npt.NDArray[np.int64] = np.frombuffer(whole, np.int64, 5)  # gf_kept_shared
        self._records: npt.NDArray[np.uint64] = np.frombuffer(whole, np.uint64, count, _SHARED_BYTES)
        self._fds = np.full(MOST_FILES, -1, np.int32)
        self._own, self._index = -1, -1
        self._owned = OwnedDescriptors(self._shared)

    def addresses(self) -> KeptPlace:
        """Where all of it lies, for the core."""
        return {
            "files": address_of(self._fds),
            "own": self._own,
            "index": self._index,
            "mapped": self._mapped(),
            "limit": self._limit,
            "shared": address_of(self._numbers),
            "records": address_of(self._records),
            "names": self.names.names if self.names else 0,
            "offsets": self.names.offsets if self.names else 0,
        }

    @property
    def written(self) -> tuple[int, int]:
        """How many records were written here, and how many bytes their file has."""
        return int(self._numbers[2]), int(self._numbers[0])

    @property
    def uses(self) -> tuple[int, int]:
        """How often a record was used, and written, by all processes that have this."""
        return int(self._numbers[3]), self.written[0]

    def _mapped(self) -> int:
        return 0

    def find_by(self, names: Names) -> None:
        """In a spawned process: the names lie there."""

    def refresh(self) -> None:
        """Looks what others have written meanwhile, and says once what is wrong."""
        stopped = int(self._numbers[4]) & 0xFFFFFFFF
        if stopped and not self.trouble and self._pid == os.getpid():
            self.trouble = f"nothing more is written: {os.strerror(stopped)}"
            warn(f"cache={self.called}: {self.trouble}; other pictures are decoded in each epoch")

    def explained(self) -> str:
        """What gofast.explain says of it."""
        kept = int(np.count_nonzero((self._records != 0) & (self._records != NEVER)))
        what = (
            f"{self.called}: {kept} of {many(self._count, 'picture')} kept, of at most {size(self._limit)}; "
        )
        return what + f"used {self.uses[0]} times" + f"; {self.trouble}" * bool(self.trouble)


class PictureCacheInMemory(PictureCache):
    """Records in shared memory, which takes room as far as it is written."""

    called = '"memory"'
    _all: ClassVar[weakref.WeakSet[PictureCacheInMemory]] = weakref.WeakSet()

    @classmethod
    def promised(cls) -> int:
        """Bytes that those of this process may still take."""
        return sum(max(one._limit - one.written[1], 0) for one in cls._all)

    def __init__(self, count: int, limit: int, shared: int | None = None, memory: int | None = None) -> None:
        super().__init__(count, limit, shared)
        if memory is None:
            memory = _memory("gofast-kept", limit)
            fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW)
        self._own, self._fds[0] = 0, self._owned.hold(memory)
        self._bytes = np.frombuffer(mmap.mmap(memory, limit, mmap.MAP_SHARED, mmap.PROT_READ), np.uint8)
        self._all.add(self)

    def _mapped(self) -> int:
        return address_of(self._bytes)

    def __reduce__(self) -> tuple[Any, ...]:
        return _in_memory, (self._count, self._limit, DupFd(self._shared), DupFd(int(self._fds[0])))


def _in_memory(count: int, limit: int, shared: Any, memory: Any) -> PictureCacheInMemory:
    return PictureCacheInMemory(count, limit, shared.detach(), memory.detach())


def _memory(name: str, count: int) -> int:
    """The descriptor of zeros that processes share."""
    fd = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    os.truncate(fd, count)
    return fd
