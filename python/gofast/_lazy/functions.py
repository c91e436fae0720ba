"""Functions of Pillow and torchvision that make their pixels at once: of lazy images they are recorded.

ImageEnhance blends a picture with another one that is made of it. That one is lazy too, here, and has a chain
that is known: `Image.blend` of both is one operation.
"""

from __future__ import annotations

import functools
import sys
from typing import Any

from PIL import Image, ImageEnhance

from . import chain as chains
from . import pillow_arguments
from .lazy_image import LazyImage
from .opened_image import LazyFactory
from .palette_image import LazyPaletteImage
from .patches import Own, Patches

# What is behind the chain of a picture that ImageEnhance blends with it.
_BLENDED = {
    b"": None,  # grey's own grey: a copy
    chains.GREY: chains.COLOR,
    chains.enhance(chains.SHARPNESS, 0.0): chains.SHARPNESS,  # SMOOTH
    chains.enhance(chains.CONTRAST, 0.0): chains.CONTRAST,
    chains.enhance(chains.BRIGHTNESS, 0.0): chains.BRIGHTNESS,
}


def _lazy(image: Any) -> LazyFactory | None:
    return image._look() if type(image) is LazyImage else None


def _without_info(
    image: LazyImage, lazy: LazyFactory, operation: bytes, size: tuple[int, int], mode: str
) -> LazyImage:
    """As what is made from nothing has none."""
    new = image._then(lazy, operation, size, mode)
    new.info = {}
    return new


def _begin(enhancer: Any, image: LazyImage, lazy: LazyFactory, what: int) -> None:
    """What a class of ImageEnhance keeps: the picture, and the one that it blends with."""
    enhancer.image = image
    enhancer.degenerate = _without_info(image, lazy, chains.enhance(what, 0.0), image.size, image.mode)


def _is_factor(value: Any) -> bool:
    return isinstance(value, (int, float)) and -chains.MOST_FACTOR <= value <= chains.MOST_FACTOR


def _blend(own: Own) -> Own:
    @functools.wraps(own)
    def blend(im1: Any, im2: Any, alpha: Any) -> Image.Image:
        first = _lazy(im1) if type(im2) is LazyImage and _is_factor(alpha) else None
        lazy = None if first is None else _lazy(im2)
        if first is None or lazy is None or (first.source, first.mode) != (lazy.source, lazy.mode):
            return own(im1, im2, alpha)  # type: ignore[no-any-return]
        more = first.chain[len(lazy.chain) :]
        if more not in _BLENDED or not first.chain.startswith(lazy.chain):
            return own(im1, im2, alpha)  # type: ignore[no-any-return]
        what = _BLENDED[more]
        operation = b"" if what is None else chains.enhance(what, alpha)
        return im1._then(lazy, operation, im1.size, im1.mode)  # type: ignore[no-any-return]

    return blend


def _brightness(own: Own) -> Own:
    @functools.wraps(own)
    def __init__(self: ImageEnhance.Brightness, image: Any) -> None:
        # Pillow has not decoded it here: where it does, it may raise.
        lazy = image._lazy if type(image) is LazyImage and image._looked_at else None
        if lazy is None:
            own(self, image)
        else:
            _begin(self, image, lazy, chains.BRIGHTNESS)

    return __init__


def _contrast(own: Own) -> Own:
    @functools.wraps(own)
    def __init__(self: ImageEnhance.Contrast, image: Any) -> None:
        lazy = _lazy(image)
        if lazy is None:
            own(self, image)
        else:
            _begin(self, image, lazy, chains.CONTRAST)

    return __init__


def _equalize(own: Own) -> Own:
    @functools.wraps(own)
    def equalize(image: Any, mask: Any = None) -> Image.Image:
        lazy = _lazy(image) if mask is None else None
        if lazy is None:
            return own(image, mask)  # type: ignore[no-any-return]
        return image._then(lazy, chains.levels(chains.EQUALIZE), image.size, image.mode)  # type: ignore[no-any-return]

    return equalize


def _autocontrast(own: Own) -> Own:
    @functools.wraps(own)
    def autocontrast(image: Any, *args: Any, **named: Any) -> Image.Image:
        lazy = None if args or named else _lazy(image)
        if lazy is None:
            return own(image, *args, **named)  # type: ignore[no-any-return]
        return image._then(lazy, chains.levels(chains.AUTOCONTRAST), image.size, image.mode)  # type: ignore[no-any-return]

    return autocontrast


def _expand(own: Own) -> Own:
    @functools.wraps(own)
    def expand(image: Any, border: Any = 0, fill: Any = 0) -> Image.Image:
        operation, size = b"", (0, 0)
        if type(image) is LazyPaletteImage and type(fill) is int and 0 <= fill <= 255:
            return image.expanded(border, fill, own) or own(image, border, fill)
        if type(image) is LazyImage and image._lazy is not None and not image._is_transparent():
            operation, size = pillow_arguments.pad(image, border, fill)
        lazy = _lazy(image) if operation else None
        if lazy is None:
            return own(image, border, fill)  # type: ignore[no-any-return]
        return _without_info(image, lazy, operation, size, image.mode)

    return expand


def _adjust_hue(own: Own) -> Own:
    @functools.wraps(own)
    def adjust_hue(img: Any, hue_factor: Any) -> Any:
        usual = isinstance(hue_factor, (int, float)) and -0.5 <= hue_factor <= 0.5
        usual = usual and type(img) is LazyImage and img.mode == "RGB"  # a grey one is given back
        lazy = _lazy(img) if usual else None
        if lazy is None:
            return own(img, hue_factor)
        return _without_info(img, lazy, chains.enhance(chains.HUE, hue_factor), img.size, "RGB")

    return adjust_hue


def _to_grayscale(own: Own) -> Own:
    @functools.wraps(own)
    def to_grayscale(img: Any, num_output_channels: Any) -> Any:
        lazy = _lazy(img) if num_output_channels == 3 else None
        if lazy is None:
            return own(img, num_output_channels)
        return _without_info(img, lazy, chains.GREY, img.size, "RGB")

    return to_grayscale


_places = Patches(
    {
        "PIL.Image:blend": _blend,
        "PIL.ImageEnhance:Brightness.__init__": _brightness,
        "PIL.ImageEnhance:Contrast.__init__": _contrast,
        "PIL.ImageOps:equalize": _equalize,
        "PIL.ImageOps:autocontrast": _autocontrast,
        "PIL.ImageOps:expand": _expand,
        "torchvision.transforms._functional_pil:adjust_hue": _adjust_hue,
        "torchvision.transforms._functional_pil:to_grayscale": _to_grayscale,
    }
)


def _kernels_of_hue() -> dict[type, Own]:
    """What v2's adjust_hue does to each type; none where v2 is not imported, or does not say so.

    It keeps the function of PIL images that stood in v1's module when it was imported.
    """
    home, v2 = (sys.modules.get(f"torchvision.transforms.v2.functional.{n}") for n in ("_utils", "_color"))
    kernels = getattr(home, "_KERNEL_REGISTRY", {}).get(getattr(v2, "adjust_hue", None), {})
    return kernels if isinstance(kernels, dict) else {}


def follow() -> None:
    """Lets what is imported by now look for lazy images."""
    if not _places.follow():
        return
    kernels = _kernels_of_hue()
    own = kernels.get(Image.Image)
    if own is not None and LazyImage not in kernels and own.__module__.endswith("._functional_pil"):
        kernels[LazyImage] = _adjust_hue(own)


def leave() -> None:
    """Puts the functions back."""
    _places.leave()
    _kernels_of_hue().pop(LazyImage, None)
