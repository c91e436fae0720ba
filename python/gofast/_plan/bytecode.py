"""Reads what a function does: its bytecode must be that of a pattern, compiled by the same interpreter.

What it gives for some arguments would prove nothing for others.
"""

from __future__ import annotations

import builtins
import types
from collections.abc import Mapping

# Flags of `from __future__ import ...`, and that of a function within a function: nothing here hangs on them.
_FUTURE = 0x1FF0010


def compiled(imports: str, source: str) -> types.CodeType:
    """The code of the first function in a module that has these imports."""
    module = compile(f"{imports}\n{source}", "", "exec", dont_inherit=True)
    return next(const for const in module.co_consts if isinstance(const, types.CodeType))


def names(code: types.CodeType, pattern: types.CodeType) -> dict[str, str] | None:
    """What stands for each name of the pattern, where the code does the same; else None."""
    same = ("co_code", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_nlocals")
    if any(getattr(code, name) != getattr(pattern, name) for name in same):
        return None
    if code.co_freevars or code.co_cellvars or len(code.co_names) != len(pattern.co_names):
        return None
    if (code.co_flags ^ pattern.co_flags) & ~_FUTURE or len(code.co_consts) != len(pattern.co_consts):
        return None
    found = dict(zip(pattern.co_names, code.co_names, strict=True))
    for ours, theirs in zip(pattern.co_consts, code.co_consts, strict=True):
        if not isinstance(ours, types.CodeType):
            continue  # None, a docstring, and in Python 3.10 the name of the comprehension
        inner = names(theirs, ours) if isinstance(theirs, types.CodeType) else None
        if inner is None:
            return None
        found |= inner
    return found


def found(function: types.FunctionType, names: Mapping[str, str], *pattern: str) -> object:
    """What the names lead to: a global, and from there on what modules have; None where it is neither."""
    path = [names[name] for name in pattern if name in names]
    scope = function.__globals__
    value = scope.get(path[0], vars(builtins).get(path[0]))
    for name in path[1:]:
        if type(value) is not types.ModuleType:
            return None
        value = getattr(value, name, None)
    return value
