"""gofast: the same PyTorch batches, many times faster.

    import gofast

    train = gofast.TableDataset("train.parquet", shape=(1, 28, 28))
    loader = gofast.DataLoader(train, batch_size=512, shuffle=True)  # or torch's own

Importing this package loads nothing native: the engine starts at first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from . import errors
from ._about import engine_stats, explain, version
from .arrays import ArrayDataset
from .convert import convert
from .loader import DataLoader
from .table import Limits, TableDataset, verify

if TYPE_CHECKING:
    from . import integrations as integrations
    from .images import ImageFiles, ImageFolder

__version__ = "0.1.0"

__all__ = [
    "ArrayDataset",
    "DataLoader",
    "ImageFiles",
    "ImageFolder",
    "Limits",
    "TableDataset",
    "convert",
    "engine_stats",
    "errors",
    "explain",
    "integrations",
    "verify",
    "version",
]

_IMAGES = ("ImageFiles", "ImageFolder")  # imported when asked for: tables need none of it


def __getattr__(name: str) -> Any:
    if name == "integrations":
        return importlib.import_module(".integrations", __name__)
    if name not in _IMAGES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import images

    return getattr(images, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
