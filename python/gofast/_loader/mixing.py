"""MixUp and CutMix of torchvision in a collate function: the same numbers, in memory that is used again.

Each makes two or three tensors as large as the batch. Such memory is the system's and fresh at every
call. Its page faults take longer than the arithmetic: 20 ms for 64 x 3 x 176 x 176, 8 ms without them
(one thread of a busy machine, 2026-11). Here the core makes the result in one pass, in 2 ms, where an
earlier batch's lay that nobody has any more: gofast/image/pixel/mixing.c.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


@contextmanager
def recycled() -> Iterator[None]:
    """Within this context, torchvision's MixUp and CutMix mix large batches here."""
    global _inside
    entered = 0
    try:
        with _lock:
            _inside, entered = _inside + 1, 1
            if _inside == 1:
                for kind, name, own, ours in _replaced():
                    _own[kind, name] = own, ours
                    setattr(kind, name, ours)
        yield
    finally:
        with _lock:
            _inside -= entered
            while _inside == 0 and _own:
                (kind, name), (own, ours) = _own.popitem()
                if vars(kind).get(name) is ours:
                    setattr(kind, name, own)


_lock = threading.RLock()  # a signal's handler may collate too
_inside = 0  # threads that are
_own: dict[tuple[type, str], tuple[Any, Any]] = {}  # methods in whose place ours are


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.RLock()  # another thread may have held it


os.register_at_fork(after_in_child=_after_fork_in_child)


def _replaced() -> Iterator[tuple[type, str, Any, Any]]:
    """Each class, its method, and ours: where the method is torchvision's, and both mix alike."""
    for title, (mix, can, trial) in _MIXES.items():
        kind = getattr(sys.modules.get(_MODULE), title, None)
        if kind is None:
            continue
        name = "transform" if "transform" in vars(kind) else "_transform"  # torchvision 0.20
        own = vars(kind).get(name)
        if own is None or getattr(own, "__module__", None) != _MODULE:
            continue
        ours = _known.get(own)
        if ours is None:
            ours = _known[own] = _mixing(own, mix, can) if _alike(own, mix, trial) else own
        if ours is not own:
            yield kind, name, own, ours


_known: weakref.WeakKeyDictionary[Any, Any] = weakref.WeakKeyDictionary()


class _Whole:
    """Stands for the transform in a trial."""

    def _check_image_or_video(self, batch: torch.Tensor, *, batch_size: int) -> None: ...


def _alike(own: Any, mix: _Mix, trial: dict[str, Any]) -> bool:
    """Whether this torchvision mixes as the one did that ours was read from."""
    batch = torch.linspace(-1.7, 2.9, 3 * 2 * 3 * 5, device="cpu").reshape(3, 2, 3, 5)
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

    transform.__module__ = own.__module__
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
