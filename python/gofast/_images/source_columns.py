"""Where samples come from, as extra columns: a picture's number and path."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .._loader.core_dataset import IntArray
from .._loader.extra_columns import ExtraColumns, parts_of


class NumberColumn(ExtraColumns):
    """Of each sample its number in its own dataset, int64 [n]."""

    def __init__(self, starts: IntArray) -> None:
        self._starts = starts

    def values(self, rows: IntArray) -> Sequence[Any]:
        """See the base class."""
        made = torch.empty(len(rows), dtype=torch.int64, device="cpu")
        for _, here, positions in parts_of(rows, self._starts):
            made.numpy()[slice(None) if positions is None else positions] = here
        return (made,)

    def each(self, values: Any) -> list[Any]:
        """As indexing gives them."""
        made: list[Any] = values.tolist()
        return made


class PathColumn(ExtraColumns):
    """The paths of the pictures."""

    def __init__(self, datasets: Sequence[Any], starts: IntArray) -> None:
        self._listings = [dataset._listing for dataset in datasets]
        self._starts, self._kind = starts, list if datasets[0]._output == "dict" else tuple

    def values(self, rows: IntArray) -> Sequence[Any]:
        """See the base class."""
        made = [""] * len(rows)
        for part, here, positions in parts_of(rows, self._starts):
            places = range(len(rows)) if positions is None else positions.tolist()
            for place, sample in zip(places, here.tolist(), strict=True):
                made[place] = self._listings[part].path(sample)
        return (self._kind(made),)
