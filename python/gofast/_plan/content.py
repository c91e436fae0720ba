"""What a Compose is made of, as a key: equal ones, made again for every picture, have one plan."""

from __future__ import annotations

import enum
from typing import Any

import torch

from . import transforms

_OF_CROPS = ("FiveCrop", "TenCrop")  # behind these, somebody's own code may be native
_PLAIN = (int, float, str, bool, type(None))


def content(compose: Any) -> tuple[tuple[Any, ...], bool] | None:
    """The classes of a Compose's members, and the numbers that they hold.

    Returns:
        A key, and whether a member is somebody's own code, of which it has the class alone. None where a
        member holds more than numbers, or was changed.
    """
    members = vars(compose).get("transforms")
    known = transforms.identify(compose)
    if type(members) is not list or known is None or transforms.attributes(compose) != {"transforms"}:
        return None
    key: list[Any] = [type(compose)]
    own = False
    for member in members:
        kind = type(member)
        known = transforms.identify(member)
        key.append(kind)
        if kind is torch.nn.Sequential:
            return None
        if known is None or known.name == "Lambda":
            own = True
            continue
        if known.name in _OF_CROPS or transforms.tampered(member) is not None:
            return None
        module = isinstance(member, torch.nn.Module)
        if module and vars(member).get("_modules"):
            return None
        for name, value in vars(member).items():
            if module and name in transforms.MODULE_ATTRIBUTES:
                continue
            frozen = _frozen(value)
            if frozen is None:
                return None
            key += (name, frozen)
    return tuple(key), own


def _frozen(value: Any) -> Any:
    """A value that can be compared, to the last bit; None where it is none."""
    if type(value) in _PLAIN:
        return type(value), repr(value)
    if type(value) in (list, tuple):
        parts = [_frozen(one) for one in value]
        return None if None in parts else (type(value), *parts)
    return (type(value), value.name) if isinstance(value, enum.Enum) else None
