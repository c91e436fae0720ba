"""Whose rows `__getitems__` gives: a dataset's own batches are nobody else's.

Torch's fetcher takes whole batches from `dataset.__getitems__` where there is one. A wrapper that forwards
what it does not have (`__getattr__`, or a proxy written in C) would hand out the inner dataset's, and its
own `__getitem__` would never be called. So `__getitems__` is a descriptor that looks at who asks:

- Python code in a wrapper's attribute hook is told that there is none;
- torch's own callers get a method that asks them, when it is called, which dataset they hold.

Anybody else, such as the user's `__getitems__` that calls the inner dataset's, gets the plain method.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from types import FrameType, MethodType
from typing import TYPE_CHECKING, Any, TypeVar

from torch.utils.data import StackDataset, Subset
from torch.utils.data._utils.fetch import _MapDatasetFetcher

# All that calls __getitems__ in torch.
_FETCH = _MapDatasetFetcher.fetch.__code__
_SUBSET = Subset.__getitems__.__code__
_STACK = StackDataset.__getitems__.__code__

_HOOKS = ("__getattr__", "__getattribute__")

if TYPE_CHECKING:
    _Method = TypeVar("_Method", bound=Callable[..., Any])

    def getitems(method: _Method) -> _Method:
        """Decorates `__getitems__`."""
else:

    class getitems:
        """Decorates `__getitems__`: it is there for the dataset itself, not for those who forward to it."""

        def __init__(self, method):
            self._method = method

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


def _held(frame: FrameType) -> Sequence[Any]:
    """The dataset that torch's caller has at hand."""
    if frame.f_code is _STACK:
        held: Sequence[Any] = frame.f_locals["dataset"]
    else:
        held = frame.f_locals["self"].dataset
    return held


def _is_forwarded(dataset: object, start: FrameType) -> bool:
    """Whether an attribute hook of another object than dataset is at work, between start and torch."""
    frame: FrameType | None = start
    while frame is not None:
        code = frame.f_code
        if code is _FETCH or code is _SUBSET or code is _STACK:
            return False
        if code.co_argcount >= 2:  # whatever such a hook is called
            own, name = (frame.f_locals.get(variable) for variable in code.co_varnames[:2])
            if isinstance(name, str) and name == "__getitems__" and own is not dataset:
                return True
        elif code.co_name in _HOOKS:  # in a decorator's hands: (*args)
            return True
        frame = frame.f_back
    return False
