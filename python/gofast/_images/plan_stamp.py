"""Whether a compiled plan is still that of its transform: one stamp, asked in microseconds.

To compile a plan takes a hundred. Datasets, Compose objects and suffixes of plans ask the same stamp.
"""

from __future__ import annotations

import itertools
import operator
import weakref
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from .._core import codecs
from .._plan import transforms
from .._plan.stacked import leads_to, transform_of_each
from .pixels import PixelLayout

# What torch keeps in every module, and need not be looked into.
_OF_MODULES = transforms.MODULE_ATTRIBUTES - {"_modules"}
_MOST_NUMBERS = 64  # that are compared; torchvision's means, deviations and chances have fewer
_CONTAINERS = (list, tuple, dict, OrderedDict)
# What classes of augmentations choose from, and people replace.
_SPACES = ("_AUGMENTATION_SPACE", "_PARTIAL_AUGMENTATION_SPACE", "_augmentation_space")
_BY_VALUE = (PixelLayout, bool, int)  # attributes that are made when they are read: the others are objects


class PlanStamp:
    """What a plan was compiled from, at one moment: a nest of transforms with their attributes and members,
    and what else samples follow from.

    Args:
        transform: the nest, which is not kept.
        attributes: instead of it, a dataset's method that gives it as it is now, and other attributes behind
            it. The dataset is known weakly: see NativeDataset._own_view.

    Attributes:
        values: what `attributes` gave.
    """

    def __init__(
        self, transform: object = None, attributes: Callable[[], tuple[Any, ...]] | None = None
    ) -> None:
        self._attributes = None if attributes is None else weakref.WeakMethod(attributes)
        self.values = () if attributes is None else attributes()
        self._surroundings = _surroundings()
        self._dicts: list[dict[Any, Any]] = []
        self._items: list[tuple[Any, ...]] = []  # of each: a key, its value, the next key, and so on
        # How it is read, of what, and the members then: lists, functions that a plan has looked into, and
        # OrderedDicts, whose order is their own.
        self._members: list[tuple[Callable[[Any], Sequence[Any]], Any, Sequence[Any]]] = []
        # How it is read, of what, and what it was: methods of classes, versions and numbers of tensors, and
        # whether Python's random, by which a transform draws, was replaced.
        self._equal: list[tuple[Callable[[Any], object], Any, object]] = []
        self._kinds = set[type]()
        self._hooks: list[Any] = []
        self._around: set[int] = set()
        # Transforms, with their classes and attributes:
        self._objects: list[tuple[weakref.ref[Any], type, dict[str, Any]]] = []
        self._keep(transform if attributes is None else self.transform)
        self._hooked = [*map(bool, self._hooks)]

    @property
    def transform(self) -> Any:
        """The nest that `attributes` gave."""
        return self.values[0]

    def _keep(self, value: Any) -> None:
        if isinstance(value, torch.Tensor):
            self._keep_equal(_version, value)
            if (
                value.device.type == "cpu"
                and value.layout == torch.strided
                and value.numel() <= _MOST_NUMBERS
            ):
                self._keep_equal(_written, value)  # numpy's writes leave the version as it is
        elif isinstance(value, np.ndarray) and value.size <= _MOST_NUMBERS:
            self._keep_equal(_written, value)
        elif id(value) in self._around:
            return
        elif type(value) in _CONTAINERS:
            self._around.add(id(value))
            self._keep_members(value)
        elif (each := transform_of_each(value)) is not None:
            self._around.add(id(value))
            self._members.append((leads_to, value, leads_to(value)))
            self._keep(each)
        elif _is_transform(value):
            self._around.add(id(value))
            self._objects.append((weakref.ref(value), type(value), vars(value)))
            self._keep_kind(value)
            self._keep_members(vars(value), _OF_MODULES)

    def _keep_equal(self, read: Callable[[Any], object], of: Any) -> None:
        self._equal.append((read, of, read(of)))

    def _keep_members(self, held: Any, without: frozenset[str] = frozenset()) -> None:
        members = held
        if isinstance(held, dict):
            items = _items(held)
            if type(held) is dict:
                self._dicts.append(held)
                self._items.append(items)
            else:
                self._members.append((_items, held, items))
            members = [member for name, member in held.items() if name not in without]
        elif isinstance(held, list):
            members = held.copy()
            self._members.append((list.copy, held, members))
        for member in members:
            self._keep(member)

    def _keep_kind(self, value: Any) -> None:
        kind = type(value)
        if isinstance(value, torch.nn.Module):
            self._hooks += [vars(value).get(name) for name in transforms.HOOKS]
        elif kind.__name__ in transforms.CALLING:
            self._keep_equal(transforms.tampered, value)
        if kind not in self._kinds:
            # One that it lacks is none that its authors' code calls.
            names = [name for name in (*transforms.METHODS, *_SPACES) if hasattr(kind, name)]
            self._kinds.add(kind)
            self._keep_equal(operator.attrgetter(*names), kind)
            for name in _SPACES:
                self._keep(getattr(kind, name, None))

    def holds(self) -> bool:
        """Whether all is as it was: the same objects everywhere, classes as their authors wrote them, and the
        surroundings that a plan depends on."""
        try:
            if self._attributes is not None:
                attributes = self._attributes()
                if attributes is None or not self.has(attributes()):
                    return False
            return self._has_transforms()
        except (AttributeError, TypeError, ValueError, RuntimeError):  # as of keys that cannot be compared
            return False

    def has(self, values: Sequence[Any]) -> bool:
        """Whether attributes are the same objects as then, or describe the same memory."""
        for now, then in zip(values, self.values, strict=True):  # `all` of a generator costs more
            if now is not then and not (type(now) in _BY_VALUE and now == then):
                return False
        return True

    def _has_transforms(self) -> bool:
        for held, kind, own in self._objects:
            if type(one := held()) is not kind or one.__dict__ is not own:
                return False
        if not codecs.capsule().same_items(self._dicts, self._items):
            return False
        for members, of, kept in self._members:
            if not same_members(members(of), kept):
                return False
        for read, of, then in self._equal:
            if read(of) != then:
                return False
        return [*map(bool, self._hooks)] == self._hooked and _surroundings() == self._surroundings


def same_members(now: Sequence[Any], then: Sequence[Any]) -> bool:
    """Whether two lists have the same objects."""
    return len(now) == len(then) and all(map(operator.is_, now, then))


def _items(held: dict[Any, Any]) -> tuple[Any, ...]:
    return tuple(itertools.chain.from_iterable(held.items()))


def _surroundings() -> tuple[str | None, int]:
    """What a plan depends on beside transforms: how torch's threads share a picture decides v2's contrast."""
    return transforms.environment(), torch.get_num_threads()


def _version(tensor: torch.Tensor) -> int | None:
    """None of a tensor that was made in inference mode: it counts no writes."""
    return None if tensor.is_inference() else tensor._version


def _written(numbers: Any) -> str:
    return repr(numbers.tolist())  # which tells -0 from 0, and has one NaN


def _is_transform(value: object) -> bool:
    return callable(value) and (isinstance(value, torch.nn.Module) or transforms.identify(value) is not None)
