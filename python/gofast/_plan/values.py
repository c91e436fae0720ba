"""Reads the attributes of torchvision's transforms, each as torchvision itself would."""

from __future__ import annotations

import operator
import sys
from typing import Any

import torch

from .._core.reason import NotNative
from .transforms import Family

# By Pillow's number and torchvision's name. On a PIL image nearest-exact is nearest.
_FILTERS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")
_NAMED_FILTERS = {name: name for name in _FILTERS} | {"nearest-exact": "nearest"}
_PADDING_MODES = ("constant", "edge", "reflect", "symmetric")

# Larger sizes and wider ranges than anybody's are left to torchvision, so that the
# kernels need not ask whether their sums overflow.
_MOST_SIDE = 1 << 15  # step.h's GF_MOST_SIDE
WIDEST = 1e4

LISTS = (list, tuple, torch.Size)  # whose changes `Unchanged` sees; a subclass may keep its members elsewhere


def refuse(reason: str | None) -> None:
    """Raises NotNative where there is a reason."""
    if reason is not None:
        raise NotNative(reason)


def unusual(what: str, value: object) -> NotNative:
    """The error of a value that is left to torchvision; it keeps to one short line."""
    text = " ".join(repr(value).split())
    return NotNative(f"unusual {what}={text if len(text) <= 60 else text[:57] + '...'}")


def number(value: object, low: float, high: float, what: str) -> float:
    """A plain number between low and high, both included."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise unusual(what, value)
    return float(value)


def whole(value: Any, low: int, what: str, most: int = _MOST_SIDE) -> int:
    """A whole number between low and most, both included: of pixels, if nothing else is said."""
    try:
        number = operator.index(value)
    except TypeError:
        number = low - 1
    if isinstance(value, bool) or not low <= number <= most:
        raise unusual(what, value)
    return number


def listed(value: Any, lengths: tuple[int, ...], what: str) -> list[Any]:
    """A list or tuple of one of these lengths."""
    if type(value) not in LISTS or len(value) not in lengths:
        raise unusual(what, value)
    return list(value)


def pair(value: Any) -> list[int]:
    """[height, width], both at least 1."""
    return [whole(v, 1, "size") for v in listed(value, (2,), "size")]


def span(value: Any, low: float, high: float, what: str) -> list[float]:
    """[from, to] as uniform_ takes it."""
    ends = [number(v, low, high, what) for v in listed(value, (2,), what)]
    if ends[0] > ends[1]:
        raise unusual(what, value)
    return ends


def resampling(value: Any) -> str:
    """Pillow's filter: from an InterpolationMode, its value, or Pillow's number."""
    if type(value).__name__ == "InterpolationMode":
        value = value.value
    if type(value) is str and value in _NAMED_FILTERS:
        return _NAMED_FILTERS[value]
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(_FILTERS):
        return _FILTERS[value]
    raise unusual("interpolation", value)


def padding(value: Any) -> list[int]:
    """[left, top, right, bottom]. Negative padding crops: torchvision's business."""
    if type(value) not in LISTS:
        value = [value]
    borders = [whole(v, 0, "padding") for v in listed(value, (1, 2, 4), "padding")]
    return borders * (4 // len(borders))


def mode(value: Any) -> str:
    """A padding_mode; v1's RandomCrop takes any value."""
    if not isinstance(value, str) or value not in _PADDING_MODES:
        raise unusual("padding_mode", value)
    return str(value)


def fill(transform: Any, family: Family, mode: str, channels: int) -> list[int]:
    """The colour of constant padding, as int() truncates it for Pillow."""
    given = transform.fill if family == "v1" else _fill_of_pil(transform._fill)
    if type(given) not in LISTS:
        given = [0 if given is None else given]
    if len(given) not in (1, channels):
        raise unusual("fill", given)
    color = [int(number(v, 0, 255.5, "fill")) for v in given]
    return color * (3 // len(color)) if mode == "constant" else [0, 0, 0]


def seen(transform: Any, family: Family, channels: int) -> dict[str, Any]:
    """The fields of a step that transforms a PIL image: by which filter, and the colour beyond its edge."""
    if family == "v1" and isinstance(transform.interpolation, str):
        raise NotNative(f"interpolation={transform.interpolation!r}: torchvision raises")
    filter = resampling(transform.interpolation)
    if filter not in ("nearest", "bilinear", "bicubic"):
        raise NotNative(f"transforms by {filter}: Pillow raises")
    return {"seen": filter, "fill": fill(transform, family, "constant", channels)}


def _fill_of_pil(fill: Any) -> Any:
    """From v2's dict of fills by type the one of a PIL image."""
    if type(fill) is not dict:
        raise unusual("fill", fill)
    image = getattr(sys.modules.get("PIL.Image"), "Image", None)
    return fill[image] if image in fill else fill.get("others")


def log_ratio(transform: Any, family: Family) -> list[float]:
    """The float32 logarithms between which torchvision draws: torch's own, to the bit."""
    logs = transform._log_ratio if family == "v2" else torch.log(torch.tensor(transform.ratio))
    if type(logs) is not torch.Tensor or logs.dtype != torch.float32 or logs.shape != (2,):
        raise unusual("ratio", transform.ratio)
    return [float(v) for v in logs.tolist()]
