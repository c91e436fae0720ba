"""An HDF5 file whose datasets are the arrays of an ArrayDataset."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .. import errors
from .._core.arguments import several
from .file_arrays import FileArray
from .hdf5 import open_arrays
from .limits import Limits
from .origin import Origin
from .sources import Path


class HDF5Origin(Origin):
    """Its arguments are those of :meth:`gofast.ArrayDataset.from_hdf5`."""

    constructor = "from_hdf5"

    def __init__(
        self,
        path: Path,
        features: str | Sequence[str],
        labels: str | Sequence[str] | None,
        threads: int | None,
        limits: Limits | Mapping[str, int] | None,
    ) -> None:
        self._asked = asked(path, features, labels)
        self._asked |= {"threads": threads, "limits": Limits.of(limits).as_config()}
        self.path = self._asked["path"]
        self.arrays = self.open()

    def open(self) -> list[FileArray]:
        """See the base class."""
        return open_arrays(**self._asked)


def asked(path: Path, features: str | Sequence[str], labels: str | Sequence[str] | None) -> dict[str, Any]:
    """What is to be opened, checked."""
    if not isinstance(path, (str, os.PathLike)):
        raise errors.OptionError(
            f"path={path!r:.80} is not a path: give one file; ConcatDataset joins several datasets"
        )
    wanted = [_wanted("features", features)]
    if labels is not None:
        wanted.append(_wanted("labels", labels))
    return {"path": os.fspath(path), "wanted": wanted}


def _wanted(option: str, given: Any) -> str | tuple[str, ...]:
    given = several(given)
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise errors.OptionError(f"{option}={given!r:.80}: give a dataset's name, or names of columns")
    return given if isinstance(given, str) else tuple(names)
