"""A preprocessed set on disk: a folder with a .npy file for each field of its samples, and ``set.jsonl``.

The first line of ``set.jsonl`` says what the set is. Each of the others says how many samples are written
then, with SHA-256 of what every file has had since the line before; the last one is a checksum of all lines.
While a set is being written the file is called ``unfinished.jsonl``, so a set is whole or not there. Nothing
is believed: a .npy file must have the very header and size that follow from the first line before it is
mapped. Opening does not read the values; `verify` does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from .. import errors
from .._core.progress import Progress
from .._core.stamp import Stamp
from .._tables.file_arrays import FileArray, MappedFile, regular_file
from .fields import BARE, DICT, TUPLE, TYPES, Field, header, names

WHOLE, UNFINISHED = "set.jsonl", "unfinished.jsonl"
FORMAT = 1
_LARGEST = 256 << 20  # bytes of a description; that of ImageNet with 256 x 256 pixels has 0.6 MB
_READ = 4 << 20
# What JSON that is not ours raises where it is read as ours.
ODD = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


class SetInfo(NamedTuple):
    """What a set is.

    Attributes:
        samples: how many.
        form: what a sample is.
        classes: the names of the classes, if the dataset had some.
        made_of: the dataset, as `gofast.preprocess` describes it.
        made_with: versions.
    """

    samples: int
    form: str
    fields: list[Field]
    classes: list[str] | None
    made_of: dict[str, Any]
    made_with: dict[str, str]

    @property
    def size(self) -> int:
        """Bytes of all values."""
        return self.samples * sum(field.row_bytes for field in self.fields)

    def told(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {"gofast": FORMAT, **self._asdict(), "fields": [field._asdict() for field in self.fields]}

    @classmethod
    def of(cls, line: bytes) -> SetInfo:
        """What a first line says; one of `ODD` where it is none."""
        told = json.loads(line)
        if told["gofast"] != FORMAT:
            raise ValueError(f"format {told['gofast']}, and this gofast reads {FORMAT}")
        fields = [Field(**{**field, "shape": tuple(field["shape"])}) for field in told["fields"]]
        made = cls(**{name: told[name] for name in cls._fields} | {"fields": fields})
        sizes = [made.samples, *(size for field in fields for size in field.shape)]
        sound = (
            all(type(size) is int and size > 0 for size in sizes)
            and all(map(_is_sound, fields))
            and 0 < len({field.name for field in fields}) == len(fields)
            and made.form in (BARE, TUPLE, DICT)
            and (made.form != BARE or len(fields) == 1)
            and (made.classes is None or _are_texts(made.classes))
            and isinstance(made.made_of, dict)
            and _are_texts([*made.made_with.values()])
        )
        if not sound:
            raise ValueError("what it says is not of a set")
        return made


def _is_sound(field: Field) -> bool:
    shape = field.shape
    pictures = field.dtype == "uint8" and (len(shape) == 2 or (len(shape) == 3 and shape[2] == 3))
    return (
        type(field.name) is str
        and field.dtype in TYPES
        and len(shape) <= 30
        and (pictures or not field.picture)
    )


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and {*map(type, given)} <= {str}


def seal(content: bytes) -> bytes:
    """The last line of a description."""
    return b'{"sha256": "%s"}\n' % hashlib.sha256(content).hexdigest().encode()


_SEAL = len(seal(b""))


def is_set(path: str) -> bool:
    """Whether a whole set lies there, as far as its name says."""
    return os.path.isfile(os.path.join(path, WHOLE))


def stamp(path: str) -> Stamp | None:
    """What tells the whole set that lies there from one that is made in its place; None: none lies there."""
    try:
        return Stamp.of(os.stat(os.path.join(path, WHOLE)))
    except OSError:
        return None


def read(folder: str) -> tuple[SetInfo, list[bytes]]:
    """Reads what a whole set says of itself, and the lines behind that: the last one is its own alone.

    Raises:
        gofast.errors.NotFoundError: no set is there, or none that is whole.
        gofast.errors.DamagedError: the description is not as it was written.
    """
    path = os.path.join(folder, WHOLE)
    try:
        with regular_file(path) as (fd, found):
            content = os.pread(fd, min(found.st_size, _LARGEST), 0)
    except errors.NotFoundError:
        raise errors.NotFoundError(_missing(folder)).at(path=folder) from None
    if content[-_SEAL:] != seal(content[:-_SEAL]):
        raise _damaged(path, "its checksum is another")
    head, *lines = content.split(b"\n")
    try:
        return SetInfo.of(head), lines[:-1]
    except ODD as error:
        raise _damaged(path, str(error) or type(error).__name__) from None


def _missing(folder: str) -> str:
    made = f"gofast.preprocess(dataset, {folder!r})"
    if os.path.isfile(os.path.join(folder, UNFINISHED)):
        return f"open {folder}: the set is unfinished: {made} with the same dataset goes on there"
    return f"open {folder}: no set is there: {made} makes one"


def _damaged(path: str, why: str) -> errors.DamagedError:
    return errors.DamagedError(f"open {path}: {why}: remove the set's folder, and make it again").at(
        path=path
    )


def open_fields(folder: str, info: SetInfo) -> list[FileArray]:
    """Maps the values of each field.

    Raises:
        gofast.errors.GofastError: a file is not there, or has another header or size.
    """
    made = []
    for field, name in zip(info.fields, names(info.fields), strict=True):
        path, begin, said = (
            os.path.join(folder, name),
            header(field, info.samples),
            f"{info.samples} x {field}",
        )
        with regular_file(path) as (fd, found):
            size = len(begin) + info.samples * field.row_bytes
            if found.st_size != size:
                raise _damaged(path, f"it has {found.st_size} bytes, and {said} take {size}")
            if os.pread(fd, len(begin), 0) != begin:
                raise _damaged(path, f"its header is not that of {said}")
            kind, shape, mapped = (
                np.dtype(field.dtype),
                (info.samples, *field.shape),
                MappedFile(path, Stamp.of(found)),
            )
            what = f"{said}, mapped where they lie in {path}"
            made.append(FileArray(os.dup(fd), kind, shape, len(begin), mapped, runs_in="C", what=what))
    return made


def places(info: SetInfo, start: int, stop: int) -> list[tuple[int, int]]:
    """Where samples from, to, lie in each file: the first byte, and how many."""
    return [
        (len(header(field, info.samples)) + start * field.row_bytes, (stop - start) * field.row_bytes)
        for field in info.fields
    ]


def values_of(folder: str, info: SetInfo, sample: int) -> list[bytes]:
    """A sample's values as they are written."""
    made = []
    for name, (at, size) in zip(names(info.fields), places(info, sample, sample + 1), strict=True):
        with regular_file(os.path.join(folder, name)) as (fd, _):
            made.append(os.pread(fd, size, at))
    return made


