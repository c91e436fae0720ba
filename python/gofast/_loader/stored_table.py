"""A table that may be kept on a device."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import torch

    from .wire import Wire


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
    wire: Wire
    label_key: Hashable
    labels: Callable[[], torch.Tensor | None]
    label_bytes: int

    @property
    def bytes(self) -> int:
        """What it takes on the device."""
        return self.features.nbytes + len(self.features) * self.label_bytes
