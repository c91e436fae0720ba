"""Boxes of a lazy sample that somebody writes to, as RandomErasing and Cutout do: kept until it is made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

WrittenBox = tuple[Any, Any]  # what indexes the sample, and what is written there

_MOST_NUMBER = 1e18  # of a larger int torch raises


def write_boxes(tensor: torch.Tensor, boxes: Sequence[WrittenBox]) -> None:
    """Writes them, in their order."""
    for index, by in boxes:
        tensor[index] = by


def box_of(shape: Sequence[int], dtype: torch.dtype, index: Any, by: Any) -> WrittenBox | None:
    """What `tensor[index] = by` writes to a tensor [C, H, W], a copy of it.

    Returns:
        That. None where torch must do it: it is no box, or is filled otherwise than by numbers of the
        tensor's type, or by one; or the tensor is a stack.
    """
    if len(shape) != 3:
        return None
    if type(index) is not tuple or len(index) != 3 or not all(map(_is_slice, index[1:])):
        return None
    if not (index[0] is Ellipsis or _is_slice(index[0])):
        return None
    if type(by) is not torch.Tensor:
        return (index, by) if _is_number(by, dtype) else None
    plain = by.dtype is dtype and by.is_cpu and by.layout is torch.strided and not by.requires_grad
    if not plain or by.ndim > 3:
        return None
    sides = [
        n if one is Ellipsis else len(range(*one.indices(n))) for one, n in zip(index, shape, strict=True)
    ]
    fits = all(given in (1, side) for given, side in zip(by.shape[::-1], sides[::-1], strict=False))
    return (index, by.clone()) if fits else None


def _is_slice(one: Any) -> bool:
    return type(one) is slice and one.step is None and {type(one.start), type(one.stop)} <= {int, type(None)}


def _is_number(by: Any, dtype: torch.dtype) -> bool:
    if dtype is torch.uint8:
        return type(by) is int and 0 <= by <= 255
    return type(by) in (int, float) and abs(by) < _MOST_NUMBER


def box_bytes(boxes: Sequence[WrittenBox]) -> int:
    """How much memory they take."""
    return sum(by.nbytes for _, by in boxes if type(by) is torch.Tensor)
