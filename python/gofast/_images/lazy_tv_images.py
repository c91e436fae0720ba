"""torchvision's tv_tensors.Image that waits for its batch, as a lazy sample does: what v2's ToImage makes."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import torch

from .._lazy.patches import Own
from .lazy_samples import LazySample, calculated

_MODULE = "torchvision.transforms.v2.functional._misc"


@functools.cache
def lazy_tv_image() -> type[LazySample]:
    """The class, made when torchvision's is imported."""
    from torchvision import tv_tensors
    from torchvision.tv_tensors import _torch_function_helpers

    image: Any = tv_tensors.Image

    class _AsImage(type(LazySample)):  # type: ignore[misc]
        """Tables by type, as those of v2's kernels, find what they have for tv_tensors.Image."""

        def __eq__(cls, other: object) -> bool:
            return other is cls or other is image

        def __hash__(cls) -> int:
            return hash(image)

    class LazyTVImage(image, LazySample, metaclass=_AsImage):  # type: ignore[misc]
        """Its own class comes first: v2 looks no further than its TVTensor."""

        @classmethod
        def __torch_function__(cls, *given: Any, **named: Any) -> Any:
            return LazySample.__torch_function__.__func__(cls, *given, **named)  # type: ignore[attr-defined]

        @classmethod
        def _as_seen(cls, value: torch.Tensor) -> torch.Tensor:
            seen: torch.Tensor = value.as_subclass(image)
            return seen

        @classmethod
        def wrap(cls, tensor: torch.Tensor, *like: Any, **named: Any) -> Any:
            return image.wrap(tensor, *like, **named)

        @classmethod
        def stacks_plainly(cls) -> bool:
            return not _torch_function_helpers._must_return_subclass()

    LazyTVImage.__name__ = LazyTVImage.__qualname__ = "Image"
    LazyTVImage.__module__ = image.__module__
    made: type[LazySample] = LazyTVImage
    LazySample.kinds[image] = made
    return made


class NormalizeKernels:
    """v2's normalize of tensors and of tv_tensors.Image: of a sample that waits it gives another one.

    Args:
        numbers: what a mean or a standard deviation comes to; None: torchvision says what is wrong.
    """

    def __init__(self, numbers: Callable[[Any], tuple[float, ...] | None]) -> None:
        self._numbers = numbers
        self._own: dict[type, Own] = {}

    def follow(self) -> None:
        """Puts these where torchvision's are, once v2 is imported."""
        kernels = _kernels()
        if kernels:
            lazy_tv_image()
        for kind, own in kernels.items():
            if own.__name__ == "normalize_image" and own.__module__ == _MODULE and kind not in self._own:
                self._own[kind] = own
                kernels[kind] = self._wrapped(own)

    def leave(self) -> None:
        """Puts torchvision's back."""
        kernels = _kernels()
        for kind, own in self._own.items():
            if getattr(kernels.get(kind), "__wrapped__", None) is own:
                kernels[kind] = own
        self._own.clear()

    def _wrapped(self, own: Own) -> Own:
        @functools.wraps(own)
        def normalize(image: Any, mean: Any, std: Any, inplace: bool = False) -> Any:
            made = None
            if isinstance(image, LazySample) and inplace is False:
                by = self._numbers(mean), self._numbers(std)
                made = None if None in by else calculated("normalized", False, image, by)
            return own(image, mean=mean, std=std, inplace=inplace) if made is None else made

        return normalize


def _kernels() -> dict[type, Own]:
    """By type; none where v2 is not imported, or does not say so."""
    home, v2 = sys.modules.get("torchvision.transforms.v2.functional._utils"), sys.modules.get(_MODULE)
    kernels = getattr(home, "_KERNEL_REGISTRY", {}).get(getattr(v2, "normalize", None), {})
    return kernels if isinstance(kernels, dict) else {}
