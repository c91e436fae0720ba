"""A `__getitems__` that only the dataset itself has, and no wrapper around it.

Torch's fetcher takes whole batches from `dataset.__getitems__` if there is one. Some wrappers forward
attributes that they do not have (`__getattr__`, or a proxy written in C). They would hand out the inner
dataset's method, and torch would never call the wrapper's own `__getitem__`. So `__getitems__` is a
descriptor that looks at its caller:

- For Python code in a wrapper's attribute hook, there is no such attribute.
- torch's own callers get a method that, when it is called, looks which dataset they hold.

Any other caller, such as a user's `__getitems__` that calls the inner dataset's, gets the plain method.

The list that such a method gives is new at each call.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from torch.utils.data import StackDataset, Subset
from torch.utils.data._utils.fetch import _MapDatasetFetcher

# All code in torch that calls __getitems__.
_FETCH = _MapDatasetFetcher.fetch.__code__
_SUBSET = Subset.__getitems__.__code__
_STACK = StackDataset.__getitems__.__code__

_HOOKS = ("__getattr__", "__getattribute__")

_ours: set[Any] = set()  # what was decorated

if TYPE_CHECKING:
    _Method = TypeVar("_Method", bound=Callable[..., Any])

    def getitems(method: _Method) -> _Method:
        """Decorates `__getitems__`."""
else:

    class getitems:
        """Decorates `__getitems__`: the dataset itself has it, wrappers that forward to it do not."""

        def __init__(self, method):
            self._method = method
            _ours.add(method)

        def __get__(self, dataset, owner=None):
            if dataset is None:
                return self._method
            frame = sys._getframe(1)
            code = frame.f_code
            if code is _FETCH or code is _SUBSET or code is _STACK:
                return MethodType(self._called_by_torch, dataset)
            if _is_forwarded(dataset, frame):
                raise AttributeError("__getitems__ of a dataset is not for the wrappers around it")
            return MethodType(self._method, dataset)

        def _called_by_torch(self, dataset, indices):
            held = _held(sys._getframe(1))
            if held is dataset:
                return self._method(dataset, indices)
            return [held[i] for i in indices]


def is_ours(method: Any) -> bool:
    """Whether a dataset's `__getitems__` is one that was decorated here."""
    return getattr(method, "__func__", None) in _ours


def _held(frame: FrameType) -> Sequence[Any]:
    """The dataset that the caller in torch holds."""
    if frame.f_code is _STACK:
        held: Sequence[Any] = frame.f_locals["dataset"]
    else:
        held = frame.f_locals["self"].dataset
    return held


def _is_forwarded(dataset: object, start: FrameType) -> bool:
    """Whether an attribute hook of an object other than dataset runs between start and torch."""
    frame: FrameType | None = start
    while frame is not None:
        code = frame.f_code
        if code is _FETCH or code is _SUBSET or code is _STACK:
            return False
        if code.co_argcount >= 2:  # the hook may have any name
            own, name = (frame.f_locals.get(variable) for variable in code.co_varnames[:2])
            if isinstance(name, str) and name == "__getitems__" and own is not dataset:
                return True
        elif code.co_name in _HOOKS:  # a decorated hook: (*args)
            return True
        frame = frame.f_back
    return False
