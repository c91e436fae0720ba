"""The native step of AugMix, which works with torch's arithmetic on PIL images too."""

from __future__ import annotations

import math
import sys
from typing import Any

import torch

from .._core.reason import NotNative
from . import uint8
from . import values as read
from .arithmetic import draws_dirichlet, matrices, obstacle
from .state import State, Step, Translation
from .transforms import Family

# steps/augmix.h: AugMix's operations in torchvision's order, and what is behind those without all_ops.
OPERATIONS = (
    "ShearX",
    "ShearY",
    "TranslateX",
    "TranslateY",
    "Rotate",
    "Posterize",
    "Solarize",
    "AutoContrast",
    "Equalize",
    "Brightness",
    "Color",
    "Contrast",
    "Sharpness",
)
_WITHOUT_ALL = 9
_MOST_CHAINS, _MOST_DEPTH = 3, 8  # GF_AUGMIX_CHAINS, GF_AUGMIX_DEPTH
_UNSIGNED = ("Posterize", "Solarize", "AutoContrast", "Equalize")
_HOMES = {
    "v1": "torchvision.transforms.functional",
    "v2": "torchvision.transforms.v2.functional._geometry",
}


def augmix(t: Any, family: Family, state: State) -> list[Step]:
    uint8.only(state, "mixes")
    if state.channels != 3:
        raise NotNative("mixes a picture of one channel")
    if state.size is None:
        raise NotNative("mixes pictures whose sizes differ")
    if state.kind != "pil" and 1 in state.size:  # torch's strides of sides of 1 follow no order
        raise NotNative("mixes a tensor of one row or column")
    if t.fill is not None or (family == "v2" and t._fill != {"others": None}):
        raise read.unusual("fill", t.fill)
    seen = uint8.seen(t, family)
    chains = read.whole(t.mixture_width, 1, "mixture_width", _MOST_CHAINS)
    if type(t.chain_depth) is not int or t.chain_depth > _MOST_DEPTH:
        raise read.unusual("chain_depth", t.chain_depth)
    if not isinstance(t.all_ops, bool) or t._PARAMETER_MAX != 10:
        raise read.unusual("all_ops", t.all_ops)
    severity = read.whole(t.severity, 1, "severity", 10)
    alpha = torch.tensor(read.number(t.alpha, 1e-3, 1e6, "alpha"), dtype=torch.float32, device="cpu").item()
    if t.all_ops:
        uint8.sums_exactly(family, state.size)
    read.refuse(draws_dirichlet() or obstacle(family, state.size, seen, t.all_ops))
    numbers = _numbers(t, family, severity, state.size)
    state.draw()
    state.cut = False
    return [
        {
            "op": "augmix",
            "chains": chains,
            "depth": max(t.chain_depth, 0),
            "alpha": alpha,
            "operations": len(OPERATIONS) if t.all_ops else _WITHOUT_ALL,
            "numbers": numbers,
            "seen": seen,
            "fused": matrices(state.size) == "fused",
            "version": family,
        }
    ]


def _numbers(t: Any, family: Family, severity: int, size: tuple[int, int]) -> list[float]:
    """What every operation does at every magnitude, and with the other sign: six numbers, see augmix.h."""
    if family == "v1":
        space = t._augmentation_space(10, size)
    else:
        makers = t._AUGMENTATION_SPACE if t.all_ops else t._PARTIAL_AUGMENTATION_SPACE
        space = {name: (make(10, *size), signed) for name, (make, signed) in makers.items()}
    if tuple(space) != (OPERATIONS if t.all_ops else OPERATIONS[:_WITHOUT_ALL]):
        raise NotNative("unknown version: AugMix has other operations")
    numbers: list[float] = []
    for name, (magnitudes, signed) in space.items():
        if signed is (name in _UNSIGNED):
            raise NotNative("unknown version: AugMix has other signs")
        single = magnitudes is None or magnitudes.ndim == 0
        for i in range(severity):
            magnitude = 0.0 if single else float(magnitudes[i])
            for signed_magnitude in (magnitude, -magnitude):
                made = _operation(name, signed_magnitude, family, size)
                numbers += [*made, *[0.0] * (6 - len(made))]
    return numbers


def _operation(name: str, magnitude: float, family: Family, size: tuple[int, int]) -> list[float]:
    center, angle, move, shear = [0.0, 0.0], 0.0, [0.0, 0.0], [0.0, 0.0]
    if name == "Posterize":
        return [float(0xFF00 >> max(int(magnitude), 0) & 0xFF)]
    if name == "Solarize":
        threshold = magnitude if family == "v1" else 255 * magnitude
        return [float(math.ceil(torch.tensor(max(threshold, 0.0), dtype=torch.float32).item()))]
    if name in ("AutoContrast", "Equalize"):
        return []
    if name in ("Brightness", "Color", "Contrast", "Sharpness"):
        return [1.0 + magnitude]
    along_x = name.endswith("X")
    if name == "Rotate":
        angle = -magnitude if family == "v1" else -(magnitude % 360)
    elif name.startswith("Translate"):
        move[0 if along_x else 1] = 1.0 * int(magnitude)
    else:
        shear[0 if along_x else 1] = math.degrees(math.atan(magnitude))
        center = [1.0 * (0 - s * 0.5) for s in (size[1], size[0])]
    return _theta(family, center, angle, move, shear, size)


def _theta(
    family: Family,
    center: list[float],
    angle: float,
    move: list[float],
    shear: list[float],
    size: tuple[int, int],
) -> list[float]:
    """An affine matrix as torch's grid has it: by torchvision's own function, in torch's float32."""
    make = getattr(sys.modules.get(_HOMES[family]), "_get_inverse_affine_matrix", None)
    if make is None:
        raise NotNative("unknown version: its matrices are made elsewhere")
    theta = torch.tensor(make(center, angle, move, 1.0, shear), dtype=torch.float32, device="cpu")
    half = torch.tensor([0.5 * size[1], 0.5 * size[0]], dtype=torch.float32, device="cpu")
    rescaled = theta.reshape(1, 2, 3).transpose(1, 2) / half
    return [float(v) for v in rescaled[0].T.flatten().tolist()]


_ATTRIBUTES = (
    "_PARAMETER_MAX",
    "severity",
    "mixture_width",
    "chain_depth",
    "alpha",
    "all_ops",
    "interpolation",
    "fill",
)
NATIVE = {"AugMix": Translation(augmix, _ATTRIBUTES, ("_fill",))}
