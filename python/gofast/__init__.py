"""gofast: the same PyTorch batches, many times faster.

    import gofast

    train = gofast.TableDataset("train.parquet", shape=(1, 28, 28))
    loader = gofast.DataLoader(train, batch_size=512, shuffle=True)  # or torch's own

Importing this package loads nothing native, and no torch: the engine starts at first use, and torch is
imported by what needs it. The command `gofast` would else take seconds to say its version.
"""

from __future__ import annotations

from . import _interrupts as _interrupts  # before the imports that Ctrl-C may interrupt

# isort: split
import os
import sys
from importlib import import_module, util
from threading import RLock
from typing import TYPE_CHECKING, Any

if _missing := [name for name in ("numpy", "torch") if util.find_spec(name) is None]:
    raise ImportError(
        f"gofast needs {_missing[0]}, which is not installed here: pip install {_missing[0]}",
        name=_missing[0],
    )

# Functions that have their module's name are imported here: later, the module would stand in their place.
from . import errors
from ._about import __version__ as __version__
from ._about import engine_stats, version
from .convert import convert
from .doctor import doctor
from .prefetch import prefetch
from .verify import verify

if TYPE_CHECKING:
    from . import integrations as integrations
    from . import typing as typing
    from ._doctor.report import DoctorReport
    from ._loader.explain import explain
    from ._loader.length_grouped import LengthGroupedSampler
    from ._tables.limits import Limits
    from ._tables.texts import Text
    from .arrays import ArrayDataset
    from .decoder import Decoder
    from .hdf5 import HDF5Dataset
    from .hdf5_stream import HDF5Stream
    from .images import ImageFiles, ImageFolder
    from .installed import install, uninstall
    from .iterable import IterableDataset
    from .late import open
    from .loader import DataLoader
    from .sets import PreprocessedDataset, open_set, preprocess
    from .stream import TableStream
    from .table import TableDataset
    from .tfrecord import TFRecordDataset
    from .tokens import TokenDataset

__all__ = [
    "ArrayDataset",
    "DataLoader",
    "Decoder",
    "DoctorReport",
    "HDF5Dataset",
    "HDF5Stream",
    "ImageFiles",
    "ImageFolder",
    "IterableDataset",
    "LengthGroupedSampler",
    "Limits",
    "PreprocessedDataset",
    "TFRecordDataset",
    "TableDataset",
    "TableStream",
    "Text",
    "TokenDataset",
    "convert",
    "doctor",
    "engine_stats",
    "errors",
    "explain",
    "install",
    "integrations",
    "open",
    "open_set",
    "prefetch",
    "preprocess",
    "typing",
    "uninstall",
    "verify",
    "version",
]

# Imported on first access, and torch with them.
_LATE = {
    "ArrayDataset": "arrays",
    "DataLoader": "loader",
    "Decoder": "decoder",
    "DoctorReport": "_doctor.report",
    "HDF5Dataset": "hdf5",
    "HDF5Stream": "hdf5_stream",
    "ImageFiles": "images",
    "ImageFolder": "images",
    "IterableDataset": "iterable",
    "LengthGroupedSampler": "_loader.length_grouped",
    "Limits": "_tables.limits",
    "PreprocessedDataset": "sets",
    "TFRecordDataset": "tfrecord",
    "TableDataset": "table",
    "TableStream": "stream",
    "TokenDataset": "tokens",
    "Text": "_tables.texts",
    "explain": "loader",
    "integrations": "integrations",
    "install": "installed",
    "open": "late",
    "open_set": "sets",
    "preprocess": "sets",
    "typing": "typing",
    "uninstall": "installed",
}


# Nobody forks while another thread is in the middle of such an import: Python's locks of these modules would
# stay locked in the child, which would wait for them for ever.
_importing = RLock()
os.register_at_fork(
    before=_importing.acquire, after_in_parent=_importing.release, after_in_child=_importing.release
)


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        said = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(said, name=name, obj=sys.modules[__name__])  # a traceback says what is like it
    with _importing:
        module = import_module(f".{_LATE[name]}", __name__)
    return module if name == _LATE[name] else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
