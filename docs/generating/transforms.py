"""Which of torchvision's transforms run natively: each is compiled behind what may come before it."""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable
from typing import Any
from unittest import mock

import torch
from torchvision import transforms as v1
from torchvision.transforms import v2

from generating.markdown import table
from gofast._plan import arithmetic, perspective
from gofast._plan.compile import compile

SIZE = (224, 224)

# How to make those that need arguments, as recipes do; `m` is v1 or v2.
ARGUMENTS: dict[str, Callable[[Any], tuple[Any, ...]]] = {
    "CenterCrop": lambda m: (200,),
    "ColorJitter": lambda m: (0.4, 0.4, 0.4, 0.1),
    "Compose": lambda m: ([m.RandomHorizontalFlip()],),
    "ConvertImageDtype": lambda m: (torch.float32,),
    "FiveCrop": lambda m: (100,),
    "GaussianBlur": lambda m: (23, (0.1, 2.0)),
    "JPEG": lambda m: (75,),
    "Lambda": lambda m: (lambda picture: picture,),
    "LinearTransformation": lambda m: (
        torch.eye(3 * 224 * 224, 1).expand(-1, 3 * 224 * 224),
        torch.zeros(3 * 224 * 224),
    ),
    "Normalize": lambda m: ([0.5, 0.5, 0.5], [0.2, 0.2, 0.2]),
    "Pad": lambda m: (4,),
    "RandomAdjustSharpness": lambda m: (2.0,),
    "RandomAffine": lambda m: (10, (0.1, 0.1)),
    "RandomApply": lambda m: ([m.RandomHorizontalFlip()],),
    "RandomChoice": lambda m: ([m.RandomHorizontalFlip(), m.RandomVerticalFlip()],),
    "RandomCrop": lambda m: (200,),
    "RandomOrder": lambda m: ([m.RandomHorizontalFlip(), m.RandomVerticalFlip()],),
    "RandomPosterize": lambda m: (4,),
    "RandomResize": lambda m: (200, 256),
    "RandomResizedCrop": lambda m: (224,),
    "RandomRotation": lambda m: (15,),
    "RandomShortestSize": lambda m: ([200, 224],),
    "RandomSolarize": lambda m: (128,),
    "Resize": lambda m: (SIZE,),
    "ScaleJitter": lambda m: (SIZE,),
    "TenCrop": lambda m: (100,),
    "ToDtype": lambda m: (torch.float32,),
}
OPTIONS: dict[str, dict[str, Any]] = {"ToDtype": {"scale": True}}

# No transforms of one picture.
_OTHERS = {
    "AutoAugmentPolicy", "InterpolationMode", "Transform",
    "ClampBoundingBoxes", "ClampKeyPoints", "ConvertBoundingBoxFormat", "SanitizeBoundingBoxes",
    "SanitizeKeyPoints", "SetClampingMode", "RandomIoUCrop", "UniformTemporalSubsample", "CutMix", "MixUp",
}  # fmt: skip

TITLE = (
    "transform",
    "a PIL image",
    "a PIL image of known size",
    "a uint8 tensor of known size",
    "a float tensor",
)
BEFORE: tuple[Callable[[Any], list[Any]], ...] = (
    lambda m: [],
    lambda m: [m.Resize(SIZE)],
    lambda m: [m.Resize(SIZE), m.PILToTensor()],
    lambda m: [m.Resize(SIZE), v1.ToTensor()],
)


def markdown() -> str:
    """The table of all transforms."""
    names = sorted(_names(v1) | _names(v2), key=str.lower)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torchvision's, of what it would drop
        return table(TITLE, [[_shown(name), *_cells(name)] for name in names])


def _names(module: Any) -> set[str]:
    own = {
        name
        for name, kind in vars(module).items()
        if inspect.isclass(kind) and kind.__module__.startswith("torchvision.transforms")
    }
    return own - _OTHERS


def _shown(name: str) -> str:
    """Its name, and where it is if that is one of the two families."""
    if hasattr(v1, name) and hasattr(v2, name):
        return f"`{name}`"
    return f"`{name}` ({'v1' if hasattr(v1, name) else 'v2'} only)"


def _cells(name: str) -> list[str]:
    families = [(word, module) for word, module in (("v1", v1), ("v2", v2)) if hasattr(module, name)]
    cells = []
    for before in BEFORE:
        said = {word: _verdict(module, name, before(module)) for word, module in families}
        if len(set(said.values())) == 1:
            cells.append(next(iter(said.values())))
        else:
            cells.append("; ".join(f"{word}: {what}" for word, what in said.items()))
    return cells


def _verdict(module: Any, name: str, before: list[Any]) -> str:
    """ "C", "C*" where torch is tried first, or Python and the reason."""
    torch.set_num_threads(1)  # how many there are decides one of the reasons
    transform = getattr(module, name)(*ARGUMENTS.get(name, lambda m: ())(module), **OPTIONS.get(name, {}))
    tried: list[Any] = []

    def answer(look: Callable[..., Any], *_: Any) -> Any:
        if look is arithmetic._multiplies:
            return "plain"
        if look is arithmetic._draws_dirichlet:
            return True
        if look.__module__ != perspective.__name__:
            tried.append(look)
        return None

    # Whether torch computes as ours is another matter on another processor: the page says that it is tried.
    with mock.patch.object(arithmetic, "_answer", answer):
        plan = compile(module.Compose([*before, transform]))
    line = next((line for line in plan.report if not line.native), None)
    if line is None:
        return "C*" if tried else "C"
    return f"Python: {re.sub('^.* a tensor with ', '', line.what)}"
