"""A user's function as each of torch's workers has it: a copy of its own, as a fork makes it.

A function is made again around copies of the globals, the closure and the defaults that it uses; objects are
copied with all that they hold. So each copy may keep what it likes from call to call, and sees nothing of
what the caller changes meanwhile. Classes stay shared, with the code of their methods. Such code may use
nothing but libraries and constants, and must assign to no class and no global. What cannot be copied (files,
locks, iterators), is large, or acts on the whole process runs in torch's workers.

This is the one place in gofast that reads bytecode: only there is an import, a global and an attribute of the
same name told apart, and a name that is read from one that is assigned to. `used_by` makes sure that this
Python's bytecode says so; if not, every function runs in torch's workers.
"""

from __future__ import annotations

import builtins
import dis
import enum
import functools
import io
import pickle
import random
import sys
import types
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

_MOST_BYTES = 8 << 20  # of a copy: to make it takes 5 ms for each worker and epoch; a fork takes some 20 ms
_LIBRARIES = {"torch", "torchvision", "numpy", "random", "math", "itertools", "functools", "operator"}
_LIBRARIES |= {"collections", "copy", "dataclasses", "enum", "typing", "re"}
_PLAIN = (str, bytes, int, float, complex, bool, type(None), range, enum.Enum)
_SHARED = (type, types.ModuleType, types.CodeType, np.ufunc, torch.dtype, torch.device)
_DESCRIPTORS = (types.MemberDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType)
# The generators of the process, which have a worker's state during a call.
_GENERATORS = (random.random.__self__, np.random.mtrand._rand, torch.default_generator)  # type: ignore[attr-defined]
# What acts on the whole process: builtin functions, and names of functions and attributes.
_ACTING = {"open", "exec", "eval", "compile", "globals", "vars", "setattr", "delattr", "input", "breakpoint"}
_ACTING |= {"seed", "manual_seed", "setstate", "seterr", "environ", "putenv", "dataset", "default_generator"}
_ACTING |= {"use_deterministic_algorithms", "backends", "chdir", "register_module_forward_hook", "library"}
# By these a class says how it is copied, or keeps what it makes.
_OWN_WAYS = {"__getstate__", "__setstate__", "__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__"}
_OWN_WAYS |= {"__del__"}
_OF_CLASSES = {"__dict__", "__weakref__", "__doc__", "__module__", "__annotations__", "__init__", "__slots__"}
_OF_CLASSES |= {"__qualname__", "__firstlineno__", "__static_attributes__", "__annotate_func__", "__hash__"}
_OF_CLASSES |= {"__slotnames__", "__annotations_cache__", "__match_args__", "__dataclass_params__"}
_OF_CLASSES |= {
    "__dataclass_fields__",
    "__orig_bases__",
    "__parameters__",
    "__abstractmethods__",
    "_abc_impl",
}


class Uncopied(Exception):
    """What keeps a function from being copied for a worker; the text says it."""


class Copies:
    """Makes the copies of a function, all of the moment when this was made.

    Raises:
        Uncopied: they would not be as torch's workers have them.
    """

    def __init__(self, function: Any) -> None:
        room = _Room()
        pickler = _Pickler(room)
        try:
            pickler.dump(function)
            self._bytes, self._shared = room.getvalue(), pickler.shared
            self.make()  # what cannot be loaded is not copied either
        except Uncopied:
            raise
        except Exception as error:  # of pickle, and of the user's attributes
            raise Uncopied(f"it cannot be copied ({type(error).__name__}: {error})"[:200]) from None
        if pickler.classes and pickler.assigns:
            raise Uncopied("it assigns to an attribute, perhaps of a class")

    def make(self) -> Any:
        """One of them."""
        return loaded(self._bytes, self._shared)


def not_copied(function: Any) -> str | None:
    """Why a function cannot be copied for workers, or None if it can."""
    try:
        Copies(function)
    except Uncopied as why:
        return str(why)
    return None


