"""How two batches differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import torch

_ROUNDING = "rounding"


def difference(one: Any, other: Any) -> str:
    """How two samples or batches differ; "" if they hold the same values. A list equals a tuple."""
    if isinstance(one, Mapping) or isinstance(other, Mapping):
        if not (isinstance(one, Mapping) and isinstance(other, Mapping) and one.keys() == other.keys()):
            return "they have other keys"
        found = {key: difference(one[key], other[key]) for key in one}
        return _worst(why if equal(why) else f"{key!r}: {why}" for key, why in found.items())
    if isinstance(one, (list, tuple)):
        if not isinstance(other, (list, tuple)) or len(one) != len(other):
            return "they have other parts"
        return _worst(difference(*pair) for pair in zip(one, other, strict=True))
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        if (one.dtype, one.shape) != (other.dtype, other.shape):
            return f"{other.dtype} {[*other.shape]} instead of {one.dtype} {[*one.shape]}"
        if torch.equal(one, other):
            return ""
        rounding = 8 * torch.finfo(one.dtype).eps if one.is_floating_point() else 0.0
        one, other = (part.detach().cpu().double().numpy() for part in (one, other))
        return _numbers(one, other, rounding)
    same = isinstance(other, type(one)) and (
        np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other or one != one != other
    )
    return "" if same else "other values"


def equal(why: str) -> bool:
    """Whether a difference is none, or what rounding makes."""
    return why in ("", _ROUNDING)


def _numbers(one: Any, other: Any, rounding: float) -> str:
    """How much numbers differ. Rows of columns are measured by column: one may be of far smaller numbers."""
    empty = np.isnan(one)
    if not np.array_equal(empty, np.isnan(other)):
        return "NaN in other places"
    with np.errstate(invalid="ignore"):  # infinities
        apart = np.where(empty | (one == other), 0.0, np.abs(one - other))
    if not rounding:
        return f"{max(apart.max(), 1.0):.2g} at most"  # doubles do not tell large integers apart
    most = np.max(np.abs(one), axis=0 if one.ndim == 2 else None, where=np.isfinite(one), initial=0.0)
    if np.all(apart <= min(rounding, 1e-6) * most):
        return _ROUNDING if apart.any() else ""
    return f"{apart.max():.2g} at most"


def _worst(found: Iterable[str]) -> str:
    """The worst of what was found of the parts: what is not rounding, if there is such."""
    return max(found, key=lambda why: (not equal(why), why != ""), default="")
