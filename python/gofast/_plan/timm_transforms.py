"""Classes of timm that do what one of torchvision's does to a PIL image. Their names tell, and a trial."""

from __future__ import annotations

import sys
import types
import weakref
from typing import Any

import torch

MODULE = "timm.data.transforms"

# Each class's name, torchvision's, and the function that both call.
_CLASSES = {
    "MaybeToTensor": ("ToTensor", "to_tensor"),
    "MaybePILToTensor": ("PILToTensor", "pil_to_tensor"),
}
_tried: weakref.WeakKeyDictionary[Any, bool] = weakref.WeakKeyDictionary()  # by the method


def relative_of(kind: type) -> str | None:
    """The name of torchvision's class that does the same, or None: also of another version of timm's."""
    if kind.__module__ != MODULE or getattr(sys.modules.get(MODULE), kind.__name__, None) is not kind:
        return None
    name, called = _CLASSES.get(kind.__name__, ("", ""))
    call = getattr(kind, "__call__", None)  # noqa: B004
    functional = getattr(sys.modules.get("torchvision.transforms.functional"), called, None) if name else None
    if functional is None or type(call) is not types.FunctionType:
        return None
    scope, named = call.__globals__, {"isinstance", "torch", "Tensor", "F", called}
    if set(call.__code__.co_names) != named or scope.get("torch") is not torch or "isinstance" in scope:
        return None
    if getattr(scope.get("F"), called, None) is not functional:
        return None
    if call not in _tried:
        _tried[call] = _does_the_same(call, functional)
    return name if _tried[call] else None


def _does_the_same(call: types.FunctionType, functional: Any) -> bool:
    from PIL import Image

    tensor = torch.zeros(3, 2, 2, device="cpu")
    try:
        if call(None, tensor) is not tensor:
            return False
        for mode, data in (("RGB", bytes(range(18))), ("L", bytes(range(6)))):
            picture = Image.frombytes(mode, (3, 2), data)
            made, wanted = call(None, picture), functional(picture)
            if made.dtype != wanted.dtype or not torch.equal(made, wanted):
                return False
    except Exception:
        return False
    return True
