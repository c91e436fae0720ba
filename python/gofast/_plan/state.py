"""What a sample is at some point of a chain of transforms."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from .._core.reason import NotNative
from .transforms import Family

Step = dict[str, Any]
Kind = Literal["pil", "tensor", "tv_image"]
Strides = Literal["chw", "hwc"]


@dataclasses.dataclass
class State:
    """What a sample is at some point of the chain.

    Attributes:
        kind: a PIL image, a plain tensor, or a ``tv_tensors.Image``.
        dtype: its values: uint8, float32, float16 or bfloat16.
        channels: 3, or 1 of a grey picture.
        size: height and width, or None where they differ between samples.
        strides: of a tensor: "chw" contiguous, or "hwc" as PILToTensor leaves it. Where they
            depend on a picture's size in torchvision, as of a crop as wide as the picture, those
            of the other pictures.
        cut: perhaps a view of a larger tensor in torchvision; ours is dense, in the same order.
        loose: torch's order of a tensor's memory depends on the picture's size or on draws: `strides` may be
            wrong.
        shared: in torch its three channels may be one memory; ours are three.
        refuses: of a tensor that torch lays out in another order, the core says so, and Python makes it.
        normalized: by Normalize.
        erased: so many rectangles may have been erased.
        draws: a step so far draws.
        python: a step so far draws from Python's random.
        needs_size: what a step so far draws depends on the file's picture size.
        crops: so many of it are one sample; 0: it is one.
        stacked: they are one tensor [crops, C, H, W]; else a tuple.
        within: in so many containers.
        note: what the last step does, where its fields do not say it.
    """

    kind: Kind = "pil"
    dtype: str = "uint8"
    channels: int = 3
    size: tuple[int, int] | None = None
    strides: Strides = "chw"
    cut: bool = False
    loose: bool = False
    shared: bool = False
    refuses: bool = False
    normalized: bool = False
    erased: int = 0
    crops: int = 0
    stacked: bool = False
    draws: bool = False
    python: bool = False
    needs_size: bool = False
    within: int = 0
    note: str = ""

    def draw(self, of_size: bool = False) -> None:
        """Notes that a step draws, and whether it must know the size that it is given."""
        self.draws = True
        self.needs_size |= of_size and self.size is None

    @property
    def exact(self) -> bool:
        """Whether Python can go on with it: PIL images, or tensors that have one size and strides."""
        a_view = self.dtype == "uint8" and (self.cut or self.shared)
        return self.kind == "pil" or (self.size is not None and not self.loose and not a_view)

    @property
    def is_tuple(self) -> bool:
        """Whether it is several pictures, which nothing native hands over."""
        return self.crops > 0 and not self.stacked

    @property
    def shape(self) -> list[int] | None:
        """The shape of a sample that is a tensor: [C, H, W], or [crops, C, H, W]; None where it differs."""
        if self.size is None:
            return None
        return [*([self.crops] if self.crops else []), self.channels, *self.size]

    def mix(self, strides: Strides) -> None:
        """Notes that torch lays out some samples' tensors so, and leaves others as they are."""
        self.loose |= self.kind != "pil" and self.strides != strides

    def move(self, strides: Strides | None = None, cut: bool = False, known: bool = False) -> Step:
        """Notes that a step moved the pixels, of a tensor perhaps.

        Args:
            strides: of what it makes, where they are others than before.
            cut: it makes a view.
            known: the core can tell of which pictures torch lays out that tensor in another order.

        Returns:
            What the core is told for that.
        """
        tensor = self.kind != "pil"
        tells = known and tensor and self.refuses
        self.strides, self.cut = strides or self.strides, cut and tensor
        self.loose |= tensor and not tells
        return {"usual": True} if tells else {}

    def only_pil(self, what: str) -> None:
        """Raises NotNative of a tensor, whose arithmetic is not Pillow's."""
        if self.kind != "pil":
            raise NotNative(f"{what} a tensor with torch's own arithmetic")

    def only_bytes(self, family: Family, what: str) -> None:
        """Raises NotNative of a tensor, unless it is one of bytes, and v2's to transform."""
        if self.kind != "pil" and (family == "v1" or self.dtype != "uint8" or self.erased):
            self.only_pil(what)


class Translation(NamedTuple):
    """How a class is translated, and the attributes that its instances must have."""

    make: Callable[[Any, Family, State], list[Step]]
    attributes: tuple[str, ...] = ()
    also_in_v2: tuple[str, ...] = ()
    also_in_v1: tuple[str, ...] = ()
