"""What a stack says: which stage of making samples its calls are in, told by modules, names and lines."""

from __future__ import annotations

import io
import linecache
import mmap
import os
import re
import sysconfig
from functools import lru_cache, partial
from types import CodeType, FrameType
from typing import Any

import torch

_TRANSFORMS = {"transform", "transforms", "augment", "augmentation", "aug", "preprocess", "tfm", "tfms"}
_DECODES = {"decode", "decompress"}
_READS = {"read", "readinto", "readall", "readline", "readlines", "pread", "recv", "fetch", "download"}
_READING_LINE = re.compile(r"\b(open|p?read\w*|recv\w*|fromfile|memmap)\s*\(")
_DECODING_LINE = re.compile(r"\b(imread|imdecode|decode_\w+|read_image)\s*\(")
_LIBRARIES = (  # parts of paths, and what they do
    ("/PIL/ImageFile.py", "decode"),
    ("Plugin.py", "decode"),  # of Pillow
    ("/torchvision/io/", "decode:torchvision"),
    ("/gofast/_lazy/", "decode"),
    ("/torchvision/transforms/", "transform"),
    ("/gofast/_images/compose_calls.py", "transform"),
    ("/albumentations/", "transform"),
    ("/socket.py", "read"),
    ("/ssl.py", "read"),
)
_FETCH = os.path.join("torch", "utils", "data", "_utils", "fetch.py")
_OURS = os.path.dirname(__file__) + os.sep
_PACKAGE = os.path.dirname(os.path.dirname(os.path.realpath(__file__))) + os.sep
_NOT_THE_USERS = (os.path.realpath(sysconfig.get_path("stdlib")) + os.sep, _PACKAGE)


def within(frame: FrameType | None, whole: bool) -> tuple[list[FrameType], FrameType | None]:
    """The calls inside torch's fetching, innermost first, and the fetching itself; or no calls and None."""
    calls: list[FrameType] = []
    while frame is not None:
        path = frame.f_code.co_filename
        if path.endswith(_FETCH):
            if frame.f_code.co_name == "fetch":
                return calls, frame
        elif path.startswith(_OURS) and frame.f_code.co_name != "__call__":  # consume, or what it calls
            return (calls, frame) if whole and calls and frame.f_code.co_name == "consume" else ([], None)
        else:
            calls.append(frame)
        frame = frame.f_back
    return [], None


def stage_of(calls: list[FrameType], known: dict[CodeType, str]) -> tuple[str, bool]:
    """The stage that the innermost telling call is in, and whether what is waited for there is data."""
    reading = False
    for at, call in enumerate(calls):
        code = call.f_code
        if code in known:
            return known[code], reading
        kind = kind_of(code)
        if kind.startswith("decode") and not is_own(code):
            return kind, True
        if kind == "transform":
            return f"transform:{_step(calls[at:])}", reading
        if kind.partition(":")[0] in ("decode", "transform"):  # the user's, by its name
            return kind, reading
        if is_own(code):
            innermost = not any(is_own(inner.f_code) for inner in calls[:at])
            if innermost and (found := _DECODING_LINE.search(line_of(call))):
                return f"decode:{found[1]}", True
            reading |= innermost and bool(_READING_LINE.search(line_of(call)))
            owner = call.f_locals.get(code.co_varnames[0]) if code.co_argcount else None
            reading |= isinstance(owner, (io.IOBase, mmap.mmap))
        reading |= kind == "read"
    return "own", reading


@lru_cache(4096)
def kind_of(code: CodeType) -> str:
    path, words = code.co_filename, set(code.co_name.lower().split("_"))
    if is_own(code):
        if words & _DECODES:
            return f"decode:{code.co_name}"
        if words & _TRANSFORMS:
            return f"transform:{code.co_name}"
        return "read" if words & _READS else ""
    if path.endswith("/PIL/Image.py") and code.co_name in ("open", "preinit", "init"):
        return "decode"
    return next((kind for part, kind in _LIBRARIES if part in path), "")


def _step(calls: list[FrameType]) -> str:
    """The name of the step of the outermost Compose that runs; else of the object whose method it is."""
    name = ""
    for call in calls:
        code, inside = call.f_code, call.f_locals
        if kind_of(code) != "transform":
            continue
        own = inside.get("self")
        step = inside.get("t", inside.get("transform")) if type(own).__name__ == "Compose" else own
        if step is not None:
            name = name_of(step)
    return name or calls[0].f_code.co_name


@lru_cache(4096)
def is_own(code: CodeType) -> bool:
    """Whether it is the user's own code."""
    path = code.co_filename
    return not (path.startswith((*_NOT_THE_USERS, "<frozen")) or "-packages/" in path)


def is_library(code: CodeType) -> bool:
    """Whether it is a package's, and neither the user's nor the standard library's."""
    return "-packages/" in code.co_filename or code.co_filename.startswith(_PACKAGE)


def line_of(frame: FrameType) -> str:
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno)


def name_of(step: Any) -> str:
    """How the report names a step."""
    return str(getattr(step, "__name__", type(step).__name__))


def transforms_of(dataset: Any) -> list[tuple[str, Any]]:
    """The callables that a dataset keeps under a name for transforms, and these names."""
    named = list(getattr(dataset, "__dict__", {}).items())
    return [
        (name, step) for name, step in named if callable(step) and {*name.lower().split("_")} & _TRANSFORMS
    ]


def codes(dataset: Any, depth: int = 4) -> list[tuple[CodeType, str]]:
    """The code of the callables that a dataset keeps, and their stages by the attributes' names."""
    found: list[tuple[CodeType, str]] = []
    if depth and type(dataset).__module__.split(".")[0] != "gofast":
        for name, value in list(getattr(dataset, "__dict__", {}).items()):
            if name in ("dataset", "datasets") or type(value).__name__ == "StandardTransform":
                for part in value if isinstance(value, (list, tuple)) else [value]:
                    found += codes(part, depth - 1)
            known = set(name.lower().split("_")) & _TRANSFORMS or type(value).__name__ in (
                "function",
                "partial",
            )
            code = _code(value)
            if known and code is not None and type(value).__name__ not in ("Compose", "StandardTransform"):
                loads = any(word in name.lower() for word in ("load", "open", "read", "decode"))
                found.append((code, "decode" if loads else f"transform:{name_of(value)}"))
    return found


def _code(value: Any) -> CodeType | None:
    if isinstance(value, partial):
        value = value.func
    if isinstance(value, torch.nn.Module):
        value = type(value).forward
    elif not hasattr(value, "__code__") and not isinstance(value, type):
        value = getattr(value, "__func__", vars(type(value)).get("__call__"))
    code = getattr(value, "__code__", None)
    return code if isinstance(code, CodeType) else None
