"""Native steps of torchvision's presets, what ``weights.transforms()`` returns: several functions each."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from .._core.reason import NotNative
from . import pictures, tensors
from . import values as read
from .state import State, Step, Translation
from .transforms import Family


def _tensor(family: Family, state: State) -> list[Step]:
    """pil_to_tensor and convert_image_dtype."""
    made = tensors.pil_to_tensor(None, family, state)
    return made + tensors.to_dtype(SimpleNamespace(dtype=torch.float32), family, state)


def _only_pil(state: State) -> None:
    if state.kind != "pil":
        raise NotNative("a preset behind what makes a tensor")


def _resize(t: Any, family: Family, state: State) -> list[Step]:
    size = read.listed(t.resize_size, (1, 2), "resize_size")
    asked = SimpleNamespace(size=size, interpolation=t.interpolation, max_size=None, antialias=t.antialias)
    return pictures.resize(asked, family, state)


def object_detection(t: Any, family: Family, state: State) -> list[Step]:
    _only_pil(state)
    made = _tensor(family, state)
    state.note = ""
    return made


def image_classification(t: Any, family: Family, state: State) -> list[Step]:
    _only_pil(state)
    size = read.listed(t.crop_size, (1, 2), "crop_size")
    made = _resize(t, family, state)
    made += pictures.center_crop(SimpleNamespace(size=size * (2 // len(size))), family, state)
    made += _tensor(family, state) + tensors.normalize(t, family, state)
    state.note = ""
    return made


def semantic_segmentation(t: Any, family: Family, state: State) -> list[Step]:
    _only_pil(state)
    if t.resize_size is not None and type(t.resize_size) is not list:
        raise read.unusual("resize_size", t.resize_size)
    made = [] if t.resize_size is None else _resize(t, family, state)
    made += _tensor(family, state) + tensors.normalize(t, family, state)
    state.note = ""
    return made


_RESIZED = ("resize_size", "mean", "std", "interpolation", "antialias")

NATIVE = {
    "ImageClassification": Translation(image_classification, ("crop_size", *_RESIZED)),
    "ObjectDetection": Translation(object_detection),
    "SemanticSegmentation": Translation(semantic_segmentation, _RESIZED),
}
"""By their names in torchvision.transforms._presets."""
