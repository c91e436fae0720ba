"""File to tensors through each peer. A peer is imported in its function: no other pays for it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.data import DataLoader

Tensors = tuple[Tensor, Tensor]  # float32 [n, 1, 28, 28] in 0..1, int64 [n]

# pandas 3 hands out read-only views; they are only read here.
warnings.filterwarnings("ignore", message="The given NumPy array is not writable")


def normalised(table: Any) -> Tensors:
    """[n, 785] integers, the label first, to the numbers that a training loop wants.

    The memory order stays the table's, which is the least work: column by column for most peers. gofast's
    rows lie together, so this favours the peers (row by row costs them 0.05-0.1 s more at 60,000 rows)."""
    table = torch.as_tensor(table)
    return table[:, 1:].float().div_(255).view(-1, 1, 28, 28), table[:, 0].long()


def pair(batch: Any) -> Tensors:
    """A batch of any peer (dict or tuple) as image and label."""
    x, y = (batch["image"], batch["label"]) if isinstance(batch, dict) else batch
    return x, y


def _names(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        return file.readline().strip().split(",")


def pandas_csv(path: str, dtype: Any = None) -> Tensors:
    """As most scripts do it: types inferred, int64; with uint8 given, an eighth of the memory."""
    import pandas as pd

    return normalised(pd.read_csv(path, dtype=dtype).to_numpy())


def pandas_parquet(path: str) -> Tensors:
    """Through pyarrow, pandas' default engine."""
    import pandas as pd

    return normalised(pd.read_parquet(path).to_numpy())


def numpy_csv(path: str) -> Tensors:
    """loadtxt, whose C reader is numpy's fastest way to read text."""
    import numpy as np

    return normalised(np.loadtxt(path, dtype=np.uint8, delimiter=",", skiprows=1))


def polars_csv(path: str) -> Tensors:
    """The fastest of the others: with a uint8 schema, without which it reads int64 and takes longer."""
    import polars as pl

    return normalised(pl.read_csv(path, schema=dict.fromkeys(_names(path), pl.UInt8)).to_torch())


def polars_parquet(path: str) -> Tensors:
    """Cast to uint8 before the columns are put together: 0.26 s, without the cast 0.43 s."""
    import polars as pl

    return normalised(pl.read_parquet(path).cast(pl.UInt8).to_torch())


def _matrix(table: Any) -> Tensors:
    """pyarrow's columns in one matrix (as fast as to_pandas here, and half the memory). Column by column into
    a column-major one: 0.30 s for the whole Parquet file, row-major 0.50 s."""
    import numpy as np

    columns = np.empty((table.num_columns, table.num_rows), np.uint8)
    for number, column in enumerate(table.columns):
        columns[number] = column.to_numpy()
    return normalised(columns.T)


def pyarrow_csv(path: str) -> Tensors:
    """With uint8 columns given: faster than inferring int64."""
    import pyarrow as pa
    import pyarrow.csv

    types = pyarrow.csv.ConvertOptions(column_types=dict.fromkeys(_names(path), pa.uint8()))
    return _matrix(pyarrow.csv.read_csv(path, convert_options=types))


def pyarrow_parquet(path: str) -> Tensors:
    """All columns, all threads."""
    import pyarrow.parquet

    return _matrix(pyarrow.parquet.read_table(path))


def gofast_table(path: str, cache: str | None = None) -> Any:
    """The table as a user opens it."""
    import gofast

    return gofast.TableDataset(path, shape=(1, 28, 28), cache=cache)


def gofast_loader(table: Any, batch: int) -> Any:
    """gofast's DataLoader."""
    import gofast

    return gofast.DataLoader(table, batch_size=batch, shuffle=True)


def first_batch(path: str) -> Any:
    """Ready for training: opened, and the first shuffled batch delivered. The engine's load counts."""
    table = gofast_table(path)
    next(iter(gofast_loader(table, 512)))
    return table


def all_rows(table: Any) -> Tensors:
    """Every row in the file's order."""
    batches = [pair(batch) for batch in DataLoader(table, batch_size=512)]
    return torch.cat([x for x, _ in batches]), torch.cat([y for _, y in batches])


@dataclass(frozen=True)
class Opener:
    """File to tensors. `open` is what is timed; `tensors` gives every row of its result, for the check."""

    open: Callable[[str], Any]
    tensors: Callable[[Any], Tensors] = pair
    warm: bool = True  # read a small file first, so that imports and thread pools are not timed


OPENERS: dict[str, dict[str, Opener]] = {
    "csv": {
        "pandas": Opener(pandas_csv),
        "pandas dtype=uint8": Opener(lambda path: pandas_csv(path, "uint8")),
        "pyarrow": Opener(pyarrow_csv),
        "numpy": Opener(numpy_csv),
        "polars uint8 schema": Opener(polars_csv),
        "gofast": Opener(first_batch, all_rows, warm=False),
    },
    "parquet": {
        "pandas": Opener(pandas_parquet),
        "pyarrow": Opener(pyarrow_parquet),
        "polars": Opener(polars_parquet),
        "gofast": Opener(first_batch, all_rows, warm=False),
    },
}
