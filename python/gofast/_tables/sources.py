"""Makes the list of files of one table from what a user gives as ``path``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any

from .. import errors
from .._core import patterns
from .._core.arguments import several
from .._core.warn import warn
from .array_folder import is_whole

Path = str | os.PathLike[str]

# From a folder, only files with these endings are read; gofast/inspect/kind.go has the same.
# .txt and .dat are not among them: a README.txt beside the tables would become rows.
_TABLES = (".csv", ".tsv", ".parquet", ".pq", ".arrow", ".arrows", ".feather", ".npy", ".npz")
_PACKED = (".gz", ".zst", ".bz2", ".xz")

_SHOWN = 5  # names shown in a message


def given(path: Any) -> Path | list[Path]:
    """The user's ``path``, checked to be one path or several.

    Raises OptionError for a frame, an array or a file object, and says what to use instead.
    """
    if isinstance(path, (str, os.PathLike)):
        return path
    paths = several(path)
    if not isinstance(paths, list) or not all(isinstance(one, str) for one in paths):  # of a column of names
        _refuse(path)
    paths = list(paths)
    if not paths:
        raise errors.OptionError("path=[]: give at least one file")
    for one in paths:
        if not isinstance(one, (str, os.PathLike)):
            _refuse(one)
            raise errors.OptionError(f"path: {one!r:.80} is not a path: give files, globs or folders")
    return paths


# The key is the package that a class comes from, so nothing is imported to find out.
_ARRAYS = "gofast.ArrayDataset({}): TableDataset reads files"
_INSTEAD = {
    "pandas": _ARRAYS.format('df.drop(columns="label").to_numpy("float32"), df["label"].to_numpy()'),
    "polars": _ARRAYS.format('df.drop("label").to_numpy(), df["label"].to_numpy(), of a collected frame'),
    "pyarrow": _ARRAYS.format(
        'table.drop_columns("label").to_pandas().to_numpy(), table["label"].to_numpy()'
    ),
    "numpy": _ARRAYS.format("features, labels"),
    "torch": _ARRAYS.format("features, labels"),
}


def _refuse(path: Any) -> None:
    kind = type(path)
    package = kind.__module__.partition(".")[0]
    name = f"path is a {package}.{kind.__name__}" if package != "builtins" else f"path is a {kind.__name__}"
    if package in _INSTEAD:
        raise errors.OptionError(f"{name}: use {_INSTEAD[package]}")
    if hasattr(path, "read"):
        raise errors.OptionError(f"{name}: give the file's name; write what is in memory to a file first")
    if isinstance(path, (bytes, dict)) or not isinstance(path, Iterable):
        raise errors.OptionError(f"{name}: give a file, a glob or a folder, or a list of them")


def expand(
    path: Path | Iterable[Path],
    output: str | None = None,
    cache: str | None = None,
    takes_cache: bool = False,
) -> list[str]:
    """The files, in order: those given, or the sorted content of globs and folders.

    From a folder, files with a table's ending are taken, and a warning lists the
    others. No warning lists hidden files, files that begin with ``_`` (Spark's
    markers), and ``output`` and ``cache``, a file and a folder that will be made from the
    table. The folder of a cache may be the only source, for who ``takes_cache``.

    Raises NotFoundError if a path does not exist, or a pattern or folder gives no file;
    OptionError if ``path`` is not a path, or one of those would replace a source or
    something of another kind; SchemaError for a folder of several formats; FormatError
    for a cache that is not taken.
    """
    paths = given(path)
    if not isinstance(paths, list):
        paths = [paths]
    made = {
        os.path.realpath(one + end) for one in (output, cache) if one is not None for end in ("", ".part")
    }
    files = [file for p in paths for file in _expand_one(os.fspath(p), made)]
    if (len(paths) > 1 or not takes_cache) and (caches := [*filter(is_whole, paths)]):
        alone = "this is a cache of gofast: open it alone, as the path of a TableDataset"
        raise errors.FormatError(f"open {os.fspath(caches[0])}: {alone}").at(path=os.fspath(caches[0]))
    if output is not None and os.path.exists(output):
        if not os.path.isfile(output):
            raise errors.OptionError(f"{output!r} is there and is not a file: it will not be replaced")
        if any(os.path.samefile(output, file) for file in files):
            raise errors.OptionError(f"{output!r} is a source itself: it will not be replaced")
    if cache is not None and os.path.exists(cache) and not os.path.isdir(cache):
        is_source = any(os.path.samefile(cache, file) for file in files)
        what = "a source itself" if is_source else "there and is not a folder"
        raise errors.OptionError(f"{cache!r} is {what}: a cache is a folder, so give another path")
    _say_partitions(files)
    return files


def _expand_one(path: str, made: set[str]) -> list[str]:
    if os.path.isdir(path):
        return [path] if is_whole(path) else _in_folder(path, made)
    if patterns.is_pattern(path):
        found = [file for file in patterns.matching(path) if os.path.realpath(file) not in made]
        if not found:
            raise _not_found(path, "no file matches the pattern")
        return found
    if not os.path.exists(path):
        raise _not_found(path, "no such file")
    return [path]


# Marks of folders that hold several versions of rows. All files together are not a table.
_LAKES = {"_delta_log": "deltalake.DeltaTable(path)", ".hoodie": "Hudi's own reader"}


def _in_folder(path: str, made: set[str]) -> list[str]:
    for mark, reader in _LAKES.items():
        if os.path.isdir(os.path.join(path, mark)):
            raise errors.FormatError(
                f"open {path}: {mark} says which rows of these files count, and gofast does not read it: "
                f"write the table as one file, with {reader}"
            ).at(path=path)
    tables, others = [], []
    for entry in sorted(os.scandir(path), key=lambda entry: entry.name):
        if entry.name.startswith((".", "_")) or os.path.realpath(entry.path) in made:
            continue
        if entry.is_file() and _ending(entry.name):
            tables.append(entry)
        else:
            others.append(entry.name + "/" * entry.is_dir())
    if not tables:
        raise _no_tables(path, others)
    endings = sorted({_ending(entry.name) for entry in tables})
    pattern = os.path.join(path, "*" + endings[0])
    if len(endings) > 1:
        files = {end: [e.name for e in tables if _ending(e.name) == end] for end in endings}
        counted = ", ".join(f"{len(names)} {end} ({_some(names)})" for end, names in files.items())
        raise errors.SchemaError(
            f"open {path}: the folder holds files of {len(endings)} formats, perhaps the same rows twice: "
            f"{counted}; choose with a glob, such as {pattern!r}"
        ).at(path=path)
    if others:
        warn(
            f"{path}: {len(tables)} {endings[0]} files of the folder are read and these are not: "
            f"{_some(others)}; a glob such as {pattern!r} says so without this warning",
            once=f"left out of {path}: {others}",
        )
    return [entry.path for entry in tables]


def _ending(name: str) -> str:
    """The ending of a table's file name, including that of its compression; or ""."""
    stem, end = os.path.splitext(name.lower())
    packed = end if end in _PACKED else ""
    table = os.path.splitext(stem)[1] if packed else end
    return table + packed if table in _TABLES else ""


