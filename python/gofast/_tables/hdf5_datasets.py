"""The datasets of an HDF5 file by their names, and what h5py says of them."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from .. import errors


class NamedDatasets:
    """Those of one file. Base class.

    Attributes:
        path: its name.
        file: h5py's.
        dataset: the class of h5py's datasets.
    """

    def __init__(self, h5py: Any, file: Any, path: str) -> None:
        self._h5py, self.file, self.path, self.dataset = h5py, file, path, h5py.Dataset

    def numbers(self, name: str) -> tuple[Any, np.dtype[Any]]:
        """A dataset of numbers, and their type in this machine's order of bytes."""
        found = self.file.get(name) if name and "\0" not in name else None
        if not isinstance(found, self.dataset):
            there = sorted(itertools.chain(*self.listed()))
            why = "there is none of this name"
            if found is not None:
                why = f"it is a {type(found).__name__.lower()}"
            listed = ", ".join(map(repr, there[:6])) + ", ..." * (len(there) > 6)
            raise self._error(errors.SchemaError, name, f"{why}; the file has {listed or 'no datasets'}")
        if found.shape is None or found.ndim == 0:
            raise self._error(errors.SchemaError, name, "it has no dimensions: the first one is that of rows")
        kind = found.dtype
        if not _is_number(kind):
            raise self._error(
                errors.UnsupportedError,
                name,
                f"it holds {_called(self._h5py, kind)}, and an array holds numbers of one type: write "
                "numbers into a dataset of their own",
            )
        return found, np.dtype(kind.str).newbyteorder("=")

    def words(self, name: str) -> np.ndarray[Any, Any] | None:
        """A dataset of texts; None if it is another one."""
        found = self.file.get(name)
        if not isinstance(found, self.dataset) or self._h5py.check_string_dtype(found.dtype) is None:
            return None
        return np.asarray(found.asstr()[()], np.str_)

    def listed(self, whole: bool = False) -> tuple[list[str], list[str]]:
        """The names of datasets of numbers with rows, and of all others.

        Args:
            whole: whether those that are there behind damage are an error.
        """
        names: tuple[list[str], list[str]] = ([], [])

        def take(name: str, one: Any) -> None:
            if isinstance(one, self.dataset):
                names[not (one.shape and _is_number(one.dtype))].append(name)

        try:
            self.file.visititems(take)
        except Exception:
            if whole:
                with self._reading(self._damaged(self.file, set()) or "/"):
                    raise
        return names

    def _damaged(self, group: Any, seen: set[int]) -> str:
        """The first group or dataset in a group that cannot be listed or opened; "": there is none."""
        at = inside = group.name.strip("/")
        try:
            seen.add(self._h5py.h5o.get_info(group.id).addr)  # a damaged one may hold itself
            for name in list(group):
                at = f"{inside}/{name}".strip("/")
                if not isinstance(group.get(name, getlink=True), self._h5py.HardLink):
                    continue
                one = group[name]
                if isinstance(one, self._h5py.Group) and self._h5py.h5o.get_info(one.id).addr not in seen:
                    found = self._damaged(one, seen)
                    if found:
                        return found
        except Exception:
            return at or "/"
        return ""

    def piece(self, name: str, found: Any, index: Any) -> Any:
        """A part of a dataset of numbers, read by h5py."""
        with self._reading(name, found):
            return found[index]

    @contextlib.contextmanager
    def _reading(self, name: str, found: Any = None) -> Iterator[None]:
        """Gives a kind to what h5py makes of a damaged file."""
        try:
            yield
        except (errors.GofastError, MemoryError):
            raise
        except Exception as error:
            if found is not None:
                self._check_plugins(found, name)
            raise self._error(errors.DamagedError, name, f"h5py cannot read it: {error}") from None

    def _check_plugins(self, found: Any, name: str) -> None:
        """Refuses what this h5py cannot unpack."""
        plist = found.id.get_create_plist()
        for code, _, _, called in map(plist.get_filter, range(plist.get_nfilters())):
            if not self._h5py.h5z.filter_avail(code):
                said = f"it is packed by the filter {filter_name(code, called)}, which this h5py lacks: "
                said += "import hdf5plugin before, a package that brings most filters"
                raise self._error(errors.UnsupportedError, name, said) from None

    def _error(self, kind: type[errors.GofastError], name: str, text: str) -> errors.GofastError:
        path = self.path
        return kind(f"open {path}: dataset {name!r}: {text}").at(path=path, column=name)


def _is_number(kind: np.dtype[Any]) -> bool:
    return kind.kind in "biufc" and kind.subdtype is None and kind.itemsize <= 16


def filter_name(code: int, called: bytes) -> str:
    return called.decode(errors="replace") or str(code)


def _called(h5py: Any, kind: np.dtype[Any]) -> str:
    """What values are, that are no numbers."""
    if h5py.check_string_dtype(kind) is not None:
        return "strings"
    if h5py.check_vlen_dtype(kind) is not None:
        return "arrays of different lengths"
    if h5py.check_ref_dtype(kind) is not None:
        return "references"
    return f"records of {', '.join(map(repr, kind.names))}" if kind.names else f"values of {kind}"
