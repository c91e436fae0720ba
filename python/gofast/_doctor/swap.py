"""The user's loader with gofast instead of what it is made of, and whether its batches are the same."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.utils.data import BatchSampler, DataLoader, IterableDataset, Subset, TensorDataset

from .._loader.view import NativeDataset
from .apart import RefusalError
from .loaders import innermost, is_native, like


def what(loader: DataLoader[Any], pictures: bool) -> tuple[str, str] | None:
    """What would be swapped: in words, and as a line of code. None if gofast has nothing to put instead.

    Args:
        pictures: whether Pillow decodes pictures here.
    """
    dataset, own = innermost(loader.dataset), hasattr(type(loader), "_native_view")
    if is_native(loader) or (isinstance(dataset, NativeDataset) and own):
        return None  # gofast makes these batches, or a part of it runs in Python
    if isinstance(dataset, NativeDataset):
        return "gofast.DataLoader", "loader = gofast.DataLoader(dataset, ...)"
    if type(dataset) is TensorDataset:
        return "gofast.ArrayDataset and gofast.DataLoader", "dataset = gofast.ArrayDataset(*tensors)"
    if _is_folder(dataset):
        return "gofast.ImageFolder and gofast.DataLoader", "dataset = gofast.ImageFolder(root, transform)"
    return ("gofast.install() before the script's imports", "python -m gofast train.py") if pictures else None


def swapped(loader: DataLoader[Any]) -> Any:
    """The loader with gofast. Only to be called in a forked child: it may put gofast in Pillow's place."""
    dataset = _converted(loader.dataset)
    if dataset is not None:
        return _ours(like(loader), dataset)
    from ..installed import install

    install()
    return like(loader)


def _ours(loader: DataLoader[Any], dataset: Any) -> Any:
    """A gofast.DataLoader with the arguments of a torch DataLoader, over this dataset."""
    from ..loader import DataLoader as Ours

    names: tuple[str, ...] = (
        "num_workers",
        "collate_fn",
        "pin_memory",
        "timeout",
        "worker_init_fn",
        "generator",
    )
    names += ("multiprocessing_context", "prefetch_factor", "persistent_workers")
    if loader.batch_sampler is not None and type(loader.batch_sampler) is not BatchSampler:
        names += ("batch_sampler",)
    else:
        names += ("batch_size", "drop_last", *(() if isinstance(dataset, IterableDataset) else ("sampler",)))
    arguments: dict[str, Any] = {name: getattr(loader, name) for name in names}
    return Ours(dataset, **arguments)


def same_batches(loader: DataLoader[Any]) -> bool:
    """Whether both give the same first batch for the same seed. Only ever called in a forked child."""
    first = _first(like(loader, num_workers=0))
    return equal(first, _first(swapped(like(loader, num_workers=0))))


def _first(loader: Any) -> Any:
    torch.manual_seed(0)
    random.seed(0)
    np.random.seed(0)
    if loader.generator is not None:
        loader.generator.manual_seed(0)
    return next(iter(loader))


def equal(one: Any, other: Any) -> bool:
    """Whether two samples or batches hold the same values. A list equals a tuple."""
    if isinstance(one, Mapping):
        same = isinstance(other, Mapping) and one.keys() == other.keys()
        return same and all(equal(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)):
        same = isinstance(other, (list, tuple)) and len(one) == len(other)
        return same and all(map(equal, one, other))
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    return bool(np.array_equal(one, other) if isinstance(one, np.ndarray) else one == other)


def _is_folder(dataset: Any) -> bool:
    kind = type(dataset)
    return kind.__name__ == "ImageFolder" and kind.__module__ == "torchvision.datasets.folder"


def _converted(dataset: Any) -> Any:
    """The dataset as gofast's; None if there is nothing like it."""
    if isinstance(dataset, NativeDataset):
        return dataset
    if type(dataset) is Subset:
        inner = _converted(dataset.dataset)
        return None if inner is None else Subset(inner, dataset.indices)
    if type(dataset) is TensorDataset:
        from ..arrays import ArrayDataset

        return ArrayDataset(*dataset.tensors)
    if _is_folder(dataset):
        from ..images import ImageFolder

        names = ("root", "transform", "target_transform", "loader")
        made = ImageFolder(**{name: getattr(dataset, name) for name in names})
        if list(made.samples) != list(dataset.samples):
            raise RefusalError("the folder has other files now than this dataset lists")
        return made
    return None
