"""Plans that make a sample of every picture of a usual size: then it may be made after the call."""

from __future__ import annotations

from array import array
from typing import Any

Size = tuple[int, int] | None  # height and width; None: of whichever picture it is

# Steps that never fail, and leave the size as it is. Others leave some pictures to torchvision, or it raises.
_SURE = {
    "hflip",
    "vflip",
    "grayscale",
    "random_grayscale",
    "color_jitter",
    "random_solarize",
    "random_erasing",
    "random_posterize",
    "random_autocontrast",
    "random_equalize",
    "random_sharpness",
    "random_rotation",
    "random_affine",
    "random_perspective",
    "trivial_augment",
    "rand_augment",
    "auto_augment",
    "to_float",
    "to_uint8",
    "normalize",
}
_SURE_OF_TENSORS = {"color_jitter", "trivial_augment", "rand_augment", "auto_augment"}
_SIZED = {"resize", "center_crop", "random_resized_crop"}
_LEAST_SIDE, _MOST_SIDE, _MOST_ASPECT = 8, 1 << 13, 16
_MOST_SHORT = 1 << 10  # pixels, where Resize is given the shorter side: the longer is at most 16 times that
_MOST_PADDING = 1 << 11  # pixels a side: the picture stays below canvas.h's GF_CANVAS_MOST_PIXELS
_MOST_SUMMED = (1 << 24) // 255  # pixels: torch's mean of so many is exact
_MOST_DISTORTION = 0.5  # of a perspective: up to it, the corners never lie on one line
_LEAST_SIGMA = 0.01  # of a blur: below it, all weights may be 0


def is_usual(width: int, height: int) -> bool:
    """Whether steps that never fail do not fail for a picture of this size."""
    least, most = sorted((width, height))
    return least >= _LEAST_SIDE and most <= min(_MOST_SIDE, _MOST_ASPECT * least)


def never_fail(steps: list[dict[str, Any]], channels: int) -> bool:
    """Whether a plan's steps make a sample of every usual picture, once its draws are made."""
    try:
        if asks_for_boxes(steps):
            _through(steps[1:], (*steps[0]["size"],), channels)
        else:
            _through(steps, None, channels)
    except _Unsure:
        return False
    return True


def asks_for_boxes(steps: list[dict[str, Any]]) -> bool:
    """Whether they begin with a RandomResizedCrop of a tensor, which torch lays out by the box."""
    return bool(steps) and steps[0]["op"] == "random_resized_crop" and bool(steps[0].get("usual"))


def is_usual_box(steps: list[dict[str, Any]], record: array[int], width: int) -> bool:
    """Whether it lays out that one as most, of a picture of this width: resized_crop.c says the same."""
    box, size = record[2:4].tolist(), steps[0]["size"]
    return box != size and min(box) > 1 and box[1] < width


class _Unsure(Exception):
    pass


def _through(steps: list[dict[str, Any]], size: Size, channels: int) -> Size:
    """The size behind steps, for a picture of that size.

    Raises:
        _Unsure: one of them may fail.
    """
    for step in steps:
        size = _behind(step, size, channels)
    return size


def _behind(step: dict[str, Any], size: Size, channels: int) -> Size:
    op = step["op"]
    if step.get("usual") or str(step.get("filter")).startswith("torch"):
        raise _Unsure  # torch lays out some tensors in an order that is its own
    if op in _SIZED or (op == "random_crop" and _adds_little(step)):
        return _resized(step, size)
    if op == "random_apply":
        return size if _through(step["steps"], size, channels) == size else None
    if op in ("random_choice", "random_order"):
        return _of_members(step, size, channels)
    if op == "pad":
        return _padded(step, size)
    if not _keeps_size(step, size, channels):
        raise _Unsure
    return size


def _keeps_size(step: dict[str, Any], size: Size, channels: int) -> bool:
    """Whether a step surely makes a picture of the same size of one of that size."""
    op = step["op"]
    if op == "gaussian_blur":
        return size is not None and _blurs(step, size)
    if op == "augmix":
        return _has_exact_mean(size, channels)
    if step.get("tensor"):
        return op in _SURE_OF_TENSORS and _has_exact_mean(size, channels)
    return op in _SURE and not step.get("expand") and step.get("distortion", 0) <= _MOST_DISTORTION


def _of_members(step: dict[str, Any], size: Size, channels: int) -> Size:
    """The size behind one of them, or behind all in any order."""
    sizes = {_through(member, size, channels) for member in step["members"]}
    if step["op"] == "random_order" and sizes - {size}:
        raise _Unsure
    return sizes.pop() if len(sizes) == 1 else None


def _padded(step: dict[str, Any], size: Size) -> Size:
    if size is None or max(step["padding"]) > _MOST_PADDING:
        raise _Unsure  # it may become narrow
    left, top, right, bottom = step["padding"]
    made = size[0] + top + bottom, size[1] + left + right
    if max(made) > _MOST_SIDE:
        raise _Unsure
    return made


def _blurs(step: dict[str, Any], size: tuple[int, int]) -> bool:
    narrow = all(2 * side > k for side, k in zip(size, step["kernel"][::-1], strict=True))
    return narrow and min(step["sigma"]) >= _LEAST_SIGMA


def _has_exact_mean(size: Size, channels: int) -> bool:
    return channels == 3 and size is not None and size[0] * size[1] <= _MOST_SUMMED


def _resized(step: dict[str, Any], size: Size) -> Size:
    """The size that a step gives: a whole one, or that of a shorter side."""
    short, *more = step["size"] or (0,)
    if more:
        made = short, *more
    elif size is None and 0 < short <= _MOST_SHORT:
        return None  # such a picture too is narrow enough for the steps behind
    elif size is None or not short or step.get("max_size"):
        raise _Unsure
    else:
        made = tuple(short if side == min(size) else int(short * side / min(size)) for side in size)
    if max(made) > _MOST_SIDE:
        raise _Unsure
    return made


def _adds_little(step: dict[str, Any]) -> bool:
    return not step.get("pad_if_needed") and max(step.get("padding") or (0,)) <= _MOST_PADDING
