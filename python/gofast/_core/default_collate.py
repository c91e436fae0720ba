"""Checks that ``default_collate`` is still torch's: users may change its map of functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.data._utils import collate as torchs
from torch.utils.data._utils.collate import default_collate_fn_map

# A batch stands for samples of these types, which torch collates by its own functions.
_SAMPLES = (dict, tuple, torch.Tensor, int, str)
_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    torch.Tensor: torchs.collate_tensor_fn,
    int: torchs.collate_int_fn,
    str: torchs.collate_str_fn,
}

_judged: dict[Any, Any] = {}  # the map at the last check, and the result
_verdict = False


def is_torchs(collate_fn_map: Any = default_collate_fn_map) -> bool:
    """Whether this is the default map, and torch's own functions collate samples like gofast's."""
    global _judged, _verdict
    if collate_fn_map is not default_collate_fn_map:
        return False
    if collate_fn_map != _judged:
        _judged = dict(collate_fn_map)
        own = all(_judged.get(kind) is function for kind, function in _FUNCTIONS.items())
        _verdict = own and not any(_concerns_us(kind) for kind in _judged.keys() - _FUNCTIONS.keys())
    return _verdict


def _concerns_us(kind: Any) -> bool:
    """Whether a function for this type, or tuple of types, could be called for samples like gofast's."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    return any(
        issubclass(k, torch.Tensor) or any(issubclass(sample, k) for sample in _SAMPLES) for k in kinds
    )
