"""What steps on uint8 tensors have in common: when torch's arithmetic is known, and what they are told."""

from __future__ import annotations

from typing import Any

import torch

from .._core.reason import NotNative
from . import values as read
from .arithmetic import matrices, obstacle
from .state import State, Step
from .transforms import Family

_MOST_GREY = (1 << 24) // 255  # pixels whose sum is exact in a float32, in any order
_AT_ONCE = 32  # values that torch's kernels take together; those that are left of a run come one by one
_GRAIN = 32768  # at::internal::GRAIN_SIZE: a thread of torch's has at least so many values, in one run


def only(state: State, what: str) -> None:
    """Raises NotNative of a tensor that is not one of bytes any more."""
    if state.kind != "pil" and (state.dtype != "uint8" or state.erased):
        state.only_pil(what)


def computed(state: State, family: Family, what: str, seen: str | None = None, mean: bool = False) -> Step:
    """The fields of a step that computes with a uint8 tensor, where torch does so as the core does.

    Args:
        what: it does.
        seen: how it samples pixels, None where it leaves them in their places.
        mean: it takes the mean of all, as contrast does.
    """
    only(state, what)
    if state.channels != 3:
        raise NotNative(f"{what} a tensor of one channel")
    if state.size is None:
        raise NotNative(f"{what} tensors whose sizes differ")
    if mean:
        sums_exactly(family, state.size)
    read.refuse(obstacle(family, state.size, seen, mean))
    return {"tensor": True, "version": family}


def sums_exactly(family: Family, size: tuple[int, int]) -> None:
    """Raises NotNative of sizes at which adjust_contrast rounds in an order that is not known."""
    values = 3 * size[0] * size[1]
    if values > 3 * _MOST_GREY:
        raise NotNative(f"torch's mean of more than {_MOST_GREY} pixels depends on the order of its sums")
    threads = min(torch.get_num_threads(), -(-values // _GRAIN))
    if family == "v2" and any(-(-values // runs) % _AT_ONCE for runs in (1, threads)):
        raise NotNative("torch rounds the contrast of the last few pixels in another way")


def seen(t: Any, family: Family) -> str:
    """By which filter torch samples a picture."""
    given = t.interpolation
    filter = read.resampling(given)
    refused = getattr(given, "value", given) == "nearest-exact" or (family == "v1" and type(given) is str)
    if refused or filter not in ("nearest", "bilinear"):
        raise read.unusual("interpolation", given)
    return filter


def fill(t: Any, family: Family) -> list[int] | None:
    """The colour beyond a tensor's edge; None where torch is given none, which is not the same as black."""
    given = t.fill
    if family == "v2":
        if type(t._fill) is not dict or set(t._fill) != {"others"}:
            raise read.unusual("fill", t._fill)
        given = t._fill["others"]
    if given is None:
        return None
    if type(given) not in read.LISTS:
        given = [given]
    if len(given) not in (1, 3):
        raise read.unusual("fill", given)
    color = [read.number(v, 0, 255, "fill") for v in given]
    if any(v != int(v) for v in color):
        raise read.unusual("fill", given)
    return [int(v) for v in color] * (3 // len(color))


def transformed(t: Any, family: Family, state: State, what: str, mean: bool = False) -> Step:
    """The fields of a step that samples a uint8 tensor elsewhere."""
    filter = seen(t, family)
    fields = computed(state, family, what, filter, mean)
    assert state.size is not None
    return fields | {"seen": filter, "fused": matrices(state.size) == "fused", "fill": fill(t, family)}
