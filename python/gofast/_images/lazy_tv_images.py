"""torchvision's tv_tensors.Image that waits for its batch, as a lazy sample does: what v2's ToImage makes."""

from __future__ import annotations

import functools
from typing import Any

import torch

from .lazy_samples import LazySample


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
