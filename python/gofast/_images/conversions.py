"""torchvision's to_tensor and pil_to_tensor of PIL images, outside a Compose, give samples that wait.

What torch's arithmetic does to them next, as F.normalize and to_dtype do, is done by the same call.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from typing import Any

import torch
from PIL import Image

from .._core.codecs import SLACK
from .._core.native import Picture
from .._lazy.array_images import SMALL, LazyArrayImage, untouched
from .._lazy.chain import is_certain
from .._lazy.lazy_image import LazyImage
from .._lazy.opened_image import LazyFactory
from .._lazy.patches import Kernels, Own, Patches
from .._lazy.source import Source, SourceState, counts
from .._plan.compile import compile_chain
from .._plan.state import State
from .._plan.transforms import environment
from . import flat_samples, nearest_masks, sane_boxes
from .held_pictures import MOST_BYTES, Held
from .lazy_program import LazyProgram
from .lazy_samples import LazySample, calculated, lazy_sample
from .lazy_tv_images import lazy_tv_image
from .pending_samples import flip_of
from .sample_numbers import SampleNumbers

_CHANNELS = {"RGB": 3, "L": 1}
_NOMINAL = 8  # a side of what a program is compiled for; its pictures say their own


class TensorConversion(LazyProgram):
    """Pictures of any size as tensors."""

    def then(self, do: str, by: Any) -> LazyProgram | None:
        """See Makes. A picture that is flipped first gives a flipped sample."""
        if do == "flipped":
            return None if flip_of(by) is None else self
        return super().then(do, by)

    def shape_of(self, picture: Picture) -> tuple[int, ...]:
        """See Makes."""
        _, _, _, _, *size = picture
        width, height = size
        return self.shape[-1 if self._last else 0], height, width


# As long as `gofast.install` holds. Pillow's own images are converted too, not only within a Compose.
installed = False
_here = threading.local()


class inside:
    """A Compose was given a lazy image, of which its own code makes others."""

    def __enter__(self) -> None:
        self._before = getattr(_here, "inside", False)
        _here.inside = True

    def __exit__(self, *error: object) -> None:
        _here.inside = self._before


_conversions: dict[tuple[str, int], TensorConversion] = {}


def _conversion(how: str, channels: int) -> TensorConversion:
    """What makes floats of pictures, or bytes."""
    made = _conversions.get((how, channels))
    if made is None:
        state = State("tensor", "float32" if how else "uint8", channels, (_NOMINAL, _NOMINAL))
        state.strides = "chw" if how and channels == 3 else "hwc"  # torch takes one channel for both
        plan = compile_chain([], state, handed=True, drawn=True)
        made = TensorConversion(dataclasses.replace(plan, steps=SampleNumbers(how).steps()))
        _conversions[how, channels] = made
    return made


def _converted(image: Any, how: str) -> torch.Tensor | None:
    """A sample that waits; None where torchvision makes it."""
    kind = type(image)
    if kind not in (LazyImage, LazyArrayImage, Image.Image):
        return None
    channels, (width, height) = _CHANNELS.get(image.mode, 0), image.size
    if not channels or min(width, height) < 2 or environment() is not None:
        return None
    if Held.waiting >= MOST_BYTES or torch.is_inference_mode_enabled():
        return None
    conversion, again = _conversion(how, channels), None
    at_once = width * height < SMALL and conversion.is_looked_at()
    making = image._look() if kind is LazyImage else untouched(image)
    if making is None:
        if at_once or channels == 1 or not (installed or getattr(_here, "inside", False)):
            return None
        try:
            picture = image.tobytes("raw", "RGBX") + SLACK, width, height, b""
        except Exception:  # torchvision says so
            return None
    else:
        making = image._again(making) if kind is LazyImage else making
        source, counted = making.source, kind is LazyImage
        if not (is_certain(making.chain, source.size) and _is_whole(source)):
            making = _pixels(making)
            if making is None:
                return None
            source, counted = making.source, False  # its pixels were
        held, data, again = (*source.held(), None) if at_once else source.waiting()
        if held is None:
            return None
        if channels == 3 and not at_once and held == (0, 0):
            whole = type(source) is Source and making.size == source.size and source.may_be_kept()
            whole = whole and conversion.is_begun_later()
            again = source if whole else again
            file = Held.of((data, *held, b"", *source.size), again)  # the sample will wait with the same
            file.is_needed(whole)
            source.begun = None
        picture = data, *held, making.chain
        source.state = SourceState.NATIVE  # the file is known to be whole
        counts.native += counted
    if at_once:
        return conversion.finish((*picture, width, height), None)
    return lazy_sample(conversion, (*picture, width, height), None, again)


def _is_whole(source: Source) -> bool:
    """Whether nothing can be wrong with what it holds."""
    return source.state is SourceState.NATIVE or source.is_certain()


def _pixels(making: LazyFactory) -> LazyFactory | None:
    """The pixels, made now: of a file that may be damaged, or by what the core may refuse."""
    made = making.source.made(making.chain, making.size) if making.mode == "RGB" else None
    return None if made is None else LazyFactory(made, b"", "RGB", making.size)


def _wrapped(how: str, own: Own) -> Own:
    @functools.wraps(own)
    def convert(pic: Any) -> Any:
        made = _converted(pic, how)
        return own(pic) if made is None else made

    return convert


def _normalized(own: Own) -> Own:
    @functools.wraps(own)
    def normalize(tensor: Any, mean: Any, std: Any, inplace: bool = False) -> Any:
        lazy = type(tensor) is LazySample
        made = _normalized_later(tensor, mean, std, bool(inplace)) if lazy else None
        return own(tensor, mean, std, inplace) if made is None else made

    return normalize


def _normalized_kernel(own: Own) -> Own:
    """v2's, of tensors and of tv_tensors.Image."""

    @functools.wraps(own)
    def normalize(image: Any, mean: Any, std: Any, inplace: bool = False) -> Any:
        lazy = isinstance(image, LazySample) and inplace is False
        made = _normalized_later(image, mean, std, False) if lazy else None
        return own(image, mean=mean, std=std, inplace=inplace) if made is None else made

    return normalize


