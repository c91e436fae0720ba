"""A loader like the user's: the same dataset, sampler and functions, with something changed."""

from __future__ import annotations

import copy
import itertools
import multiprocessing
from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, Subset

from .._core.reason import Reason


def like(loader: Any, **changes: Any) -> Any:
    """A copy of a loader with other attributes. The loader itself stays as it is.

    In a forked process that cannot use its parent's CUDA, the copy's batches stay in ordinary memory.
    Anything that is not a torch DataLoader is given back: there is nothing to change about it.

    Args:
        changes: attributes of torch's DataLoader; batch_size also makes another batch sampler.
    """
    if not isinstance(loader, DataLoader):
        return loader
    made = copy.copy(loader)
    inside = made.__dict__
    inside["_iterator"] = None  # persistent workers of the user's are not ours
    if torch.cuda._is_in_bad_fork():
        inside.update(pin_memory=False, **({"device": None} if "device" in inside else {}))
    if "batch_size" in changes:
        batches = BatchSampler(loader.sampler, changes["batch_size"], bool(loader.drop_last))
        inside["batch_sampler"] = batches
    if "num_workers" in changes:
        some = changes["num_workers"] > 0
        inside["prefetch_factor"] = (loader.prefetch_factor or 2) if some else None
        inside["persistent_workers"] = loader.persistent_workers and some
        if not some:
            inside["_DataLoader__multiprocessing_context"] = None
            inside["timeout"] = 0
    inside.update(changes)
    return made


def is_iterable(loader: Any) -> bool:
    """Whether samples come from a generator, one after the other, and not by their index."""
    return not isinstance(loader, DataLoader) or isinstance(loader.dataset, IterableDataset)


def workers(loader: Any) -> int:
    """How many processes or threads a loader asks for."""
    return int(getattr(loader, "num_workers", 0) or 0)


def starting(loader: Any) -> float:
    """Seconds that starting the workers should take: those that are not forked import everything again."""
    context = getattr(loader, "multiprocessing_context", None) or multiprocessing
    return float(workers(loader)) if context.get_start_method() != "fork" else 0.0


def needs_device(loader: Any) -> bool:
    """Whether a loader pins its batches, or moves them to a GPU."""
    return bool(getattr(loader, "pin_memory", False) or getattr(loader, "device", None) is not None)


def is_native(loader: Any) -> bool:
    """Whether gofast's engine makes a loader's batches."""
    view = getattr(loader, "_native_view", None)
    return callable(view) and not isinstance(view(), Reason)


def samples_of(batch: Any, loader: Any = None) -> int:
    """How many samples a batch has: the length of the first tensor, array or list in it, at least 1."""
    size = getattr(loader, "batch_size", None)
    if isinstance(batch, (torch.Tensor, np.ndarray)):
        return max(int(batch.shape[0]), 1) if batch.ndim else 1
    if isinstance(batch, Mapping):
        return samples_of(next(iter(batch.values())), loader) if batch else 1
    if isinstance(batch, (list, tuple)) and batch:
        nested = isinstance(batch[0], (torch.Tensor, np.ndarray, Mapping, list, tuple))
        return samples_of(batch[0], loader) if nested and len(batch) != size else len(batch)
    return size if isinstance(size, int) else 1


def innermost(dataset: Any) -> Any:
    """The dataset inside Subsets."""
    while isinstance(dataset, Subset):
        dataset = dataset.dataset
    return dataset


def are_pictures(dataset: Any) -> bool:
    """Whether gofast decodes a dataset's pictures."""
    kinds = type(innermost(dataset)).__mro__
    return any(kind.__module__ in ("gofast.images", "gofast.image_files") for kind in kinds)


def fresh(dataset: Any) -> Any:
    """A copy of gofast's dataset of pictures, through Subsets, that has made nothing yet."""
    made = copy.copy(dataset)
    if isinstance(dataset, Subset):
        made.dataset = fresh(dataset.dataset)
    return made


def estimated_bytes(batch: Any, depth: int = 4, most: int = 16) -> int:
    """About how many bytes a batch has in tensors, arrays and texts. It looks at a hundred of a long list.

    The counts of `stats` are exact, and of tensors alone: `_loader.counts.bytes_of`.

    Args:
        most: bytes that an element counts for.
    """
    if isinstance(batch, torch.Tensor):
        return batch.numel() * min(batch.element_size(), most)
    if isinstance(batch, np.ndarray):
        return int(batch.size) * min(batch.itemsize, most)
    if isinstance(batch, (bytes, bytearray, str)):
        return len(batch)
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    if isinstance(batch, Collection) and depth:
        some = list(itertools.islice(batch, 100))
        known = sum(estimated_bytes(part, depth - 1, most) for part in some)
        return int(known * max(len(batch) / max(len(some), 1), 1))
    return 8


def has_doubles(batch: Any, depth: int = 4) -> bool:
    """Whether there is an array or a tensor of float64 in a batch."""
    if isinstance(batch, (torch.Tensor, np.ndarray)):
        return batch.dtype in (torch.float64, np.float64)
    if isinstance(batch, Mapping):
        batch = list(batch.values())
    return (
        depth > 0 and isinstance(batch, (list, tuple)) and any(has_doubles(x, depth - 1) for x in batch[:100])
    )


def narrow(batch: Any) -> Any:
    """A batch with float32 for float64."""
    if isinstance(batch, torch.Tensor):
        return batch.float() if batch.dtype == torch.float64 else batch
    if isinstance(batch, np.ndarray):
        return batch.astype(np.float32) if batch.dtype == np.float64 else batch
    if isinstance(batch, Mapping):
        return {name: narrow(part) for name, part in batch.items()}
    return [*map(narrow, batch)] if isinstance(batch, (list, tuple)) else batch
