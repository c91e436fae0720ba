"""Whether two samples are the same, to the last bit."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader

import gofast


def difference(ours: Any, theirs: Any, strides: bool = True) -> str:
    """In what the two differ; empty where in nothing. Strides are compared unless told otherwise."""
    for one in (ours, theirs):
        if getattr(type(one), "waits", False):
            one.data_ptr()  # a sample that waits for its batch is an ordinary tensor from now on
    if type(ours) is not type(theirs):
        return f"{type(ours).__name__} instead of {type(theirs).__name__}"
    if isinstance(theirs, (tuple, list)):
        if len(ours) != len(theirs):
            return f"{len(ours)} parts instead of {len(theirs)}"
        parts = (difference(a, b, strides) for a, b in zip(ours, theirs, strict=True))
        return "; ".join(part for part in parts if part)
    if isinstance(theirs, dict):
        return difference([*ours.items()], [*theirs.items()], strides)
    if isinstance(theirs, torch.Tensor):
        return _of_tensors(ours, theirs, strides)
    if isinstance(theirs, np.ndarray):
        return _of_tensors(torch.from_numpy(ours), torch.from_numpy(theirs), strides)
    if isinstance(theirs, Image.Image):
        if (ours.mode, ours.size) != (theirs.mode, theirs.size):
            return f"{ours.mode} {ours.size} instead of {theirs.mode} {theirs.size}"
        if ours.tobytes() != theirs.tobytes():
            return "other pixels"
        return difference(_info(ours), _info(theirs))
    return "" if ours == theirs else f"{ours!r} instead of {theirs!r}"


def _info(image: Image.Image) -> dict[Any, Any]:
    """What it has beside pixels; a profile that Pillow makes when it converts says when that was."""
    profile = image.info.get("icc_profile") or b""
    return image.info | {"icc_profile": profile[:24] + profile[36:]}


def _of_tensors(ours: torch.Tensor, theirs: torch.Tensor, strides: bool) -> str:
    for what in ("dtype", "shape"):
        a, b = getattr(ours, what), getattr(theirs, what)
        if a != b:
            return f"{what} {a} instead of {b}"
    if strides and _strides(ours) != _strides(theirs):
        return f"strides {ours.stride()} instead of {theirs.stride()}, shape {tuple(ours.shape)}"
    a, b = (
        torch.empty(t.shape, dtype=t.dtype).copy_(t).reshape(-1).view(torch.uint8) for t in (ours, theirs)
    )
    if torch.equal(a, b):
        return ""
    values = ours.as_subclass(torch.Tensor) != theirs.as_subclass(torch.Tensor)
    return f"{int(values.sum())} of {values.numel()} values differ, first at {values.nonzero()[:1].tolist()}"


def _strides(tensor: torch.Tensor) -> list[int]:
    """Where there is one of a dimension, its stride means nothing."""
    return [stride for stride, count in zip(tensor.stride(), tensor.shape, strict=True) if count > 1]


def outcome(do: Callable[..., Any], *given: Any, **named: Any) -> Any:
    """What a call gives; the type and the words of the error that it ends with."""
    try:
        return do(*given, **named)
    except Exception as error:
        return type(error), str(error)


def seeded(seed: int, make: Callable[[], Any]) -> tuple[Any, Any]:
    """What is made, and the states of all generators behind it."""
    torch.manual_seed(seed)
    random.seed(seed)
    np.random.seed(seed)
    made = make()
    return made, (torch.get_rng_state().tolist(), random.getstate(), np.random.rand())


def batches(loader: Any) -> list[Any]:
    """Those of an epoch, and torch's generator behind them."""
    torch.manual_seed(3)
    return [*loader, torch.get_rng_state()]


def assert_same_loaders(ours: Any, theirs: Any, strides: bool = True, **options: Any) -> None:
    """Both loaders' batches of ours beside torch's of theirs."""
    options = {"batch_size": 7, "shuffle": True} | options
    want = batches(DataLoader(theirs, **options))
    for kind in (gofast.DataLoader, DataLoader):
        assert difference(batches(kind(ours, **options)), want, strides) == "", kind


def two_epochs(
    kind: Any, data: Any, change: Callable[[int], None] | None = None, **options: Any
) -> list[Any]:
    """Two epochs, and the generators' states behind them; the type of an error where it comes."""
    torch.manual_seed(7)
    random.seed(7)
    loader = kind(data, **{"batch_size": 8, "shuffle": True} | options)
    seen: list[Any] = []
    for _ in range(2):
        try:
            for i, batch in enumerate(loader):
                seen.append(pickle.loads(pickle.dumps(batch)))
                if change is not None:
                    change(i)
        except Exception as error:
            seen.append(type(error).__name__)
        seen += [torch.get_rng_state(), random.getstate()] if loader.num_workers == 0 else []
    return seen
