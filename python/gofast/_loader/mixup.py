"""MixUp and CutMix of torchvision in a collate function: the same numbers, in memory that is used again.

Each makes two or three tensors as large as the batch. Such memory is the system's and fresh at every
call. Its page faults take longer than the arithmetic: 20 ms for 64 x 3 x 176 x 176, 8 ms without them
(one thread of a busy machine, 2026-11). Here the core makes the result in one pass, in 2 ms, where an
earlier batch's lay that nobody has any more: gofast/image/pixel/mixing.c.
"""

from __future__ import annotations

import functools
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from ctypes import addressof
from typing import Any

import numpy as np
import torch

from .._core import engine
from .._core.native import CutMixShape

_LEAST_BYTES = 1 << 20  # smaller memory is not the system's
_MOST_FREE = 2  # such memories are kept; a loader's last batch is still held when the next is mixed

_NUMPY: dict[torch.dtype, Any] = {torch.float32: np.float32, torch.float16: np.float16, torch.uint8: np.uint8}

_Mix = Callable[[torch.Tensor, torch.Tensor, Any], None]  # (batch, mixed, params)


def _mixup(batch: torch.Tensor, mixed: torch.Tensor, params: Any) -> None:
    samples, lam = len(batch), params["lam"]
    values = batch.numel() // samples
    engine.capsule().mixup(batch.data_ptr(), mixed.data_ptr(), samples, values, lam, 1.0 - lam)


def _is_mixup(batch: torch.Tensor, params: Any) -> bool:
    return batch.dtype == torch.float32 and type(params["lam"]) is float


def _cutmix(batch: torch.Tensor, mixed: torch.Tensor, params: Any) -> None:
    x1, y1, x2, y2 = params["box"]
    (height, width), samples, size = batch.shape[-2:], len(batch), batch.itemsize
    planes = batch.numel() // (samples * height * width)
    shape = CutMixShape(samples, planes, height, width * size, x1 * size, y1, x2 * size, y2)
    engine.capsule().cutmix(batch.data_ptr(), mixed.data_ptr(), addressof(shape))


def _is_cutmix(batch: torch.Tensor, params: Any) -> bool:
    x1, y1, x2, y2 = params["box"]
    if any(type(side) is not int for side in (x1, y1, x2, y2)):
        return False
    return bool(0 <= x1 <= x2 <= batch.shape[-1] and 0 <= y1 <= y2 <= batch.shape[-2])


_MIXES: dict[str, tuple[_Mix, Callable[[torch.Tensor, Any], bool], dict[str, Any]]] = {
    "MixUp": (_mixup, _is_mixup, {"lam": 0.3}),  # how, whether it can be, parameters to try it with
    "CutMix": (_cutmix, _is_cutmix, {"box": (1, 0, 3, 2)}),
}
_MODULE = "torchvision.transforms.v2._augment"


_METHODS = ("transform", "_transform")  # since torchvision 0.21, and before


class recycled:
    """Within this context, these MixUps and CutMixes mix large batches here: their method is ours.

    torchvision's own classes stay as they are.
    """

    def __init__(self, mixers: Sequence[Any]) -> None:
        self._mixers = mixers
        self._ours: list[tuple[dict[str, Any], str, Any]] = []

    def __enter__(self) -> None:
        for one in self._mixers:
            found = _of(type(one))
            if found is not None and found[0] not in vars(one):  # not a user's, and not another thread's
                name, method = found
                self._ours += [
                    (vars(one), name, functools.partial(method, one)),
                    (vars(one), _STATE, _state(one, name)),
                ]
        for own, name, method in self._ours:
            own[name] = method

    def __exit__(self, *_: object) -> None:
        for own, name, method in self._ours:  # a thread that is inside goes on with torchvision's arithmetic
            if own.get(name) is method:  # the function may have set or deleted it
                del own[name]


_STATE = "__getstate__"


def _state(one: Any, name: str) -> Callable[[], Any]:
    """What copy, deepcopy and pickle ask an object for its attributes: those that it has without ours."""

    def state() -> Any:
        theirs = getattr(type(one), _STATE, None)  # object has one since Python 3.11
        found = vars(one) if theirs is None else theirs(one)
        return {k: v for k, v in found.items() if k not in (name, _STATE)} if type(found) is dict else found

    return state


def mixers(value: Any) -> list[Any]:
    """The MixUps and CutMixes that a function uses: its own, those of its globals, closure and attributes."""
    found: dict[int, Any] = {}
    kinds = tuple(k for name in _MIXES if (k := getattr(sys.modules.get(_MODULE), name, None)) is not None)
    if kinds:
        _look(value, kinds, found, set(), _DEPTH)
    return list(found.values())


_DEPTH = 6  # a function, a cell of it, a transform, its list, one in it


