"""Knows a function that stacks what one transform makes of each crop: the usual Lambda behind FiveCrop.

    lambda crops: torch.stack([transforms.ToTensor()(crop) for crop in crops])

Such a function is read, not tried: its bytecode must be that of a pattern, compiled by the same interpreter,
and every name in it must lead through modules to the genuine object. A look at what it gives for some crops
would prove nothing for others.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Mapping
from typing import Any

import torch

from .transforms import identify

_stack = torch.stack  # as it was before anybody could replace it

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
        names = _names(function.__code__, pattern)
        if names is None:
            continue
        stack = _found(function, names, "s0", "stack")
        each = _found(function, names, "t0", "t1", "t2", "t3")
        return _transform(each, made) if stack is _stack else None
    return None


@functools.cache
def _patterns() -> list[tuple[types.CodeType, bool]]:
    """The code of each way to write it, and whether the transform is made there."""
    return [
        (_compiled(imports, f"lambda crops: {stack}([{called}{'()' * made}(crop) for crop in crops])"), made)
        for imports in _IMPORTS
        for stack in _STACKS
        for called in _CALLED
        for made in (True, False)
    ]


def _compiled(imports: str, source: str) -> types.CodeType:
    module = compile(f"{imports}\n{source}", "", "exec", dont_inherit=True)
    return next(const for const in module.co_consts if isinstance(const, types.CodeType))


def _names(code: types.CodeType, pattern: types.CodeType) -> dict[str, str] | None:
    """What stands for each name of the pattern, where the code does the same; else None."""
    same = ("co_code", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals")
    if any(getattr(code, name) != getattr(pattern, name) for name in same):
        return None
    if code.co_freevars or code.co_cellvars or len(code.co_names) != len(pattern.co_names):
        return None
    if (code.co_flags ^ pattern.co_flags) & ~_FUTURE or len(code.co_consts) != len(pattern.co_consts):
        return None
    names = dict(zip(pattern.co_names, code.co_names, strict=True))
    for ours, theirs in zip(pattern.co_consts, code.co_consts, strict=True):
        if not isinstance(ours, types.CodeType):
            continue  # None, a docstring, and in Python 3.10 the name of the comprehension
        inner = _names(theirs, ours) if isinstance(theirs, types.CodeType) else None
        if inner is None:
            return None
        names |= inner
    return names


# Flags of `from __future__ import ...`, and that of a function within a function: nothing here hangs on them.
_FUTURE = 0x1FF0010


def _found(function: types.FunctionType, names: Mapping[str, str], *pattern: str) -> object:
    """What the names lead to: a global, and from there on what modules have; None where it is neither."""
    path = [names[name] for name in pattern if name in names]
    scope = function.__globals__
    found = scope.get(path[0], vars(builtins).get(path[0]))
    for name in path[1:]:
        if type(found) is not types.ModuleType:
            return None
        found = getattr(found, name, None)
    return found


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
