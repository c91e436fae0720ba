"""Pillow's filters that are recorded: GaussianBlur, BoxBlur and SMOOTH."""

from __future__ import annotations

import functools
import random
from typing import Any

from PIL import Image, ImageFilter

from .._core import codecs
from . import chain as chains

# As Pillow's authors wrote them.
_OWN = {kind: kind.filter for kind in (ImageFilter.GaussianBlur, ImageFilter.BoxBlur)}
_SMOOTH = ((3, 3), 13, 0, (1, 1, 1, 1, 5, 1, 1, 1, 1))

_MOST_RADIUS = 1e4

_SIDE = 37  # of the picture that is tried
_TRIED = ((0.1, True), (0.7, True), (1.9, True), (11.3, True), (0.4, False), (1.0, False), (3.5, False))


def operation(filter: Any) -> bytes | None:
    """What a filter comes to in a chain, empty where it copies; None where Pillow's own must run."""
    if filter is ImageFilter.SMOOTH or type(filter) is ImageFilter.SMOOTH:
        own = isinstance(filter, type) or not vars(filter)
        same = (
            own
            and filter.filterargs == _SMOOTH
            and ImageFilter.SMOOTH.filter is ImageFilter.BuiltinFilter.filter
        )
        return chains.enhance(chains.SHARPNESS, 0.0) if same else None
    if filter is ImageFilter.GaussianBlur:
        filter = filter()
    kind = type(filter)
    own = kind in _OWN and _OWN[kind] is kind.filter and set(vars(filter)) == {"radius"}
    if not own or not blurs_alike():
        return None
    radius = filter.radius
    x, y = radius if type(radius) is tuple and len(radius) == 2 else (radius, radius)
    # numpy's numbers cannot be compared with a pair, as Pillow does
    if not {type(x), type(y)} <= {int, float, bool}:
        return None
    gaussian = kind is ImageFilter.GaussianBlur  # of -2 it is that of 2
    least = -_MOST_RADIUS if gaussian else 0
    if not (least <= x <= _MOST_RADIUS and least <= y <= _MOST_RADIUS):
        return None
    return chains.blur(x, y, gaussian) if x or y else b""


@functools.cache
def blurs_alike() -> bool:
    """Whether this Pillow blurs as the core does, which is tried once."""
    data = random.Random(0).randbytes(4 * _SIDE * _SIDE)
    image = Image.frombytes("RGB", (_SIDE, _SIDE), data, "raw", "RGBX")
    return all(_alike(image, data + codecs.SLACK, radius, gaussian) for radius, gaussian in _TRIED)


def _alike(image: Image.Image, data: bytes, radius: float, gaussian: bool) -> bool:
    chain = chains.blur(radius, radius, gaussian)
    made = codecs.capsule().make_pixels((data, _SIDE, _SIDE, chain), _SIDE, _SIDE, 3, 0, _SIDE * _SIDE)
    return made == chains.replay(image, chain, "RGB").tobytes()
