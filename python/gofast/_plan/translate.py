"""Native steps for torchvision's transforms: exactly what they would do, or a reason why not.

Read against torchvision 0.29; each class is taken only with the attributes that it has
there. The arithmetic of PIL images is Pillow's; that of tensors is torch's, and only
what gives the same numbers for every tensor is taken there.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import torch

from . import angles, augment, augmix, blur, crops, only_v2, pictures, presets, tensors
from . import values as read
from .state import Native, State, Step
from .transforms import MOST_NESTED, Family, attributes, identify, leaves, name, sequence, tampered
from .values import NotNative


def translate(transform: object, state: State) -> tuple[list[Step], State]:
    """The native steps of one transform, and the state behind it.

    Raises:
        NotNative: it must run in Python; nothing was changed.
    """
    several = crops.of_crops(transform, state, translate) if state.crops else None
    if several is not None:
        return several
    known = identify(transform)
    if known is None:
        raise NotNative(_foreign(transform))
    reason = tampered(transform)
    if reason is not None:
        raise NotNative(reason)
    native = _NATIVE.get(known.name)
    if native is None:
        raise NotNative(_FOREIGN.get(known.name, "there is no native one"))
    have = attributes(transform)
    also = native.also_in_v2 if known.family == "v2" else native.also_in_v1
    if have != {*native.attributes, *also}:
        raise NotNative(f"unknown version: it has the attributes {', '.join(sorted(have)) or 'none'}")
    if known.family == "v1" and state.kind == "tv_image":
        raise NotNative("a v1 transform of a tv_tensors.Image")
    after = dataclasses.replace(state, note="")
    return native.make(transform, known.family, after), after


def _foreign(transform: object) -> str:
    for kind in type(transform).__mro__[1:]:
        if kind.__module__.startswith("torchvision.transforms.") and kind.__name__ != "Transform":
            return f"a subclass of {kind.__name__}"
    if type(transform) is torch.nn.Sequential:
        return tampered(transform) or "a changed nn.Sequential"
    return "your own code" if callable(transform) else "not callable"


_TOO_DEEP = f"more than {MOST_NESTED} lie in one another"


def _random_apply(t: Any, family: Family, state: State) -> list[Step]:
    members = sequence(t.transforms)
    if members is None:
        raise NotNative("its transforms are not a plain list")
    if state.within == MOST_NESTED:
        raise NotNative(_TOO_DEEP)
    p = read.number(t.p, 0, 1, "p")
    state.draw()
    inner, steps = dataclasses.replace(state, within=state.within + 1), []
    for leaf in (leaf for member in members for leaf in leaves(member)):
        try:
            made, inner = translate(leaf, inner)
        except NotNative as reason:
            said = str(reason)
            raise NotNative(said if said == _TOO_DEEP else f"{name(leaf)} in it: {said}") from None
        steps += made
    if inner.normalized != state.normalized:
        raise NotNative("it normalizes some samples only")
    if _form(inner) != _form(state):
        raise NotNative("it decides what the sample becomes")
    state.needs_size, state.erased = inner.needs_size, inner.erased
    state.loose, state.shared = inner.loose, inner.shared
    if inner.size != state.size:
        state.size = None
    return [{"op": "random_apply", "p": p, "steps": steps, "version": family}]


def _form(state: State) -> tuple[object, ...]:
    return state.kind, state.dtype, state.channels, state.strides, state.cut


_FOREIGN = {
    "Lambda": "your own code",
    "Compose": "its transforms are not a plain list",
}


_NATIVE: dict[str, Native] = {
    **pictures.NATIVE,
    **blur.NATIVE,
    **presets.NATIVE,
    **augment.NATIVE,
    **augmix.NATIVE,
    **angles.NATIVE,
    **only_v2.NATIVE,
    **tensors.NATIVE,
    **crops.NATIVE,
    "RandomApply": Native(_random_apply, ("transforms", "p")),
}
