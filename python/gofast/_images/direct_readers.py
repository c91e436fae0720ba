"""What of torch reads a tensor without asking its class is given an ordinary one, not a lazy sample."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch

from .._lazy.patches import Patches
from .lazy_samples import ordinary


def _given_ordinary(own: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(own)
    def call(*given: Any, **named: Any) -> Any:
        return own(*ordinary(given), **ordinary(named))

    return call


_functions = Patches(
    dict.fromkeys(
        (
            "torch:to_dlpack:torch._C",
            "torch._C:_to_dlpack",
            "torch.utils.dlpack:to_dlpack:torch._C",
            "torch.jit:trace:torch.jit._trace",  # a tensor that is swapped in a trace is a constant of it
            "torch.jit:trace_module:torch.jit._trace",
            "torch.nn.parameter:Parameter.__new__",  # which looks whether the class is torch.Tensor
        ),
        _given_ordinary,
    )
)


class _Data:
    """`torch.Tensor.data`, which may be set to a lazy sample. Whoever asks the class gets torch's own."""

    def __init__(self, own: Any) -> None:
        self._own = own

    def __get__(self, tensor: Any, kind: Any = None) -> Any:
        return self._own.__get__(tensor, kind)

    def __set__(self, tensor: Any, value: Any) -> None:
        self._own.__set__(tensor, ordinary(value))


_data: Any = _Data(torch._C.TensorBase.data)


def follow() -> None:
    """Puts these where torch's are."""
    _functions.follow()
    if "data" not in vars(torch.Tensor):
        torch.Tensor.data = _data


def leave() -> None:
    """Puts torch's back."""
    _functions.leave()
    if vars(torch.Tensor).get("data") is _data:
        del torch.Tensor.data
