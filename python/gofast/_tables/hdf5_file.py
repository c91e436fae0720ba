"""The user's h5py, and the file that it opens."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import Any

from .. import errors

_MAGIC = b"\x89HDF\r\n\x1a\n"


def import_h5py() -> Any:
    """The user's h5py. Raises UnsupportedError without one."""
    try:
        import h5py
    except ImportError as error:
        raise errors.UnsupportedError(
            f"HDF5 files are opened with h5py, which cannot be imported here ({error}): pip install h5py"
        ) from None
    return h5py


def is_hdf5(path: str) -> bool:
    """Whether a file is HDF5. It may begin behind a block of the user's."""
    with contextlib.suppress(OSError), open(path, "rb") as file:
        return any(os.pread(file.fileno(), len(_MAGIC), at) == _MAGIC for at in (0, 512, 1024, 2048))
    return False


@contextlib.contextmanager
def opened_file(h5py: Any, path: str) -> Iterator[Any]:
    """A file that nobody here writes to. Raises GofastError where h5py cannot open it."""
    try:
        file = h5py.File(path, "r")
    except (OSError, RuntimeError, ValueError) as error:
        kind: type[errors.GofastError] = errors.DamagedError if h5py.is_hdf5(path) else errors.FormatError
        if getattr(error, "errno", None):  # the system's: somebody writes to it, and holds its lock
            kind = errors.ReadError
        hint = ""
        if "lock" in str(error):
            hint = ": somebody writes to it; or, on a disk without locks, set HDF5_USE_FILE_LOCKING=FALSE"
        raise kind(f"open {path}: h5py cannot open it: {error}{hint}").at(path=path) from None
    with file:
        if file.mode != "r" or file.swmr_mode:
            raise errors.ReadError(
                f"open {path}: this process has it open for writing, and what was written may not be in the "
                "file yet: close it first"
            ).at(path=path)
        yield file
