"""pandas: whole table to tensors."""

from __future__ import annotations

import warnings

import pandas as pd
import torch

from benchmarks.peers.contract import Opener, Tensors, normalised

# pandas 3 hands out read-only views; they are only read here.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable")


def read_csv(path: str) -> Tensors:
    """As most scripts do it: types inferred, int64."""
    return normalised(torch.from_numpy(pd.read_csv(path).to_numpy()))


def read_csv_uint8(path: str) -> Tensors:
    """With the type given: an eighth of the memory."""
    return normalised(torch.from_numpy(pd.read_csv(path, dtype="uint8").to_numpy()))


def read_parquet(path: str) -> Tensors:
    """Through pyarrow, pandas' default engine."""
    return normalised(torch.from_numpy(pd.read_parquet(path).to_numpy()))


CSV, CSV_UINT8, PARQUET = Opener(read_csv), Opener(read_csv_uint8), Opener(read_parquet)
