"""Whether a worker_init_fn does nothing but seed: then this process can call it, in each worker's turn."""

from __future__ import annotations

import argparse
import dis
import functools
import random
import types
from typing import Any

import numpy as np
import torch
from torch.utils.data import get_worker_info

_MODULES = {random, np, np.random, torch, torch.random, torch.utils, torch.utils.data}
_FUNCTIONS = {torch.initial_seed, random.seed, np.random.seed, np.random.get_state, get_worker_info}
_NUMBERS = (int, float, str, type(None))
_NAMES = {"initial_seed", "seed", "random", "get_state", "utils", "data", "get_worker_info"}
_NAMES |= {"id", "num_workers"}  # of a WorkerInfo
_IMPORTS = {"random", "numpy", "numpy.random", "torch", "torch.utils.data"}
# The beginnings of the names of what a code may consist of.
_STEPS = ("LOAD_", "STORE_FAST", "BINARY_", "UNARY_", "INPLACE_", "COMPARE_", "IS_OP", "CONTAINS_OP", "CALL")
_OLD = ("DUP_", "ROT_", "GEN_START")  # Python 3.10
_NEW = ("PRECALL", "KW_NAMES", "PUSH_NULL", "RESUME", "CACHE", "COPY", "SWAP", "TO_BOOL", "NOT_TAKEN")
_REST = ("RETURN_", "NOP", "POP_", "JUMP_", "BUILD_TUPLE", "RAISE_VARARGS", "EXTENDED_ARG", "IMPORT_")
_ALLOWED = (*_STEPS, *_OLD, *_NEW, *_REST)
_OUTER = ("LOAD_GLOBAL", "LOAD_DEREF", "LOAD_NAME", "LOAD_CLASSDEREF")
_READS = ("LOAD_ATTR", "LOAD_METHOD", "IMPORT_FROM")


def only_seeds(function: Any) -> bool:
    """Whether all that a function does is to seed Python's, numpy's and torch's generators. In doubt not."""
    if function is None:
        return True
    if isinstance(function, functools.partial):
        given = (*function.args, *function.keywords.values())
        return all(isinstance(value, _NUMBERS) for value in given) and only_seeds(function.func)
    if not isinstance(function, types.FunctionType):
        return False
    outer = dict(function.__globals__)
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            outer[name] = cell.cell_contents
        except ValueError:
            return False
    constants = (*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values())
    return all(isinstance(value, _NUMBERS) for value in constants) and _seeds(function.__code__, outer)


def _seeds(code: types.CodeType, outer: dict[str, Any]) -> bool:
    names, options = set(_NAMES), set[str]()
    if not _accelerated():
        names.add("manual_seed")  # it would seed the accelerator's generators too, which are this process's
    for step in dis.get_instructions(code):
        kind, name = step.opname, step.argval
        if not kind.startswith(_ALLOWED):
            return False
        if kind in _OUTER:
            value = outer.get(name)
            if isinstance(value, argparse.Namespace):
                options.update(n for n, v in vars(value).items() if isinstance(v, _NUMBERS))
            elif not (_is_known(value, names) if name in outer else name in ("int", "abs")):
                return False
        allowed = _IMPORTS if kind == "IMPORT_NAME" else names | options
        if kind in (*_READS, "IMPORT_NAME") and name not in allowed:
            return False
    return True


def _is_known(value: Any, names: set[str]) -> bool:
    if isinstance(value, types.ModuleType):
        return value in _MODULES
    if isinstance(value, _NUMBERS):
        return True
    if value is torch.manual_seed:
        return "manual_seed" in names
    return any(value is function for function in _FUNCTIONS)


def _accelerated() -> bool:
    """Whether there is an accelerator, whose generators torch.manual_seed seeds."""
    if hasattr(torch, "accelerator"):
        return bool(torch.accelerator.is_available())
    return torch.cuda.is_available() or torch.backends.mps.is_available()