def _look(value: Any, kinds: tuple[Any, ...], found: dict[int, Any], seen: set[int], depth: int) -> None:
    """No code of the object's is run: as a weak proxy of what has gone, it may raise anything."""
    kind = type(value)
    if depth == 0 or id(value) in seen or issubclass(kind, (type, types.ModuleType, torch.Tensor)):
        return
    seen.add(id(value))
    inside: Iterable[Any] = ()
    if issubclass(kind, kinds):
        found[id(value)] = value
    elif kind is types.FunctionType:
        inside = [*(value.__closure__ or ()), *(value.__globals__.get(n) for n in value.__code__.co_names)]
    elif kind is types.CellType:
        with suppress(ValueError):  # it may be empty
            inside = (value.cell_contents,)
    elif kind is types.MethodType:
        inside = (value.__self__, value.__func__)
    elif issubclass(kind, functools.partial):
        inside = (value.func, *value.args, *value.keywords.values())
    elif kind in (list, tuple, dict):
        inside = value.values() if kind is dict else value
    elif callable(value) or issubclass(kind, torch.nn.Module):
        inside = _attributes(value).values()
    for one in list(inside)[:_MOST]:
        _look(one, kinds, found, seen, depth - 1)


def _attributes(value: Any) -> dict[str, Any]:
    held: Any = next((own for kind in type(value).__mro__ if (own := vars(kind).get("__dict__"))), None)
    return held.__get__(value) if type(held) is types.GetSetDescriptorType else {}


_MOST = 100  # that are looked at in a list
_known: weakref.WeakKeyDictionary[type, tuple[str, Any] | None] = weakref.WeakKeyDictionary()


def _of(kind: type) -> tuple[str, Any] | None:
    """The name of a class's method that mixes, and ours; None where it does not mix as ours does."""
    if kind not in _known:
        _known[kind] = None
        for title, (mix, can, trial) in _MIXES.items():
            theirs = getattr(sys.modules.get(_MODULE), title, None)
            if theirs is None or not issubclass(kind, theirs):
                continue
            name = next((name for name in _METHODS if name in vars(theirs)), "")
            own = getattr(kind, name, None)
            if own is not None and own is vars(theirs)[name] and _alike(own, mix, trial):
                _known[kind] = name, _mixing(own, mix, can)
    return _known[kind]


class _Whole:
    """Stands for the transform in a trial."""

    def _check_image_or_video(self, batch: torch.Tensor, *, batch_size: int) -> None: ...


def _alike(own: Any, mix: _Mix, trial: dict[str, Any]) -> bool:
    """Whether this torchvision mixes as the one did that ours was read from."""
    batch = torch.linspace(-1.7, 2.9, 3 * 2 * 3 * 5, dtype=torch.float32, device="cpu").reshape(3, 2, 3, 5)
    mixed = torch.empty_like(batch)
    mix(batch, mixed, trial)
    try:
        theirs = own(_Whole(), batch, {**trial, "labels": None, "batch_size": len(batch)})
    except (AttributeError, KeyError, TypeError):
        return False
    return isinstance(theirs, torch.Tensor) and torch.equal(theirs, mixed)


def _mixing(own: Any, mix: _Mix, can: Callable[[torch.Tensor, Any], bool]) -> Any:
    def transform(self: Any, inpt: Any, params: dict[str, Any]) -> Any:
        if inpt is params.get("labels") or not _is_usual(inpt):
            return own(self, inpt, params)
        self._check_image_or_video(inpt, batch_size=params["batch_size"])
        if not can(inpt, params):
            return own(self, inpt, params)
        mixed = _memory.tensor(inpt)
        mix(inpt, mixed, params)
        return mixed

    return transform


def _is_usual(batch: Any) -> bool:
    return (
        type(batch) is torch.Tensor
        and batch.dtype in _NUMPY
        and batch.device.type == "cpu"
        and batch.layout == torch.strided
        and batch.stride() == torch.empty(batch.shape, device="meta").stride()  # to the strides of sides of 1
        and not batch.requires_grad
        and batch.nbytes >= _LEAST_BYTES
    )


class _Memory:
    """Memory of mixed batches. A tensor that lies in it has it alone; then it is free again."""

    def __init__(self) -> None:
        self._free: list[np.ndarray[Any, Any]] = []

    def tensor(self, like: torch.Tensor) -> torch.Tensor:
        """A tensor of this type and shape, contiguous, with any values."""
        size = like.nbytes
        try:
            whole = self._free.pop()
        except IndexError:  # also where another thread was faster
            whole = None
        if whole is None or whole.nbytes != size + 64:
            whole = np.empty(size + 64, np.uint8)
        start = -whole.__array_interface__["data"][0] % 64  # torch's own are aligned so
        view = whole[start : start + size].view(_NUMPY[like.dtype]).reshape(like.shape)
        weakref.finalize(view, self._take_back, whole).atexit = False
        return torch.from_numpy(view)

    def _take_back(self, whole: np.ndarray[Any, Any]) -> None:
        if len(self._free) < _MOST_FREE:
            self._free.append(whole)


_memory = _Memory()
