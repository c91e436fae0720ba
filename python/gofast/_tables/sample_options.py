"""The options of all datasets of rows: what a sample is made of its row."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import torch

from .. import errors
from .._core.arguments import OptionGroup
from .._core.numbers import DType, torch_dtype
from .._loader.batch_source import Output, check_callable
from .scale import Scale, sizes
from .statistics import Numbers


@dataclasses.dataclass(frozen=True)
class SampleOptions(OptionGroup):
    """Checked, as far as that needs no rows. :class:`gofast.TableDataset` explains each of them.

    Raises:
        OptionError: an option makes no sense.
    """

    shape: Sequence[int] | int | None = None
    scale: Scale = None
    mean: Numbers = None
    std: Numbers = None
    dtype: DType | None = None
    keys: tuple[str, ...] | None = None
    output: Output = "tuple"
    missing_label: int | None = None
    one_hot: int | None = None
    transform: Callable[[torch.Tensor], Any] | None = None
    target_transform: Callable[[torch.Tensor], Any] | None = None
    batch_transform: Callable[[torch.Tensor], torch.Tensor] | None = None

    def __post_init__(self) -> None:
        if self.output not in ("dict", "tuple"):
            raise errors.OptionError(f'output={self.output!r} is not "dict" or "tuple"')
        check_callable(
            transform=self.transform,
            target_transform=self.target_transform,
            batch_transform=self.batch_transform,
        )
        object.__setattr__(self, "shape", sizes(self.shape))
        if self.dtype is not None:
            object.__setattr__(self, "dtype", torch_dtype(self.dtype))
