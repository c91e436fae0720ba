"""Files of packed tokens, each one long array of integers that is mapped, and windows of them."""

from __future__ import annotations

import io
import os
import struct
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import errors
from .._core import table_operations
from .._core.memory import address_of
from .._core.regular_files import MappedFile, regular_file
from .._core.stamp import Stamp
from .._core.units import many
from .._loader.batch_source import Line
from .._loader.core_dataset import CoreDataset
from .file_arrays import FileArray
from .origin import Origin

if TYPE_CHECKING:
    import numpy.typing as npt

# What the core makes int64s of; gofast/table/tokens/tokens.go has the same.
TYPES = ("uint8", "uint16", "uint32", "int8", "int16", "int32", "int64")

_LLM_C = {20240520: "uint16", 20240801: "uint32"}  # how its files begin, and their tokens' type
_LLM_C_HEADER = 1024
_LOOKED = 1024  # tokens, at five places of a file
_HIGH = 32  # vocabularies have fewer than 2**21 tokens


class TokenFileOptions(NamedTuple):
    """What was opened.

    Attributes:
        path: absolute.
        dtype: of the tokens, by numpy's name; None: uint16, or what a .npy says.
        offset: bytes before the first token of what is no .npy.
        least: tokens that it must have, one or more.
    """

    path: str
    dtype: str | None
    offset: int
    least: int


class TokenFile(Origin):
    """One file, whose only array has its tokens."""

    holds = "tokens"
    arrays: Sequence[FileArray]

    def __init__(self, asked: TokenFileOptions) -> None:
        self._asked, self.path = asked, asked.path
        self.arrays = self.open()

    @property
    def array(self) -> npt.NDArray[Any]:
        """The tokens."""
        return self.arrays[0].array

    def check(self) -> None:
        """Raises ChangedError if the file is not what it was."""
        self.arrays[0].check()

    def open(self) -> list[FileArray]:
        """Maps the file.

        Raises:
            gofast.errors.GofastError: as :class:`gofast.tokens.TokenDataset` says.
        """
        path, least = self.path, self._asked.least
        with regular_file(path) as (fd, info):
            dtype, count, offset = _layout(fd, info.st_size, self._asked)
            if count < least:
                said = f"open {path}: {many(count, 'token')}, and the first sample needs {least}"
                raise errors.SchemaError(said).at(path=path)
            what = f"{count} tokens of {dtype}, mapped where they lie in {path}"
            mapped = MappedFile(path, Stamp.of(info))
            return [FileArray(os.dup(fd), dtype, (count,), offset, mapped, runs_in="C", what=what)]

    def explained(self) -> list[Line]:
        """See the base class."""
        return [("source", one.runs_in, one.what) for one in self.arrays]


def _layout(fd: int, size: int, asked: TokenFileOptions) -> tuple[np.dtype[Any], int, int]:
    """The type of a file's tokens, how many there are, and where they begin."""
    head = os.pread(fd, 12, 0)
    if head.startswith(b"\x93NUMPY"):
        return _of_npy(io.FileIO(fd, closefd=False), size, asked)
    path, dtype, offset = asked.path, np.dtype(asked.dtype or "uint16"), asked.offset
    if offset == 0 and len(head) == 12:
        magic, _, count = struct.unpack("<3i", head)
        known = _LLM_C.get(magic)
        if known is not None and size == _LLM_C_HEADER + count * np.dtype(known).itemsize:
            raise errors.FormatError(
                f"open {path}: the file begins with a header of llm.c: give offset={_LLM_C_HEADER}, "
                f'dtype="{known}"'
            ).at(path=path)
    count, rest = divmod(size - offset, dtype.itemsize)
    if count < 0 or rest:
        raise errors.FormatError(
            f"open {path}: {size - offset} bytes are no whole number of {dtype} tokens: give dtype= and "
            "offset= as the file was written"
        ).at(path=path)
    if asked.dtype is None and _is_wider(fd, size, offset):
        raise errors.FormatError(
            f'open {path}: its tokens look like uint32, read as uint16: give dtype="uint32", or "uint16" if '
            "they are"
        ).at(path=path)
    return dtype, count, offset


def _is_wider(fd: int, size: int, offset: int) -> bool:
    """Whether what nobody said the type of looks like uint32: every second uint16 is next to nothing.

    No text has such tokens at every second place, and what has no other ones may be read as it is.
    """
    if (size - offset) % 4:
        return False
    places = (size - offset) // 4
    found = b"".join(
        os.pread(fd, 4 * _LOOKED, offset + 4 * (max(places - _LOOKED, 0) * part // 4)) for part in range(5)
    )
    words = np.frombuffer(found, np.uint16)
    return len(words) >= 64 and words[1::2].max() < _HIGH <= words[::2].max()


def _of_npy(file: io.FileIO, size: int, asked: TokenFileOptions) -> tuple[np.dtype[Any], int, int]:
    path = asked.path
    if asked.offset:
        raise errors.OptionError(f"{path} is a .npy file, whose header says where tokens begin: drop offset=")
    header = np.lib.format
    readers = {(1, 0): header.read_array_header_1_0, (2, 0): header.read_array_header_2_0}
    try:
        shape, _, dtype = readers[header.read_magic(file)](file)
    except Exception as error:  # whatever numpy makes of a damaged file
        raise errors.DamagedError(f"open {path}: numpy cannot read the header: {error}").at(
            path=path
        ) from None
    if dtype.name not in TYPES or not dtype.isnative:
        known = ", ".join(TYPES)
        raise errors.UnsupportedError(f"open {path}: tokens of type {dtype}: read are {known}").at(path=path)
    if asked.dtype not in (None, dtype.name):
        said = f"open {path}: dtype={asked.dtype!r} was asked for, and the file has {dtype}"
        raise errors.SchemaError(said).at(path=path)
    if len(shape) != 1:
        said = f"open {path}: an array of shape {shape}, and packed tokens are one long array [n]"
        raise errors.SchemaError(said).at(path=path)
    count, offset = shape[0], file.tell()
    if not 0 <= count <= (size - offset) // dtype.itemsize:
        said = f"open {path}: {count} tokens at {offset}, and the file has {size} bytes"
        raise errors.DamagedError(said).at(path=path)
    return dtype, count, offset


def windows(file: TokenFile, block: int, stride: int) -> CoreDataset:
    """The core's dataset of a file's windows."""
    config: table_operations.TokenWindowsRequest = {
        "first": address_of(file.array),
        "tokens": len(file.array),
        "type": file.array.dtype.name,
        "block": block,
        "stride": stride,
    }
    return CoreDataset(table_operations.tokens(config), file)
