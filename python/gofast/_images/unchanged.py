"""Whether a transform is still what it was, told in microseconds. To compile a plan takes a hundred."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import torch

from .._plan import transforms

# What torch keeps in every module; `tampered` sees hooks.
_OF_MODULES = transforms.MODULE_ATTRIBUTES - {"_modules"}
_MOST_NUMBERS = 64  # that are compared; torchvision's means, deviations and chances have fewer
_CONTAINERS = (list, tuple, dict, OrderedDict)


class Unchanged:
    """A nest of transforms at one moment: their attributes, and the members of their lists.

    Calling it says whether all are as they were: the same objects, lists of the same values, classes as
    their authors wrote them, and the surroundings that a plan depends on.
    """

    def __init__(self, transform: object) -> None:
        self._surroundings = _surroundings()
        self._kept: list[tuple[dict[str, Any], int, dict[str, Any]]] = []
        self._kinds: dict[type, tuple[object, str | None]] = {}  # one of each, and how it was changed before
        self._around: list[int] = []
        self._tensors: list[tuple[torch.Tensor, int]] = []
        self._numbers: list[tuple[Any, str]] = []
        self._keep(transform)

    def _keep(self, value: Any) -> None:
        if type(value) in _CONTAINERS:
            for member in value.values() if isinstance(value, dict) else value:
                self._keep(member)
        elif isinstance(value, torch.Tensor):
            self._tensors.append((value, value._version))
            if (
                value.device.type == "cpu"
                and value.layout == torch.strided
                and value.numel() <= _MOST_NUMBERS
            ):
                self._numbers.append((value, _written(value)))  # numpy's writes leave the version as it is
        elif isinstance(value, np.ndarray) and value.size <= _MOST_NUMBERS:
            self._numbers.append((value, _written(value)))
        elif _is_transform(value) and id(value) not in self._around:
            self._around.append(id(value))
            own = vars(value)
            kept = {k: v.copy() if _copies(v) else v for k, v in own.items() if k not in _OF_MODULES}
            self._kept.append((own, len(own), kept))
            self._kinds[type(value)] = value, transforms.tampered(value)
            for inner in kept.values():
                self._keep(inner)

    def __call__(self) -> bool:
        try:
            return (
                all(
                    len(own) == count
                    and all(v is own.get(k) or (_copies(v) and own.get(k) == v) for k, v in kept.items())
                    and not (own.get("_forward_hooks") or own.get("_forward_pre_hooks"))
                    for own, count, kept in self._kept
                )
                and all(transforms.tampered(one) == how for one, how in self._kinds.values())
                and all(tensor._version == version for tensor, version in self._tensors)
                and all(_written(numbers) == kept for numbers, kept in self._numbers)
                and _surroundings() == self._surroundings
            )
        except (TypeError, ValueError, RuntimeError):  # values that cannot be compared
            return False


def _surroundings() -> tuple[str | None, int]:
    """What a plan depends on beside transforms: how torch's threads share a picture decides v2's contrast."""
    return transforms.environment(), torch.get_num_threads()


def _copies(value: object) -> bool:
    return type(value) in (list, dict, OrderedDict)


def _written(numbers: Any) -> str:
    return repr(numbers.tolist())  # which tells -0 from 0, and has one NaN


def _is_transform(value: object) -> bool:
    return callable(value) and (isinstance(value, torch.nn.Module) or transforms.identify(value) is not None)
