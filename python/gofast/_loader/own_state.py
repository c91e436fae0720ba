"""Whether this process may call a user's collate function in the place of torch's workers.

torch's workers each have a copy of the function. None sees what the others keep, nor what the caller changes
meanwhile. So a function that is called here keeps nothing, and uses nothing that anybody could change. Its
code and all that it reaches are read; what is not known to be harmless goes to torch's workers.
"""

from __future__ import annotations

import builtins
import copy
import dis
import enum
import functools
import random
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

_LIBRARIES = {"torch", "torchvision", "numpy", "random", "math", "itertools", "functools", "operator"}
_PLAIN = (str, bytes, int, float, complex, bool, type(None), torch.dtype, torch.device, range, enum.Enum)
# The generators of the process, which have a worker's state during a call.
_GENERATORS = (random.random.__self__, np.random.mtrand._rand)  # type: ignore[attr-defined]
_CALLED = "abs all any bool bytes complex dict divmod enumerate filter float frozenset getattr hasattr int"
_CALLED += " isinstance issubclass iter len list map max min next pow print range repr reversed round set"
_CALLED += " slice sorted str sum super tuple type zip"
_BUILTINS = {getattr(builtins, name) for name in _CALLED.split()}
# Names of functions and attributes by which code reaches what lives on.
_REACHING = {"seed", "manual_seed", "setstate", "seterr", "environ", "putenv", "dataset", "default_generator"}
_REACHING |= {"use_deterministic_algorithms", "backends", "chdir", "register_module_forward_hook", "library"}
_WRITES = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_ATTR", "DELETE_ATTR", "IMPORT_STAR")
_MODULE_ATTRIBUTES = frozenset(vars(torch.nn.Module()))
_STATES = ("_parameters", "_buffers", "_forward_hooks", "_forward_pre_hooks")  # of a module
_OF_CLASSES = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__init__"}
_OF_CLASSES |= {"__qualname__", "__firstlineno__", "__static_attributes__", "__annotate_func__"}
_OF_CLASSES |= {"__annotations_cache__"}


class _Doubt(Exception):
    """Something that may live on from call to call; the text says what."""


def kept_by(function: Any) -> str | None:
    """What a function may keep or share, in words, or None if it is nothing."""
    try:
        _Reading().value(function)
    except _Doubt as doubt:
        return str(doubt)
    except Exception as error:  # of the user's attributes and properties
        return f"it cannot be looked into ({type(error).__name__})"
    return None


class _Reading:
    def __init__(self) -> None:
        self._seen: dict[int, Any] = {}

    def value(self, value: Any) -> None:
        """Raises _Doubt unless nobody can change the value, and calling it changes nothing that lives on."""
        if isinstance(value, _PLAIN) or id(value) in self._seen:
            return
        self._seen[id(value)] = value
        if isinstance(value, (tuple, frozenset)):
            for one in value:
                self.value(one)
        elif isinstance(value, types.FunctionType):
            if not _is_library(value):
                self._code(value)
        elif isinstance(value, types.MethodType):
            self.value(value.__func__)
            self.value(value.__self__)
        elif isinstance(value, functools.partial):
            for one in (value.func, *value.args, *value.keywords.values()):
                self.value(one)
        elif not _is_known(value):
            self._object(value)

    def _object(self, value: Any) -> None:
        kind = type(value)
        known = _named(kind).startswith("torchvision.transforms.")
        theirs = kind.__module__ == "builtins" or (_is_library(kind) and not known)
        if isinstance(value, type) or not callable(value) or theirs:
            raise _Doubt(f"it uses {_called(value)}, which it or others may change")
        members = {n: v for n, v in vars(value).items() if n not in _MODULE_ATTRIBUTES}
        if isinstance(value, torch.nn.Module):
            if any(vars(value)[name] for name in _STATES):
                raise _Doubt(f"it uses {kind.__name__}, which has parameters, buffers or hooks")
            members |= vars(value)["_modules"]
        if known:
            for member in _flat(members.get("transforms", ())):
                self.value(member)
            return
        for member in members.values():
            self.value(member)
        for base in kind.__mro__:
            if not _is_library(base) and base is not object:
                self._class(base)

    def _class(self, base: type) -> None:
        for name, member in vars(base).items():
            if name not in _OF_CLASSES:
                self.value(getattr(member, "__func__", member))

    def _code(self, function: types.FunctionType) -> None:
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self.value(default)
        outer = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
        for code in _codes(function.__code__):
            for step in dis.get_instructions(code):
                self._step(function, outer, step.opname, step.argval)

    def _step(self, function: types.FunctionType, outer: dict[str, Any], kind: str, name: Any) -> None:
        if kind in _WRITES or (kind in ("STORE_DEREF", "DELETE_DEREF") and name in outer):
            what = "the attribute " if kind.endswith("ATTR") else ""
            raise _Doubt(f"{function.__name__} assigns to {what}{name}")
        if kind == "IMPORT_NAME" and str(name).partition(".")[0] not in _LIBRARIES:
            raise _Doubt(f"{function.__name__} imports {name}")
        if kind in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM") and _reaches(str(name)):
            raise _Doubt(f"{function.__name__} uses {name}")
        if kind in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_CLOSURE") and name in outer:
            self.value(outer[name].cell_contents)
        if kind in ("LOAD_GLOBAL", "LOAD_NAME"):
            found = function.__globals__.get(name, getattr(builtins, name, None))
            if _reaches(str(name)):
                raise _Doubt(f"{function.__name__} uses {name}")
            self.value(found)


