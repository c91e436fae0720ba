"""Native steps of conversions to tensors, and of transforms of tensors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from .._core.numbers import NAMES
from .._core.reason import NotNative
from . import values as read
from .state import Kind, State, Step, Translation
from .transforms import Family

_DTYPES = {t: NAMES[t] for t in (torch.uint8, torch.float32, torch.float16, torch.bfloat16)}
_MOST_ERASURES = 8  # step.h's GF_MOST_ERASURES
_LARGEST = float(torch.finfo(torch.float32).max)


def to_tensor(t: Any, family: Family, state: State) -> list[Step]:
    if state.kind != "pil":
        return _passes(family, state, "ToTensor")
    state.kind, state.dtype, state.strides = "tensor", "float32", "chw"
    return _to_float(state, "divide")


def pil_to_tensor(t: Any, family: Family, state: State) -> list[Step]:
    if state.kind != "pil":
        return _passes(family, state, "PILToTensor")
    return _to_uint8(state, "tensor")


def to_image(t: Any, family: Family, state: State) -> list[Step]:
    if state.kind == "pil":
        return _to_uint8(state, "tv_image")
    state.kind, state.note = "tv_image", "a tv_tensors.Image"
    return []


def _to_uint8(state: State, kind: Kind) -> list[Step]:
    state.kind = kind
    state.strides = "hwc" if state.channels == 3 else "chw"
    state.note = "uint8 tensor" if kind == "tensor" else "uint8 tv_tensors.Image"
    return [{"op": "to_uint8"}]


def _passes(family: Family, state: State, name: str) -> list[Step]:
    if family == "v1":
        raise NotNative(f"{name} of a tensor: torchvision raises")
    state.note = "nothing: v2 passes tensors through"
    return []


def to_pure_tensor(t: Any, family: Family, state: State) -> list[Step]:
    if state.kind == "tv_image":
        state.kind = "tensor"
    state.note = "a plain tensor" if state.kind == "tensor" else "nothing: v2 passes PIL images through"
    return []


def identity(t: Any, family: Family, state: State) -> list[Step]:
    state.note = "nothing"
    return []


def to_dtype(t: Any, family: Family, state: State) -> list[Step]:
    """ToDtype and both versions' ConvertImageDtype, which always scales."""
    if state.kind == "pil":
        if family == "v1":
            raise NotNative("ConvertImageDtype of a PIL image: torchvision raises")
        state.note = "nothing: v2 passes PIL images through"
        return []
    dtype = _DTYPES.get(t.dtype) if isinstance(t.dtype, torch.dtype) else None
    if dtype is None:
        raise NotNative(f"dtype={t.dtype}")
    if dtype == state.dtype:
        state.note = f"nothing: it is {dtype}"
        return []
    if state.dtype == "float32" and dtype != "uint8":
        # What follows is flips and erasing: rounding at the end gives the same.
        state.dtype, state.note = dtype, f"float32 rounded to {dtype}"
        return []
    if state.dtype != "uint8" or state.erased:
        raise NotNative(f"{state.dtype} to {dtype}" + (" after erasing" if state.erased else ""))
    how = "cast"
    if getattr(t, "scale", True):
        how = "divide" if family == "v1" else "multiply"
    state.dtype = dtype
    return _to_float(state, how)


def _to_float(state: State, how: str) -> list[Step]:
    # x / 255 and x * (1 / 255) differ in the last bit of 126 of the 256 values.
    state.cut = state.shared = False
    state.note = state.dtype + {"divide": ", x / 255", "multiply": ", x * (1 / 255)", "cast": ""}[how]
    return [{"op": "to_float", "how": how}]


def normalize(t: Any, family: Family, state: State) -> list[Step]:
    if state.kind == "pil" or state.dtype == "uint8":
        raise NotNative("Normalize needs a float tensor: torchvision raises")
    if state.dtype != "float32":
        raise NotNative(f"normalizes in {state.dtype}")
    mean, std = (per_channel(getattr(t, name), state.channels, name) for name in ("mean", "std"))
    if 0 in std:
        raise NotNative("std is zero: torchvision raises")
    if state.normalized or state.erased:
        raise NotNative("normalizes " + ("twice" if state.normalized else "what was erased"))
    state.normalized = True
    return [{"op": "normalize", "mean": mean, "std": std}]


def per_channel(values: Any, channels: int, what: str) -> list[float]:
    """One float32 for each channel, rounded as torchvision rounds them."""
    if not (
        type(values) in read.LISTS or isinstance(values, (int, float, torch.Tensor, np.ndarray, np.generic))
    ):
        raise read.unusual(what, values)
    try:
        rounded = torch.as_tensor(values, dtype=torch.float32)
    except (TypeError, ValueError, RuntimeError):
        rounded = torch.empty(0)
    if rounded.ndim > 1 or rounded.numel() not in (1, channels):
        raise read.unusual(what, values)
    numbers: list[float] = rounded.reshape(-1).tolist()
    if not all(math.isfinite(number) for number in numbers):
        raise read.unusual(what, values)
    return numbers * (channels // len(numbers))


def random_erasing(t: Any, family: Family, state: State) -> list[Step]:
    if state.kind == "pil":
        raise NotNative("RandomErasing of a PIL image")
    if t.value is None or isinstance(t.value, str):
        # torch's normal numbers are Box-Muller's, by a vectorised log and sincos whose products are fused
        # with sums as torch's compiler liked, and by others without AVX2: no other code has their last
        # bits. torch could draw them from a state in the record, but only into the finished sample, which
        # an engine thread, a worker or a GPU finishes.
        raise NotNative('value="random": torch fills the rectangle')
    given = list(t.value) if type(t.value) in read.LISTS else [t.value]
    if len(given) not in (1, state.channels):
        raise read.unusual("value", t.value)
    value = [float32(read.number(v, -_LARGEST, _LARGEST, "value")) for v in given]
    if state.dtype == "uint8" and any(v != math.floor(v) or not 0 <= v <= 255 for v in value):
        raise NotNative(f"value={t.value!r} in a uint8 tensor")
    if t.inplace and state.dtype == "uint8" and state.shared:
        raise NotNative("erases in place what may be one memory for three channels: torch raises")
    state.erased += 1
    if state.erased > _MOST_ERASURES:
        raise NotNative(f"erases more than {_MOST_ERASURES} times")
    step = {
        "op": "random_erasing",
        "p": read.number(t.p, 0, 1, "p"),
        "scale": read.span(t.scale, 0, 1, "scale"),
        "ratio": read.span(t.ratio, 1 / read.WIDEST, read.WIDEST, "ratio"),
        "log_ratio": read.log_ratio(t, family),
        "value": value * (3 // len(value)),
    }
    state.draw(of_size=True)
    return [step]


def float32(value: float) -> float:
    """As torch rounds it."""
    return float(torch.tensor(value, dtype=torch.float32).item())


NATIVE = {
    "ConvertImageDtype": Translation(to_dtype, ("dtype",)),
    "Identity": Translation(identity),
    "Normalize": Translation(normalize, ("mean", "std", "inplace")),
    "PILToTensor": Translation(pil_to_tensor),
    "RandomErasing": Translation(
        random_erasing, ("p", "scale", "ratio", "value", "inplace"), ("_log_ratio",)
    ),
    "ToDtype": Translation(to_dtype, ("dtype", "scale")),
    "ToImage": Translation(to_image),
    "ToPureTensor": Translation(to_pure_tensor),
    "ToTensor": Translation(to_tensor),
}
