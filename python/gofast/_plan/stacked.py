"""Knows a function that stacks what one transform makes of each crop: the usual Lambda behind FiveCrop.

    lambda crops: torch.stack([transforms.ToTensor()(crop) for crop in crops])

All that it names must lead through modules to torch.stack and to the transform. It is then tried with
stand-ins for these two, on crops that can do nothing: it must hand each of them to the transform, and stack
the results. It has no numbers and no other names, so that it cannot do another thing with other crops.
"""

from __future__ import annotations

import sys
import types
from collections.abc import Sequence
from typing import Any

import torch

from .transforms import identify

_stack = torch.stack  # as it was before anybody could replace it

# Functions that do what an instance of the class does.
_FUNCTIONS = {"to_tensor": "ToTensor", "pil_to_tensor": "PILToTensor"}
_CONVERSIONS = ("ToTensor", "PILToTensor")
_MOST = 16  # crops in the trial; TenCrop makes 10


def transform_of_each(function: object) -> object | None:
    """The transform whose results this function stacks, for each crop that it is given; else None."""
    if type(function) is not types.FunctionType or function.__defaults__ or function.__kwdefaults__:
        return None
    names = _names(function.__code__)
    for at in range(1, len(names)):
        stack, each = names[:at], names[at:]
        if stack[0] != each[0] and _found(function, stack) is _stack:
            found = _found(function, each)
            made = isinstance(found, type)
            return _transform(found, made) if _stacks_each(function, stack, each, made) else None
    return None


def leads_to(function: types.FunctionType) -> tuple[object, ...]:
    """What such a function does depends on: its code, and what each path of its names gives."""
    names = _names(function.__code__)
    paths = [path for at in range(1, len(names)) for path in (names[:at], names[at:])]
    return (
        function.__code__,
        function.__defaults__,
        function.__kwdefaults__,
        *(_found(function, path) for path in paths),
    )


def _names(code: types.CodeType) -> list[str]:
    """All that a function names, in order; empty where it has numbers, or variables of another function."""
    names, plain = list(code.co_names), not code.co_freevars
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner = _names(constant)
            names, plain = names + inner, plain and bool(inner)
        elif constant is not None and not isinstance(constant, str):
            plain = False
    return names if plain else []


def _found(function: types.FunctionType, path: Sequence[str]) -> object:
    """What a path of names leads to: a global, and from there on what modules have."""
    value = function.__globals__.get(path[0])
    for name in path[1:]:
        if type(value) is not types.ModuleType:
            return None
        value = getattr(value, name, None)
    return value


class _Crop:
    """Stands for a crop, and for what is made of it."""

    def __init__(self, of: object = None) -> None:
        self.of = of

    def __bool__(self) -> bool:
        raise TypeError


def _stacks_each(function: types.FunctionType, stack: list[str], each: list[str], made: bool) -> bool:
    crops = tuple(_Crop() for _ in range(_MOST))
    stacked: list[list[_Crop]] = []
    scope = {"__builtins__": {}} | _leading(stack, stacked.append)
    scope |= _leading(each, (lambda: _Crop) if made else _Crop)
    try:
        types.FunctionType(function.__code__, scope)(crops)
    except Exception:
        return False
    results = stacked[0] if len(stacked) == 1 and type(stacked[0]) is list else []
    return len(results) == _MOST and all(
        type(result) is _Crop and result.of is crop for result, crop in zip(results, crops, strict=True)
    )


def _leading(path: list[str], value: Any) -> dict[str, Any]:
    for name in reversed(path[1:]):
        value = types.SimpleNamespace(**{name: value})
    return {path[0]: value}


def _transform(each: Any, made: bool) -> object | None:
    if made:
        known = isinstance(each, type) and each.__name__ in _CONVERSIONS
        instance = each() if known and each.__module__ == "torchvision.transforms.transforms" else None
        return instance if identify(instance) is not None else None
    functional = sys.modules.get("torchvision.transforms.functional")
    name = _FUNCTIONS.get(getattr(each, "__name__", ""))
    if name is not None and each is getattr(functional, each.__name__, None):
        return getattr(sys.modules["torchvision.transforms"], name)()  # type: ignore[no-any-return]
    # An object that is called: a transform. Functions may do anything.
    return None if isinstance(each, (types.FunctionType, types.BuiltinFunctionType, type)) else each
