"""The sizes of a large folder's pictures, in a file that all processes of a host map.

They are hints, and no format on disk: draws hold the size that they were made for, and the fill compares it
with the picture's own. So nobody locks, nothing is torn that matters, and a file that is older than a picture
costs one more draw.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import hashlib
import mmap
import os
import stat
import sys

import numpy as np
import numpy.typing as npt

from .._core.cache_folder import own_index
from .._core.descriptors import OwnedDescriptors
from .._core.memory import address_of
from .._core.picture_operations import Scan

_VERSION = 1  # of the layout: that of gf_facts, in the order of the list
HEAD = 256  # bytes of a list: its checksums, and when it was made


class SharedSizes:
    """A file of sizes, mapped to be read.

    Writes are calls, as the core's are (``gofast/image/image.h``).

    Args:
        fd: of a file that has room for the sizes of `count` pictures.

    Attributes:
        fd: the same.
        sizes: int32 [count, 2], read-only.
        file: what the core knows of it, a gf_facts_file.
    """

    def __init__(self, fd: int, count: int) -> None:
        self.fd, self._owned = fd, OwnedDescriptors(fd)
        mapped = mmap.mmap(fd, 8 * count, mmap.MAP_SHARED, mmap.PROT_READ)
        self.sizes: npt.NDArray[np.int32] = np.frombuffer(mapped, np.int32).reshape(count, 2)
        now = os.fstat(fd)
        self.file: npt.NDArray[np.uint64] = np.array([fd, 1, now.st_dev, now.st_ino], np.uint64)

    @classmethod
    def of(cls, scanned: Scan, head: bytes, count: int) -> SharedSizes | None:
        """That of a list; None where the user's cache cannot be written, or is no place to map files from.

        Args:
            scanned: what the list was made of. Files of its earlier lists are removed.
            head: the first bytes of the list, HEAD of them.
            count: pictures in it.
        """
        place = own_index("sizes", scanned)
        if place is None:
            return None
        key = hashlib.blake2b(head, digest_size=8, salt=sys.byteorder.encode()).hexdigest()
        path = f"{place}-{_VERSION}-{key}"
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o600)
        except OSError:
            return None
        try:
            if not _has_room(fd, 8 * count):
                os.close(fd)
                return None
            made = cls(fd, count)
        except (OSError, ValueError):
            os.close(fd)
            return None
        for other in glob.glob(f"{glob.escape(place)}-*"):
            if other != path:
                with contextlib.suppress(OSError):  # its readers have it still
                    os.unlink(other)
        return made

    def write(self, sample: int, size: tuple[int, int]) -> None:
        """Notes a picture's size, if the file can be written."""
        written = np.array(size, np.int32).tobytes()
        if not self.file[1]:  # a write of the core's has failed: they are memory of this process since
            ctypes.memmove(address_of(self.sizes) + 8 * sample, written, 8)
        elif self._owned.has(self.fd):
            with contextlib.suppress(OSError):
                os.pwrite(self.fd, written, 8 * sample)


def _has_room(fd: int, size: int) -> bool:
    """Makes room in a file of our own. Several processes may: all want the same."""
    now = os.fstat(fd)
    if not stat.S_ISREG(now.st_mode) or now.st_uid != os.geteuid() or now.st_size > size:
        return False
    if now.st_size < size:
        os.ftruncate(fd, size)  # holes: nothing is allocated before it is written
    return True
