"""Which files are opened, by Python's audit events."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

TABLE = re.compile(r"\.(csv|tsv|txt|parquet|pq|arrows?|feather|npy|npz)(\.gz|\.zst|\.bz2)?$", re.IGNORECASE)
HDF5 = re.compile(r"\.(h5|hdf5|hdf|he5)$", re.IGNORECASE)
_NAMED = re.compile(r"""["']([^"'\n]+\.\w+)["']""")
_noting: list[dict[str, None]] = []  # where names go now
by_script: dict[str, None] = {}  # what the script opened that the command has run


@contextmanager
def noted(names: dict[str, None]) -> Iterator[dict[str, None]]:
    """Puts the names of files that are opened meanwhile into names, in their order."""
    _install()
    _noting.append(names)
    try:
        yield names
    finally:
        _noting.pop()


@cache
def _install() -> None:
    """Once: an audit hook cannot be taken out."""
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _noting and event == "open" and isinstance(arguments[0], (str, bytes, os.PathLike)):
        _noting[-1][os.fsdecode(arguments[0])] = None


def files(dataset: Any, called: re.Pattern[str] = TABLE) -> list[str]:
    """Files that may be a dataset's: the script opened them, or dataset or module name them."""
    module = sys.modules.get(type(dataset).__module__)
    values = [*vars(dataset).values(), *vars(sys.modules["__main__"]).values()]
    named = [os.fspath(value) for value in values if isinstance(value, (str, os.PathLike))]
    file = getattr(module, "__file__", None)
    if file and os.path.isfile(file):
        with open(file, encoding="utf-8", errors="replace") as source:
            named += _NAMED.findall(source.read())
    return [
        *dict.fromkeys(path for path in (*by_script, *named) if called.search(path) and os.path.isfile(path))
    ]
