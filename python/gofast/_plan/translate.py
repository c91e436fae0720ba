"""Native steps for torchvision's transforms: exactly what they would do, or a reason why not.

Read against torchvision 0.29; each class is taken only with the attributes that it has
there. The arithmetic of PIL images is Pillow's; that of tensors is torch's, and only
what gives the same numbers for every tensor is taken there.
"""

from __future__ import annotations

import dataclasses

import torch

from .._core.reason import NotNative
from . import (
    angles,
    augment,
    augmix,
    blur,
    containers,
    crops,
    perspective,
    pictures,
    presets,
    tensors,
    v2_transforms,
)
from .state import State, Step, Translation
from .transforms import CALLING, MOST_NESTED, attributes, identify, leaves, sequence, tampered
from .values import refuse


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
    refuse(tampered(transform))
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


_FOREIGN = {
    "Lambda": "your own code",
    "Compose": "its transforms are not a plain list",
}


_NATIVE: dict[str, Translation] = {
    **pictures.NATIVE,
    **blur.NATIVE,
    **presets.NATIVE,
    **augment.NATIVE,
    **augmix.NATIVE,
    **angles.NATIVE,
    **perspective.NATIVE,
    **v2_transforms.NATIVE,
    **tensors.NATIVE,
    **crops.NATIVE,
    **containers.native(translate),
}

# Classes of torchvision that draw, beside those whose names say so, and that draw nothing though no step
# stands for them. A class that is nowhere here is not known to be deterministic.
_DRAWING = {"AugMix", "AutoAugment", "ColorJitter", "ElasticTransform", "GaussianBlur", "GaussianNoise"}
_DRAWING |= {"JPEG", "RandAugment", "ScaleJitter", "TrivialAugmentWide"}
_STILL = ("LinearTransformation", "ToPILImage")


def draws(transform: object) -> bool | None:
    """Whether calling it draws random numbers; None where that cannot be known."""
    known = identify(transform)
    if known is None or tampered(transform) is not None:
        return None
    if known.name in _DRAWING or known.name.startswith("Random"):
        return True
    return False if known.name in _NATIVE or known.name in _STILL else None


def looks_beside(transform: object, depth: int = MOST_NESTED) -> bool:
    """Whether it may look at what a PIL image has beside pixels: torchvision's own transforms do not.

    Args:
        depth: how many more may lie in one another; beyond, it is taken to look.
    """
    known = identify(transform)
    if known is None or known.name not in CALLING or tampered(transform) is not None:
        return draws(transform) is None
    members = sequence(getattr(transform, "transforms", None))
    if members is None or depth == 0:
        return True
    return any(looks_beside(leaf, depth - 1) for one in members for leaf in leaves(one))
