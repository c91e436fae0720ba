"""torch's default collation, with the memory of large batches used again.

torch stacks a batch in fresh memory. Getting its pages takes longer than the copy, and in a worker process it
is a file that the parent must map as well.
"""

from __future__ import annotations

import os
import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np
import torch
from torch.utils.data import Subset, default_collate, get_worker_info
from torch.utils.data._utils.collate import collate, default_collate_fn_map

from .. import errors
from .._core import engine
from .._core.default_collate import is_torchs
from .._core.numbers import NAMES
from .batch_memory import BatchMemory
from .getitems import is_ours
from .native_dataset import surroundings
from .sample_memory import SampleMemory, StackedBatches, making
from .worker_parcels import parcel, waits
from .worker_ring import can_share

# Smaller batches are torch's: its allocator has used their memory before.
_LEAST_BYTES = 1 << 20
_LEAST_SHARED = 16 << 10
_LEAVES = (int, float, bool, str, bytes, np.ndarray)
_MOST_NESTED = 16


class Stacking:
    """What a loader's iterator calls in place of `default_collate`. It gives what that gives.

    Threads may share it. A copy in a worker process hands batches to the process where this was made.

    Args:
        dataset: of the rows.
        home: the process where it was made; None: this one.
    """

    def __init__(self, dataset: Any, home: int | None = None) -> None:
        self.dataset, self._home = dataset, home or os.getpid()
        self._pid = 0
        self._blocks: BatchMemory | None = None
        self._here = threading.local()

    def __reduce__(self) -> tuple[Any, ...]:
        return Stacking, (self.dataset, self._home)

    def __call__(self, rows: Any) -> Any:
        """The batch of these rows."""
        blocks = self.memory()
        if blocks is None or type(rows) is not list:
            return default_collate(rows)
        places = self._places(blocks)
        if not _are_fresh(self.dataset):
            places.begin()
        try:
            # A user's code must not see the batch before it is known whether it will be a copy.
            with making(None):  # what is stacked from here on is no row
                plain = rows and _is_plain(rows[0]) and is_torchs()
                how = {**default_collate_fn_map, torch.Tensor: self._stacked}
                made = [collate(rows, collate_fn_map=how) if plain else default_collate(rows)]
            if plain:
                places.finish(rows)
            else:
                places.begin()
            return parcel(made, None, blocks) if blocks.shared else made[0]
        finally:
            if blocks.shared:
                making(places).begin()  # the next batch of this worker

    def is_at_home(self) -> bool:
        """Whether it was made in this process."""
        return self._home == os.getpid()

    def making(self) -> making:
        """A context: rows for a batch are made in this process."""
        blocks = self.memory()
        return making(None if blocks is None else self._places(blocks))

    def batches(self) -> AbstractContextManager[None]:
        """A context: a user's function stacks batches in this process."""
        blocks = self.memory()
        return nullcontext() if blocks is None else StackedBatches(blocks, _LEAST_BYTES)

    def memory(self) -> BatchMemory | None:
        """The blocks of this process; None where torch's memory must do."""
        if self._pid != os.getpid():
            self._pid, self._blocks, self._here = os.getpid(), None, threading.local()
            away, asked = not self.is_at_home(), get_worker_info() is not None
            # A loader within a worker, or a worker that is a thread, has torch's memory.
            if away is asked and _loads() and (not away or (engine.in_worker() and can_share())):
                self._blocks = BatchMemory(away)
        return self._blocks

    def _places(self, blocks: BatchMemory) -> SampleMemory:
        """Those of this thread."""
        places: SampleMemory | None = getattr(self._here, "places", None)
        if places is None:
            places = self._here.places = SampleMemory(blocks)
        return places

    def _stacked(self, batch: Sequence[torch.Tensor], *, collate_fn_map: Any = None) -> torch.Tensor:
        blocks, first = self._blocks, batch[0]
        bytes_ = len(batch) * first.nbytes if first.layout is torch.strided else 0
        least = _LEAST_SHARED if blocks is not None and blocks.shared else _LEAST_BYTES
        plain = _without_class(batch)
        small = bytes_ < least
        if blocks is None or (small and not blocks.shared) or not _are_alike(plain, blocks.shared):
            return _torchs(batch, collate_fn_map=collate_fn_map)
        if small:  # torch would make a file of it, which crosses as one
            out = torch.empty((len(batch), *first.shape), dtype=first.dtype, device="cpu")
            return torch.stack(plain, 0, out=out)  # type: ignore[arg-type]
        made = _in_place(plain, self._places(blocks))
        if made is not None:
            return made
        try:
            made = blocks.take(bytes_).batch((len(batch), *first.shape), first.dtype)
        except (OSError, MemoryError):  # torch needs less for one batch
            self._blocks = None
            return _torchs(batch, collate_fn_map=collate_fn_map)
        torch.stack(plain, 0, out=made)  # type: ignore[arg-type]
        return made


