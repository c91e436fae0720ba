"""Native steps of transforms that work on PIL images: geometry and colour."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import _plan_values as read
from ._plan_state import State, Step
from ._plan_values import NotNative
from ._torchvision import Family


def resize(t: Any, family: Family, state: State) -> list[Step]:
    state.only_pil("resizes")
    size: list[int] = []
    if t.size is not None or family == "v1":  # v2's None: max_size alone decides
        given = t.size if isinstance(t.size, (list, tuple)) else [t.size]
        size = [read.whole(v, 1, "size") for v in read.listed(given, (1, 2), "size")]
    longest = None if t.max_size is None else read.whole(t.max_size, 1, "max_size")
    wrong = longest is None if not size else longest is not None and (len(size) == 2 or longest <= size[0])
    if wrong:
        raise NotNative(f"max_size={longest} does not go with size={t.size}: torchvision raises")
    state.size = _resized(state.size, size, longest)
    return [{"op": "resize", "size": size, "max_size": longest, "filter": read.resampling(t.interpolation)}]


def _resized(size: tuple[int, int] | None, to: list[int], longest: int | None) -> tuple[int, int] | None:
    """The size after Resize, where it is known before."""
    if len(to) == 2:
        return to[0], to[1]
    if size is None:
        return None
    short, long = min(size), max(size)
    if to:
        new_short, new_long = to[0], int(to[0] * long / short)
        if longest is not None and new_long > longest:
            new_short, new_long = int(longest * new_short / new_long), longest
    else:
        assert longest is not None
        new_short, new_long = int(longest * short / long), longest
    return (new_long, new_short) if size[1] <= size[0] else (new_short, new_long)


def center_crop(t: Any, family: Family, state: State) -> list[Step]:
    state.only_pil("crops")
    size = read.pair(t.size)
    state.size = size[0], size[1]
    return [{"op": "center_crop", "size": size}]


def pad(t: Any, family: Family, state: State) -> list[Step]:
    state.only_pil("pads")
    padding, mode = read.padding(t.padding), read.mode(t.padding_mode)
    fill = read.fill(t, family, mode, state.channels)
    if state.size is not None:
        state.size = state.size[0] + padding[1] + padding[3], state.size[1] + padding[0] + padding[2]
    return [{"op": "pad", "padding": padding, "fill": fill, "mode": mode}]


def random_crop(t: Any, family: Family, state: State) -> list[Step]:
    state.only_pil("crops")
    size, mode = read.pair(t.size), read.mode(t.padding_mode)
    padding = None
    if t.padding is not None:
        padding = read.padding(t.padding)
        if family == "v2":  # kept as left, right, top, bottom
            padding = [padding[0], padding[2], padding[1], padding[3]]
    if not isinstance(t.pad_if_needed, bool):
        raise read.unusual("pad_if_needed", t.pad_if_needed)
    if family == "v1" and padding and t.pad_if_needed and mode in ("reflect", "symmetric"):
        # v2 mirrors once; v1 mirrors what was mirrored.
        raise NotNative("mirrors the picture twice")
    fill = read.fill(t, family, mode, state.channels)
    state.draw(of_size=True)
    state.size = size[0], size[1]
    return [
        {
            "op": "random_crop",
            "size": size,
            "padding": padding,
            "pad_if_needed": t.pad_if_needed,
            "fill": fill,
            "mode": mode,
            "version": family,
        }
    ]


def random_resized_crop(t: Any, family: Family, state: State) -> list[Step]:
    state.only_pil("resizes")
    size = read.pair(t.size)
    step = {
        "op": "random_resized_crop",
        "size": size,
        "scale": read.span(t.scale, 0, read.WIDEST, "scale"),
        "ratio": read.span(t.ratio, 1 / read.WIDEST, read.WIDEST, "ratio"),
        "log_ratio": read.log_ratio(t, family),
        "filter": read.resampling(t.interpolation),
    }
    state.draw(of_size=True)
    state.size = size[0], size[1]
    return [step]


def flip(op: str) -> Callable[[Any, Family, State], list[Step]]:
    """The two flips: only their names differ."""

    def make(t: Any, family: Family, state: State) -> list[Step]:
        # Of a tensor too: nothing but data moves, and its strides stay.
        state.draw()
        return [{"op": op, "p": read.number(t.p, 0, 1, "p")}]

    return make


def grayscale(t: Any, family: Family, state: State) -> list[Step]:
    state.only_pil("greys")
    channels = read.whole(t.num_output_channels, 1, "num_output_channels")
    if channels not in (1, 3):
        raise read.unusual("num_output_channels", channels)
    state.channels = channels
    return [{"op": "grayscale", "channels": channels}]


def random_grayscale(t: Any, family: Family, state: State) -> list[Step]:
    state.only_pil("greys")
    state.draw()
    return [{"op": "random_grayscale", "p": read.number(t.p, 0, 1, "p")}]


def color_jitter(t: Any, family: Family, state: State) -> list[Step]:
    state.only_pil("recolours")
    state.draw()  # the order, even where there is nothing to order
    step: Step = {"op": "color_jitter"}
    for name, low, high in (
        ("brightness", 0, read.WIDEST),
        ("contrast", 0, read.WIDEST),
        ("saturation", 0, read.WIDEST),
        ("hue", -0.5, 0.5),
    ):
        value = getattr(t, name)
        step[name] = None if value is None else read.span(value, low, high, name)
    return [step]
