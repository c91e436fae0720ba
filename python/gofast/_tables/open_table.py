"""Opening a table: its files are decoded, or the cache that holds them is mapped."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from .. import errors
from .._core import engine, table_operations
from .._core.memory import DecodedMemory, MappedMemory, TableMemory
from .._core.table_operations import Selection, Sources, TextsMemory
from .._loader.core_dataset import IntArray
from . import array_folder
from .cache import fingerprint, open_cache
from .cached_texts import cached_columns, to_keep
from .cells import CellPlace
from .column_options import selection
from .file_arrays import FileArray
from .sources import expand
from .table_options import TableOptions
from .text_columns import Strings, TextColumn
from .text_identity import identities
from .texts import Text
from .tokenizing import opened_texts

# A cache is built at most this many times; then an error says that its sources keep changing.
_BUILDS = 3


def request_of(source: TableOptions, takes_cache: bool = False) -> tuple[list[str], Sources]:
    """The paths of the files, and the whole request for the engine."""
    cache = source.cache
    if cache is not None and not isinstance(cache, (str, os.PathLike)):
        raise errors.OptionError(f"cache={cache!r} is not a path: give that of a folder")
    paths = expand(source.path, cache=None if cache is None else os.fspath(cache), takes_cache=takes_cache)
    return paths, source.sources(paths)


def place(source: TableOptions, row: int) -> CellPlace:
    """The file and line of a row. No table keeps them, so the files are opened once more."""
    paths, running = request_of(source)
    try:
        found = table_operations.place({"row": row, **running})
    except errors.GofastError:  # the caller reports what is wrong with the row; that matters more
        return CellPlace(paths[0] if len(paths) == 1 else None, row)
    return CellPlace(found["path"], found["row"], found["line"] if found["line"] > 0 else None)


def files_of(source: TableOptions, rows: int) -> tuple[list[str], IntArray]:
    """The files of a table of so many rows, and the number of the row behind the last one of each.

    No table keeps that: they are opened once more, unless it is one that the user named. None where they are
    others now.
    """
    try:
        paths, running = request_of(source, takes_cache=source.cache is None)
        named = isinstance(source.path, (str, os.PathLike)) and paths == [os.fspath(source.path)]
        counts = [rows] if named else table_operations.file_rows(running)
    except errors.GofastError:
        return [], np.zeros(0, np.int64)
    return (paths, np.cumsum(counts)) if sum(counts) == rows else ([], np.zeros(0, np.int64))


def open_table(source: TableOptions) -> tuple[TableMemory, list[TextColumn]]:
    """Decodes the files, or maps the cache that holds them. With them are the columns of ``text=``."""
    paths, running = request_of(source, takes_cache=source.cache is None)
    config, cache, text = source.selection(), source.cache, source.text
    if cache is not None:
        return _open_cached(os.fspath(cache), paths, config, running, text)
    if array_folder.is_whole(paths[0]):
        return _cached_alone(paths[0], running, text), []
    schema = table_operations.open_table(running, f"reading {paths[0]}")
    return DecodedMemory(schema), opened_texts(text, _strings(schema["kept"]))


def _strings(kept: TextsMemory) -> list[Strings]:
    """The texts of each column, of which each owns a descriptor."""
    fd, columns, found = kept["fd"], kept["columns"] or [], []
    for column in columns:
        ends = FileArray(os.dup(fd), np.dtype(np.int64), (column["count"] + 1,), column["ends_offset"])
        data = FileArray(os.dup(fd), np.dtype(np.uint8), (column["bytes"],), column["bytes_offset"])
        found.append(Strings(ends, data))
    if columns:
        os.close(fd)
    return found


def _open_cached(
    cache: str, paths: list[str], config: Selection, running: Sources, text: Mapping[str, Text]
) -> tuple[MappedMemory, list[TextColumn]]:
    """Maps the cache. Builds it first if it is missing, stale or damaged."""
    options: Mapping[str, Any] = {**config, "text": identities(text)} if text else config
    for build in range(_BUILDS + 1):
        current = fingerprint(paths, options)
        table = open_cache(cache, current, running["rounds"])
        if table is not None:
            columns = cached_columns(table, text)
            if columns is not None:
                return table.memory, columns
        if build == _BUILDS:
            break
        # The second time the core must build in any case: it may take a cache for
        # sound that this check refuses.
        request: table_operations.Cache = {
            "building": next(engine.numbers),
            "cache": cache,
            "fingerprint": current,
            "force": build > 0,
            **running,
        }
        _build(request, text)
    raise errors.ChangedError(
        f"cache {cache}: the sources or the cache changed while it was built: "
        "is another dataset using this path?"
    ).at(path=cache)


def _build(request: table_operations.Cache, text: Mapping[str, Text]) -> None:
    """Builds the cache. Other processes wait for it meanwhile, also while texts are tokenized."""
    building: table_operations.Building = {"building": request["building"]}
    label = f"building {request['cache']}"
    try:
        kept = table_operations.build_cache(request, label)
        if kept is not None:
            columns = opened_texts(text, _strings(kept))
            table_operations.finish_cache({**building, "texts": to_keep(columns)}, label)
    finally:
        table_operations.close_cache(building)


def _cached_alone(path: str, config: Mapping[str, object], text: Mapping[str, Text]) -> MappedMemory:
    """The table in a cache that was given as the source. It is decoded already."""
    table = open_cache(path, None)
    if table is None:
        array_folder.open_arrays(array_folder.read(path, array_folder.TABLE))  # says what is wrong with it
        raise array_folder.damaged(path, "its description contradicts itself")
    if text or table.texts:
        has = "has texts, whose tokenizers it does not know" if table.texts else "has no texts"
        raise errors.OptionError(
            f"{path} is a cache, which {has}: open its sources, with text= and with this folder as cache="
        )
    plain: Mapping[str, object] = selection()
    given = [key for key in plain if config[key] != plain[key] and key not in ("label", "label_optional")]
    if given:
        raise errors.OptionError(
            f"{path} is a cache, whose table is decoded already: {given[0]}= is for its sources; "
            "open them, with this folder as cache="
        )
    if table.rounded not in ("", config["rounds"]):
        raise errors.OptionError(
            f"{path} is a cache, whose integers were rounded to {table.rounded}: "
            "for another dtype, open its sources"
        )
    held = list(table.memory.layout.labels)
    if config["label"] and config["label"] != held and not config["label_optional"]:
        said = f"open {path}: the cache holds the labels {held}, not {config['label']}"
        raise errors.SchemaError(said).at(path=path)
    return table.memory
