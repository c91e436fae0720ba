"""Transforms that are called one after another with a lazy image: torchvision's neighbours draw at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from .._lazy.lazy_image import LazyImage
from .._plan.compile import compile_chain
from .._plan.state import State, Step
from . import picture_draws
from .picture_programs import RecordingProgram
from .plan_stamp import PlanStamp
from .recorded_steps import is_operation


class RecordedPart:
    """Neighbours of torchvision's whose draws are one call, and whose operations are recorded.

    Args:
        transforms: what is between may change them, and they run in Python then.
    """

    def __init__(self, transforms: list[Any]) -> None:
        self._transforms, self._stamp = transforms, PlanStamp(transforms)
        self._program = RecordingProgram(compile_chain(transforms, State(), True, True))

    def __call__(self, image: Any) -> Any:
        if type(image) is LazyImage and image.mode == "RGB" and self._stamp.holds():
            making = image._look()
            made = None if making is None else self._program.picture(image, making)
            if made is not None:
                return made
        for transform in self._transforms:
            image = transform(image)
        return image


def in_parts(transforms: Sequence[Any]) -> list[Callable[[Any], Any]]:
    """The same transforms. Some became such parts."""
    parts, left, drawn = list[Callable[[Any], Any]](), [*transforms], picture_draws.rounding() is not None
    while left:
        lines = compile_chain(left, State(), True, drawn).report
        here = [*itertools.takewhile(lambda line: line.native and all(map(is_operation, line.steps)), lines)]
        count = len(here)
        if any(_takes_long(step) for line in here for step in line.steps):
            parts.append(RecordedPart(left[:count]))
        else:
            count = max(count, 1)
            parts += left[:count]
        del left[:count]
    return parts


def _takes_long(step: Step) -> bool:
    """Whether Python takes longer for it than a call for all of its neighbours."""
    return step["op"] == "color_jitter" or (
        step["op"] == "random_apply" and any(map(_takes_long, step["steps"]))
    )
