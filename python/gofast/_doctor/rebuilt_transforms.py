"""Transforms that a dataset builds anew for each sample: where, and how they are written."""

from __future__ import annotations

import ast
import linecache
import os
import sys
from dataclasses import dataclass
from types import FrameType
from typing import Any

from .scope import Scope
from .stages import is_own


@dataclass
class Built:
    """A Compose that was built while a sample was made.

    Attributes:
        compose: itself.
        place: the line and the function that built it.
        code: the call as it is written, on one line; "" where that is not known.
    """

    compose: Any
    place: str
    code: str


def built(dataset: Any, index: int) -> list[Built]:
    """The Compose objects that a sample builds. The call is profiled, so it is no measurement."""
    found: list[Built] = []

    def look(frame: FrameType, event: str, _: Any) -> None:
        caller = frame.f_back
        if event == "call" and frame.f_code.co_name == "__init__" and caller is not None:
            own = frame.f_locals.get("self")
            if type(own).__name__ == "Compose" and is_own(caller.f_code):
                code = caller.f_code
                place = f"{os.path.basename(code.co_filename)}:{caller.f_lineno} in {code.co_name}"
                found.append(Built(own, place, _written(code.co_filename, caller.f_lineno)))

    before = sys.getprofile()
    sys.setprofile(look)
    try:
        dataset[index]
    finally:
        sys.setprofile(before)
    return found


def _written(path: str, line: int) -> str:
    """The outermost call of a Compose that has this line."""
    try:
        tree = ast.parse("".join(linecache.getlines(path)))
    except SyntaxError:
        return ""
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith("Compose")
        and node.lineno <= line <= (node.end_lineno or 0)
    ]
    return ast.unparse(min(calls, key=lambda node: node.col_offset)) if calls else ""


def is_known(code: str, scope: Scope) -> bool:
    """Whether all names of a call mean something where the loader is used."""
    return bool(code) and scope.knows(
        node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)
    )
