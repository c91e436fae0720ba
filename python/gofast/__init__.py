"""gofast: the same PyTorch batches, many times faster.

    import gofast

    train = gofast.TableDataset("train.parquet", shape=(1, 28, 28))
    loader = gofast.DataLoader(train, batch_size=512, shuffle=True)  # or torch's own

Importing this package loads nothing native: the engine starts at first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

try:
    import numpy as _numpy  # noqa: F401
    import torch as _torch  # noqa: F401
except ModuleNotFoundError as _error:
    if _error.name not in ("numpy", "torch"):
        raise  # numpy or torch is there, but something that it needs is missing
    raise ImportError(
        f"gofast needs {_error.name}, which is not installed here: pip install {_error.name}",
        name=_error.name,
    ) from None

from . import errors
from ._about import __version__ as __version__
from ._about import engine_stats, version
from .arrays import ArrayDataset
from .convert import convert
from .doctor import doctor
from .loader import DataLoader
from .prefetch import prefetch
from .table import Limits, TableDataset
from .verify import verify

if TYPE_CHECKING:
    from . import integrations as integrations
    from ._batches.explain import explain
    from ._doctor.report import DoctorReport
    from .decoder import Decoder
    from .images import ImageFiles, ImageFolder
    from .installed import install, uninstall
    from .late import open

__all__ = [
    "ArrayDataset",
    "DataLoader",
    "Decoder",
    "DoctorReport",
    "ImageFiles",
    "ImageFolder",
    "Limits",
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
    "uninstall",
    "verify",
    "version",
]

# Imported on first access: few scripts need them, and every import of gofast would take longer.
_LATE = {
    "Decoder": "decoder",
    "DoctorReport": "_doctor.report",
    "ImageFiles": "images",
    "ImageFolder": "images",
    "explain": "_batches.explain",
    "integrations": "integrations",
    "install": "installed",
    "open": "late",
    "uninstall": "installed",
}


def __getattr__(name: str) -> Any:
    if name not in _LATE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f".{_LATE[name]}", __name__)
    return module if name == _LATE[name] else getattr(module, name)


def __dir__() -> list[str]:
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})
