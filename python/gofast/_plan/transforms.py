"""What a transform is: torchvision's own, to the letter, or other code.

torchvision itself is never imported here: a transform can only be torchvision's
when its user has imported it.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import torch
from torch.nn.modules import module as _nn_module

from . import timm_transforms

Family = Literal["v1", "v2"]

# In this order: some names stand in both, the classes differ.
_NAMESPACES: tuple[tuple[Family, str], ...] = (
    ("v1", "torchvision.transforms"),
    ("v2", "torchvision.transforms.v2"),
    ("v1", "torchvision.transforms._presets"),
)

# What every module carries; compared with a fresh one, so that torch may add to it.
MODULE_ATTRIBUTES = frozenset(vars(torch.nn.Module()))

HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")

# Methods that decide what a transform does. On a class of torchvision each comes from
# torchvision or torch, unless it was replaced.
METHODS = (
    "__call__",
    "forward",
    "transform",
    "make_params",
    "get_params",
    "check_inputs",
    "_call_kernel",
    "_needs_transform_list",
)

# Of classes of torchvision and torch: their methods, when they were last found to be their own.
_genuine: dict[type, tuple[object, ...]] = {}

# Classes of torchvision that call some of the transforms that they are given.
CALLING = ("RandomApply", "RandomChoice", "RandomOrder")

# Those that leave nothing of a PIL image but its pixels.
_CONVERTING = (
    "ImageClassification",
    "ObjectDetection",
    "PILToTensor",
    "SemanticSegmentation",
    "ToImage",
    "ToTensor",
)

MOST_NESTED = 100  # of these in one another; step.h's GF_MOST_NESTED


class Known(NamedTuple):
    """A class of torchvision: where it is found and its name there."""

    family: Family
    name: str


def identify(transform: object) -> Known | None:
    """Which class of torchvision this is an instance of, or does the same as; not a subclass."""
    kind = type(transform)
    if kind.__module__.startswith("torchvision."):
        for family, namespace in _NAMESPACES:
            if getattr(sys.modules.get(namespace), kind.__name__, None) is kind:
                return Known(family, kind.__name__)
    relative = timm_transforms.relative_of(kind) if kind.__module__ == timm_transforms.MODULE else None
    return None if relative is None else Known("v1", relative)


def attributes(transform: object) -> frozenset[str]:
    """The names that an instance carries beyond those of any torch module."""
    names = set(vars(transform))
    if isinstance(transform, torch.nn.Module):
        # A ModuleList given as `transforms` is registered, not set.
        names = (names - MODULE_ATTRIBUTES) | set(vars(transform)["_modules"])
    return frozenset(names)


def tampered(transform: object) -> str | None:
    """How an instance of a class of torchvision or torch was changed from outside.

    Returns:
        A reason to run it in Python, or None.
    """
    if isinstance(transform, torch.nn.Module) and any(vars(transform).get(name) for name in HOOKS):
        return "has hooks"
    kind = type(transform)
    if kind.__module__ == timm_transforms.MODULE:
        return None  # `identify` has read its code
    if kind.__name__ in CALLING and not isinstance(transform, torch.nn.Module) and not _has_own_random():
        return "random was replaced"
    methods = tuple(getattr(kind, name, None) for name in METHODS)
    if _genuine.get(kind) == methods:
        return None
    for name, method in zip(METHODS, methods, strict=True):
        home = str(getattr(method, "__module__", ""))
        if method is not None and not home.startswith(("torchvision.", "torch.")):
            return f"its class's {name} was replaced"
    _genuine[kind] = methods
    return None


def _has_own_random() -> bool:
    """Whether v1's classes draw by the functions of Python's own generator."""
    theirs, own = getattr(sys.modules.get("torchvision.transforms.transforms"), "random", None), random._inst
    named = ("choices", "shuffle", "random", "getrandbits", "getstate", "setstate")
    return (
        theirs is random
        and type(own) is random.Random
        and set(vars(own)) <= {"gauss_next"}
        and all(getattr(random, each) == getattr(own, each) for each in named)
    )


def environment() -> str | None:
    """What is unusual about this process: then torchvision's own code must run.

    Returns:
        A reason, or None where the default dtype is float32, new tensors are on the CPU
        and no global hook watches modules.
    """
    if torch.get_default_dtype() != torch.float32:
        return f"torch's default dtype is {torch.get_default_dtype()}"
    usual = not torch._C._len_torch_function_stack() and torch._C._get_default_device() == "cpu"
    device = "cpu" if usual else torch.empty(0).device.type  # which takes a microsecond more
    if device != "cpu":
        return f"torch's default device is {device}"
    if _nn_module._global_forward_hooks or _nn_module._global_forward_pre_hooks:
        return "hooks are registered for all modules"
    return None


def leaves(transform: object) -> Iterator[object]:
    """The transforms that a nest of Compose and nn.Sequential calls one after another."""
    return _leaves(transform, ())


def _leaves(transform: object, around: tuple[int, ...]) -> Iterator[object]:
    inside = None if id(transform) in around else _chain(transform)
    if inside is None:
        yield transform
        return
    for inner in inside:
        yield from _leaves(inner, (*around, id(transform)))


def _chain(transform: object) -> list[object] | None:
    """What a container calls in turn, or None where it is none or does something else."""
    if type(transform) is torch.nn.Sequential:
        usual = set(vars(transform)) <= MODULE_ATTRIBUTES
        return list(transform) if usual and tampered(transform) is None else None
    known = identify(transform)
    if known is None or known.name != "Compose" or attributes(transform) != {"transforms"}:
        return None
    return None if tampered(transform) else sequence(getattr(transform, "transforms", None))


def sequence(transforms: object) -> list[object] | None:
    """The members of a plain list of transforms, or None where iterating could do anything."""
    if type(transforms) in (list, tuple):
        return list(transforms)  # type: ignore[call-overload, no-any-return]
    if type(transforms) is torch.nn.ModuleList and tampered(transforms) is None:
        return list(transforms)
    return None


def converts(transform: object) -> bool:
    """Whether it is one of those that make tensors of PIL images."""
    known = identify(transform)
    return known is not None and known.name in _CONVERTING and tampered(transform) is None


def name(transform: Any) -> str:
    """How a report calls it."""
    if isinstance(transform, type) or (callable(transform) and hasattr(transform, "__qualname__")):
        return str(transform.__qualname__).rsplit("<locals>.", 1)[-1]
    return type(transform).__name__


def resizes_bytes(interpolation: Any) -> bool:
    """Whether v2 resizes uint8 tensors as such here, not as floats. A test sees that it can be asked."""
    v2 = sys.modules.get("torchvision.transforms.v2.functional._geometry")
    try:
        return bool(v2._do_native_uint8_resize_on_cpu(v2._check_interpolation(interpolation)))  # type: ignore[union-attr]
    except AttributeError:
        return False
