"""Arrays that lie in a file or in sealed memory, mapped, and how processes share them."""

from __future__ import annotations

import math
import mmap
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.descriptors import handed, seal
from .._core.memory import Layout, MappedMemory
from .._core.regular_files import MappedFile
from .array_memory import Field

if TYPE_CHECKING:
    import numpy.typing as npt
    import torch


class FileArray:
    """An array [n, ...] that nobody in this process can write to.

    Attributes:
        array: a view of the mapping.
        file: what it is mapped from; None for sealed memory.
        runs_in, what: where it came from, for gofast.explain.
    """

    def __init__(
        self,
        fd: int,
        dtype: np.dtype[Any],
        shape: tuple[int, ...],
        offset: int = 0,
        file: MappedFile | None = None,
        runs_in: str = "",
        what: str = "",
    ) -> None:
        self._memory = MappedMemory(fd, _layout(dtype, shape, offset))
        self.array: npt.NDArray[Any] = self._memory.features.reshape(shape)
        self.offset, self.file, self.runs_in, self.what = offset, file, runs_in, what

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of its values."""
        return self.array.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows first."""
        return self.array.shape

    def read(self, part: tuple[slice, ...]) -> npt.NDArray[Any]:
        """Some of its values."""
        return self.array[part]

    def field(self) -> Field:
        """The array for an ArrayDataset."""
        return Field(self.array) if self.file is None else FileField(self)

    def check(self) -> None:
        """Raises ChangedError if the file is not what it was."""
        if self.file is not None:
            self.file.check(self._memory.fd)

    def handed(self) -> tuple[Any, ...]:
        """What a process that is being spawned makes the same of; see `taken`."""
        fd = handed(self._memory.fd)
        return fd, self.array.dtype.str, self.array.shape, self.offset, self.file, self.runs_in, self.what

    @classmethod
    def taken(cls, handed: tuple[Any, ...]) -> FileArray:
        """What was handed over, in the process that it was handed to."""
        fd, dtype, *rest = handed
        return cls(fd.detach(), np.dtype(dtype), *rest)


class FileField(Field):
    """An array that is mapped from a file: each look at it asks first whether the file is still the same."""

    mapped = True

    def __init__(self, source: FileArray) -> None:
        self._source = source
        super().__init__(source.array)

    def check(self) -> None:
        """See the base class."""
        self._source.check()

    @property
    def given(self) -> Any:
        """The array."""
        self.check()
        return self._source.array

    @given.setter
    def given(self, array: Any) -> None:
        pass  # the base class says what it was made of

    def __getitem__(self, index: Any) -> torch.Tensor:
        self.check()
        return super().__getitem__(index)

    def gather(self, rows: torch.Tensor) -> torch.Tensor:
        """See the base class."""
        self.check()
        return super().gather(rows)


def size_of(dtype: np.dtype[Any], shape: tuple[int, ...]) -> int:
    """The bytes of an array."""
    return math.prod(shape) * dtype.itemsize


def sealed(
    dtype: np.dtype[Any],
    shape: tuple[int, ...],
    fill: Callable[[npt.NDArray[Any]], Any],
    runs_in: str,
    what: str,
) -> FileArray:
    """An array in new memory, which `fill` writes before it is sealed."""
    fd, size = os.memfd_create("gofast-array", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING), size_of(dtype, shape)
    try:
        os.ftruncate(fd, max(size, 1))
        if size:
            whole = mmap.mmap(fd, size)
            array = np.frombuffer(whole, dtype).reshape(shape)
            fill(array)
            del array
            whole.close()  # nobody may map it for writing when it is sealed
        seal(fd)
    except BaseException:
        os.close(fd)
        raise
    return FileArray(fd, dtype, shape, runs_in=runs_in, what=what)


def _layout(dtype: np.dtype[Any], shape: tuple[int, ...], offset: int) -> Layout:
    return Layout(
        rows=shape[0],
        width=math.prod(shape[1:]),
        type=dtype.str,
        bool=dtype == np.bool_,
        shape=shape[1:],
        features=(),
        labels=(),
        label_kinds=(),
        classes=None,
        features_offset=offset,
        labels_offset=0,
        size=offset + size_of(dtype, shape),
    )
