"""What crosses to a device instead of finished samples: bytes, of which float32 would be four times as many;
and tables that may stay there."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core import dataset_operations
from .._core.memory import address_of
from .._core.numbers import Vector, itemsize
from .core_dataset import CoreDataset

if TYPE_CHECKING:
    import torch

Erasure = tuple[int, tuple[float, float, float]]  # a word in the record, and the value of each channel


@dataclasses.dataclass(frozen=True, eq=False)
class TransferFormat:
    """What crosses to a device instead of finished samples, and what is made of it there.

    A stored value of channel c becomes ``(x [/ 255 | * float32(1/255)] - mean[c]) / std[c]``, every step in
    float32, and is rounded to the type once. Without arithmetic it is converted, likewise once. No NaN comes
    of that. Then boxes are erased.

    Attributes:
        core: makes stored samples and the labels. It has the length of the view's own core, and the same
            records.
        stored: the type of its values, by the core's name: an integer.
        made: the type of finished ones, which is wider.
        shape: of a sample, in the order of memory (channels last: H, W, C).
        scale: "cast", "divide" or "multiply".
        mean, std: float32, a value for each channel; or None.
        channels: how many there are; 1 where all values are treated alike. Unless `last`, they lie one after
            the other: value i of n is of channel ``i * channels // n``.
        last: the values of a pixel lie side by side: value i is of channel ``i % channels``.
        erasures: in their order. The record has 0 or 1 there, and behind it top, left, height and width of
            a box, in which each channel of a picture is set to its value.
    """

    core: CoreDataset
    stored: str
    made: str
    shape: tuple[int, ...]
    scale: str
    mean: Vector | None
    std: Vector | None
    channels: int
    last: bool
    erasures: tuple[Erasure, ...]

    @property
    def row_bytes(self) -> int:
        """Bytes of a stored sample."""
        return math.prod(self.shape) * itemsize(self.stored)

    def results(self) -> np.ndarray[tuple[int, int], np.dtype[np.uint8]]:
        """What becomes of every byte, in every channel, by the core's own arithmetic: [channels, 256 results]
        as bytes. Only where bytes are stored."""
        if self.stored != "uint8":
            raise ValueError(f"a table of all results is for bytes, not for {self.stored}")
        results = np.empty((self.channels, 256 * itemsize(self.made)), np.uint8)
        dataset_operations.codes(
            {
                "scale": self.scale,
                "mean": None if self.mean is None else self.mean.tolist(),
                "std": None if self.std is None else self.std.tolist(),
                "dtype": self.made,
                "channels": self.channels,
                "last": self.last,
                "address": address_of(results),
            }
        )
        return results


def alike(mean: Vector | None, std: Vector | None) -> tuple[Vector | None, Vector | None]:
    """The two of equal length, which is 1 where all values of each are equal."""
    if mean is None or std is None:
        return None, None
    length = max(len(mean), len(std))
    both = (np.repeat(v, length // len(v)) for v in (mean, std))
    mean, std = (np.ascontiguousarray(v, np.float32) for v in both)
    if all((v == v[0]).all() for v in (mean, std)):
        return mean[:1], std[:1]
    return mean, std


@dataclasses.dataclass(frozen=True, eq=False)
class StoredTable:
    """A table as it is stored, and what is made of its rows.

    Attributes:
        memory: what it lies in: whoever keeps the table somewhere knows it again by this.
        features: [rows, width].
        wire: what is made of a row. Its core is that of finished samples.
        label_key: what decides how labels are made.
        labels: makes the labels of all rows, [rows, ...] on the CPU; None without.
        label_bytes: of a row's.
    """

    memory: object
    features: np.ndarray[Any, Any]
    wire: TransferFormat
    label_key: Hashable
    labels: Callable[[], torch.Tensor | None]
    label_bytes: int

    @property
    def bytes(self) -> int:
        """What it takes on the device."""
        return self.features.nbytes + len(self.features) * self.label_bytes
