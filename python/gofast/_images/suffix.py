"""The end of a transform that begins in Python: from its conversion to a tensor on, it runs natively."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

from PIL import Image

from .._core.codecs import SLACK
from .._core.reason import Reason, timed
from .._lazy.array_images import LazyArrayImage, untouched
from .._lazy.lazy_image import LazyImage
from .._lazy.pillow_arguments import too_large
from .._plan.compile import Plan, compile_chain
from .._plan.state import State
from .._plan.transforms import converts, identify
from . import picture_draws
from .lazy_program import LazyProgram
from .normalizing import Normalizing
from .plan_stamp import PlanStamp
from .recorded_parts import in_parts

_MOST_SIZES = 8  # of pictures; a transform that is given more of them makes tensors in Python


def _faster(transform: Any) -> Any:
    known = identify(transform)
    return Normalizing(transform) if known is not None and known.name == "Normalize" else transform


def makes_tensors(plan: Plan) -> bool:
    """Whether a plan gives tensors of one size, as a LazyProgram lays them out."""
    if plan.hands_over == "pil" or plan.shape is None:
        return False
    return len(plan.shape) == 3 or (plan.strides == "chw" and plan.hands_over == "tensor")


class SizedPrograms:
    """What transforms that keep a picture's size make of it, as a tensor: a program for each size.

    Args:
        transforms: as `gofast._plan.transforms.leaves` gives them.
    """

    def __init__(self, transforms: list[Any], channels: int = 3) -> None:
        self._transforms, self._channels = transforms, channels
        self._made: dict[tuple[int, int], tuple[LazyProgram, Plan] | None] = {}

    def program(self, size: tuple[int, int]) -> tuple[LazyProgram, Plan] | None:
        """That, and its plan; None where Python makes it, or for one size too many."""
        if size not in self._made:
            if len(self._made) == _MOST_SIZES:
                return None
            self._made[size] = self._compiled(size)
        return self._made[size]

    def _compiled(self, size: tuple[int, int]) -> tuple[LazyProgram, Plan] | None:
        width, height = size
        if too_large(width, height):
            return None
        start = State(size=(height, width), refuses=True, channels=self._channels)
        plan = compile_chain(self._transforms, start, handed=True, drawn=picture_draws.rounding() is not None)
        if plan.shape is None or not makes_tensors(plan) or too_large(plan.shape[-1], plan.shape[-2]):
            return None
        whole = {"op": "center_crop", "size": [height, width]}  # which says the size
        return LazyProgram(dataclasses.replace(plan, steps=[whole, *plan.steps])), plan


class Suffix:
    """Transforms that are called one after another, the first of them in Python.

    Where one converts a PIL image to a tensor, it and what is native behind it is one call. Normalize then
    costs nothing, and of a lazy image no PIL image is ever made.

    Args:
        transforms: as `gofast._plan.transforms.leaves` gives them.
        why: the first of them is left to Python.
    """

    def __init__(self, transforms: Iterable[Any], why: Reason) -> None:
        chain = list(transforms)
        at = next((i for i, transform in enumerate(chain) if converts(transform)), len(chain))
        self._before, self._end = [_faster(part) for part in in_parts(chain[:at])], chain[at:]
        self._why = why
        self._stamp = PlanStamp(self._end)
        self._made = SizedPrograms(self._end)

    def __call__(self, picture: Any) -> Any:
        with timed(self._why):
            for transform in self._before:
                picture = transform(picture)
        made = self._natively(picture) if self._end else None
        made, rest, why = (picture, self._end, self._why) if made is None else made
        with timed(why):
            for transform in rest:
                made = transform(made)
        return made

    def _natively(self, picture: Any) -> tuple[Any, list[Any], Reason] | None:
        """What the end's first transforms make, the others and why; None where Python must do it."""
        if type(picture) not in (LazyImage, LazyArrayImage, Image.Image) or picture.mode != "RGB":
            return None
        if not self._stamp.holds():  # perhaps by one of the first transforms
            self._stamp = PlanStamp(self._end)
            self._made = SizedPrograms(self._end)
        size = picture.size
        made = self._made.program(size)
        if made is None:
            return None
        program, plan = made
        lazy = picture._look() if type(picture) is LazyImage else untouched(picture)
        if lazy is None:
            sample = program.sample(size, picture.tobytes("raw", "RGBX") + SLACK, size, b"")
        else:
            sample = program.later(size, lazy)
        return None if sample is None else (sample, plan.rest, plan.reason)
