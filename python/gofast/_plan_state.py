"""What a sample is at some point of a chain of transforms."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from ._plan_values import NotNative

Step = dict[str, Any]
Kind = Literal["pil", "tensor", "tv_image"]


@dataclasses.dataclass
class State:
    """What a sample is at some point of the chain.

    Attributes:
        kind: a PIL image, a plain tensor, or a ``tv_tensors.Image``.
        dtype: its values: uint8, float32, float16 or bfloat16.
        channels: 3, or 1 of a grey picture.
        size: height and width, or None where they differ between samples.
        strides: of a tensor: "chw" contiguous, or "hwc" as PILToTensor leaves it.
        normalized: by Normalize.
        erased: so many rectangles may have been erased.
        draws: a step so far draws.
        needs_size: what a step so far draws depends on the file's picture size.
        within: in so many RandomApply.
        note: what the last step does, where its fields do not say it.
    """

    kind: Kind = "pil"
    dtype: str = "uint8"
    channels: int = 3
    size: tuple[int, int] | None = None
    strides: Literal["chw", "hwc"] = "chw"
    normalized: bool = False
    erased: int = 0
    draws: bool = False
    needs_size: bool = False
    within: int = 0
    note: str = ""

    def draw(self, of_size: bool = False) -> None:
        """Notes that a step draws, and whether it must know the size that it is given."""
        self.draws = True
        self.needs_size |= of_size and self.size is None

    def only_pil(self, what: str) -> None:
        """Raises NotNative of a tensor, whose arithmetic is not Pillow's."""
        if self.kind != "pil":
            raise NotNative(f"{what} a tensor with torch's own arithmetic")
