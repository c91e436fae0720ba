"""Opening a cache file in pure Python: no native engine, about a tenth of a millisecond.

Go package ``gofast/table/cache`` writes the file and describes it. It is an
uncompressed .npz. Its last member, ``gofast.npy``, holds a JSON header with its own
checksum. This module finds the header from the end of the file, checks it, and turns
it into a layout. It does not read the values themselves; ``gofast.verify`` does that.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import stat
import struct
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .. import errors
from .._core.memory import Layout
from .._core.stamp import Stamp

FORMAT = 1  # version of the file format; gofast/table/cache/header.go has the same
READER_VERSION = 4  # raised whenever the same files would be decoded to other values

_HASHED = 64 << 10  # bytes at either end of a source that go into its fingerprint
_TAIL = 64 << 10  # read at once; holds the header of a table with some thousand columns
_ALIGN = 64
_ZIP_END = struct.Struct("<4s44xQ20x22x")  # zip64 end record, its locator, the end record
_SEAL = re.compile(rb',"size": *(\d+),"length": *(\d+),"sha256":"([0-9a-f]{64})"}')
_SEAL_LENGTH = len(',"size":,"length":,"sha256":""}') + 20 + 10 + 64
_SIZES = {"uint8": 1, "int16": 2, "int32": 4, "int64": 8, "float32": 4, "float64": 8}
_KINDS = ("int", "float", "text")
_ROUNDED = " rounded to "  # behind the fingerprint; gofast/table/load/cache.go has the same


class KeptArray(NamedTuple):
    """Where an array of one dimension lies."""

    offset: int
    length: int
    type: str


class KeptText(NamedTuple):
    """What is kept of a column of texts.

    Attributes:
        ends: int64 [texts + 1]: where the values of each text end, behind a 0.
        values: by name; None: all are 1.
    """

    ends: KeptArray
    values: dict[str, KeptArray | None]


class CacheTable(NamedTuple):
    """An open cache file.

    Attributes:
        fd: descriptor of the file, open for reading; the caller owns it.
        layout: the table's content and where it lies, for ``MappedMemory(fd, layout)``.
        texts: its columns of texts.
        rounded: the type that integers were rounded to which it cannot keep; "" where there were none.
    """

    fd: int
    layout: Layout
    texts: list[KeptText]
    rounded: str


def open_cache(path: str, fingerprint: str | None, rounds: str = "") -> CacheTable | None:
    """Opens a cache that was built from the same sources and options.

    Args:
        path: the path of the cache.
        fingerprint: the result of :func:`fingerprint` now; ``None`` accepts any sources: the path may be a
            table's, so what cannot be opened is no cache.
        rounds: the type that integers are rounded to, where the table has some that it cannot keep.

    Returns:
        ``None`` if there is no cache, or it is stale, foreign or incomplete, or its
        header is damaged. It must then be built again.

    Raises:
        ReadError: the file exists but cannot be read.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if fingerprint is None:
            return None
        raise _unread(path, error) from None
    try:
        table = _table(fd, None if fingerprint is None else (fingerprint, fingerprint + _ROUNDED + rounds))
    except OSError as error:
        os.close(fd)
        raise _unread(path, error) from None
    except (ValueError, TypeError, KeyError, IndexError, struct.error, RecursionError):
        table = None  # JSON with the right checksum and the wrong fields: not a file of gofast
    except BaseException:
        os.close(fd)
        raise
    if table is None:
        os.close(fd)
    return table


def _unread(path: str, error: OSError) -> errors.ReadError:
    return errors.ReadError(f"cache {path}: cannot read the cache: {error.strerror}").at(path=path)


def _table(fd: int, fingerprints: tuple[str, str] | None) -> CacheTable | None:
    """The table as the header says, or None if anything in it is wrong."""
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode) or info.st_size < _ZIP_END.size + _SEAL_LENGTH:
        return None
    tail_at = max(0, info.st_size - _TAIL)
    tail = os.pread(fd, _TAIL, tail_at)
    if len(tail) != info.st_size - tail_at:
        return None
    magic, directory = _ZIP_END.unpack_from(tail, len(tail) - _ZIP_END.size)
    if magic != b"PK\x06\x06" or not _SEAL_LENGTH <= directory <= info.st_size - _ZIP_END.size:
        return None

    def read(offset: int, size: int) -> bytes:
        if offset >= tail_at:
            return tail[offset - tail_at : offset - tail_at + size]
        return os.pread(fd, size, offset)

    seal = _SEAL.fullmatch(read(directory - _SEAL_LENGTH, _SEAL_LENGTH))
    if seal is None or int(seal[1]) != info.st_size or not _SEAL_LENGTH <= int(seal[2]) <= directory:
        return None
    text = read(directory - int(seal[2]), int(seal[2]))
    body = text[: -len(',"sha256":""}') - 64]
    if hashlib.sha256(body).hexdigest() != seal[3].decode():
        return None
    header: dict[str, Any] = json.loads(text)
    if (
        header["format"] != FORMAT
        or header["byteorder"] != sys.byteorder
        or (fingerprints is not None and header["fingerprint"] not in fingerprints)
    ):
        return None
    return _checked(header, fd, info.st_size)


