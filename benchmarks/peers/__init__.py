"""The same work through each peer, one file a peer: an Opener (file to tensors), an Epochs, or both."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # it imports torch, which reports do without
    from benchmarks.peers.contract import Epochs, Opener

# Name on the command line and in the tables -> (module of this package, attribute there). Modules are
# imported in the measuring process only, so that no peer pays for another's imports.
OPENERS: dict[tuple[str, str], tuple[str, str]] = {
    ("csv", "pandas"): ("pandas_", "CSV"),
    ("csv", "pandas dtype=uint8"): ("pandas_", "CSV_UINT8"),
    ("csv", "pyarrow"): ("pyarrow_", "CSV"),
    ("csv", "numpy"): ("numpy_", "CSV"),
    ("csv", "polars uint8 schema"): ("polars_", "CSV"),
    ("csv", "gofast"): ("gofast_", "TABLE"),
    ("parquet", "pandas"): ("pandas_", "PARQUET"),
    ("parquet", "pyarrow"): ("pyarrow_", "PARQUET"),
    ("parquet", "polars"): ("polars_", "PARQUET"),
    ("parquet", "gofast"): ("gofast_", "TABLE"),
}

EPOCHS: dict[str, tuple[str, str]] = {
    "naive": ("naive", "EPOCHS"),
    "vectorised": ("vectorised", "EPOCHS"),
    "TensorDataset": ("tensordataset", "EPOCHS"),
    "indexing": ("handwritten", "EPOCHS"),
    "memcpy": ("memcpy", "EPOCHS"),
    "gofast": ("gofast_", "EPOCHS"),
}


def opener(file_format: str, name: str) -> Opener:
    """The opener called name for files of file_format; imports its module."""
    module, attribute = OPENERS[file_format, name]
    found: Opener = getattr(importlib.import_module(f"benchmarks.peers.{module}"), attribute)
    return found


def epochs(name: str) -> Epochs:
    """The epoch peer called name; imports its module."""
    module, attribute = EPOCHS[name]
    found: Epochs = getattr(importlib.import_module(f"benchmarks.peers.{module}"), attribute)
    return found
