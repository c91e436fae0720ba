"""Whether ``default_collate`` is torch's still: its map of functions is anybody's to change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data._utils import collate as torchs
from torch.utils.data._utils.collate import default_collate_fn_map

# What a batch of ours stands for: samples of these types, which torch collates by these functions.
_SAMPLES = (dict, tuple, torch.Tensor, int, str)
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.Tensor: torchs.collate_tensor_fn,
    int: torchs.collate_int_fn,
    str: torchs.collate_str_fn,
}

_judged: dict[Any, Any] = {}  # the map as it was when it was last judged, and how
_verdict = False


def is_torchs(collate_fn_map: Any = default_collate_fn_map) -> bool:
    """Whether this is the default map, and samples such as ours are collated by torch's own functions."""
    global _judged, _verdict
    if collate_fn_map is not default_collate_fn_map:
        return False
    if collate_fn_map != _judged:
        _judged = dict(collate_fn_map)
        own = all(_judged.get(kind) is function for kind, function in _FUNCTIONS.items())
        _verdict = own and not any(_concerns_us(kind) for kind in _judged.keys() - _FUNCTIONS.keys())
    return _verdict


def _concerns_us(kind: Any) -> bool:
    """Whether a function for this type, or tuple of types, could be called for samples such as ours."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(
        issubclass(k, torch.Tensor) or any(issubclass(sample, k) for sample in _SAMPLES) for k in kinds
    )
