"""A preprocessed set on disk: a folder with a .npy file for each field of its samples, and ``set.json``.

A set is whole if ``set.json`` is there: it is written last. Until then ``unfinished.jsonl`` says how far
samples are written. Nothing is believed: ``set.json`` has a checksum of its own, and each file must have the
very header and size that follow from it before it is mapped. Opening does not read the values; `verify` does.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .. import errors
from .._core.progress import Progress
from .._core.replacing import replaced
from .._core.stamp import Stamp
from .._core.units import many
from .._tables.file_arrays import FileArray, MappedFile, regular_file
from .fields import BARE, DICT, TUPLE, TYPES, Field, header, names

MANIFEST, UNFINISHED = "set.json", "unfinished.jsonl"
FORMAT = 1
_LARGEST = 256 << 20  # bytes of a set.json; that of ImageNet with 256 x 256 pixels has 0.4 MB
_BLOCK = 64 << 20  # bytes that have a checksum together
_READ = 4 << 20
_SEAL = ', "sha256": "%s"}\n'
_SEAL_LENGTH = len(_SEAL) - 2 + 64


class SetInfo(NamedTuple):
    """What ``set.json`` says.

    Attributes:
        samples: how many.
        form: what a sample is.
        classes: the names of the classes, if the dataset had some.
        made_of: the dataset, as `gofast.preprocess` describes it.
        made_with: versions.
        checksums: for each field, SHA-256 of each block of its values.
    """

    samples: int
    form: str
    fields: list[Field]
    classes: list[str] | None
    made_of: dict[str, Any]
    made_with: dict[str, str]
    checksums: list[list[str]]

    @property
    def block(self) -> int:
        """The samples of a block."""
        return max(1, _BLOCK // sum(field.row_bytes for field in self.fields))

    @property
    def bytes(self) -> int:
        """All values."""
        return self.samples * sum(field.row_bytes for field in self.fields)

    def told(self) -> dict[str, Any]:
        """The same as JSON has it."""
        return {"gofast": FORMAT, **self._asdict(), "fields": [field._asdict() for field in self.fields]}

    @classmethod
    def of(cls, told: Any) -> SetInfo:
        """What `told` told; ValueError, TypeError or KeyError where it is none such."""
        if told["gofast"] != FORMAT:
            raise ValueError(f"format {told['gofast']}, and this gofast reads {FORMAT}")
        fields = [Field(**{**field, "shape": tuple(field["shape"])}) for field in told["fields"]]
        made = cls(**{name: told[name] for name in cls._fields} | {"fields": fields})
        sizes = [made.samples, *(size for field in fields for size in field.shape)]
        names = {field.name: field for field in fields}
        sound = (
            all(type(size) is int and size > 0 for size in sizes)
            and all(map(_is_sound, fields))
            and 0 < len(names) == len(fields)
            and made.form in (BARE, TUPLE, DICT)
            and (made.form != BARE or len(fields) == 1)
            and (made.classes is None or _are_texts(made.classes))
            and isinstance(made.made_of, dict)
            and _are_texts([*made.made_with.values()])
            and isinstance(made.checksums, list)
            and all(map(_are_texts, made.checksums))
        )
        if not sound:
            raise ValueError("what it says is not of a set")
        return made


def _is_sound(field: Field) -> bool:
    picture = (field.dtype, len(field.shape), field.shape[2:]) in (("uint8", 2, ()), ("uint8", 3, (3,)))
    known = (
        type(field.name) is str
        and type(field.dtype) is str
        and field.dtype in TYPES
        and len(field.shape) <= 30
    )
    return known and (field.picture is False or (field.picture is True and picture))


def _are_texts(given: Any) -> bool:
    return isinstance(given, list) and {*map(type, given)} <= {str}


def write(folder: str, info: SetInfo) -> None:
    """Writes ``set.json``: from now on the set is whole."""
    body = json.dumps(info.told())[:-1]
    with replaced(os.path.join(folder, MANIFEST)) as file:
        file.write((body + _SEAL % hashlib.sha256(body.encode()).hexdigest()).encode())
    synced(folder)


def synced(path: str) -> None:
    """Has what was written, or the names of a folder, on the disk."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def is_set(path: str) -> bool:
    """Whether a whole set lies there, as far as its name says."""
    return os.path.isfile(os.path.join(path, MANIFEST))


def is_begun(path: str) -> bool:
    """Whether somebody writes there, or was stopped."""
    return os.path.isfile(os.path.join(path, UNFINISHED))


