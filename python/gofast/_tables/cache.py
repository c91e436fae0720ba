"""Opening a table's cache in pure Python: no native engine, about a tenth of a millisecond.

Go package ``gofast/table/cache`` writes it: a folder of arrays (`array_folder`), whose description says what
the columns are. This module checks that, and turns it into a layout. It does not read the values themselves;
``gofast.verify`` does that.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from .. import errors
from .._core.memory import Layout, MappedMemory
from .._core.stamp import Stamp
from . import array_folder
from .array_folder import ODD, TABLE, OpenArray

if TYPE_CHECKING:
    from .file_arrays import FileArray

READER_VERSION = 4  # raised whenever the same files would be decoded to other values

_HASHED = 64 << 10  # bytes at either end of a source that go into its fingerprint
_TYPES = ("uint8", "int16", "int32", "int64", "float32", "float64")
_KINDS = ("int", "float", "text")
_ROUNDED = " rounded to "  # behind the fingerprint; gofast/table/load/cache.go has the same


class CachedText(NamedTuple):
    """What a cache has of a column of texts.

    Attributes:
        ends: int64 [texts + 1]: where the values of each text end, behind a 0.
        values: by name; None: all are 1.
    """

    ends: FileArray
    values: dict[str, FileArray | None]


class CacheTable(NamedTuple):
    """An open cache.

    Attributes:
        memory: the table.
        texts: its columns of texts.
        rounded: the type that integers were rounded to which it cannot keep; "" where there were none.
    """

    memory: MappedMemory
    texts: list[CachedText]
    rounded: str


def open_cache(path: str, fingerprint: str | None, rounds: str = "") -> CacheTable | None:
    """Opens a cache that was built from the same sources and options.

    Args:
        path: the folder.
        fingerprint: the result of :func:`fingerprint` now; ``None`` accepts any sources.
        rounds: the type that integers are rounded to, where the table has some that it cannot keep.

    Returns:
        ``None`` if there is no cache, or it is stale, foreign or incomplete, or its
        description is damaged. It must then be built again.

    Raises:
        ReadError: it exists but cannot be read.
    """
    if not array_folder.is_whole(path):
        return None
    try:
        said = array_folder.read(path, TABLE)
        built = said.head["fingerprint"]
        if fingerprint is not None and built not in (fingerprint, fingerprint + _ROUNDED + rounds):
            return None
        files = {one.spec.name: one for one in array_folder.open_files(said)}
        try:
            return _checked(said.head, files)
        finally:
            for one in files.values():  # that the table has not taken
                os.close(one.fd)
    except (errors.NotFoundError, errors.DamagedError, errors.ChangedError):
        return None
    except ODD:
        return None  # JSON with the right checksum and the wrong fields: not a cache of gofast


def _checked(head: dict[str, Any], files: dict[str, OpenArray]) -> CacheTable:
    """The table, of files that are as the description says; one of `ODD` where that contradicts itself.

    What it takes of the files is gone from the dict, and owned by the table.
    """
    features, labels, texts = files["features"].spec, head["labels"], head["texts"] or ()
    shape, kinds = tuple(head["shape"]), tuple(label["kind"] for label in labels)
    rows, width = features.shape
    kind = "uint8" if features.dtype == "bool" else features.dtype
    columns = len(kinds) + len(texts)
    own = [one.spec for one in files.values() if one.spec.name.startswith("texts_")]
    sound = (
        all(type(size) is int and size >= 0 for size in shape)
        and math.prod(shape) == width
        and kind in _TYPES
        and all(kind in _KINDS for kind in kinds)
        and (not columns or files["labels"].spec.shape == (rows, columns))
        and (not columns or files["labels"].spec.dtype in ("int64", "float64"))
        and all(len(one.shape) == 1 for one in own)
        and all(one.dtype == "int64" and one.shape[0] for one in own if one.name.endswith("_ends"))
    )
    if not sound:
        raise ValueError("another table than its arrays")
    classes = [label["classes"] for label in labels if label["kind"] == "text"]
    layout = Layout(
        rows=rows,
        width=width,
        type=kind,
        bool=features.dtype == "bool",
        shape=shape,
        features=tuple(head["names"] or ()),
        dropped=tuple(head["dropped"] or ()),
        labels=tuple(label["name"] for label in labels),
        label_kinds=kinds,
        classes=tuple(classes[-1]) if classes else None,
        features_offset=files["features"].offset,
        labels_offset=files["labels"].offset if columns else 0,
        size=files["features"].offset + features.value_bytes,
        texts=tuple(text["name"] for text in texts),
    )
    of_texts = [_text(k, one, files) for k, one in enumerate(texts)]
    memory = MappedMemory(files.pop("features").fd, layout, files.pop("labels").fd if columns else None)
    rounded = head["fingerprint"].rpartition(_ROUNDED)[2]
    return CacheTable(memory, of_texts, rounded if rounded in ("float32", "float64") else "")


def _text(k: int, text: dict[str, Any], files: dict[str, OpenArray]) -> CachedText:
    values = {
        value["name"]: files.pop(f"texts_{k}_{j}").mapped() if value["type"] else None
        for j, value in enumerate(text["values"])
    }
    return CachedText(files.pop(f"texts_{k}_ends").mapped(), values)


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
            ends = hashlib.sha256(os.pread(file.fileno(), _HASHED, 0))
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
