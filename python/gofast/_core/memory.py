"""A table's arrays in memory, and how processes share them.

A decoded table is private memory, which forked workers inherit. For spawn and forkserver
workers it becomes a sealed memfd where it lies, and they receive the descriptor; that of a cache's
files, too. Any other pickle opens the sources again (see ``TableDataset.__getstate__``).
"""

from __future__ import annotations

import contextlib
import mmap
import os
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .descriptors import OwnedDescriptors, handed, seal
from .engine import capsule

if TYPE_CHECKING:
    import numpy.typing as npt

    from .table_operations import DecodedTable

PAGE = 4096  # labels begin on a page of their own, and so does each array of a window


class Layout(NamedTuple):
    """A table's content and where it lies, with the fields of the Go package's Schema."""

    rows: int
    width: int
    type: str
    bool: bool
    shape: tuple[int, ...]
    features: tuple[str, ...]
    labels: tuple[str, ...]
    label_kinds: tuple[str, ...]
    classes: tuple[str, ...] | None
    features_offset: int
    labels_offset: int
    size: int
    dropped: tuple[str, ...] = ()  # columns with a pandas frame's index
    texts: tuple[str, ...] = ()  # columns of texts

    @classmethod
    def from_schema(cls, schema: DecodedTable) -> Layout:
        """The layout from the engine's answer. null stands for an empty list there."""
        values: dict[str, Any] = {key: value for key, value in schema.items() if key in cls._fields}
        for key in ("shape", "features", "dropped", "labels", "label_kinds", "texts"):
            values[key] = tuple(values[key] or ())
        values["classes"] = tuple(values["classes"]) if values["classes"] is not None else None
        return cls(**values)


class Memory:
    """A table's arrays.

    Attributes:
        features: [rows, width] of the storage type, C-contiguous.
        labels: int64 [rows, label columns and columns of texts], C-contiguous. In a float column, the 8 bytes
            are a float64; in a column of texts, they are the text's number.
    """

    layout: Layout
    features: npt.NDArray[Any]
    labels: npt.NDArray[np.int64]

    def _lay_out(
        self, whole: npt.NDArray[np.uint8], layout: Layout, labels: npt.NDArray[np.uint8] | None = None
    ) -> None:
        """Shows the table that lies in these bytes; labels may lie in others."""
        columns = len(layout.label_kinds) + len(layout.texts)
        self.layout = layout
        self.features = _array(
            whole, layout.features_offset, np.dtype(layout.type), (layout.rows, layout.width)
        )
        whole = whole if labels is None else labels
        self.labels = _array(whole, layout.labels_offset, np.dtype(np.int64), (layout.rows, columns))

    def label_column(self, column: int) -> npt.NDArray[Any]:
        """A label column as int64 or float64 [rows]."""
        values = np.ascontiguousarray(self.labels[:, column])
        return values.view(np.float64) if self.layout.label_kinds[column] == "float" else values

    def label_row(self, row: int) -> list[int | float]:
        """The labels of one row."""
        kinds = self.layout.label_kinds
        floats = self.labels[row].view(np.float64)
        return [
            floats[i].item() if kind == "float" else self.labels[row, i].item()
            for i, kind in enumerate(kinds)
        ]

    @property
    def features_address(self) -> int:
        """The address of the features."""
        return address_of(self.features)

    @property
    def labels_address(self) -> int:
        """The address of the labels; 0 without labels."""
        return address_of(self.labels) if self.layout.label_kinds else 0


def address_of(values: npt.NDArray[Any]) -> int:
    """Address of an array's first element."""
    address: int = values.__array_interface__["data"][0]
    return address


class Room:
    """Private memory that tables are decoded into, one after another. Unwritten pages take none.

    Pages are huge where the system has them: rows come in random order in half the time then. A forked child
    has the rows of that moment, whatever the parent decodes next.
    """

    def __init__(self, size: int) -> None:
        self._map = mmap.mmap(-1, max(size, 1), mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        with contextlib.suppress(OSError):
            self._map.madvise(mmap.MADV_HUGEPAGE)
        self.size = size
        self.bytes = np.frombuffer(self._map, np.uint8)
        self.read_only = memoryview(self._map).toreadonly()
        self.address = address_of(self.bytes)

    def empty(self) -> None:
        """Gives its pages back, whoever still refers to it."""
        self._map.madvise(mmap.MADV_DONTNEED)


class RoomMemory(Memory):
    """A table in a room, until the next one is decoded there."""

    def __init__(self, room: Room, layout: Layout) -> None:
        self._lay_out(room.bytes, layout)


class CopiedMemory(Memory):
    """Some rows of a table."""

    def __init__(self, table: Memory, rows: npt.NDArray[np.int64]) -> None:
        self.layout = table.layout._replace(rows=len(rows))
        self.features, self.labels = table.features[rows], table.labels[rows]


class MappedMemory(Memory):
    """A read-only mapping of a decoded table. Owns its descriptors.

    Args:
        labels_fd: of the file that the labels lie in, if it is another.
    """

    def __init__(self, fd: int, layout: Layout, labels_fd: int | None = None) -> None:
        self.fd, self.labels_fd = fd, labels_fd
        self._owned = OwnedDescriptors(fd) if labels_fd is None else OwnedDescriptors(fd, labels_fd)
        self._lay_out(_mapped(fd, layout.size), layout, None if labels_fd is None else _mapped(labels_fd, 0))

    def handed(self) -> tuple[Any, ...]:
        """What a process that is being spawned makes the same of; see `taken`."""
        return handed(self.fd), self.layout, None if self.labels_fd is None else handed(self.labels_fd)

    @classmethod
    def taken(cls, handed: tuple[Any, ...]) -> MappedMemory:
        """What was handed over, in the process that it was handed to."""
        fd, layout, labels_fd = handed
        return cls(fd.detach(), layout, None if labels_fd is None else labels_fd.detach())


class DecodedMemory(Memory):
    """A table that the core has decoded, in its memory."""

    def __init__(self, table: DecodedTable) -> None:
        address, size = table["address"], table["size"]
        self._pages = capsule().pages(address, size)
        self._shared: tuple[int, OwnedDescriptors] | None = None
        self._lay_out(np.asarray(_Bytes(self._pages, address, size)), Layout.from_schema(table))

    def handed(self) -> tuple[Any, ...]:
        """What `MappedMemory.taken` makes the same of. From then on the memory is shared."""
        shared = self._shared
        if shared is None:  # two threads may both be here: each has a file with the same bytes
            fd = os.memfd_create("gofast-table", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            shared = fd, OwnedDescriptors(fd)
            capsule().share(self._pages, fd)
            seal(fd)
            self._shared = shared
        return handed(shared[0]), self.layout, None


TableMemory = DecodedMemory | MappedMemory


class _Bytes:
    """Memory as numpy takes it, with what owns it."""

    def __init__(self, owner: object, address: int, size: int) -> None:
        self.owner = owner
        self.__array_interface__ = {"data": (address, True), "shape": (size,), "typestr": "|u1", "version": 3}


def _mapped(fd: int, size: int) -> npt.NDArray[np.uint8]:
    """Bytes of a file; 0: all of them."""
    whole = mmap.mmap(fd, size or max(os.fstat(fd).st_size, 1), mmap.MAP_SHARED, mmap.PROT_READ)
    return np.frombuffer(whole, np.uint8)


def _array(
    whole: npt.NDArray[np.uint8], offset: int, kind: np.dtype[Any], shape: tuple[int, int]
) -> npt.NDArray[Any]:
    size = shape[0] * shape[1] * kind.itemsize
    return whole[offset : offset + size].view(kind).reshape(shape)