def _checked(header: dict[str, Any], fd: int, size: int) -> CacheTable | None:
    """Checks every number that is used to address memory. A checksum does not stop a forger."""
    rows, shape, labels = header["rows"], tuple(header["shape"]), header["labels"]
    kinds = tuple(label["kind"] for label in labels)
    arrays = {array["name"]: array for array in header["arrays"]}
    width = math.prod(shape)
    numbers = [rows, *shape, *(array[key] for array in arrays.values() for key in ("offset", "bytes"))]
    if any(type(number) is not int or number < 0 for number in numbers) or width != header["width"]:
        return None
    if any(kind not in _KINDS for kind in kinds):
        return None
    if any(array["offset"] % _ALIGN or array["offset"] + array["bytes"] > size for array in arrays.values()):
        return None
    if arrays["features"]["bytes"] != rows * width * _SIZES[header["dtype"]]:
        return None
    columns = len(kinds) + len(header.get("texts", ()))
    if columns and arrays["labels"]["bytes"] != rows * columns * 8:
        return None
    classes: tuple[str, ...] | None = None
    for i, label in enumerate(labels):
        if label["kind"] == "text":
            array = arrays["classes" if len(labels) == 1 else f"classes_{i}"]
            classes = _words(os.pread(fd, array["bytes"], array["offset"]), label["classes"])
    layout = Layout(
        rows=rows,
        width=width,
        type=header["dtype"],
        bool=header["bool"],
        shape=shape,
        features=tuple(header["names"] or ()),
        dropped=tuple(header.get("dropped") or ()),  # caches of older versions lack it
        labels=tuple(label["name"] for label in labels),
        label_kinds=kinds,
        classes=classes,
        features_offset=arrays["features"]["offset"],
        labels_offset=arrays["labels"]["offset"] if columns else 0,
        size=size,
        texts=tuple(text["name"] for text in header.get("texts", ())),
    )
    texts = [_text(k, one, arrays) for k, one in enumerate(header.get("texts", ()))]
    rounded = header["fingerprint"].rpartition(_ROUNDED)[2]
    return CacheTable(fd, layout, texts, rounded if rounded in ("float32", "float64") else "")


def _text(k: int, text: dict[str, Any], arrays: Mapping[str, dict[str, Any]]) -> KeptText:
    def there(name: str, kind: str) -> KeptArray:
        array = arrays[name]
        length, rest = divmod(array["bytes"], _SIZES[kind])
        if rest:
            raise ValueError(name)
        return KeptArray(array["offset"], length, kind)

    values = {
        value["name"]: there(f"texts_{k}_{j}", value["type"]) if value["type"] else None
        for j, value in enumerate(text["values"])
    }
    ends = there(f"texts_{k}_ends", "int64")
    if ends.length == 0:
        raise ValueError("no ends")
    return KeptText(ends, values)


def _words(data: bytes, count: int) -> tuple[str, ...]:
    """The words of a numpy array of str: each has the same room, padded with NULs."""
    room = len(data) // count if count else 0
    codec = "utf-32-le" if sys.byteorder == "little" else "utf-32-be"
    return tuple(data[i * room : (i + 1) * room].decode(codec).rstrip("\0") for i in range(count))


def fingerprint(paths: Sequence[str], options: Mapping[str, Any]) -> str:
    """Identifies the sources and options of a cache, as canonical JSON.

    Args:
        paths: the sources, in order.
        options: everything that shapes the decoded table; JSON values only.

    Returns:
        JSON of the reader's version, the options, and for each source its size,
        modification and change time, inode, and a hash of its first and last 64 KiB.
        Any rewrite of a source changes at least one of them. The sources' paths are
        not part of it.

    Raises:
        NotFoundError: a source does not exist.
        ReadError: a source cannot be read.
    """
    described = {"version": READER_VERSION, "options": dict(options), "sources": [_source(p) for p in paths]}
    return json.dumps(described, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _source(path: str) -> list[int | str]:
    try:
        with open(path, "rb", buffering=0, opener=_open_regular) as file:
            info = os.fstat(file.fileno())
            if not stat.S_ISREG(info.st_mode):
                raise errors.ReadError(f"open {path}: not a regular file").at(path=path)
            ends = hashlib.blake2b(os.pread(file.fileno(), _HASHED, 0), digest_size=16)
            ends.update(os.pread(file.fileno(), _HASHED, max(_HASHED, info.st_size - _HASHED)))
    except FileNotFoundError:
        raise errors.NotFoundError(f"open {path}: no such file").at(path=path) from None
    except errors.ReadError:
        raise
    except OSError as error:
        said = f"open {path}: cannot read the file: {error.strerror}"
        raise errors.ReadError(said).at(path=path) from None
    return [*Stamp.of(info), ends.hexdigest()]


def _open_regular(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)  # opening a pipe without a writer would hang
