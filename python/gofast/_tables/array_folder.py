"""A folder of arrays with one description: what a table's cache and a preprocessed set are on disk.

``docs/formats-on-disk.md`` has the form byte by byte. Each array is a ``.npy`` file. The first line of
``arrays.jsonl`` says what the arrays are and what they were made of. Each of the others has SHA-256 of rows
that are written; the last one is a checksum of all lines. While a folder is being written, the file is called
``arrays.jsonl.part`` and its writer has it locked: a folder is whole, or not there.

Nothing is believed: a file must have the very header and size that follow from the first line before it is
mapped. Opening does not read the values; `verify` does.
"""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import json
import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from .. import errors
from .._core import engine
from .._core.progress import Progress
from .._core.regular_files import MappedFile, open_regular, regular_file
from .._core.remote_access import beside
from .._core.remote_files import downloaded
from .._core.shown_urls import is_url, shown
from .._core.stamp import Stamp

if TYPE_CHECKING:
    from .file_arrays import FileArray

WHOLE = "arrays.jsonl"
PART = WHOLE + ".part"  # the same while it is being written
FORMAT = 1  # of the form; gofast/table/cache/description.go has the same
TABLE, SET = "table", "set"  # what a folder may be

_INTEGERS = ("bool", "uint8", "uint16", "uint32", "uint64", "int8", "int16", "int32", "int64")
# What numpy writes and torch reads, by numpy's names.
TYPES = (*_INTEGERS, "float16", "float32", "float64", "complex64", "complex128")
_DTYPES = {name: np.dtype(name) for name in TYPES}

PLAIN = re.compile(r"[A-Za-z0-9_][\w-]{0,99}", re.ASCII)  # a name that is a file's too
_DIGITS = 21  # that a header has room for in its first size, as numpy's do
_LARGEST = 256 << 20  # bytes of a description; that of ImageNet with 256 x 256 pixels has 0.6 MB
_READ = 4 << 20
# What JSON that is not ours raises where it is read as ours.
ODD = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