def read(folder: str) -> SetInfo:
    """Reads ``set.json``.

    Raises:
        gofast.errors.NotFoundError: no set is there, or none that is whole.
        gofast.errors.DamagedError: the file is not as it was written.
    """
    path = os.path.join(folder, MANIFEST)
    try:
        with regular_file(path) as (fd, info):
            if info.st_size > _LARGEST:
                raise _damaged(path, f"{info.st_size} bytes")
            text = os.pread(fd, info.st_size, 0)
    except errors.NotFoundError:
        raise errors.NotFoundError(_missing(folder)).at(path=folder) from None
    body, seal = text[:-_SEAL_LENGTH], text[-_SEAL_LENGTH:]
    if seal != (_SEAL % hashlib.sha256(body).hexdigest()).encode():
        raise _damaged(path, "its checksum is another")
    try:
        return SetInfo.of(json.loads(body + b"}"))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _damaged(path, str(error) or type(error).__name__) from None


def begun(line: bytes) -> SetInfo | None:
    """The set that the first line of ``unfinished.jsonl`` tells of."""
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return SetInfo.of(json.loads(line))
    return None


def remove(folder: str, info: SetInfo) -> None:
    """Removes the files of a set. Who has mapped them keeps them."""
    for name in (MANIFEST, MANIFEST + ".part", *names(info.fields)):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(os.path.join(folder, name))


def _missing(folder: str) -> str:
    try:
        with open(os.path.join(folder, UNFINISHED), encoding="utf-8") as file:
            head, *lines = file.read().split("\n")
        written = json.loads(lines[-2])[0] if len(lines) > 1 else 0
        of = json.loads(head)["samples"]
    except (OSError, ValueError, LookupError, TypeError):
        return f"open {folder}: no set is there: gofast.preprocess(dataset, {folder!r}) makes one"
    return (
        f"open {folder}: the set is unfinished: {written} of {of} samples are written. "
        f"gofast.preprocess(dataset, {folder!r}) with the same dataset goes on there"
    )


def _damaged(path: str, why: str) -> errors.DamagedError:
    said = f"open {path}: {why}: make the set again, gofast.preprocess(..., overwrite=True)"
    return errors.DamagedError(said).at(path=path)


def open_fields(folder: str, info: SetInfo) -> list[FileArray]:
    """Maps the values of each field.

    Raises:
        gofast.errors.GofastError: a file is not there, or has another header or size.
    """
    made = []
    for field, name in zip(info.fields, names(info.fields), strict=True):
        path, begin = os.path.join(folder, name), header(field, info.samples)
        with regular_file(path) as (fd, found):
            size = len(begin) + info.samples * field.row_bytes
            if found.st_size != size:
                raise _damaged(
                    path, f"it has {found.st_size} bytes, and {info.samples} x {field} take {size}"
                )
            if os.pread(fd, len(begin), 0) != begin:
                raise _damaged(path, f"its header is not that of {info.samples} x {field}")
            what = f"{info.samples} x {field}, mapped where they lie in {path}"
            kind, shape, mapped = (
                np.dtype(field.dtype),
                (info.samples, *field.shape),
                MappedFile(path, Stamp.of(found)),
            )
            made.append(FileArray(os.dup(fd), kind, shape, len(begin), mapped, runs_in="C", what=what))
    return made


def blocks(count: int, block: int) -> Iterator[tuple[int, int]]:
    """The samples of each block: from, to."""
    for start in range(0, count, block):
        yield start, min(start + block, count)


def digest(fd: int, at: int, size: int, made: Any = None) -> Any:
    """SHA-256 of a range of a file, which is shorter where the file is."""
    made = hashlib.sha256() if made is None else made
    end = at + size
    while at < end and (piece := os.pread(fd, min(_READ, end - at), at)):
        made.update(piece)
        at += len(piece)
    return made


def values_of(folder: str, info: SetInfo, sample: int) -> list[bytes]:
    """A sample's values as they are written."""
    made = []
    for field, name in zip(info.fields, names(info.fields), strict=True):
        with regular_file(os.path.join(folder, name)) as (fd, _):
            at = len(header(field, info.samples)) + sample * field.row_bytes
            made.append(os.pread(fd, field.row_bytes, at))
    return made


def verify(folder: str) -> None:
    """Reads all of a set, and compares it with its checksums.

    Raises:
        gofast.errors.DamagedError: a value is not as it was written; the text names file and samples.
        gofast.errors.GofastError: those of opening it.
    """
    info = read(folder)
    arrays, places = open_fields(folder, info), [*blocks(info.samples, info.block)]
    if [*map(len, info.checksums)] != [len(places)] * len(arrays):
        raise _damaged(os.path.join(folder, MANIFEST), "checksums are missing")
    done = 0
    with Progress(f"verifying {folder}") as bar:
        for field, name, array, sums in zip(
            info.fields, names(info.fields), arrays, info.checksums, strict=True
        ):
            path = os.path.join(folder, name)
            with regular_file(path) as (fd, _):
                for (start, stop), wanted in zip(places, sums, strict=True):
                    size = (stop - start) * field.row_bytes
                    if digest(fd, array.offset + start * field.row_bytes, size).hexdigest() != wanted:
                        said = (
                            f"{many(stop - start, 'sample')} from number {start} are not as they were written"
                        )
                        raise _damaged(path, said)
                    done += size
                    bar.update(done / info.bytes)
