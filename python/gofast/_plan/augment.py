"""Native steps of AutoAugment, RandAugment and TrivialAugmentWide."""

from __future__ import annotations

import functools
from typing import Any

from .._core.reason import NotNative
from . import uint8
from . import values as read
from .state import State, Step, Translation
from .transforms import Family

# augment.h's operations, each with whether its magnitude has a sign. Only AutoAugment has the last one.
_OPERATIONS = {
    "Identity": False,
    "ShearX": True,
    "ShearY": True,
    "TranslateX": True,
    "TranslateY": True,
    "Rotate": True,
    "Brightness": True,
    "Color": True,
    "Contrast": True,
    "Sharpness": True,
    "Posterize": False,
    "Solarize": False,
    "AutoContrast": False,
    "Equalize": False,
    "Invert": False,
}
_NUMBERS = {name: number for number, name in enumerate(_OPERATIONS)}
OPERATIONS = tuple(_OPERATIONS)
_SPACE = OPERATIONS[:-1]
_MOST_BINS = 1024  # augment.h's GF_MOST_MAGNITUDES
_MOST_POLICIES = 1024  # augment.h's GF_MOST_POLICIES
_MOST_OPERATIONS = 100  # of one RandAugment
_AUTO_BINS = 10

Table = dict[str, tuple[float, ...]]  # of each operation its magnitudes, none where it has no use for one


@functools.lru_cache(maxsize=256)
def _table(kind: type, makers: Any, bins: int, size: tuple[int, int] | None) -> Table | str:
    """The magnitudes that torchvision computes for a picture of a size, or why they are not known.

    Args:
        makers: of v2's classes the items of `_AUGMENTATION_SPACE`, of v1's the function that makes it.
    """
    height, width = size or (1, 1)
    v2 = type(makers) is tuple
    if v2:
        space = {name: (make(bins, height, width), signed) for name, (make, signed) in makers}
    else:
        sized = () if kind.__name__ == "TrivialAugmentWide" else ((height, width),)
        space = makers(None, bins, *sized)
    table: Table = {}
    for name, (magnitudes, signed) in space.items():
        if _OPERATIONS.get(name) is not signed:
            return f"an unknown operation {name}"
        table[name] = (
            () if magnitudes is None or magnitudes.ndim == 0 else tuple(magnitudes.double().tolist())
        )
    if v2:
        table["Solarize"] = tuple(255.0 * part for part in table["Solarize"])
    if not all(1 <= bits <= 8 for bits in table["Posterize"]):
        return f"posterizes to {min(table['Posterize']):g} bits"
    return table


def _magnitudes(t: Any, family: Family, bins: Any, state: State) -> Table:
    """Those of a picture of the state's size."""
    bins, size = read.whole(bins, 2, "num_magnitude_bins", _MOST_BINS), None
    if type(t).__name__ != "TrivialAugmentWide":
        if state.size is None:
            raise NotNative("its translations depend on the picture's size, which no step before it sets")
        size = state.size
    kind: Any = type(t)  # people set these on the class
    makers = tuple(kind._AUGMENTATION_SPACE.items()) if family == "v2" else kind._augmentation_space
    table = _table(kind, makers, bins, size)
    if isinstance(table, str):
        raise NotNative(table)
    return table


def _flat(table: Table, at: slice) -> list[float]:
    """The magnitudes of all operations one after another, as many of each."""
    if tuple(table) != _SPACE:
        raise NotNative("unknown version: its operations are others")
    given = {name: table[name][at] for name in _SPACE}
    count = max(map(len, given.values()))
    return [value for name in _SPACE for value in given[name] or [0.0] * count]


def _seen(t: Any, family: Family, state: State) -> Step:
    """How the pictures are sampled, and by whose arithmetic."""
    if state.kind == "pil":
        return read.seen(t, family, state.channels)
    fields = uint8.transformed(t, family, state, "augments", mean=True)
    state.mix("chw")  # torch lays out again what it samples or equalizes, and keeps other orders
    return fields


def trivial_augment(t: Any, family: Family, state: State) -> list[Step]:
    table = _magnitudes(t, family, t.num_magnitude_bins, state)
    step = {"op": "trivial_augment", "numbers": _flat(table, slice(None)), "version": family}
    state.draw()
    return [step | _seen(t, family, state)]


def rand_augment(t: Any, family: Family, state: State) -> list[Step]:
    table = _magnitudes(t, family, t.num_magnitude_bins, state)
    times = read.whole(t.num_ops, 0, "num_ops", _MOST_OPERATIONS)
    at = read.whole(t.magnitude, 0, "magnitude", t.num_magnitude_bins - 1)
    step = {"op": "rand_augment", "numbers": _flat(table, slice(at, at + 1)), "version": family}
    state.draw()
    return [step | _seen(t, family, state)] * times


def auto_augment(t: Any, family: Family, state: State) -> list[Step]:
    table = _magnitudes(t, family, _AUTO_BINS, state)
    policies = t.policies if family == "v1" else t._policies
    if type(policies) is not list or not 1 <= len(policies) <= _MOST_POLICIES:
        raise read.unusual("policies", policies)
    numbers: list[float] = []
    for policy in policies:
        for operation in read.listed(policy, (2,), "policy"):
            name, p, at = read.listed(operation, (3,), "policy")
            if name not in table:
                raise read.unusual("policy", operation)
            known = range(_AUTO_BINS) if table[name] else (None,)
            if isinstance(at, bool) or at not in known:
                raise read.unusual("policy", operation)
            magnitude = 0.0 if at is None else table[name][at]
            numbers += [_NUMBERS[name], read.number(p, 0, 1, "p"), magnitude]
    step = {"op": "auto_augment", "numbers": numbers, "version": family}
    state.draw()
    return [step | _seen(t, family, state)]


_FILLED = ("interpolation", "fill")

NATIVE = {
    "AutoAugment": Translation(auto_augment, ("policy", *_FILLED), ("_policies", "_fill"), ("policies",)),
    "RandAugment": Translation(
        rand_augment, ("num_ops", "magnitude", "num_magnitude_bins", *_FILLED), ("_fill",)
    ),
    "TrivialAugmentWide": Translation(trivial_augment, ("num_magnitude_bins", *_FILLED), ("_fill",)),
}
