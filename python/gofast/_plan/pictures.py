"""Native steps of transforms that work on pictures: geometry, of uint8 tensors too, and colour."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch

from .._core import codecs
from .._core.reason import NotNative
from . import uint8
from . import values as read
from .arithmetic import ask
from .hues import turns_otherwise
from .state import State, Step, Strides, Translation
from .transforms import Family, resizes_bytes


def resize(t: Any, family: Family, state: State) -> list[Step]:
    filter = _filter(t, family, state)
    size: list[int] = []
    if t.size is not None or family == "v1":  # v2's None: max_size alone decides
        given = t.size if type(t.size) in read.LISTS else [t.size]
        size = [read.whole(v, 1, "size") for v in read.listed(given, (1, 2), "size")]
    longest = None if t.max_size is None else read.whole(t.max_size, 1, "max_size")
    wrong = longest is None if not size else longest is not None and (len(size) == 2 or longest <= size[0])
    if wrong:
        raise NotNative(f"max_size={longest} does not go with size={t.size}: torchvision raises")
    if state.cut:  # torch lays a view out again, unless it is as wide as the tensor, and all else as it was
        state.move("chw")
    _refuse_a_column(state, size)
    state.size = _resized(state.size, size, longest)
    return [{"op": "resize", "size": size, "max_size": longest, "filter": filter}]


def _filter(t: Any, family: Family, state: State) -> str:
    """How a picture is resized: by Pillow's filter, or by what torch does to uint8 tensors."""
    state.only_bytes(family, "resizes")
    filter = read.resampling(t.interpolation)
    if state.kind == "pil":
        return filter
    if filter not in ("bilinear", "bicubic") or t.antialias is not True:
        raise NotNative(f"resizes a tensor by {filter}" + (", antialias=False" if not t.antialias else ""))
    if not resizes_bytes(t.interpolation):
        raise NotNative("resizes a tensor as floats on this processor")
    return f"torch_{filter}"


def _refuse_a_column(state: State, size: list[int]) -> None:
    """Raises NotNative where torch's plain kernels may take the rows of one column for columns."""
    if state.kind != "pil" and size[-1:] == [1] and torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        raise NotNative("torch resizes a tensor to one column in its own way on this processor")


def pil_filter(t: Any, state: State) -> str:
    """How a PIL image is resized."""
    state.only_pil("resizes")
    return read.resampling(t.interpolation)


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
    state.only_bytes(family, "crops")
    size = read.pair(t.size)
    state.size = size[0], size[1]
    return [{"op": "center_crop", "size": size, **state.move(cut=True, known=True)}]


def pad(t: Any, family: Family, state: State) -> list[Step]:
    padding, mode = read.padding(t.padding), read.mode(t.padding_mode)
    fill = _fill(t, family, mode, state)
    usual = _padded(state, padding, state.cut)
    if state.size is not None:
        state.size = state.size[0] + padding[1] + padding[3], state.size[1] + padding[0] + padding[2]
    return [{"op": "pad", "padding": padding, "fill": fill, "mode": mode, **usual}]


def _padded(state: State, padding: list[int] | None, cut: bool) -> Step:
    """Notes that a tensor was padded, which torch lays out again."""
    return state.move("chw" if any(padding or ()) else None, cut=cut, known=True)


def _fill(t: Any, family: Family, mode: str, state: State) -> list[int]:
    """The colour of what is padded."""
    state.only_bytes(family, "pads")
    if state.kind != "pil" and (mode != "constant" or type(t.fill) is not int or t.fill != 0):
        raise NotNative("pads a tensor otherwise than with zeroes")
    return read.fill(t, family, mode, state.channels)


def random_crop(t: Any, family: Family, state: State) -> list[Step]:
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
    fill = _fill(t, family, mode, state)
    state.draw(of_size=True)
    state.size = size[0], size[1]
    usual = _padded(state, padding, True)
    return [
        {
            "op": "random_crop",
            "size": size,
            "padding": padding,
            "pad_if_needed": t.pad_if_needed,
            "fill": fill,
            "mode": mode,
            "version": family,
            **usual,
        }
    ]


def random_resized_crop(t: Any, family: Family, state: State) -> list[Step]:
    filter = _filter(t, family, state)
    size = read.pair(t.size)
    ratio = read.span(t.ratio, 1 / read.WIDEST, read.WIDEST, "ratio")
    if (ratio[0] >= 2 or ratio[1] <= 0.5) and (state.kind != "pil" or codecs.pass_order() != "13"):
        # The box may have no pixel of a picture one pixel wide or high: black in Pillow 13, else an error.
        raise read.unusual("ratio", t.ratio)
    _refuse_a_column(state, size)
    step = {
        "op": "random_resized_crop",
        "size": size,
        "scale": read.span(t.scale, 0, read.WIDEST, "scale"),
        "ratio": ratio,
        "log_ratio": read.log_ratio(t, family),
        "filter": filter,
    }
    state.draw(of_size=True)
    state.size = size[0], size[1]
    return [step | state.move("chw", known=True)]


def flip(op: str) -> Callable[[Any, Family, State], list[Step]]:
    """The two flips: only their names differ."""

    def make(t: Any, family: Family, state: State) -> list[Step]:
        # A tensor is flipped alike: nothing but data moves, and its strides stay.
        state.draw()
        return [{"op": op, "p": read.number(t.p, 0, 1, "p")}]

    return make


