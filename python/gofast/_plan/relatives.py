"""Classes of timm that do what one of torchvision's does to a PIL image. They are known by their code."""

from __future__ import annotations

import functools
import sys
import types

import torch

from . import bytecode

MODULE = "timm.data.transforms"

_IMPORTS = "import torch, torchvision.transforms.functional as F"
_UNLESS_TENSOR = """def __call__(self, pic):
    '''Says what it does.'''
    if isinstance(pic, torch.Tensor):
        return pic
    return F.{0}(pic)"""

# Each class's name, torchvision's, and the function that both call.
_CLASSES = {
    "MaybeToTensor": ("ToTensor", "to_tensor"),
    "MaybePILToTensor": ("PILToTensor", "pil_to_tensor"),
}


def relative_of(kind: type) -> str | None:
    """The name of torchvision's class that does the same, or None: also of another version of timm's."""
    if kind.__module__ != MODULE or getattr(sys.modules.get(MODULE), kind.__name__, None) is not kind:
        return None
    name, called = _CLASSES.get(kind.__name__, ("", ""))
    call = getattr(kind, "__call__", None)  # noqa: B004
    if not name or type(call) is not types.FunctionType:
        return None
    names = bytecode.names(call.__code__, _pattern(called))
    functional = sys.modules.get("torchvision.transforms.functional")
    if names != {part: part for part in _pattern(called).co_names} or functional is None:
        return None
    found = bytecode.found(call, names, "F", called), bytecode.found(call, names, "torch", "Tensor")
    same = found[0] is getattr(functional, called, None) and found[1] is torch.Tensor
    return name if same and bytecode.found(call, names, "isinstance") is isinstance else None


@functools.cache
def _pattern(called: str) -> types.CodeType:
    return bytecode.compiled(_IMPORTS, _UNLESS_TENSOR.format(called))
