"""The user's loader with gofast instead of what it is made of, and whether its batches are the same."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, Subset, TensorDataset

from .apart import RefusalError
from .loaders import is_native, like, ours


class CannotSwapError(RefusalError):
    """gofast has nothing to put instead of this dataset. The text says why."""


def what(loader: Any, pictures: bool = True) -> tuple[str, str]:
    """What would be swapped: in words, and as a line of code.

    Args:
        pictures: whether Pillow decodes pictures here.

    Raises:
        CannotSwapError: nothing.
    """
    if not isinstance(loader, DataLoader):
        raise CannotSwapError("this loader is no torch DataLoader")
    if is_native(loader):
        raise CannotSwapError("gofast makes these batches already")
    dataset, name = _innermost(loader.dataset), "gofast.DataLoader"
    if _is_ours(dataset):
        if hasattr(type(loader), "_native_view"):
            raise CannotSwapError("it is gofast's already; a part of it runs in Python")
        return "gofast.DataLoader", "loader = gofast.DataLoader(dataset, ...)"
    if type(dataset) is TensorDataset:
        return f"gofast.ArrayDataset and {name}", "dataset = gofast.ArrayDataset(*tensors)"
    if _is_folder(dataset):
        return f"gofast.ImageFolder and {name}", "dataset = gofast.ImageFolder(root, transform)"
    if not pictures:
        raise CannotSwapError(f"{type(dataset).__name__} is code of your own, and opens no pictures")
    return "gofast.install() before the script's imports", "python -m gofast train.py"


def swapped(loader: Any) -> Any:
    """The loader with gofast. Only to be called in a forked child: it may put gofast in Pillow's place."""
    what(loader)
    dataset = _converted(loader.dataset)
    if dataset is not None:
        return ours(loader, dataset)
    from ..installed import install

    install()
    return like(loader)


def same_batches(loader: Any) -> bool:
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
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.dtype == other.dtype and torch.equal(one, other)
    if isinstance(one, Mapping):
        return (
            isinstance(other, Mapping)
            and one.keys() == other.keys()
            and all(equal(one[key], other[key]) for key in one)
        )
    if isinstance(one, (list, tuple)):
        return (
            isinstance(other, (list, tuple))
            and len(one) == len(other)
            and all(equal(a, b) for a, b in zip(one, other, strict=True))
        )
    if isinstance(one, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)


def _innermost(dataset: Any) -> Any:
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return dataset


def _is_ours(dataset: Any) -> bool:
    from .._loader.view import NativeDataset

    return isinstance(dataset, NativeDataset)


def _is_folder(dataset: Any) -> bool:
    kind = type(dataset)
    return kind.__name__ == "ImageFolder" and kind.__module__ == "torchvision.datasets.folder"


def _converted(dataset: Any) -> Any:
    """The dataset as gofast's; None if there is nothing like it."""
    if _is_ours(dataset):
        return dataset
    if type(dataset) is Subset:
        inner = _converted(dataset.dataset)
        return None if inner is None else Subset(inner, dataset.indices)
    if type(dataset) is TensorDataset:
        from ..arrays import ArrayDataset

        return ArrayDataset(*dataset.tensors)
    if _is_folder(dataset):
        from ..images import ImageFolder

        made = ImageFolder(
            dataset.root,
            transform=dataset.transform,
            target_transform=dataset.target_transform,
            loader=dataset.loader,
        )
        if list(made.samples) != list(dataset.samples):
            raise CannotSwapError("the folder has other files now than this dataset lists")
        return made
    return None