def grayscale(t: Any, family: Family, state: State) -> list[Step]:
    channels = read.whole(t.num_output_channels, 1, "num_output_channels")
    if channels not in (1, 3):
        raise read.unusual("num_output_channels", channels)
    step = {"op": "grayscale", "channels": channels} | _greyed(family, state)
    state.shared = state.kind != "pil" and channels == 3
    state.strides, state.cut = "chw", False
    state.channels = channels
    return [step]


def random_grayscale(t: Any, family: Family, state: State) -> list[Step]:
    state.draw()
    step = {"op": "random_grayscale", "p": read.number(t.p, 0, 1, "p")} | _greyed(family, state)
    state.shared |= state.kind != "pil"
    state.mix("chw")
    return [step]


def _greyed(family: Family, state: State) -> Step:
    return {} if state.kind == "pil" else uint8.computed(state, family, "greys")


def random_solarize(t: Any, family: Family, state: State) -> list[Step]:
    uint8.only(state, "solarizes")
    tensor = state.kind != "pil"
    # 256 is above all bytes: torchvision refuses it of a tensor. Torch compares float32, Pillow doubles.
    threshold = read.number(t.threshold, 0, 255 if tensor else 256, "threshold")
    first = math.ceil(torch.tensor(threshold).item() if tensor else threshold)
    state.draw()
    p = read.number(t.p, 0, 1, "p")
    return [{"op": "random_solarize", "p": p, "threshold": first, "version": family}]


def whether(
    op: str, what: str, computes: bool = False, **fields: Callable[[Any, State], Any]
) -> Callable[[Any, Family, State], list[Step]]:
    """What happens to a picture or does not.

    Args:
        what: it does.
        computes: with numbers that are not whole, which Pillow and torch round in their own ways.
        fields: of the step, each read from the transform.
    """

    def make(t: Any, family: Family, state: State) -> list[Step]:
        uint8.only(state, what)
        step: Step = {"op": op, "p": read.number(t.p, 0, 1, "p"), "version": family}
        step |= {name: value(t, state) for name, value in fields.items()}
        if computes and state.kind != "pil":
            step |= uint8.computed(state, family, what)
        if op == "random_equalize":
            state.mix("chw")
        state.draw()
        return [step]

    return make


def _sharpness(t: Any, state: State) -> float:
    least = -read.WIDEST if state.kind == "pil" else 0  # less of a tensor: torchvision raises
    return read.number(t.sharpness_factor, least, read.WIDEST, "sharpness_factor")


def color_jitter(t: Any, family: Family, state: State) -> list[Step]:
    uint8.only(state, "recolours")
    factors = color_factors(t)
    step: Step = {"op": "color_jitter", **factors}
    if state.kind != "pil":
        step |= uint8.computed(state, family, "recolours", mean=factors["contrast"] is not None)
    if state.kind != "pil" and factors["hue"] is not None:
        read.refuse(ask(turns_otherwise, family))
        strides: Strides = "hwc" if family == "v1" else "chw"
        if state.within:  # some samples are as they were
            state.mix(strides)
        else:
            state.strides, state.cut = strides, False
    state.draw()  # the order, even where there is nothing to order
    return [step]


def color_factors(t: Any) -> dict[str, list[float] | None]:
    """The range of each factor of a ColorJitter, None where it is not asked for."""
    ranges = {}
    for name, low, high in (
        ("brightness", 0, read.WIDEST),
        ("contrast", 0, read.WIDEST),
        ("saturation", 0, read.WIDEST),
        ("hue", -0.5, 0.5),
    ):
        value = getattr(t, name)
        ranges[name] = None if value is None else read.span(value, low, high, name)
    return ranges


NATIVE = {
    "CenterCrop": Translation(center_crop, ("size",)),
    "ColorJitter": Translation(color_jitter, ("brightness", "contrast", "saturation", "hue")),
    "Grayscale": Translation(grayscale, ("num_output_channels",)),
    "Pad": Translation(pad, ("padding", "fill", "padding_mode"), ("_fill",)),
    "RandomAdjustSharpness": Translation(
        whether("random_sharpness", "sharpens", True, factor=_sharpness), ("sharpness_factor", "p")
    ),
    "RandomAutocontrast": Translation(whether("random_autocontrast", "stretches", True), ("p",)),
    "RandomCrop": Translation(
        random_crop, ("size", "padding", "pad_if_needed", "fill", "padding_mode"), ("_fill",)
    ),
    "RandomEqualize": Translation(whether("random_equalize", "equalizes"), ("p",)),
    "RandomGrayscale": Translation(random_grayscale, ("p",)),
    "RandomHorizontalFlip": Translation(flip("hflip"), ("p",)),
    "RandomInvert": Translation(whether("random_solarize", "inverts", threshold=lambda t, state: 0), ("p",)),
    "RandomPosterize": Translation(
        whether("random_posterize", "posterizes", bits=lambda t, state: read.whole(t.bits, 1, "bits", 8)),
        ("bits", "p"),
    ),
    "RandomResizedCrop": Translation(
        random_resized_crop, ("size", "scale", "ratio", "interpolation", "antialias"), ("_log_ratio",)
    ),
    "RandomSolarize": Translation(random_solarize, ("threshold", "p")),
    "RandomVerticalFlip": Translation(flip("vflip"), ("p",)),
    "Resize": Translation(resize, ("size", "interpolation", "max_size", "antialias")),
}
