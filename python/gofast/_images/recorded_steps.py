"""A plan's first steps as operations of a chain: what was drawn for a lazy image is only recorded."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from typing import NamedTuple

from PIL import Image

from .._lazy import chain as chains
from .._lazy.pillow_arguments import too_large, unusual
from .._loader.batch_source import Parameters
from .._plan.state import Step
from .sample_parameters import read_record

_JITTERS = {
    "brightness": chains.BRIGHTNESS,
    "contrast": chains.CONTRAST,
    "saturation": chains.COLOR,
    "hue": chains.HUE,
}
_HAPPENING = {
    "hflip": chains.turn(Image.Transpose.FLIP_LEFT_RIGHT),
    "vflip": chains.turn(Image.Transpose.FLIP_TOP_BOTTOM),
    "random_grayscale": chains.GREY,
}


class RecordedSteps(NamedTuple):
    """What steps come to for a picture.

    Attributes:
        chain: the operations.
        size: width and height behind them.
        lost: whether Pillow's picture has no info any more.
    """

    chain: bytes
    size: tuple[int, int]
    lost: bool


def cuts(steps: Sequence[Step]) -> bool:
    """Whether they begin with a RandomResizedCrop of PIL images."""
    return bool(steps) and steps[0]["op"] == "random_resized_crop" and not steps[0].get("usual")


def can_be_recorded(steps: list[Step]) -> bool:
    """Whether they are that, and others that are operations of a chain."""
    return cuts(steps) and all(map(is_operation, steps[1:]))


def is_operation(step: Step) -> bool:
    """Whether what it draws comes to operations of a chain, for a PIL image of any size."""
    if step["op"] == "random_apply":
        return all(map(is_operation, step["steps"]))
    return not step.get("tensor") and (step["op"] == "color_jitter" or step["op"] in _HAPPENING)


def recorded(steps: list[Step], record: array[int], size: tuple[int, int]) -> RecordedSteps | None:
    """What was drawn for a picture of that size; None where Pillow makes something else of it."""
    drawn: Parameters = []
    read_record(steps, record.tobytes(), 0, drawn)
    operations, lost = list[bytes](), False
    if cuts(steps):
        _, box = drawn.pop(0)
        left, top, width, height = box["left"], box["top"], box["width"], box["height"]
        high, wide = steps[0]["size"]
        if unusual(width, height) or too_large(wide, high):
            return None
        if (width, height) != size:
            operations.append(chains.crop(left, top, width, height))
        if (width, height) != (wide, high):
            filter = Image.Resampling[steps[0]["filter"].upper()]
            operations.append(chains.resize(wide, high, filter))
        size = wide, high
    for name, values in drawn:
        if name == "color_jitter":
            for which in values["order"]:
                if which >= 0:
                    jitter = [*_JITTERS][which]
                    operations.append(chains.enhance(_JITTERS[jitter], values[jitter]))
                    lost |= jitter != "saturation"
        elif name in _HAPPENING and values["happens"]:
            operations.append(_HAPPENING[name])
            lost |= name == "random_grayscale"
    return RecordedSteps(b"".join(operations), size, lost)
