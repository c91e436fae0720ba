"""Whether torch turns the hues of uint8 tensors as gofast does: torchvision's own function is asked, once."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import torch

from .transforms import Family

_HOMES = {
    "v1": ("torchvision.transforms._functional_tensor", "adjust_hue"),
    "v2": ("torchvision.transforms.v2.functional._color", "adjust_hue_image"),
}
_ONE = np.float32(1)


def turns_otherwise(family: Family) -> str | None:
    """Why torchvision's hues are not those of the core; None where they are."""
    home, name = _HOMES[family]
    adjust = getattr(sys.modules.get(home), name, None)
    if adjust is None:
        return "unknown version: its hues are made elsewhere"
    generator = torch.Generator(device="cpu").manual_seed(1)
    # Laid out as pil_to_tensor does; dark and pale colours too, of which many are equal.
    bytes_ = torch.randint(0, 256, (96, 61, 3), generator=generator, dtype=torch.uint8, device="cpu")
    bytes_[32:64] //= 64
    bytes_[64:] |= 0xF8
    picture = bytes_.permute(2, 0, 1)
    for turn in (-0.5, -0.0837, 0.0, 0.3141592, 0.5):
        turn = torch.tensor(turn, dtype=torch.float32, device="cpu").item()  # as it is drawn
        if not np.array_equal(adjust(picture, turn).numpy(), _turned(picture.numpy(), turn, family)):
            return "torch's hues round in another way here"
    return None


def _turned(picture: Any, turn: float, family: Family) -> Any:
    """What the core makes of a picture."""
    x, six = picture.astype(np.float32), np.float32(6)
    x = x / np.float32(255) if family == "v1" else x * np.float32(1 / 255)
    most, least = x.max(axis=0), x.min(axis=0)
    span, flat = most - least, most == least
    s = span / np.where(flat, _ONE, most)
    red, green, blue = (most - x) / np.where(flat, _ONE, span)
    others = np.where(most == x[1], np.float32(2) + red - blue, np.float32(4) + green - red)
    h = np.where(most == x[0], blue - green, others)
    h = np.fmod((h / six if family == "v1" else h * np.float32(1 / 6)) + _ONE, _ONE)
    h = np.fmod(h + np.float32(turn), _ONE)
    h = np.where(h < 0, h + _ONE, h) * six
    sector = np.floor(h)
    f = h - sector
    part = s * f
    p, q = most * (_ONE - s), most * (_ONE - part)
    t = most * ((_ONE - s * (_ONE - f)) if family == "v1" else part + (_ONE - s))
    v, at = most, sector.astype(np.int64) % 6
    made = [np.choose(at, way) for way in ((v, q, p, p, t, v), (t, v, v, q, p, p), (p, p, t, v, v, q))]
    return (np.stack(made).clip(0, 1) * np.float32(255.999)).astype(np.uint8)