def as_in_worker(function: Any) -> Any:
    """The function as a worker has it that starts now. `kept_by` has nothing to say of it."""
    return _Copying().value(function)


class _Copying:
    def __init__(self) -> None:
        self._made: dict[int, Any] = {}

    def value(self, value: Any) -> Any:
        """What nobody can change any more. Functions and objects are other ones."""
        if isinstance(value, types.FunctionType) and not _is_library(value):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return types.MethodType(self.value(value.__func__), self.value(value.__self__))
        if isinstance(value, functools.partial):
            named = {name: self.value(one) for name, one in value.keywords.items()}
            return functools.partial(self.value(value.func), *map(self.value, value.args), **named)
        if isinstance(value, _PLAIN) or _is_known(value) or isinstance(value, (tuple, frozenset, type)):
            return value
        if isinstance(value, types.FunctionType):
            return value
        if id(value) not in self._made:
            self._made[id(value)] = copy.deepcopy(value)
        return self._made[id(value)]

    def _function(self, old: types.FunctionType) -> types.FunctionType:
        if id(old) in self._made:
            return self._made[id(old)]  # type: ignore[no-any-return]
        names = {name for code in _codes(old.__code__) for name in code.co_names}
        scope = dict(old.__globals__)
        cells = tuple(types.CellType() for _ in old.__closure__ or ())
        new = types.FunctionType(old.__code__, scope, old.__name__, old.__defaults__, cells or None)
        new.__kwdefaults__, new.__qualname__ = old.__kwdefaults__, old.__qualname__
        self._made[id(old)] = new
        for name in names & scope.keys():
            scope[name] = self.value(scope[name])
        for cell, was in zip(cells, old.__closure__ or (), strict=True):
            cell.cell_contents = self.value(was.cell_contents)
        return new


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)


def _flat(members: Any) -> Iterator[Any]:
    yield from members if isinstance(members, (list, tuple, torch.nn.ModuleList)) else (members,)


def _reaches(name: str) -> bool:
    return name in _REACHING or (name.startswith(("set_", "__")) and name != "__init__")


def _is_known(value: Any) -> bool:
    """Whether it is a module, function or class of a library, or a function of Python's, without a state."""
    if isinstance(value, types.ModuleType):
        return sys.modules.get(value.__name__) is value and value.__name__.partition(".")[0] in _LIBRARIES
    if isinstance(value, type):
        return value in _BUILTINS or issubclass(value, BaseException) or _is_library(value)
    if isinstance(value, (types.BuiltinFunctionType, types.BuiltinMethodType)):
        owner = value.__self__
        if isinstance(owner, types.ModuleType):
            return value in _BUILTINS or (owner is not builtins and _is_library(owner))
        if owner is None or isinstance(owner, type):
            return _is_library(value if owner is None else owner)
        return any(owner is one for one in _GENERATORS)
    return isinstance(value, type(np.add))


def _named(value: Any) -> str:
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"


def _is_library(value: Any) -> bool:
    """Whether a function, class or module is one of the libraries', and is found there."""
    if isinstance(value, types.ModuleType):
        return _is_known(value)
    home = sys.modules.get(str(getattr(value, "__module__", None)))
    if home is None or home.__name__.partition(".")[0] not in _LIBRARIES:
        return False
    return not isinstance(value, types.FunctionType) or value.__globals__ is vars(home)


def _called(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else f"a {type(value).__name__}"