def _normalized_later(sample: Any, mean: Any, std: Any, in_place: bool) -> torch.Tensor | None:
    """What normalize makes of a lazy sample, lazily; None where torchvision does, or says what is wrong."""
    by = _numbers(mean), _numbers(std)
    return None if None in by else calculated("normalized", in_place, sample, by)


def _numbers(values: Any) -> tuple[float, ...] | None:
    """Of a list, or of a tensor, as timm gives them."""
    if type(values) is torch.Tensor:
        plain = values.dtype is torch.float32 and values.is_cpu and values.layout is torch.strided
        return tuple(values.tolist()) if plain and values.ndim == 1 and not values.requires_grad else None
    plain = type(values) in (list, tuple) and all(type(one) in (int, float) for one in values)
    return tuple(values) if plain else None


_V1 = "torchvision.transforms.functional"
_bytes = functools.partial(_wrapped, "")
_places = Patches(
    {
        f"{_V1}:to_tensor": functools.partial(_wrapped, "divide"),
        f"{_V1}:pil_to_tensor": _bytes,
        f"{_V1}:normalize": _normalized,
        f"torchvision.transforms.v2.functional:pil_to_tensor:{_V1}": _bytes,
        f"torchvision.transforms.v2.functional._type_conversion:pil_to_tensor:{_V1}": _bytes,
        "torchvision.transforms.v2.functional._misc:_get_sanitize_bounding_boxes_mask": sane_boxes.looking,
    }
)
_kernels = Kernels("_misc", "normalize", "normalize_image", _normalized_kernel)


def follow() -> None:
    """Lets what is imported by now make samples that wait."""
    if _places.follow():
        if _kernels.follow():
            lazy_tv_image()
        nearest_masks.kernels.follow()
        flat_samples.places.follow()


def leave() -> None:
    """Puts torchvision's functions back."""
    _places.leave()
    _kernels.leave()
    nearest_masks.kernels.leave()
    flat_samples.places.leave()
