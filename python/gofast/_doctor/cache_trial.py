"""cache= of pictures, tried: some of them as later epochs make them, with what it keeps and without."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import torch
from torch.utils.data import Subset

from .._core.units import size
from .isolation import RefusalError
from .loaders import are_pictures, fresh, innermost, is_native, like

_PREPARE = 0.5  # seconds in which pictures are kept before a trial
_AT_ONCE = 16  # pictures
_MOST = 1 << 30  # bytes that a trial keeps


@dataclasses.dataclass
class CacheTrial:
    """What ``cache="memory"`` would keep.

    Attributes:
        called: the dataset's class.
        samples: pictures that a trial has, since that many are kept in the time for it.
        bytes: that all of them would take.
        why: why it cannot be tried; "" where it can.
    """

    called: str
    samples: int = 0
    bytes: int = 0
    why: str = ""

    def __str__(self) -> str:
        return size(self.bytes)


def may_keep(loader: Any) -> bool:
    """Whether it gives gofast's pictures, and keeps none."""
    dataset = getattr(loader, "dataset", None)
    return is_native(loader) and are_pictures(dataset) and innermost(dataset)._options.cache is None


def keeping(loader: Any) -> CacheTrial:
    """Keeps some pictures, for a time. Only ever called in a forked child.

    Raises:
        RefusalError: no picture was kept.
    """
    dataset, order = _with_cache(loader.dataset), _order(loader.dataset)
    kept, made, end = innermost(dataset)._here().kept, 0, time.perf_counter() + _PREPARE
    while made < len(order) and time.perf_counter() < end and kept.written[1] < _MOST // 2:
        made += len(dataset.__getitems__(order[made : made + _AT_ONCE]))
    count, bytes_ = kept.written
    if not count:
        raise RefusalError("no picture was kept: they have just changed, or Pillow decodes them")
    return CacheTrial(type(innermost(dataset)).__name__, made, bytes_ * len(order) // count)


def later(loader: Any, samples: int, cache: bool) -> Any:
    """Some pictures instead of all, which an epoch has met before. Called in a forked child."""
    dataset, order = (_with_cache if cache else fresh)(loader.dataset), _order(loader.dataset)
    for at in range(0, samples, _AT_ONCE):
        dataset.__getitems__(order[at : min(at + _AT_ONCE, samples)])
    return like(loader, dataset=Subset(dataset, [order[i % samples] for i in range(len(order))]))


def _with_cache(dataset: Any) -> Any:
    made = fresh(dataset)
    inside = innermost(made)
    inside._options = dataclasses.replace(inside._options, cache="memory", cache_limit=_MOST)
    return made


def _order(dataset: Any) -> list[int]:
    """Samples from everywhere first, the same ones each time."""
    order: list[int] = torch.randperm(len(dataset), generator=torch.Generator().manual_seed(0)).tolist()
    return order
