"""An HDF5 file whose datasets are the arrays of an ArrayDataset."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from .. import errors
from .._core.arguments import several
from .hdf5 import open_arrays, open_bands
from .limits import Limits
from .origin import Origin, Stored
from .sources import Path


class HDF5Origin(Origin):
    """The file of an ArrayDataset, or of a stream.

    Args:
        wanted: what is to be opened; see `asked`.
        memory: bytes of a stream, which opens large chunks only when it decodes them; 0: of an ArrayDataset.
        limits: of an ArrayDataset.
    """

    constructor = "from_hdf5"

    def __init__(
        self, wanted: dict[str, Any], memory: int = 0, limits: Limits | Mapping[str, int] | None = None
    ) -> None:
        self._asked, self._memory, self._limits = wanted, memory, Limits.of(limits).as_config()
        self.path = wanted["path"]
        self.arrays = self.open()

    def open(self) -> Sequence[Stored]:
        """See the base class."""
        if self._memory:
            return open_bands(**self._asked, memory=self._memory)
        return open_arrays(**self._asked, limits=self._limits)


def asked(
    path: Path, features: str | Sequence[str], labels: str | Sequence[str] | None, threads: int | None
) -> dict[str, Any]:
    """What is to be opened, checked."""
    if not isinstance(path, (str, os.PathLike)):
        raise errors.OptionError(
            f"path={path!r:.80} is not a path: give one file; ConcatDataset joins several datasets"
        )
    wanted = [_wanted("features", features)]
    if labels is not None:
        wanted.append(_wanted("labels", labels))
    return {"path": os.fspath(path), "wanted": wanted, "threads": threads}


def _wanted(option: str, given: Any) -> str | tuple[str, ...]:
    given = several(given)
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Sequence) or not names or not all(isinstance(name, str) for name in names):
        raise errors.OptionError(f"{option}={given!r:.80}: give a dataset's name, or names of columns")
    return given if isinstance(given, str) else tuple(names)