def loaded(data: bytes, shared: list[Any]) -> Any:
    """What was pickled around the objects that are shared: their places are the persistent ids."""
    unpickler = pickle.Unpickler(io.BytesIO(data))
    unpickler.persistent_load = shared.__getitem__  # type: ignore[method-assign]
    return unpickler.load()


class _Room(io.BytesIO):
    def write(self, data: Any) -> int:
        if self.tell() + memoryview(data).nbytes > _MOST_BYTES:
            raise Uncopied(f"it holds more than {_MOST_BYTES >> 20} MiB")
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
            if isinstance(value, type) and not _is_known(value) and value is not self._instance_of:
                self.classes = True
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
            raise Uncopied("it uses a tensor that processes share")
        builtin = isinstance(value, types.BuiltinFunctionType)
        if (builtin and isinstance(value.__self__, types.ModuleType)) or isinstance(
            value, (Iterator, np.memmap, functools._lru_cache_wrapper)
        ):
            raise Uncopied(f"it uses {_called(value)}, which cannot be copied")
        self._alone(value)
        self._check(type(value))
        self._instance_of = type(value)
        return NotImplemented

    def _alone(self, value: Any) -> None:
        """Refuses memory that two tensors or arrays share: their copies would not."""
        if isinstance(value, torch.nn.Parameter):
            return  # it is copied with its data, a tensor of the same memory
        if isinstance(value, torch.Tensor) and value.layout is torch.strided:
            root = value.untyped_storage().data_ptr()
        elif isinstance(value, np.ndarray):
            while isinstance(value.base, np.ndarray):
                value = value.base
            root = value.__array_interface__["data"][0]
        else:
            return
        if root and root in self._memory:
            raise Uncopied("it uses tensors or arrays that share memory")
        self._memory.add(root)

    def _function(self, old: types.FunctionType) -> Any:
        used = used_by(old.__code__)
        self.assigns |= used.assigned
        _refuse(old.__name__, used, own=True)
        cells = old.__closure__ or ()
        scope = self._scopes.setdefault(id(old.__globals__), {})
        named = {name: old.__globals__[name] for name in used.globals if name in old.__globals__}
        _refuse_classes(old.__name__, used, [*named.values(), *(cell.cell_contents for cell in cells)], type)
        named["__name__"] = old.__globals__.get("__name__")
        state = (named, old.__defaults__, old.__kwdefaults__, old.__qualname__, vars(old))
        return _new, (old.__code__, scope, old.__name__, cells), state, None, None, _finish

    def _check(self, value: Any) -> None:
        """Refuses what is shared but may be changed."""
        if isinstance(value, (types.CodeType, *_PLAIN)) or _is_known(value) or id(value) in self._checked:
            return
        self._checked[id(value)] = value
        if isinstance(value, type):
            if value.__module__ == "builtins":
                return
            for base in value.__mro__:
                if base is not object and not _is_known(base):
                    self._class(base)
        elif isinstance(value, types.ModuleType):
            raise Uncopied(f"it uses the module {value.__name__}, which others may change")
        elif isinstance(value, (tuple, frozenset)):
            for one in value:
                self._check(one)
        elif isinstance(value, (classmethod, staticmethod)):
            self._check(value.__func__)
            if isinstance(value, classmethod) and used_by(value.__func__.__code__).assigned:
                raise Uncopied(f"{value.__func__.__name__} assigns to an attribute of a class")
        elif isinstance(value, property):
            for one in (value.fget, value.fset, value.fdel):
                self._check(one)
        elif isinstance(value, types.FunctionType):
            self._shared_code(value)
        elif not isinstance(value, (*_DESCRIPTORS, *_SHARED)):
            raise Uncopied(f"it uses {_called(value)}, which all workers would share")

    def _class(self, kind: type) -> None:
        for name, member in vars(kind).items():
            if name in _OWN_WAYS:
                raise Uncopied(f"{kind.__name__} has a {name} of its own")
            if name not in _OF_CLASSES:
                self._check(member)

    def _shared_code(self, function: types.FunctionType) -> None:
        used = used_by(function.__code__)
        self.assigns |= used.assigned
        _refuse(function.__name__, used, own=False)
        for default in (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()):
            self._check(default)
        for cell in function.__closure__ or ():
            self._check(cell.cell_contents)
        named = [function.__globals__[name] for name in used.globals if name in function.__globals__]
        for value in named:
            self._check(value)
        _refuse_classes(function.__name__, used, named, (type, types.FunctionType))


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


