"""What becomes of a sample's bytes: a plan's last steps, and what torch's arithmetic adds to them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from .._core.reason import NotNative
from .._plan.state import Step
from .._plan.tensors import float32, per_channel


class SampleNumbers(NamedTuple):
    """The last steps of a plan.

    Attributes:
        how: a byte becomes a float: "divide" by 255, "multiply" by its inverse, "cast"; "": it stays a byte.
        mean, std: then, for each channel; empty: neither is known.
    """

    how: str
    mean: tuple[float, ...] = ()
    std: tuple[float, ...] = ()

    @property
    def dtype(self) -> torch.dtype:
        """Of the sample."""
        return torch.float32 if self.how else torch.uint8

    def steps(self) -> list[Step]:
        """As steps of a plan."""
        if not self.how:
            return [{"op": "to_uint8"}]
        steps: list[Step] = [{"op": "to_float", "how": self.how}]
        if self.mean or self.std:
            mean, std = self.mean or (0.0,) * len(self.std), self.std or (1.0,) * len(self.mean)
            steps.append({"op": "normalize", "mean": [*mean], "std": [*std]})
        return steps

    @classmethod
    def ending(cls, steps: Sequence[Step]) -> tuple[list[Step], SampleNumbers] | None:
        """A plan's steps without its numbers, and these; None where it ends in something else."""
        begin, numbers = list(steps), None
        if begin and begin[-1]["op"] == "normalize":
            numbers = begin.pop()
        if not begin or begin[-1]["op"] not in ("to_float", "to_uint8"):
            return None
        how = begin.pop().get("how", "")
        if numbers is None:
            return begin, cls(how)
        return begin, cls(how, tuple(numbers["mean"]), tuple(numbers["std"]))

    # -- what torch does to a sample. None: something that no steps stand for

    def floated(self, by: Any, channels: int) -> SampleNumbers | None:
        """`x.float()`."""
        return self.cast(torch.float32, channels)

    def cast(self, dtype: Any, channels: int) -> SampleNumbers | None:
        """`x.to(dtype)`."""
        if dtype is self.dtype:
            return self
        return SampleNumbers("cast") if dtype is torch.float32 else None

    def multiplied(self, by: Any, channels: int) -> SampleNumbers | None:
        """`x * by`."""
        return SampleNumbers("multiply") if self == _CAST and type(by) is float and by == _INVERSE else None

    def divided(self, by: Any, channels: int) -> SampleNumbers | None:
        """`x / by`."""
        if self == _CAST or not self.how:
            return SampleNumbers("divide") if type(by) in (int, float) and by == 255 else None
        numbers = None if self.std else _per_channel(by, channels)
        return None if numbers is None or 0.0 in numbers else self._replace(std=numbers)

    def normalized(self, by: Any, channels: int) -> SampleNumbers | None:
        """`(x - mean) / std`, by lists of torchvision's."""
        if not self.how or self.mean or self.std:
            return None
        try:
            mean, std = (tuple(per_channel(numbers, channels, "a number")) for numbers in by)
        except NotNative:
            return None
        return None if 0.0 in std else SampleNumbers(self.how, mean, std)

    def reduced(self, by: Any, channels: int) -> SampleNumbers | None:
        """`x - by`."""
        numbers = None if not self.how or self.mean or self.std else _per_channel(by, channels)
        return None if numbers is None else self._replace(mean=numbers)


_CAST = SampleNumbers("cast")
_INVERSE = 1.0 / 255
_MOST_INT = 1 << 63  # from here on torch raises


def _per_channel(by: Any, channels: int) -> tuple[float, ...] | None:
    """What is taken from each channel, as float32; None of what is not one number for each."""
    if type(by) is float or (type(by) is int and abs(by) < _MOST_INT):
        numbers = [float32(by)]
    elif (
        type(by) is torch.Tensor
        and by.dtype is torch.float32
        and by.is_cpu
        and by.layout is torch.strided
        and not by.requires_grad
        and tuple(by.shape) in ((channels, 1, 1), (1, 1, 1), (1,), ())
    ):
        numbers = by.reshape(-1).tolist()
    else:
        return None
    return (*numbers * (channels // len(numbers)),) if all(map(math.isfinite, numbers)) else None