def compared(
    fds: Sequence[int], info: SetInfo, lines: Iterable[bytes]
) -> Iterator[tuple[int, int, list[int]]]:
    """Reads the values that each line has checksums of. It ends at the first line without any.

    Yields:
        samples from, to, and the numbers of fields that are not as they were written.
    """
    start = 0
    for line in lines:
        try:
            stop, sums = json.loads(line)
            known = (
                type(stop) is int
                and start < stop <= info.samples
                and len(sums) == len(fds)
                and _are_texts(sums)
            )
        except ODD:
            return
        if not known:
            return
        made = (_digest(fd, *place) for fd, place in zip(fds, places(info, start, stop), strict=True))
        yield start, stop, [number for number, one in enumerate(made) if one != sums[number]]
        start = stop


def _digest(fd: int, at: int, size: int) -> str:
    """SHA-256 of a range of a file, which is shorter where the file is."""
    made, end = hashlib.sha256(), at + size
    while at < end and (piece := os.pread(fd, min(_READ, end - at), at)):
        made.update(piece)
        at += len(piece)
    return made.hexdigest()


def verify(folder: str) -> None:
    """Reads all of a set, and compares it with its checksums.

    Raises:
        gofast.errors.DamagedError: a value is not as it was written; the text names file and samples.
        gofast.errors.GofastError: those of opening it.
    """
    info, lines = read(folder)
    paths = [os.path.join(folder, name) for name in names(info.fields)]
    stop = 0
    with Progress(f"verifying {folder}") as bar, contextlib.ExitStack() as opened:
        open_fields(folder, info)
        fds = [opened.enter_context(regular_file(path))[0] for path in paths]
        for start, stop, wrong in compared(fds, info, lines):
            if wrong:
                said = f"a value of its samples {start} to {stop - 1} is not as it was written"
                raise _damaged(paths[wrong[0]], said)
            bar.update(stop / info.samples)
    if stop != info.samples:
        raise _damaged(os.path.join(folder, WHOLE), f"checksums of samples from number {stop} on are missing")
