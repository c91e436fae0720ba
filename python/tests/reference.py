"""What gofast's tables are compared with: the classic Dataset, and exact equality of batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset

from gofast import TableDataset

DIGITS = Path(__file__).parents[2] / "examples" / "data" / "digits.parquet"


class Classic(Dataset[dict[str, torch.Tensor]]):
    """The user's Dataset as it is before gofast: pandas, iloc, a tensor a row."""

    def __init__(self, frame: pd.DataFrame, shape: tuple[int, ...] = (1, 28, 28)) -> None:
        self.labels = frame["label"] if "label" in frame.columns else None
        self.pixels = frame.drop(columns="label", errors="ignore")
        self.shape = shape

    def __len__(self) -> int:
        return len(self.pixels)

    def __getitem__(self, index: int) -> dict[str, torch.Tensor]:
        index = int(index)  # of a tensor, as samplers may give
        pixels = (
            torch.tensor(self.pixels.iloc[index].to_numpy(), dtype=torch.float32).reshape(self.shape) / 255
        )
        label = -1 if self.labels is None else int(self.labels.iloc[index])
        return {"image": pixels, "label": torch.tensor(label, dtype=torch.int64)}


def stored(path: Any, **options: Any) -> torch.Tensor:
    """All features of a table as float64, exactly as they are stored."""
    usual: dict[str, Any] = {"label": None, "scale": None, "dtype": torch.float64, "output": "tuple"}
    features: torch.Tensor = TableDataset(path, **{**usual, **options})[:][0]
    return features


def assert_same(got: Any, want: Any) -> None:
    """Fails unless both are the same nest of dicts, lists and tensors, bit for bit."""
    if isinstance(want, torch.Tensor):
        assert isinstance(got, torch.Tensor), type(got)
        assert (got.dtype, got.shape) == (want.dtype, want.shape)
        if not torch.equal(got, want):  # also says where, and lets NaN equal NaN
            torch.testing.assert_close(got, want, rtol=0, atol=0, equal_nan=True)
    elif isinstance(want, dict):
        assert isinstance(got, dict) and list(got) == list(want), (got, want)
        for key in want:
            assert_same(got[key], want[key])
    elif isinstance(want, (list, tuple)):
        assert isinstance(got, Sequence) and len(got) == len(want), (got, want)
        for a, b in zip(got, want, strict=True):
            assert_same(a, b)
    else:
        assert type(got) is type(want) and got == want, (got, want)


def epochs(
    dataset: Dataset[Any], count: int = 1, sampler: Callable[[], Any] | None = None, **options: Any
) -> Iterator[Any]:
    """The batches of torch's DataLoader for seed 0; sampler makes a new one."""
    generator = torch.Generator().manual_seed(0)
    loader = DataLoader(dataset, generator=generator, sampler=sampler and sampler(), **options)
    for _ in range(count):
        yield from loader


def assert_same_batches(got: Dataset[Any], want: Dataset[Any], count: int = 1, **options: Any) -> None:
    """Fails unless both datasets give the same batches under torch's DataLoader."""
    assert_same(list(epochs(got, count, **options)), list(epochs(want, count, **options)))
