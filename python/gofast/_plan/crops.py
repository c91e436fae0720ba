"""Native steps of FiveCrop and TenCrop, and of what stacks the tensors of their crops."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from .._core.reason import NotNative
from . import values as read
from .stacked import transform_of_each
from .state import State, Step, Translation
from .transforms import Family, identify, leaves

# What does the same to the stacked crops as to each of them.
_OF_STACKED = ("ConvertImageDtype", "Identity", "Normalize", "ToDtype")

# The core's crops are the last that it makes of pictures.
_NUMBERS = {"to_uint8", "to_float", "normalize"}

Translate = Callable[[object, State], tuple[list[Step], State]]


def five_crop(t: Any, family: Family, state: State) -> list[Step]:
    return _crops(t, state, 5, {"op": "five_crop"})


def ten_crop(t: Any, family: Family, state: State) -> list[Step]:
    if not isinstance(t.vertical_flip, bool):
        raise read.unusual("vertical_flip", t.vertical_flip)
    return _crops(t, state, 10, {"op": "ten_crop", "vertical": t.vertical_flip})


def _crops(t: Any, state: State, count: int, step: Step) -> list[Step]:
    state.only_pil("cuts crops of")
    if state.within:
        raise NotNative("makes several pictures of some samples only")
    if type(t.size) is not tuple:  # errors show it
        raise read.unusual("size", t.size)
    height, width = read.pair(t.size)
    state.needs_size |= state.draws and state.size is None  # the core refuses a small one when it draws
    state.size, state.crops, state.stacked = (height, width), count, False
    state.note = f"{count} crops of {height}x{width}"
    return [{**step, "size": [height, width]}]


def of_crops(transform: Any, state: State, translate: Translate) -> tuple[list[Step], State] | None:
    """The native steps of what comes behind several crops; None: they are those of any other sample.

    Raises:
        NotNative: it must run in Python.
    """
    known = identify(transform)
    name = "" if known is None else known.name
    if state.stacked and name in _OF_STACKED:
        return None
    function = transform.lambd if known is not None and tuple(known) == ("v1", "Lambda") else transform
    each = transform_of_each(function)
    if each is None:
        raise NotNative("your own code" if name in ("", "Lambda") else "of several crops")
    steps, after = [], dataclasses.replace(state, crops=0, stacked=False)
    for leaf in leaves(each):
        made, after = translate(leaf, after)
        steps += made
    if not {step["op"] for step in steps} <= _NUMBERS:
        raise NotNative("does more to each crop than to make a tensor of it")
    if after.kind == "pil" or after.size != state.size:
        raise NotNative("stacks other crops than tensors of one size")
    note = f"stacks the crops: {after.note}" if after.note else "stacks the crops"
    return steps, dataclasses.replace(
        after, crops=state.crops, stacked=True, strides="chw", cut=False, note=note
    )


NATIVE = {
    "FiveCrop": Translation(five_crop, ("size",)),
    "TenCrop": Translation(ten_crop, ("size", "vertical_flip")),
}