def _no_tables(path: str, others: list[str]) -> errors.NotFoundError:
    if not others:
        return _not_found(path, "the folder holds no files")
    if any(name.endswith("/") and "=" in name for name in others):
        return _not_found(
            path,
            f"the folder is partitioned ({_some(others)}), and gofast does not read a column from a folder's "
            "name: write one file that has it, such as pandas.read_parquet(folder).to_parquet(file)",
        )
    kinds = ", ".join(_TABLES)
    below = f", or {os.path.join(path, '**', '*.csv')!r} for folders below it"
    return _not_found(
        path,
        f"no file in the folder ends in {kinds}; it holds {_some(others)}: name files by a glob, such as "
        f"{os.path.join(path, '*.txt')!r}{below if any(name.endswith('/') for name in others) else ''}",
    )


def _say_partitions(files: list[str]) -> None:
    """Warns of files from folders such as label=cat: the files do not have this key."""
    keys = {part for file in files for part in _partitions(file)}
    if len({part.partition("=")[0] for part in keys}) < len(keys):
        names = sorted({part.partition("=")[0] for part in keys})
        warn(
            f"the files lie in folders such as {min(keys)}: {', '.join(names)} is not a column of theirs: "
            "gofast does not read it from the folder's name; write it into the files if it is wanted",
            once=f"partitions {sorted(keys)}",
        )


def _partitions(file: str) -> Iterator[str]:
    for part in os.path.dirname(file).split(os.sep):
        key, equals, value = part.partition("=")
        if key and equals and value:
            yield part


def _some(names: list[str]) -> str:
    """The first names of a list."""
    more = len(names) - _SHOWN
    return ", ".join(names[:_SHOWN]) + (f", ... ({len(names)} in all)" if more > 0 else "")


def _not_found(path: str, why: str) -> errors.NotFoundError:
    return errors.NotFoundError(f"open {path}: {why}").at(path=path)
