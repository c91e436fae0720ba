"""gofast: the same PyTorch batches, many times faster.

    import gofast

    train = gofast.TableDataset("train.parquet", shape=(1, 28, 28))
    loader = gofast.DataLoader(train, batch_size=512, shuffle=True)  # or torch's own

Importing this package loads nothing native: the engine starts at first use.
"""

from __future__ import annotations

from . import errors
from ._about import engine_stats, explain, version
from .arrays import ArrayDataset
from .convert import convert
from .images import ImageFiles, ImageFolder
from .loader import DataLoader
from .table import Limits, TableDataset, verify

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
    "verify",
    "version",
]
