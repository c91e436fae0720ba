"""A user's function as each of torch's workers has it: a copy of its own, as a fork makes it.

A function is made again around copies of the globals, the closure and the defaults that it uses; objects are
copied with all that they hold. So each copy may keep what it likes from call to call, and sees nothing of
what the caller changes meanwhile. Classes stay shared, with the code of their methods and with the members of
enums. Such code may use nothing but libraries and constants, and must assign to no class and no global; an
enum must have no code of its own. What cannot be copied (files, locks, iterators), is large, or acts on the
whole process runs in torch's workers.

This is the one place in gofast that reads bytecode: only there is an import, a global and an attribute of the
same name told apart, and a name that is read from one that is assigned to. `used_by` makes sure that this
Python's bytecode says so; if not, every function runs in torch's workers.
"""

from __future__ import annotations

import builtins
import dataclasses
import dis
import enum
import functools
import io
import pickle
import random
import sys
import types
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from .._core.reason import NotNative
from .._core.signals import by_handler

_MOST_BYTES = 8 << 20  # of a copy: to make it takes 14 to 27 ms for each worker and epoch; a fork some 20 ms
_LIBRARIES = {"torch", "torchvision", "numpy", "random", "math", "itertools", "functools", "operator"}
_LIBRARIES |= {"collections", "copy", "dataclasses", "enum", "typing", "re"}
_SHARED = (type, types.ModuleType, types.CodeType, np.ufunc, torch.dtype, torch.device, enum.Enum)
_CONSTANT: set[type] = {str, bytes, int, float, complex, bool, type(None), range}  # a subclass has code
_CONSTANT |= {types.CodeType, np.ufunc, torch.dtype, torch.device, types.GetSetDescriptorType}
_CONSTANT |= {types.MemberDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType}
_CONSTANT |= {type(getattr(dataclasses, "_HAS_DEFAULT_FACTORY", None))}  # an argument of their __init__
# The generators of the process, which have a worker's state during a call.
_GENERATORS = (random.random.__self__, np.random.mtrand._rand, torch.default_generator)  # type: ignore[attr-defined]
# What acts on the whole process: builtin functions, and names of functions and attributes.
_ACTING = {"open", "exec", "eval", "compile", "globals", "vars", "setattr", "delattr", "input", "breakpoint"}
_ACTING |= {"seed", "manual_seed", "setstate", "seterr", "environ", "putenv", "dataset", "default_generator"}
_ACTING |= {"use_deterministic_algorithms", "backends", "chdir", "register_module_forward_hook", "library"}
_HARMLESS = {"__init__", "__name__", "__qualname__", "__class__"}
# By these a class says how it is copied, or keeps what it makes.
_OWN_WAYS = {"__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__"}
_OWN_WAYS |= {"__del__"}
_UNSEEN = {"__annotate_func__", "_abc_impl"}  # Python's own
_PER_CLASS = "it assigns to an attribute, perhaps of a class"


class WorkerCopies:
    """Makes the copies of a function, all of the moment when this was made.

    Raises:
        NotNative: they would not be as torch's workers have them.
    """

    def __init__(self, function: Any) -> None:
        room = _Room()
        pickler = _Pickler(room)
        try:
            pickler.dump(function)
            self._bytes, self._shared = room.getvalue(), pickler.shared
            self._first = [self.make()]  # what cannot be loaded is not copied either
        except NotNative:
            raise
        except Exception as error:  # of pickle, and of the user's attributes
            if by_handler(error):
                raise
            raise NotNative(f"it cannot be copied ({type(error).__name__}: {error})"[:200]) from None
        if pickler.classes and pickler.assigns:
            raise NotNative(_PER_CLASS)

    def make(self) -> Any:
        """One of them."""
        return loaded(self._bytes, self._shared)

    def take(self, count: int) -> list[Any]:
        """So many, of which one was made already. Call it once."""
        return [*self._first, *(self.make() for _ in range(count - 1))]


