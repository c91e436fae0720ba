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
    from . import downloads as downloads
    from . import integrations as integrations
    from . import ray as ray
    from . import tokens as tokens
    from . import typing as typing
    from . import webdataset as webdataset
    from ._loader.explain import explain
    from ._loader.sampler import Sampler
    from .arrays import ArrayDataset
    from .decoder import Decoder
    from .images import ImageFiles, ImageFolder
    from .installed import install, uninstall
    from .iterable import IterableDataset
    from .lazy import open
    from .loader import DataLoader
    from .sets import preprocess
    from .table import TableDataset
    from .tfrecord import TFRecordDataset

__all__ = [
    "ArrayDataset",
    "DataLoader",
    "Decoder",
    "ImageFiles",
    "ImageFolder",
    "IterableDataset",
    "Sampler",
    "TFRecordDataset",
    "TableDataset",
    "convert",
    "doctor",
    "engine_stats",
    "errors",
    "explain",
    "install",
    "integrations",
    "open",
    "prefetch",
    "preprocess",
    "uninstall",
    "verify",
    "version",
]

# Imported on first access, and torch with them.
_LATE = {
    "ArrayDataset": "arrays",
    "DataLoader": "loader",
    "Decoder": "decoder",
    "ImageFiles": "images",
    "ImageFolder": "images",
    "IterableDataset": "iterable",
    "Sampler": "_loader.sampler",
    "TFRecordDataset": "tfrecord",
    "TableDataset": "table",
    "downloads": "downloads",  # no name of its own, as numpy.testing is none: for those who have servers
    "explain": "loader",
    "integrations": "integrations",
    "install": "installed",
    "open": "lazy",
    "preprocess": "sets",
    "ray": "ray",  # likewise: for those who have Ray
    "tokens": "tokens",  # likewise: for those who feed texts
    "typing": "typing",  # likewise: a star import must not stand for Python's own
    "uninstall": "installed",
    "webdataset": "webdataset",  # likewise: for those who have written for webdataset
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