class SharedCollate:
    """What a loader's workers call in place of a user's collate function. A parcel of what that gives.

    Lazy samples that the function stacks are made in memory which the parent maps, and need no copy there.

    Args:
        stacking: has the memory.
        function: the user's.
        batched: torch makes the list of rows.
    """

    def __init__(self, stacking: Stacking, function: Callable[[Any], Any], batched: bool) -> None:
        self._stacking, self._function, self._batched = stacking, function, batched
        self._batches: StackedBatches | None = None

    def begin(self) -> None:
        """A worker begins."""
        memory = self._stacking.memory()
        if memory is not None and memory.shared:
            self._batches = StackedBatches(memory, _LEAST_SHARED)
            self._batches.begin()

    def __call__(self, rows: Any) -> Any:
        """The batch of these rows."""
        if self._batches is None:
            return self._function(rows)
        memory = self._batches.memory
        made = [self._function(rows)]
        fresh = self._batched and type(rows) is list and _are_fresh(self._stacking.dataset)
        return parcel(made, rows if fresh else None, memory)


class WorkerBegin:
    """What a loader's workers call in place of a user's worker_init_fn, or of none.

    Args:
        dataset: its code runs in its surroundings.
        collate: what the worker calls with rows.
        function: the user's.
    """

    def __init__(
        self, dataset: Any, collate: Callable[[Any], Any], function: Callable[[int], Any] | None
    ) -> None:
        self._surroundings, self._collate, self._function = surroundings(dataset), collate, function

    def __call__(self, worker: int) -> None:
        """A worker begins."""
        if self._surroundings is not None:
            self._surroundings.__enter__()  # until the worker's end
        if isinstance(self._collate, SharedCollate):
            self._collate.begin()
        if self._function is not None:
            self._function(worker)


def _torchs(batch: Sequence[torch.Tensor], *, collate_fn_map: Any) -> torch.Tensor:
    function: Callable[..., torch.Tensor] = default_collate_fn_map[torch.Tensor]
    return function(batch, collate_fn_map=collate_fn_map)


def _without_class(batch: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    """The same tensors as plain ones where torchvision's classes are, which end when torch stacks them. One
    that waits equals its class, and stays what it is."""
    home: Any = sys.modules.get("torchvision.tv_tensors")
    kind, helpers = type(batch[0]), getattr(home, "_torch_function_helpers", None)
    if helpers is None or kind not in (home.Image, home.Mask) or helpers._must_return_subclass():
        return batch
    if not all(type(one) == kind for one in batch):  # noqa: E721
        return batch
    with torch._C.DisableTorchFunctionSubclass():
        return [one if waits(one) else one.as_subclass(torch.Tensor) for one in batch]


def _are_alike(batch: Sequence[torch.Tensor], shared: bool) -> bool:
    """Whether they are plain tensors of one shape, and of one type that the core knows.

    Args:
        shared: torch too would make the batch in memory that was laid out before. Else it is as torch lays
            it out, which for tensors of more than three dimensions depends on their strides.
    """
    shape, dtype = batch[0].shape, batch[0].dtype
    usual = shared or len(shape) < 4 or 1 not in shape
    if not usual or dtype not in NAMES or len(shape) > 8:
        return False
    with torch._C.DisableTorchFunctionSubclass():  # a lazy sample answers all this without its values
        return all(
            (type(one) is torch.Tensor or _stacks_plainly(one))
            and one.shape == shape
            and one.dtype is dtype
            and one.layout is torch.strided
            and one.is_cpu
            and not one.requires_grad
            and not one.is_neg()
            and (shared or len(shape) < 4 or one.is_contiguous())
            for one in batch
        )


def _stacks_plainly(sample: Any) -> bool:
    """Whether it is a lazy sample, and a stack of such is of torch's own class."""
    kind: Any = type(sample)
    return getattr(kind, "waits", False) and kind.stacks_plainly()


def _in_place(rows: Sequence[torch.Tensor], places: SampleMemory) -> torch.Tensor | None:
    """The batch of rows that lie side by side already, or will once they are made; else None."""
    # By the class: a sample that another thread looks at has none of this.
    lazy: Any = next((kind for kind in map(type, rows) if getattr(kind, "waits", False)), None)
    return places.batch(rows) if lazy is None else lazy.together(rows, places.batch)


def _is_plain(row: Any, depth: int = _MOST_NESTED) -> bool:
    """Whether torch's own code alone collates rows like this one: of each list, it looks at the first."""
    kind = type(row)
    if kind in _LEAVES or isinstance(row, (torch.Tensor, np.generic)):
        return True
    if depth == 0 or kind not in (tuple, list, dict, OrderedDict):
        return False
    return all(_is_plain(one, depth - 1) for one in (row.values() if isinstance(row, dict) else row))


def _are_fresh(dataset: Any) -> bool:
    """Whether torch, or a dataset of ours, has made the list of rows, and nobody else has it."""
    while type(dataset) is Subset:
        dataset = dataset.dataset
    try:
        method = getattr(dataset, "__getitems__", None)
        return not method or is_ours(method)
    except Exception:
        return False


def _loads() -> bool:
    try:
        engine.capsule()
    except (errors.GofastError, ImportError):
        return False
    return True