def loaded(data: bytes, shared: list[Any]) -> Any:
    """What was pickled around the objects that are shared: their places are the persistent ids."""
    unpickler = pickle.Unpickler(io.BytesIO(data))
    unpickler.persistent_load = shared.__getitem__  # type: ignore[method-assign]
    return unpickler.load()


class _Room(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > _MOST_BYTES:
            raise NotNative(f"it holds more than {_MOST_BYTES >> 20} MiB")
        return super().write(data)


class _Pickler(pickle.Pickler):
    """Copies within one process: what is shared is handed over as it is."""

    def __init__(self, file: io.BytesIO) -> None:
        super().__init__(file, 5)
        self.shared: list[Any] = []
        self._scopes: dict[int, dict[str, Any]] = {}  # of a copy's functions, by that of the module
        self._checked: dict[int, Any] = {}
        self._instance_of: type | None = None  # the class of the object that is being copied
        self._memory: set[int] = set()  # addresses of tensors and arrays
        self.classes = self.assigns = False  # whether classes are values, and code assigns to attributes

    def persistent_id(self, value: Any) -> int | None:
        if not any(value is own for own in _OURS):
            if not isinstance(value, _SHARED) and not _is_known(value):
                return None
            self._check(value)
            self.classes |= _is_users_class(value) and value is not self._instance_of
            self._instance_of = None
        self.shared.append(value)
        return len(self.shared) - 1

    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if isinstance(value, types.MethodType):
            return types.MethodType, (value.__func__, value.__self__)
        if isinstance(value, types.CellType):
            return types.CellType, (), value.cell_contents, None, None, _fill
        tensor: Any = value if isinstance(value, torch.Tensor) else None
        if tensor is not None and (tensor.device.type != "cpu" or tensor.is_shared()):
            raise NotNative("it uses a tensor that processes share")
        if isinstance(value, (Iterator, np.memmap, functools._lru_cache_wrapper)) or (
            isinstance(value, types.BuiltinFunctionType) and isinstance(value.__self__, types.ModuleType)
        ):
            raise NotNative(f"it uses {_called(value)}, which cannot be copied")
        self._alone(value)
        self._check(type(value))
        self._instance_of = type(value)
        return NotImplemented

    def _alone(self, value: Any) -> None:
        """Refuses memory that two tensors or arrays share: their copies would not."""
        if isinstance(value, torch.nn.Parameter):
            return  # it is copied with its data, a tensor of the same memory
        root = 0
        if isinstance(value, torch.Tensor) and value.layout is torch.strided:
            root = value.untyped_storage().data_ptr()
        while isinstance(value, np.ndarray):
            value, root = value.base, value.__array_interface__["data"][0]
        if root and root in self._memory:
            raise NotNative("it uses tensors or arrays that share memory")
        self._memory.add(root)

    def _function(self, old: types.FunctionType) -> Any:
        used = self._looked_at(old, own=True)
        scope = self._scopes.setdefault(id(old.__globals__), {})
        named = {name: old.__globals__[name] for name in used["globals"] if name in old.__globals__}
        named["__name__"] = old.__globals__.get("__name__")
        state = (named, old.__defaults__, old.__kwdefaults__, old.__qualname__, vars(old))
        made = (old.__code__, scope, old.__name__, old.__closure__ or ())
        return _new, made, state, None, None, _finish

    def _looked_at(self, function: types.FunctionType, own: bool) -> dict[str, set[str]]:
        """What a function uses. Refuses names that act on the whole process.

        Args:
            own: the code runs in a copy's own scope; else workers would share what it assigns to.
        """
        name, used = function.__name__, used_by(function.__code__)
        self.assigns |= bool(used["assigned"])
        foreign = [one for one in sorted(used["imports"]) if one.partition(".")[0] not in _LIBRARIES]
        if foreign:
            raise NotNative(f"{name} imports {foreign[0]}")
        names = used["globals"] | used["attributes"]
        for one in sorted(names):
            if one in _ACTING or (one.startswith(("set_", "__")) and one not in _HARMLESS):
                raise NotNative(f"{name} uses {one}")
        if used["assigned"] and names & {"type", "__class__"}:
            raise NotNative(_PER_CLASS)
        if used["written"] and not own:
            raise NotNative(f"{name} assigns to {min(used['written'])}")
        return used

    def _check(self, value: Any) -> None:
        """Refuses what is shared but may be changed."""
        if _is_constant(value) or id(value) in self._checked:
            return
        self._checked[id(value)] = value
        if isinstance(value, enum.Enum):
            self._check(type(value))
            self._check(tuple(vars(value).values()))
        elif isinstance(value, type):
            for base in value.__mro__:
                if not _is_known(base):
                    (self._enum if issubclass(value, enum.Enum) else self._class)(base)
        elif isinstance(value, types.ModuleType):
            raise NotNative(f"it uses the module {value.__name__}, which others may change")
        elif isinstance(value, types.FunctionType):
            self._shared_code(value)
        elif isinstance(value, classmethod) and used_by(value.__func__.__code__)["assigned"]:
            raise NotNative(_PER_CLASS)
        elif isinstance(value, (classmethod, staticmethod)):
            self._check(value.__func__)
        elif isinstance(value, property):
            self._check((value.fget, value.fset, value.fdel))
        elif type(value) in (tuple, frozenset):
            for one in value:
                self._check(one)
        else:
            raise NotNative(f"it uses {_called(value)}, which all workers would share")

    def _class(self, kind: type) -> None:
        for name, member in vars(kind).items():
            if name in _OWN_WAYS:
                raise NotNative(f"{kind.__name__} has a {name} of its own")
            # Others with such names are Python's, and no code above reads them.
            special = name.startswith("__") and name.endswith("__")
            if name not in _UNSEEN and (_acts(member) or not special):
                self._check(_without_guard(member) if name == "__repr__" else member)

    def _enum(self, kind: type) -> None:
        for member in vars(kind).get("_member_map_", {}).values():
            self._check(member)
        for member in vars(kind).values():
            code = getattr(member, "__func__", member)
            at_member = isinstance(member, types.DynamicClassAttribute) and member.fget is None
            if _acts(code) and not at_member and not _is_constant(code):
                raise NotNative(f"{kind.__name__} has code of its own, which an enum shares with its members")

    def _shared_code(self, function: types.FunctionType) -> None:
        used = self._looked_at(function, own=False)
        named = [function.__globals__[name] for name in used["globals"] if name in function.__globals__]
        named += [cell.cell_contents for cell in function.__closure__ or ()]  # __class__ is one
        named += [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
        for value in named:
            self._check(value)
        functions = any(isinstance(value, types.FunctionType) and not _is_known(value) for value in named)
        if used["assigned"] and (functions or any(map(_is_users_class, named))):
            raise NotNative(_PER_CLASS)


def _new(code: Any, scope: dict[str, Any], name: str, cells: Any) -> types.FunctionType:
    scope.setdefault("__builtins__", builtins)
    return types.FunctionType(code, scope, name, None, cells or None)


def _finish(function: types.FunctionType, state: Any) -> None:
    named, function.__defaults__, function.__kwdefaults__, function.__qualname__, own = state
    function.__globals__.update(named)
    vars(function).update(own)


def _fill(cell: types.CellType, value: Any) -> None:
    cell.cell_contents = value


_OURS = (_new, _finish, _fill)
# What a name is to an instruction. "written" are globals, and variables of a function around it.
_KINDS = dict.fromkeys(("LOAD_GLOBAL", "LOAD_NAME"), "globals")
_KINDS |= dict.fromkeys(("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"), "attributes")
_KINDS |= dict.fromkeys(("IMPORT_NAME", "IMPORT_STAR"), "imports")
_KINDS |= dict.fromkeys(("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF"), "written")
_KINDS |= dict.fromkeys(("STORE_ATTR", "DELETE_ATTR"), "assigned")


def used_by(code: types.CodeType) -> dict[str, set[str]]:
    """The names that a function's code uses, with the functions in it: see _KINDS.

    Raises:
        NotNative: this Python's bytecode is not as it was.
    """
    if _used(_probe.__code__) != _PROBED:
        raise NotNative("this version of Python is not known")
    return _used(code)


def _used(code: types.CodeType) -> dict[str, set[str]]:
    made: dict[str, set[str]] = {kind: set() for kind in _KINDS.values()}
    steps = [*dis.get_instructions(code)]
    fresh = code.co_varnames[:1] if code.co_name == "__init__" else ()
    if any(name in _stored(step) for name in fresh for step in steps):
        fresh = ()
    loaded: Any = None
    for step in steps:
        kind = _KINDS.get(step.opname)
        if step.argval == "__init__" and kind and code.co_name != "__init__":
            made["assigned"].add("__init__")  # it may be called with a class, as with an object that is new
        if kind == "assigned" and (loaded,) == fresh:
            kind = None  # to an object that is being made
        if kind and ("DEREF" not in step.opname or step.argval in code.co_freevars):
            made[kind].add(str(step.argval))
        loaded = step.argval if "LOAD_FAST" in step.opname else None
        loaded = loaded[-1] if isinstance(loaded, tuple) else loaded
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            for kind, names in _used(inner).items():
                made[kind] |= names
    return made


def _stored(step: dis.Instruction) -> tuple[str, ...]:
    """The variables that it assigns to."""
    names = step.argval if isinstance(step.argval, tuple) else (step.argval,)
    return () if "STORE_FAST" not in step.opname else names[:1] if "LOAD" in step.opname else names


def _probe(a: Any) -> Any:
    global _probed
    import math

    _probed = len(a.b.c())
    a.d = [[math.pi, x, _PROBED] for x in a]
    return lambda: a.e


_PROBED = {
    "globals": {"len", "_PROBED"},
    "attributes": {"b", "c", "pi", "e"},
    "imports": {"math"},
    "written": {"_probed"},
    "assigned": {"d"},
}
_probed = 0


def _is_users_class(value: Any) -> bool:
    """Also a member of one."""
    return isinstance(value, (type, enum.Enum)) and not _is_constant(value)


def _is_constant(value: Any) -> bool:
    return type(value) in _CONSTANT or _is_known(type(value) if isinstance(value, enum.Enum) else value)


def _acts(member: Any) -> bool:
    """Whether code may run where a class's attribute is read or called."""
    return callable(member) or hasattr(type(member), "__get__")


def _without_guard(method: Any) -> Any:
    """A dataclass's __repr__ without the function around it, which keeps a set for all of them."""
    home = getattr(method, "__globals__", {}).get("__name__")
    return method.__wrapped__ if home in ("dataclasses", "reprlib") else method


def _is_known(value: Any) -> bool:
    """Whether it is a module, function or class of a library, or one of the process's generators."""
    if isinstance(value, types.ModuleType):
        return sys.modules.get(value.__name__) is value and value.__name__.partition(".")[0] in _LIBRARIES
    if isinstance(value, (types.BuiltinFunctionType, types.BuiltinMethodType)):
        owner = value.__self__
        if owner is builtins or owner is None or isinstance(owner, (type, types.ModuleType)):
            return owner is builtins or _is_known(value if owner is None else owner) or _is_at_home(value)
        return any(owner is one for one in _GENERATORS)
    if isinstance(value, type):
        return value.__module__ == "builtins" or _is_at_home(value)
    return any(value is one for one in _GENERATORS) or (
        type(value).__name__ in ("function", "cython_function_or_method") and _is_at_home(value)
    )


def _is_at_home(value: Any) -> bool:
    """Whether a function or class is a library's own."""
    home = sys.modules.get(str(getattr(value, "__module__", None)))
    if home is None or home.__name__.partition(".")[0] not in _LIBRARIES:
        return False
    return not isinstance(value, types.FunctionType) or value.__globals__ is vars(home)


def _called(value: Any) -> str:
    return value.__name__ if isinstance(value, type) else f"a {type(value).__name__}"
