"""The native step of RandomPerspective, and whether its coefficients are torchvision's."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import torch

from .._core.perspective_coefficients import coefficients
from .._core.reason import NotNative
from . import values as read
from .arithmetic import ask
from .state import State, Step, Translation
from .transforms import Family

_HOMES = {"v1": "torchvision.transforms.functional", "v2": "torchvision.transforms.v2._geometry"}
_SIZES = ((224, 224), (640, 480), (37, 100), (9, 7))  # width, height of pictures that are tried


def random_perspective(t: Any, family: Family, state: State) -> list[Step]:
    state.only_pil("transforms")
    step: Step = {"op": "random_perspective", "p": read.number(t.p, 0, 1, "p")}
    step["distortion"] = read.number(t.distortion_scale, 0, 1, "distortion_scale")
    step |= read.seen(t, family, state.channels)
    theirs = getattr(sys.modules.get(_HOMES[family]), "_get_perspective_coeffs", None)
    if theirs is None:
        raise NotNative("unknown version: its coefficients are made elsewhere")
    read.refuse(ask(_obstacle, theirs))
    state.draw(of_size=True)
    return [step]


def _obstacle(theirs: Callable[..., list[float]]) -> str | None:
    """Why torchvision's coefficients are not those of the same least squares; None where they are."""
    dice, wanted, ends = random.Random(1), [], []
    for width, height in _SIZES:
        right, bottom = width - 1, height - 1
        starts = [[0, 0], [right, 0], [right, bottom], [0, bottom]]
        moved = [[dice.randint(0, width // 4), dice.randint(0, height // 4)] for _ in starts]
        ends.append([[abs(x - dx), abs(y - dy)] for (x, y), (dx, dy) in zip(starts, moved, strict=True)])
        wanted.append(theirs(starts, ends[-1]))
    made = coefficients(torch.tensor(_SIZES, device="cpu"), torch.tensor(ends, device="cpu"))
    if made.tolist() != wanted:
        return "unknown version: it has other coefficients"
    return None


NATIVE = {
    "RandomPerspective": Translation(
        random_perspective, ("p", "distortion_scale", "interpolation", "fill"), ("_fill",)
    )
}
