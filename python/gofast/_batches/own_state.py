"""Whether a user's function may keep something from call to call.

torch's workers each have a copy of it, and none of them sees what the others keep. A function that keeps
nothing gives the same wherever it is called, as long as the process's generators have the right states. This
is a reading of its code and of what it reaches, in doubt for "it may".
"""

from __future__ import annotations

import dis
import functools
import random
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

_MOST = 3000  # values to look at
_LIBRARIES = {"torch", "torchvision", "numpy", "PIL", "gofast"} | set(sys.stdlib_module_names)
_LIBRARIES -= {"__main__"}
_GENERATORS = (
    torch.Generator,
    np.random.Generator,
    np.random.RandomState,
    np.random.BitGenerator,
    random.Random,
)
# Those of the process, whose states are a worker's during a call.
_PROCESS = (torch.default_generator, random.random.__self__, np.random.mtrand._rand)  # type: ignore[attr-defined]
_PLAIN = (str, bytes, int, float, complex, bool, type(None), torch.Tensor, np.ndarray)
_READABLE = (types.FunctionType, types.MethodType, functools.partial, type)
_CONTAINERS = (list, dict, set, bytearray)
_CHANGES = {"append", "appendleft", "add", "update", "pop", "popleft", "popitem", "extend", "setdefault"}
_CHANGES |= {"insert", "remove", "discard", "clear", "sort", "reverse", "rotate"}
_PROCESS_WIDE = {"manual_seed", "set_num_threads", "set_default_dtype", "chdir"}
_MAKING = {"__init__", "__post_init__", "__new__", "__setstate__"}


def kept_by(function: Any) -> str | None:
    """What a function may keep from call to call, in words, or None if it keeps nothing."""
    return _Reading().read(function)


class _Reading:
    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}

    def read(self, start: Any) -> str | None:
        waiting = [start]
        while waiting:
            value = waiting.pop()
            if isinstance(value, _PLAIN) or id(value) in self._seen:
                continue
            self._seen[id(value)] = value
            if len(self._seen) > _MOST:
                return "it reaches more than can be looked through"
            found = self._said(value)
            if found is not None:
                return found
            waiting.extend(self._reached(value))
        return None

    def _said(self, value: Any) -> str | None:
        """What this very value shows."""
        name = getattr(value, "__name__", type(value).__name__)
        if isinstance(value, _GENERATORS):
            own = any(value is one for one in _PROCESS)
            return None if own else f"it has a generator of its own ({name})"
        if hasattr(type(value), "__next__"):
            return f"it has an iterator ({name})"
        if callable(value) and not isinstance(value, _READABLE) and not _is_library(type(value)):
            call: Any = type(value).__call__
            return None if isinstance(call, types.FunctionType) else f"{name} cannot be looked into"
        if isinstance(value, types.FunctionType) and not _is_library(value):
            return _written(value.__code__, value, attributes=value.__name__ not in _MAKING)
        return None

    def _reached(self, value: Any) -> Iterator[Any]:
        """What its code may use."""
        if isinstance(value, types.FunctionType):
            if not _is_library(value):
                yield from _used(value)
        elif isinstance(value, types.MethodType):
            yield from (value.__func__, value.__self__)
        elif isinstance(value, types.BuiltinMethodType):
            yield value.__self__
        elif isinstance(value, functools.partial):
            yield from (value.func, *value.args, *value.keywords.values())
        elif isinstance(value, dict):
            yield from value.keys()
            yield from value.values()
        elif isinstance(value, (list, tuple, set, frozenset)):
            yield from value
        elif isinstance(value, type):
            if not _is_library(value):
                for kind in value.__mro__:
                    if not _is_library(kind):
                        yield from (_plain(member) for member in vars(kind).values())
        elif not isinstance(value, types.ModuleType):
            yield type(value)
            yield from getattr(value, "__dict__", {}).values()
            for kind in type(value).__mro__:
                for slot in vars(kind).get("__slots__", ()):
                    yield getattr(value, slot, None)


def _is_library(value: Any) -> bool:
    return str(getattr(value, "__module__", None) or "builtins").partition(".")[0] in _LIBRARIES


def _plain(member: Any) -> Any:
    """The function of a method, property or the like."""
    if isinstance(member, property):
        return (member.fget, member.fset)
    return getattr(member, "__func__", member) if isinstance(member, (staticmethod, classmethod)) else member


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _free(function: types.FunctionType) -> dict[str, Any]:
    """What a function has from outside: the variables around it, and those of its module."""
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    found = {name: function.__globals__[name] for name in names if name in function.__globals__}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue  # empty as yet
    return found


def _used(function: types.FunctionType) -> Iterator[Any]:
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    for value in _free(function).values():
        if isinstance(value, types.ModuleType):
            if value.__name__.partition(".")[0] not in _LIBRARIES:
                yield from (vars(value)[name] for name in names if name in vars(value))
        else:
            yield value
    yield from function.__defaults__ or ()
    yield from (function.__kwdefaults__ or {}).values()


def _written(whole: types.CodeType, function: types.FunctionType, attributes: bool) -> str | None:
    """What its code may write to that lives on, in words."""
    name = function.__name__
    changes = False
    for code in _codes(whole):
        for step in dis.get_instructions(code):
            kind, argument = step.opname, step.argval
            if kind in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                return f"{name} assigns to {argument}"
            if kind == "STORE_DEREF" and argument in whole.co_freevars:
                return f"{name} assigns to {argument}"
            if kind in ("STORE_ATTR", "DELETE_ATTR") and attributes:
                return f"{name} assigns to the attribute {argument}"
            changes |= kind in ("STORE_SUBSCR", "DELETE_SUBSCR")
        if named := _PROCESS_WIDE.intersection(code.co_names):
            return f"{name} calls {min(named)}"
        changes |= bool(_CHANGES.intersection(code.co_names))
    if changes:
        for outer, value in _free(function).items():
            if isinstance(value, _CONTAINERS):
                return f"{name} may change {outer}"
        if any(isinstance(value, _CONTAINERS) for value in function.__defaults__ or ()):
            return f"{name} may change a default"
    return None
