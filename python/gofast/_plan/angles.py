"""Native steps of rotations and of affine transforms."""

from __future__ import annotations

from typing import Any

from .._core.reason import NotNative
from . import uint8
from . import values as read
from .state import State, Step, Translation
from .transforms import Family

_WIDEST = 1e6  # degrees, and pixels of a center


def _angles(values: Any, lengths: tuple[int, ...], what: str) -> list[float]:
    ends = [read.number(v, -_WIDEST, _WIDEST, what) for v in read.listed(values, lengths, what)]
    if any(low > high for low, high in zip(ends[::2], ends[1::2], strict=True)):
        raise read.unusual(what, values)
    return ends


def _center(t: Any) -> list[float] | None:
    if t.center is None:
        return None
    return [read.number(v, -_WIDEST, _WIDEST, "center") for v in read.listed(t.center, (2,), "center")]


def _seen(t: Any, family: Family, state: State, what: str) -> Step:
    """How pictures are sampled, and by whose arithmetic."""
    if state.kind == "pil":
        return read.seen(t, family, state.channels)
    fields = uint8.transformed(t, family, state, what)
    if family == "v1" and fields["fill"] is None:
        raise NotNative("fill=None: torchvision raises")
    state.strides, state.cut = "chw", False
    return fields


def random_rotation(t: Any, family: Family, state: State) -> list[Step]:
    if not isinstance(t.expand, bool):
        raise read.unusual("expand", t.expand)
    if t.expand:
        state.only_pil("expands")
    step = {"op": "random_rotation", "degrees": _angles(t.degrees, (2,), "degrees"), "expand": t.expand}
    step |= {"center": _center(t)} | _seen(t, family, state, "rotates")
    state.draw(of_size=t.expand)
    if family == "v2":  # it turns by quarters, or not at all, in another way
        state.move()
    if t.expand:
        state.size = None
    return [step]


def random_affine(t: Any, family: Family, state: State) -> list[Step]:
    step: Step = {"op": "random_affine", "version": family, "degrees": _angles(t.degrees, (2,), "degrees")}
    step["translate"] = None
    if t.translate is not None:
        parts = read.listed(t.translate, (2,), "translate")
        step["translate"] = [read.number(v, 0, 1, "translate") for v in parts]
    step["scale"] = None if t.scale is None else read.span(t.scale, 1 / read.WIDEST, read.WIDEST, "scale")
    shear = [] if t.shear is None else _angles(t.shear, (2, 4), "shear")
    step["shear_x"], step["shear_y"] = shear[:2] or None, shear[2:] or None
    step |= {"center": _center(t)} | _seen(t, family, state, "transforms")
    state.draw(of_size=t.translate is not None)
    return [step]


NATIVE = {
    "RandomAffine": Translation(
        random_affine,
        ("degrees", "translate", "scale", "shear", "interpolation", "fill", "center"),
        ("_fill",),
    ),
    "RandomRotation": Translation(
        random_rotation, ("degrees", "interpolation", "expand", "center", "fill"), ("_fill",)
    ),
}
