"""Native steps of classes that only ``torchvision.transforms.v2`` has, of PIL images."""

from __future__ import annotations

from typing import Any

from .._core.reason import NotNative
from . import values as read
from .pictures import color_factors, pil_filter
from .state import State, Step, Translation
from .transforms import Family

_MOST_SIDES = 32  # step.h's GF_MOST_SIDES
_WIDEST_ZOOM = 64


def rgb(t: Any, family: Family, state: State) -> list[Step]:
    if state.channels != 3:
        raise NotNative("makes three channels of one")
    state.note = "nothing: it is RGB"
    return []


def channel_permutation(t: Any, family: Family, state: State) -> list[Step]:
    _three_channels(state, "permutes")
    state.draw()
    return [{"op": "channel_permutation"}]


def photometric_distort(t: Any, family: Family, state: State) -> list[Step]:
    _three_channels(state, "recolours")
    factors = color_factors(t)
    if None in factors.values():
        raise NotNative("a range is None: torchvision raises")
    state.draw()
    return [{"op": "photometric_distort", "p": read.number(t.p, 0, 1, "p"), **factors}]


def _three_channels(state: State, what: str) -> None:
    state.only_pil(what)
    if state.channels != 3:
        raise NotNative(f"{what} a picture of one channel")


def random_resize(t: Any, family: Family, state: State) -> list[Step]:
    sides = [read.whole(t.min_size, 1, "min_size"), read.whole(t.max_size, 1, "max_size")]
    if sides[0] >= sides[1]:
        raise NotNative("min_size is not below max_size: torchvision raises")
    return _resized(state, {"op": "random_resize", "size": sides, "filter": pil_filter(t, state)})


def random_shortest_size(t: Any, family: Family, state: State) -> list[Step]:
    given = t.min_size if type(t.min_size) is list else []
    sides = [read.whole(side, 1, "min_size") for side in given]
    if not 1 <= len(sides) <= _MOST_SIDES:
        raise read.unusual("min_size", t.min_size)
    most = None if t.max_size is None else read.whole(t.max_size, 1, "max_size")
    step = {"op": "random_shortest_size", "sides": sides, "max_size": most, "filter": pil_filter(t, state)}
    return _resized(state, step)


def scale_jitter(t: Any, family: Family, state: State) -> list[Step]:
    size = [read.whole(side, 1, "target_size") for side in read.listed(t.target_size, (2,), "target_size")]
    scale = read.span(t.scale_range, 0, read.WIDEST, "scale_range")
    return _resized(
        state, {"op": "scale_jitter", "size": size, "scale": scale, "filter": pil_filter(t, state)}
    )


def _resized(state: State, step: Step) -> list[Step]:
    state.draw(of_size=True)
    state.size = None
    return [step]


def random_zoom_out(t: Any, family: Family, state: State) -> list[Step]:
    state.only_pil("pads")
    step = {
        "op": "random_zoom_out",
        "p": read.number(t.p, 0, 1, "p"),
        "scale": read.span(t.side_range, 1, _WIDEST_ZOOM, "side_range"),
        "fill": read.fill(t, family, "constant", state.channels),
        "mode": "constant",
    }
    state.draw(of_size=True)
    state.size = None
    return [step]


_SCALED = ("interpolation", "antialias")

NATIVE = {
    "RGB": Translation(rgb),
    "RandomChannelPermutation": Translation(channel_permutation),
    "RandomPhotometricDistort": Translation(
        photometric_distort, ("brightness", "contrast", "saturation", "hue", "p")
    ),
    "RandomResize": Translation(random_resize, ("min_size", "max_size", *_SCALED)),
    "RandomShortestSize": Translation(random_shortest_size, ("min_size", "max_size", *_SCALED)),
    "RandomZoomOut": Translation(random_zoom_out, ("fill", "_fill", "side_range", "p")),
    "ScaleJitter": Translation(scale_jitter, ("target_size", "scale_range", *_SCALED)),
}
