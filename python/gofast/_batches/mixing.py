"""MixUp and CutMix of torchvision in a collate function: their own arithmetic, in memory that is used again.

Each makes two or three tensors as large as the batch. Such memory is the system's and fresh at every call.
Its page faults take longer than the arithmetic: 20 ms for 64 x 3 x 176 x 176, 8 ms without them, 5 ms here
(one thread of a busy machine, 2026-11). So a few rows are mixed at a time, in the caches, and what becomes of
them lies where an earlier batch did that nobody has any more.
"""

from __future__ import annotations

import os
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch

_LEAST_BYTES = 1 << 20  # smaller memory is not the system's
_ROWS_BYTES = 1 << 20  # of one step: less costs calls, and more leaves the caches
_MOST_FREE = 2  # such memories are kept; a loader's last batch is still held when the next is mixed

_Mix = Callable[[torch.Tensor, torch.Tensor, Any], None]  # (batch, mixed, params)


def _mixup(batch: torch.Tensor, mixed: torch.Tensor, params: Any) -> None:
    lam, once = params["lam"], max(1, _ROWS_BYTES * len(batch) // batch.nbytes)
    own = torch.empty_like(batch[:once])
    torch.mul(batch[-1], 1.0 - lam, out=mixed[0])
    for start in range(0, len(batch), once):
        rows = batch[start : start + once]
        first = max(start, 1)  # the batch's first row has its partner at the end
        torch.mul(batch[first - 1 : start + len(rows) - 1], 1.0 - lam, out=mixed[first : start + len(rows)])
        mixed[start : start + once].add_(torch.mul(rows, lam, out=own[: len(rows)]))


def _cutmix(batch: torch.Tensor, mixed: torch.Tensor, params: Any) -> None:
    x1, y1, x2, y2 = params["box"]
    mixed.copy_(batch)
    mixed[1:, ..., y1:y2, x1:x2] = batch[:-1, ..., y1:y2, x1:x2]
    mixed[0, ..., y1:y2, x1:x2] = batch[-1, ..., y1:y2, x1:x2]


_MIXES: dict[str, tuple[_Mix, dict[str, Any]]] = {  # by class, with parameters to try it with
    "MixUp": (_mixup, {"lam": 0.3}),
    "CutMix": (_cutmix, {"box": (1, 0, 3, 2)}),
}
_MODULE = "torchvision.transforms.v2._augment"


@contextmanager
def recycled() -> Iterator[None]:
    """Within this context, torchvision's MixUp and CutMix mix large batches here."""
    global _inside
    with _lock:
        _inside += 1
        if _inside == 1:
            for kind, name, own, ours in _replaced():
                _own[kind, name] = own, ours
                setattr(kind, name, ours)
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            while _inside == 0 and _own:
                (kind, name), (own, ours) = _own.popitem()
                if vars(kind).get(name) is ours:
                    setattr(kind, name, own)


_lock = threading.Lock()
_inside = 0  # threads that are
_own: dict[tuple[type, str], tuple[Any, Any]] = {}  # methods in whose place ours are


def _after_fork_in_child() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it


os.register_at_fork(after_in_child=_after_fork_in_child)


def _replaced() -> Iterator[tuple[type, str, Any, Any]]:
    """Each class, its method, and ours: where the method is torchvision's, and both mix alike."""
    for title, (mix, trial) in _MIXES.items():
        kind = getattr(sys.modules.get(_MODULE), title, None)
        if kind is None:
            continue
        name = "transform" if "transform" in vars(kind) else "_transform"  # torchvision 0.20
        own = vars(kind).get(name)
        if own is None or getattr(own, "__module__", None) != _MODULE:
            continue
        ours = _known.get(own)
        if ours is None:
            ours = _known[own] = _mixing(own, mix) if _alike(own, mix, trial) else own
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


def _mixing(own: Any, mix: _Mix) -> Any:
    def transform(self: Any, inpt: Any, params: dict[str, Any]) -> Any:
        if inpt is params.get("labels") or not _is_usual(inpt):
            return own(self, inpt, params)
        self._check_image_or_video(inpt, batch_size=params["batch_size"])
        mixed = _memory.tensor(inpt)
        mix(inpt, mixed, params)
        return mixed

    transform.__module__ = own.__module__
    return transform


def _is_usual(batch: Any) -> bool:
    return (
        type(batch) is torch.Tensor
        and batch.dtype in (torch.float32, torch.float16)  # what numpy has too
        and batch.device.type == "cpu"
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
        kind = np.float32 if like.dtype == torch.float32 else np.float16
        view = whole[start : start + size].view(kind).reshape(like.shape)
        weakref.finalize(view, self._take_back, whole).atexit = False
        return torch.from_numpy(view)

    def _take_back(self, whole: np.ndarray[Any, Any]) -> None:
        if len(self._free) < _MOST_FREE:
            self._free.append(whole)


_memory = _Memory()
