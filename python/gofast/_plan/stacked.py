"""Knows a function that stacks what one transform makes of each crop: the usual Lambda behind FiveCrop.

    lambda crops: torch.stack([transforms.ToTensor()(crop) for crop in crops])

Such a function is read, not tried: its bytecode must be that of a pattern, compiled by the same interpreter,
and every name in it must lead through modules to the genuine object. A look at what it gives for some crops
would prove nothing for others.
"""

from __future__ import annotations

import functools
import sys
import types
from typing import Any

import torch

from . import bytecode
from .transforms import identify

_stack = torch.stack  # as it was before anybody could replace it

_LAMBDA = "lambda crops: {}([{}(crop) for crop in crops])"
_STACKS = ("stack", "s0.stack")
_CALLED = ("t0", "t0.t1", "t0.t1.t2", "t0.t1.t2.t3")
# What a name of the same file's imports has is called by other bytecode than what any other object has.
_IMPORTS = ("", "import s0", "import t0", "import s0, t0")

# Functions that do what an instance of the class does.
_FUNCTIONS = {"to_tensor": "ToTensor", "pil_to_tensor": "PILToTensor"}
_CONVERSIONS = ("ToTensor", "PILToTensor")


def transform_of_each(function: object) -> object | None:
    """The transform whose results this function stacks, for each crop that it is given; else None."""
    if type(function) is not types.FunctionType or function.__defaults__ or function.__kwdefaults__:
        return None
    for pattern, made in _patterns():
        names = bytecode.names(function.__code__, pattern)
        if names is None:
            continue
        stack = bytecode.found(function, names, "s0", "stack")
        each = bytecode.found(function, names, "t0", "t1", "t2", "t3")
        return _transform(each, made) if stack is _stack else None
    return None


@functools.cache
def _patterns() -> list[tuple[types.CodeType, bool]]:
    """The code of each way to write it, and whether the transform is made there."""
    return [
        (
            bytecode.compiled(
                imports, f"lambda crops: {stack}([{called}{'()' * made}(crop) for crop in crops])"
            ),
            made,
        )
        for imports in _IMPORTS
        for stack in _STACKS
        for called in _CALLED
        for made in (True, False)
    ]


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
