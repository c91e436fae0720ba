"""The pictures of an ArrayDataset: of a numpy array as ``Image.fromarray`` reads it, of a tensor as it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from .._loader.core_dataset import IntArray
from .._loader.extra_columns import ArrayColumns, ExtraColumns
from .._plan import transforms
from .memory_pictures import MemoryAdapter
from .pixels import Pixels, layout_of, taken


def become_images(given: Any, transform: Any) -> bool:
    """Whether a transform is given PIL images of an array: torchvision's, where it makes tensors of them."""
    if type(given) is not np.ndarray or given.dtype != np.uint8:
        return False
    if given.ndim != 3 and (given.ndim != 4 or given.shape[3] != 3):
        return False
    return any(map(transforms.converts, transforms.leaves(transform)))


class ArrayPictures(MemoryAdapter):
    """The first array's pictures, and the other arrays behind them."""

    def __init__(self, dataset: Any) -> None:
        super().__init__(dataset)
        self._output, self._names, self._alone = dataset._output, dataset.keys, dataset._bare
        rest = [repr(field) for field in dataset._memory.fields[1:]]
        how = "gathered when the batch is handed out"
        self._rest = [(f"array {i}", "torch", f"{field}, {how}") for i, field in enumerate(rest, 1)]

    @property
    def _steady(self) -> bool:  # type: ignore[override]
        return bool(self._dataset._steady)

    def _attributes(self) -> tuple[Any, ...]:
        dataset = self._dataset
        first, *rest = (field.given for field in dataset._memory.fields)
        return dataset.transform, dataset.target_transform, layout_of(first), first, None, *rest

    def _pixels(self) -> Pixels | str:
        field = self._dataset._memory.fields[0]
        if len(field.tensor) != len(self):
            return "the array has another length than when the dataset was made"
        if self._dataset._has_images():
            order = "hw" if field.given.ndim == 3 else "hwc"
            pictures = taken(field.given, order)
            return pictures if isinstance(pictures, str) else Pixels(pictures)
        data = field.tensor
        if data.dim() == 4 and data.shape[1] == 1:
            data = data[:, 0]
        pictures = taken(data, "hw" if data.dim() == 3 and len(field.shape) == 3 else "chw")
        if isinstance(pictures, str):
            return pictures
        if not field.tensor[0].is_contiguous() or 1 in pictures.shape[1:3]:
            return "torch's order of its samples' memory is not known"
        return Pixels(pictures, "tensor")

    def _image(self, sample: int) -> Any:
        return self._dataset._shown(sample)

    def _gather(self, rows: torch.Tensor, first: int) -> tuple[torch.Tensor, ...]:
        made: tuple[torch.Tensor, ...] = self._dataset._gather(rows, first)
        return made

    def _sample_signature(self) -> tuple[Any, ...]:
        dataset = self._dataset
        rest = [(field.tensor.dtype, field.shape) for field in dataset._memory.fields[1:]]
        return (*super()._sample_signature(), self._output, self._names, dataset.one_hot, *rest)

    def _columns(self, parts: Sequence[Any], starts: IntArray) -> Sequence[ExtraColumns]:
        return [ArrayColumns(parts, starts, 1, len(self._dataset._memory.fields) - 1)]