class Used(NamedTuple):
    """The names that a function uses, as what.

    Attributes:
        written: globals, and variables of a function around it, that it assigns to.
        assigned: whether it assigns to attributes.
    """

    globals: set[str]
    attributes: set[str]
    imports: set[str]
    written: set[str]
    assigned: bool


def used_by(code: types.CodeType) -> Used:
    """What a function's code uses, with the functions in it.

    Raises:
        Uncopied: this Python's bytecode is not as it was.
    """
    if _used(_probe.__code__) != _PROBED:
        raise Uncopied("this version of Python is not known")
    return _used(code)


def _used(code: types.CodeType) -> Used:
    made = Used(set(), set(), set(), set(), False)
    for step in dis.get_instructions(code):
        kind, name = step.opname, str(step.argval)
        if kind in ("LOAD_GLOBAL", "LOAD_NAME"):
            made.globals.add(name)
        elif kind in ("STORE_GLOBAL", "DELETE_GLOBAL") or (
            kind in ("STORE_DEREF", "DELETE_DEREF") and name in code.co_freevars
        ):
            made.written.add(name)
        elif kind in ("IMPORT_NAME", "IMPORT_STAR"):
            made.imports.add(name)
        elif kind in ("LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "IMPORT_FROM"):
            made.attributes.add(name)
        elif kind in ("STORE_ATTR", "DELETE_ATTR"):
            made = made._replace(assigned=True)
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            more = _used(inner)
            made = Used(
                made.globals | more.globals,
                made.attributes | more.attributes,
                made.imports | more.imports,
                made.written | more.written,
                made.assigned or more.assigned,
            )
    return made


def _probe(a: Any) -> Any:
    global _probed
    import math

    _probed = len(a.b.c())
    a.d = [[math.pi, x, _PROBED] for x in a]
    return lambda: a.e


_PROBED = Used({"len", "_PROBED"}, {"b", "c", "pi", "e"}, {"math"}, {"_probed"}, True)
_probed = 0


def _refuse(name: str, used: Used, own: bool) -> None:
    """Refuses names that act on the whole process, and on others where the code is not a copy's own."""
    foreign = [one for one in sorted(used.imports) if one.partition(".")[0] not in _LIBRARIES]
    if foreign:
        raise Uncopied(f"{name} imports {foreign[0]}")
    for one in sorted(used.globals | used.attributes):
        if one in _ACTING or (one.startswith(("set_", "__")) and one not in ("__init__", "__name__")):
            raise Uncopied(f"{name} uses {one}")
    if used.assigned and "type" in used.globals:
        raise Uncopied(f"{name} assigns to an attribute, perhaps of a class")
    if used.written and not own:
        raise Uncopied(f"{name} assigns to {min(used.written)}")


def _refuse_classes(name: str, used: Used, values: list[Any], kinds: Any) -> None:
    """Refuses code that assigns to attributes, and has what keeps them for all workers."""
    if used.assigned and any(isinstance(value, kinds) and not _is_known(value) for value in values):
        raise Uncopied(f"{name} assigns to an attribute, perhaps of a class")


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
        return value.__module__ == "builtins" or issubclass(value, BaseException) or _is_at_home(value)
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