class ArraySpec(NamedTuple):
    """An array of a folder.

    Attributes:
        name: of its file, without ``.npy``.
        dtype: numpy's name.
        shape: rows first.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """Of one row."""
        return math.prod(self.shape[1:]) * _DTYPES[self.dtype].itemsize

    @property
    def value_bytes(self) -> int:
        """Of all values."""
        return self.shape[0] * self.row_bytes

    @property
    def header(self) -> bytes:
        """What stands before the values in its file. Its length does not depend on the number of rows."""
        room = " " * (_DIGITS - len(str(self.shape[0])))
        kind = _DTYPES[self.dtype].str
        text = f"{{'descr': {kind!r}, 'fortran_order': False, 'shape': {self.shape!r}, }}{room}"
        text += " " * (-(10 + len(text) + 1) % 64) + "\n"
        return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()

    def place(self, start: int, stop: int) -> tuple[int, int]:
        """Where rows from, to, lie in the file: the first byte, and how many."""
        return len(self.header) + start * self.row_bytes, (stop - start) * self.row_bytes

    def told(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {**self._asdict(), "shape": [*self.shape]}

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> ArraySpec:
        """What a description says; one of `ODD` where it is none."""
        made = cls(told["name"], told["dtype"], tuple(told["shape"]))
        sound = (
            PLAIN.fullmatch(made.name)
            and made.dtype in TYPES
            and 0 < len(made.shape) <= 31
            and all(type(size) is int and 0 <= size < 1 << 62 for size in made.shape)
            and made.value_bytes < 1 << 62
        )
        if not sound:
            raise ValueError(f"{made.name!r} is no array of a folder")
        return made

    def __str__(self) -> str:
        return f"{self.shape[0]} x {self.dtype} {[*self.shape[1:]]}"


class Description(NamedTuple):
    """What a whole folder says of itself.

    Attributes:
        head: the first line.
        lines: the others, but for the last one, which is the `seal`.
        stamp: of the file: another one is that of a folder that was made in the place of this.
    """

    folder: str
    head: dict[str, Any]
    arrays: list[ArraySpec]
    lines: list[bytes]
    seal: bytes
    stamp: Stamp


class Block(NamedTuple):
    """Rows of an array that have a checksum together."""

    array: int
    start: int
    stop: int
    sha256: str


def head_line(kind: str, arrays: Sequence[ArraySpec], more: Mapping[str, Any]) -> bytes:
    """The first line of a description."""
    told = {"gofast": FORMAT, "kind": kind, **more, "arrays": [one.told() for one in arrays]}
    return json.dumps(told).encode() + b"\n"


def head_of(line: bytes, kind: str | None = None) -> tuple[dict[str, Any], list[ArraySpec]]:
    """What a first line says, and its arrays; one of `ODD` where it is none of that kind."""
    head = json.loads(line)
    if head["gofast"] != FORMAT:
        raise ValueError(f"format {head['gofast']}, and this gofast reads {FORMAT}")
    if (kind or head["kind"]) != head["kind"] or head["kind"] not in (TABLE, SET):
        raise ValueError(f"it is a {head['kind']}")
    arrays = [ArraySpec.of(one) for one in head["arrays"]]
    if len({one.name.lower() for one in arrays}) < len(arrays):
        raise ValueError("two arrays have one name")
    return head, arrays


def seal(content: bytes) -> bytes:
    """The last line of a description."""
    return b'{"sha256": "%s"}\n' % hashlib.sha256(content).hexdigest().encode()


_SEAL = len(seal(b""))


def _paths(folder: str, names: Sequence[str]) -> list[str]:
    """Where files of a folder lie. Those of a URL come here, and stay until this process ends; raises as
    `local_files`."""
    if not is_url(folder):
        return [os.path.join(folder, name) for name in names]
    urls = [beside(folder, name) for name in names]
    made = downloaded(dict.fromkeys(urls))
    return [made[url] for url in urls]


def is_whole(path: str | os.PathLike[str]) -> bool:
    """Whether a whole folder of arrays lies there, as far as its name says."""
    return os.path.isfile(os.path.join(path, WHOLE))


def stamp(path: str) -> Stamp | None:
    """What tells the whole folder that lies there from one in its place; None: none lies there."""
    (whole,) = _paths(path, [WHOLE])
    try:
        return Stamp.of(os.stat(whole))
    except OSError:
        return None


def read(folder: str, kind: str | None = None) -> Description:
    """Reads what a whole folder says of itself, which may lie behind a URL.

    Raises:
        gofast.errors.NotFoundError: none is there.
        gofast.errors.ReadError: it cannot be read.
        gofast.errors.DamagedError: the description is not as it was written.
        gofast.errors.FormatError: it is of another kind.
    """
    (local,) = _paths(folder, [WHOLE])
    path = os.path.join(shown(folder), WHOLE)
    with regular_file(local) as (fd, found):
        content = os.pread(fd, min(found.st_size, _LARGEST), 0)
    if content[-_SEAL:] != seal(content[:-_SEAL]):
        raise damaged(path, "its checksum is another")
    first, *lines = content.split(b"\n")
    try:
        head, arrays = head_of(first)
    except ODD as error:
        raise damaged(path, str(error) or type(error).__name__) from None
    if kind not in (None, head["kind"]):
        how = "gofast.ArrayDataset.open" if kind == TABLE else "gofast.TableDataset"
        place = shown(folder)
        raise errors.FormatError(f"open {place}: it is no {kind}: {how} opens it").at(path=place)
    return Description(folder, head, arrays, lines[:-2], lines[-2], Stamp.of(found))


def damaged(path: str, why: str) -> errors.DamagedError:
    """The error for a file that is not as it was written."""
    return errors.DamagedError(f"open {path}: {why}: remove its folder, and make it again").at(path=path)


class OpenArray(NamedTuple):
    """An array's file, which has the right header and size. Its descriptor is the caller's."""

    spec: ArraySpec
    fd: int
    offset: int
    file: MappedFile

    def mapped(self) -> FileArray:
        """The array, which owns the descriptor from then on."""
        from .file_arrays import FileArray  # which needs torch, and a table alone does not

        kind, what = _DTYPES[self.spec.dtype], f"{self.spec}, mapped where they lie in {self.file.path}"
        return FileArray(self.fd, kind, self.spec.shape, self.offset, self.file, runs_in="C", what=what)


def open_files(said: Description) -> list[OpenArray]:
    """Opens the files of the arrays.

    Raises:
        gofast.errors.GofastError: a file is not there, or has another header or size.
        gofast.errors.ChangedError: the folder is being made anew. Its writer removes the description
            first, so arrays that were opened before that are those of this description.
    """
    made: list[OpenArray] = []
    try:
        names = [one.name + ".npy" for one in said.arrays]
        for one, name, path in zip(said.arrays, names, _paths(said.folder, names), strict=True):
            begin, place = one.header, os.path.join(shown(said.folder), name)
            fd, found = open_regular(path)
            made.append(OpenArray(one, fd, len(begin), MappedFile(path, Stamp.of(found))))
            size = len(begin) + one.value_bytes
            if found.st_size != size:
                raise damaged(place, f"it has {found.st_size} bytes, and {one} take {size}")
            if os.pread(fd, len(begin), 0) != begin:
                raise damaged(place, f"its header is not that of {one}")
        if stamp(said.folder) != said.stamp:
            place = shown(said.folder)
            raise errors.ChangedError(f"{place} was made anew while it was opened").at(path=place)
    except BaseException:
        for opened in made:
            os.close(opened.fd)
        raise
    return made


def open_arrays(said: Description) -> list[FileArray]:
    """Maps the arrays; the errors are those of `open_files`."""
    return [one.mapped() for one in open_files(said)]


def blocks(arrays: Sequence[ArraySpec], lines: Iterable[bytes]) -> Iterator[list[Block]]:
    """What each line has checksums of. It ends at the first line without any."""
    done, numbers = [0] * len(arrays), {one.name: number for number, one in enumerate(arrays)}
    for line in lines:
        made = []
        try:
            for name, (stop, sha256) in json.loads(line).items():
                number = numbers[name]
                if type(stop) is not int or not done[number] < stop <= arrays[number].shape[0]:
                    return
                made.append(Block(number, done[number], stop, sha256))
                done[number] = stop
        except ODD:
            return
        yield made


def is_intact(fds: Sequence[int], arrays: Sequence[ArraySpec], block: Block) -> bool:
    """Whether rows are as they were written."""
    at, size = arrays[block.array].place(block.start, block.stop)
    made, end = hashlib.sha256(), at + size
    while at < end and (piece := os.pread(fds[block.array], min(_READ, end - at), at)):
        made.update(piece)
        at += len(piece)
    return made.hexdigest() == block.sha256


def verify(folder: str) -> None:
    """Reads all of a folder, and compares it with its checksums.

    Raises:
        gofast.errors.DamagedError: a value is not as it was written; the text names file and rows.
        gofast.errors.GofastError: those of opening it.
    """
    from concurrent.futures import ThreadPoolExecutor  # which opening does not need

    said = read(folder)
    with contextlib.ExitStack() as opened:
        files = open_files(said)
        for file in files:
            opened.callback(os.close, file.fd)
        known = [*itertools.chain(*blocks(said.arrays, said.lines))]
        for number, one in enumerate(said.arrays):
            stop = max((block.stop for block in known if block.array == number), default=0)
            if stop != one.shape[0]:
                raise damaged(
                    os.path.join(folder, WHOLE), f"checksums of {one.name} from row {stop} on are missing"
                )
        fds = [file.fd for file in files]
        bar = opened.enter_context(Progress(f"verifying {folder}"))
        pool = opened.enter_context(ThreadPoolExecutor(engine.threads()))
        intact = pool.map(lambda block: is_intact(fds, said.arrays, block), known)
        for done, (block, right) in enumerate(zip(known, intact, strict=True), 1):
            if not right:
                where = f"a value of its rows {block.start} to {block.stop - 1}"
                raise damaged(files[block.array].file.path, f"{where} is not as it was written")
            bar.update(done / len(known))


def remove(said: Description) -> None:
    """Removes a whole folder: the description first, and other files not at all."""
    for name in (WHOLE, *(one.name + ".npy" for one in said.arrays)):
        with contextlib.suppress(FileNotFoundError):  # who has mapped it keeps it
            os.unlink(os.path.join(said.folder, name))
    with contextlib.suppress(OSError):  # somebody's own files are there too
        os.rmdir(said.folder)


def size_of(said: Description) -> int:
    """Bytes on disk."""
    return said.stamp.size + sum(len(one.header) + one.value_bytes for one in said.arrays)
